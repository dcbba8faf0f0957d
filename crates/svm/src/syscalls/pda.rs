//! Program derived addresses: addresses off the curve, for which nobody has a key.

use std::cell::RefCell;

use selkie_crypto::curve25519::{self, Group};
use selkie_vm::SyscallError as Error;
use sha2::{Digest, Sha256};
use smallvec::SmallVec;
use solana_pubkey::{MAX_SEED_LEN, MAX_SEEDS, Pubkey, PubkeyError};

use super::{
    Call, charge,
    guest::{Guest, Output},
};
use crate::{cost::CREATE_PROGRAM_ADDRESS, error::SyscallError};

/// The seeds of an address.
pub(crate) type Seeds<'a> = SmallVec<[&'a [u8]; MAX_SEEDS + 1]>;

/// What the hash of an address ends with, so that it is the hash of nothing else.
const MARKER: &[u8] = b"ProgramDerivedAddress";

/// Derives the address of `program` for `seeds`.
///
/// # Errors
/// For too many or too long seeds, and if the address is on the curve.
pub(crate) fn create_program_address(
    seeds: &[&[u8]],
    program: &Pubkey,
) -> Result<Pubkey, PubkeyError> {
    if seeds.len() > MAX_SEEDS || seeds.iter().any(|seed| seed.len() > MAX_SEED_LEN) {
        return Err(PubkeyError::MaxSeedLengthExceeded);
    }
    let mut hasher = Sha256::new();
    for seed in seeds {
        hasher.update(seed);
    }
    let address: [u8; 32] = hasher.chain_update(program).chain_update(MARKER).finalize().into();
    if is_on_curve(&address) {
        Err(PubkeyError::InvalidSeeds)
    } else {
        Ok(Pubkey::new_from_array(address))
    }
}

/// How many addresses each thread remembers the answer for.
const REMEMBERED: usize = 256;

/// Whether somebody may have a key for an address. To find out takes a while; and a program that
/// finds an address derives it again to sign for it, in the same transaction and in the next.
fn is_on_curve(address: &[u8; 32]) -> bool {
    thread_local! {
        static KNOWN: RefCell<Vec<([u8; 32], bool)>> = const { RefCell::new(Vec::new()) };
    }
    let place = usize::from(address[0]) % REMEMBERED;
    let known = KNOWN.with_borrow(|known| {
        known.get(place).filter(|(known, _)| known == address).map(|(_, answer)| *answer)
    });
    known.unwrap_or_else(|| {
        let answer = curve25519::is_valid(Group::Edwards, address);
        KNOWN.with_borrow_mut(|known| {
            if known.is_empty() {
                // Places that were not used yet hold an address with its answer, too.
                known.resize(REMEMBERED, (*address, answer));
            }
            if let Some(place) = known.get_mut(place) {
                *place = (*address, answer);
            }
        });
        answer
    })
}

fn with_bump(seeds: &[&[u8]], bump: u8, program: &Pubkey) -> Result<Pubkey, PubkeyError> {
    let bump = [bump];
    let mut seeds = Seeds::from_slice(seeds);
    seeds.push(&bump);
    create_program_address(&seeds, program)
}

/// The address of `program` for `seeds` and the highest bump that takes it off the curve, and that
/// bump. `None` if no bump does, or for too many or too long seeds.
///
/// ```
/// use selkie_svm::{Pubkey, find_program_address};
/// let program = Pubkey::new_from_array([7; 32]);
/// let (address, bump) = find_program_address(&[b"vault"], &program).unwrap();
/// assert_ne!(find_program_address(&[b"vault", &[bump]], &program).unwrap().0, address);
/// ```
#[must_use]
pub fn find_program_address(seeds: &[&[u8]], program: &Pubkey) -> Option<(Pubkey, u8)> {
    (1..=u8::MAX).rev().find_map(|bump| Some((with_bump(seeds, bump, program).ok()?, bump)))
}

pub(super) fn create(
    call: &mut Call<'_, '_, '_>,
    seeds: u64,
    count: u64,
    program: u64,
    out: u64,
) -> Result<u64, Error> {
    let (seeds, program) = inputs(&call.memory, seeds, count, program)?;
    let Ok(address) = create_program_address(&seeds, &program) else { return Ok(1) };
    call.memory.check_output(call.context, out, 32)?;
    call.memory.write(out, address.as_ref())?;
    Ok(0)
}

/// A failed bump is charged as soon as it failed, the last one too.
pub(super) fn try_find(
    call: &mut Call<'_, '_, '_>,
    seeds: u64,
    count: u64,
    program: u64,
    out: u64,
    bump_out: u64,
) -> Result<u64, Error> {
    let (seeds, program) = inputs(&call.memory, seeds, count, program)?;
    for bump in (1..=u8::MAX).rev() {
        if let Ok(address) = with_bump(&seeds, bump, &program) {
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

/// Reads the seeds and the program. Too many seeds, or one too long, end the program.
fn inputs<'a>(
    memory: &'a Guest<'_, '_>,
    seeds: u64,
    count: u64,
    program: u64,
) -> Result<(Vec<&'a [u8]>, Pubkey), Error> {
    let too_long = || Error::from(SyscallError::BadSeeds(PubkeyError::MaxSeedLengthExceeded));
    let slices = memory.slices(seeds, count)?;
    if slices.len() > MAX_SEEDS {
        return Err(too_long());
    }
    let seeds = slices.map(|slice| {
        if slice.len > MAX_SEED_LEN as u64 {
            return Err(too_long());
        }
        memory.bytes(slice.addr, slice.len)
    });
    Ok((seeds.collect::<Result<_, _>>()?, memory.pubkey(program)?))
}
