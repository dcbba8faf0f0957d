//! Program derived addresses: addresses off the Ed25519 curve, which have no private key.

use selkie_vm::SyscallError as Error;
use sha2::{Digest, Sha256};
use smallvec::SmallVec;
use solana_pubkey::{MAX_SEED_LEN, MAX_SEEDS, Pubkey, PubkeyError};

use super::{
    Call, charge,
    guest::{Guest, Output},
};
use crate::{
    chain::{cost::CREATE_PROGRAM_ADDRESS, error::SyscallError},
    runtime::on_curve::{OnCurveCache, is_on_curve},
};

/// The seeds of a program derived address.
pub(crate) type Seeds<'a> = SmallVec<[&'a [u8]; MAX_SEEDS + 1]>;

/// The end of the hashed bytes, which separates them from those of other hashes.
const MARKER: &[u8] = b"ProgramDerivedAddress";

/// Derives the address of `program` for `seeds`.
///
/// # Errors
/// [`PubkeyError::MaxSeedLengthExceeded`] for more than 16 seeds or a seed of more than 32 bytes,
/// [`PubkeyError::InvalidSeeds`] if the address is on the curve.
pub(crate) fn create_program_address(
    seeds: &[&[u8]],
    program: &Pubkey,
    on_curve: &mut OnCurveCache,
) -> Result<Pubkey, PubkeyError> {
    Derivation::new(seeds, 0, program)?.address(&[], |it| on_curve.is_on_curve(it))
}

/// The state of an address's hash after its seeds.
struct Derivation {
    seeds: Sha256,
    program: Pubkey,
}

impl Derivation {
    /// Hashes `seeds`; `further_seeds` is the number of seeds that will follow.
    fn new(seeds: &[&[u8]], further_seeds: usize, program: &Pubkey) -> Result<Self, PubkeyError> {
        let count = seeds.len().saturating_add(further_seeds);
        if count > MAX_SEEDS || seeds.iter().any(|seed| seed.len() > MAX_SEED_LEN) {
            return Err(PubkeyError::MaxSeedLengthExceeded);
        }
        let mut hasher = Sha256::new();
        seeds.iter().for_each(|seed| hasher.update(seed));
        Ok(Self { seeds: hasher, program: *program })
    }

    /// Returns the address with one more seed; an empty one adds nothing.
    fn address(
        &self,
        last: &[u8],
        is_on_curve: impl FnOnce(&[u8; 32]) -> bool,
    ) -> Result<Pubkey, PubkeyError> {
        let hasher = self.seeds.clone().chain_update(last).chain_update(self.program);
        let address: [u8; 32] = hasher.chain_update(MARKER).finalize().into();
        if is_on_curve(&address) {
            Err(PubkeyError::InvalidSeeds)
        } else {
            Ok(Pubkey::new_from_array(address))
        }
    }
}

/// Finds the highest bump seed that takes the address of `program` for `seeds` off the curve. Returns
/// the address and the bump; `None` if no bump does, or for too many or too long seeds.
///
/// ```
/// use selkie_svm::{Pubkey, find_program_address};
/// let program = Pubkey::new_from_array([7; 32]);
/// let (address, bump) = find_program_address(&[b"vault"], &program).unwrap();
/// assert_ne!(find_program_address(&[b"vault", &[bump]], &program).unwrap().0, address);
/// ```
#[must_use]
pub fn find_program_address(seeds: &[&[u8]], program: &Pubkey) -> Option<(Pubkey, u8)> {
    let derivation = Derivation::new(seeds, 1, program).ok()?;
    (1..=u8::MAX)
        .rev()
        .find_map(|bump| Some((derivation.address(&[bump], is_on_curve).ok()?, bump)))
}

pub(super) fn create(
    call: &mut Call<'_, '_, '_>,
    [seeds, count, program, out, ..]: [u64; 5],
) -> Result<u64, Error> {
    let derivation = derivation(&call.memory, seeds, count, 0, program)?;
    let Some(address) =
        derivation.and_then(|it| it.address(&[], |it| call.context.on_curve.is_on_curve(it)).ok())
    else {
        return Ok(1);
    };
    call.memory.check_output(call.context, out, 32)?;
    call.memory.write(out, address.as_ref())?;
    Ok(0)
}

/// `sol_try_find_program_address`. Each failed bump is charged when it fails, including the last one.
pub(super) fn try_find(
    call: &mut Call<'_, '_, '_>,
    [seeds, count, program, out, bump_out]: [u64; 5],
) -> Result<u64, Error> {
    let derivation = derivation(&call.memory, seeds, count, 1, program)?;
    for bump in (1..=u8::MAX).rev() {
        if let Some(address) = derivation
            .as_ref()
            .and_then(|it| it.address(&[bump], |it| call.context.on_curve.is_on_curve(it)).ok())
        {
            let outputs = [Output::bytes(bump_out, 1), Output::bytes(out, 32)];
            call.memory.check_outputs(call.context, &outputs)?;
            call.memory.write(bump_out, &[bump])?;
            call.memory.write(out, address.as_ref())?;
            return Ok(0);
        }
        charge(call.meter, CREATE_PROGRAM_ADDRESS)?;
    }
    Ok(1)
}

/// Reads the seeds and the program, and hashes the seeds. Too many seeds in memory, or one that is too
/// long, are an error that ends the program; the result is `None` if `further_seeds` exceed the limit.
fn derivation(
    memory: &Guest<'_, '_>,
    seeds: u64,
    count: u64,
    further_seeds: usize,
    program: u64,
) -> Result<Option<Derivation>, Error> {
    let too_long = || Error::from(SyscallError::BadSeeds(PubkeyError::MaxSeedLengthExceeded));
    let slices = memory.slices(seeds, count)?;
    if slices.len() > MAX_SEEDS {
        return Err(too_long());
    }
    let seeds: Result<Seeds<'_>, Error> = slices
        .map(|slice| {
            if slice.len > MAX_SEED_LEN as u64 {
                return Err(too_long());
            }
            memory.bytes(slice.addr, slice.len)
        })
        .collect();
    let (seeds, program) = (seeds?, memory.pubkey(program)?);
    Ok(Derivation::new(&seeds, further_seeds, &program).ok())
}
