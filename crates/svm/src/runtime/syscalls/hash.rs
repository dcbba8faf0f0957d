//! Hashes over tables of slices.

use blake3::Hasher as Blake3;
use selkie_vm::SyscallError as Error;
use sha2::{Digest, Sha256, Sha512};
use sha3::Keccak256;

use super::{Call, charge};
use crate::chain::{
    cost::{HASH_BASE, HASH_SLICES_MAX, MEM_OP_BASE},
    error::SyscallError,
};

/// What a hash costs before its slices do. Too many slices are refused before anything is charged.
pub(super) fn price(call: &mut Call<'_, '_, '_>, name: &str, count: u64) -> Result<u64, Error> {
    if count > HASH_SLICES_MAX {
        call.context.logs.line(format!(
            "{name} Hashing {count} sequences in one syscall is over the limit {HASH_SLICES_MAX}"
        ));
        return Err(SyscallError::TooManySlices.into());
    }
    Ok(HASH_BASE)
}

pub(super) fn sha256(
    call: &mut Call<'_, '_, '_>,
    slices: u64,
    count: u64,
    out: u64,
) -> Result<u64, Error> {
    let mut hasher = Sha256::new();
    hash(call, slices, count, out, 32, |bytes| hasher.update(bytes))?;
    call.memory.write(out, &hasher.finalize())?;
    Ok(0)
}

pub(super) fn sha512(
    call: &mut Call<'_, '_, '_>,
    slices: u64,
    count: u64,
    out: u64,
) -> Result<u64, Error> {
    let mut hasher = Sha512::new();
    hash(call, slices, count, out, 64, |bytes| hasher.update(bytes))?;
    call.memory.write(out, &hasher.finalize())?;
    Ok(0)
}

pub(super) fn keccak256(
    call: &mut Call<'_, '_, '_>,
    slices: u64,
    count: u64,
    out: u64,
) -> Result<u64, Error> {
    let mut hasher = Keccak256::new();
    hash(call, slices, count, out, 32, |bytes| hasher.update(bytes))?;
    call.memory.write(out, &hasher.finalize())?;
    Ok(0)
}

pub(super) fn blake3(
    call: &mut Call<'_, '_, '_>,
    slices: u64,
    count: u64,
    out: u64,
) -> Result<u64, Error> {
    let mut hasher = Blake3::new();
    hash(call, slices, count, out, 32, |bytes| {
        hasher.update(bytes);
    })?;
    call.memory.write(out, hasher.finalize().as_bytes())?;
    Ok(0)
}

/// Feeds every slice to `update`. The output is checked first; each slice is looked at before it
/// is charged, and charged before it is hashed.
fn hash(
    call: &mut Call<'_, '_, '_>,
    slices: u64,
    count: u64,
    out: u64,
    out_len: u64,
    mut update: impl FnMut(&[u8]),
) -> Result<(), Error> {
    call.memory.check_output(call.context, out, out_len)?;
    for slice in call.memory.slices(slices, count)? {
        let bytes = call.memory.bytes(slice.addr, slice.len)?;
        charge(call.meter, MEM_OP_BASE.max(slice.len / 2))?;
        update(bytes);
    }
    Ok(())
}
