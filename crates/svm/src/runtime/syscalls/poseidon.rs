//! The Poseidon hash.

use core::fmt;

use selkie_crypto::{
    Endianness,
    poseidon::{INPUTS_MAX, hash},
};
use selkie_vm::SyscallError as Error;

use super::Call;
use crate::chain::{cost, error::SyscallError};

const HASH_BYTES: u64 = 32;

/// An argument that is out of range (agave: `solana-poseidon`, `PoseidonSyscallError`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PoseidonError {
    InvalidParameters,
    InvalidEndianness,
}

impl fmt::Display for PoseidonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidParameters => "Invalid parameters.",
            Self::InvalidEndianness => "Invalid endianness.",
        })
    }
}

impl core::error::Error for PoseidonError {}

/// `sol_poseidon`. Parameters and the number of inputs are checked before anything is charged, and
/// the output before the inputs.
pub(super) fn hash_slices(
    call: &mut Call<'_, '_, '_>,
    [parameters, endianness, slices, count, out]: [u64; 5],
) -> Result<u64, Error> {
    if parameters != 0 {
        return Err(PoseidonError::InvalidParameters.into());
    }
    if endianness > 1 {
        return Err(PoseidonError::InvalidEndianness.into());
    }
    if count > INPUTS_MAX as u64 {
        call.context.logs.line(format!("Poseidon hashing {count} sequences is not supported"));
        return Err(SyscallError::InvalidLength.into());
    }
    call.charge(cost::poseidon(count))?;
    call.memory.check_output(call.context, out, HASH_BYTES)?;
    let endianness = if endianness == 0 { Endianness::Big } else { Endianness::Little };
    let slices = call.memory.slices(slices, count)?;
    let inputs = slices.map(|slice| call.memory.bytes(slice.addr, slice.len));
    let hash = hash(endianness, &inputs.collect::<Result<Vec<_>, _>>()?);
    call.write_result(out, hash.as_ref().map(|it| &it[..]))
}
