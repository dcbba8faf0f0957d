//! Hashes of slices of bytes.

use blake3::Hasher as Blake3;
use selkie_vm::SyscallError as Error;
use sha2::{Digest, Sha256, Sha512};
use sha3::Keccak256;

use super::{Call, charge};
use crate::chain::{
    cost::{HASH_BASE, HASH_SLICE, HASH_SLICES_MAX},
    error::SyscallError,
};

pub(super) fn sha256(call: &mut Call<'_, '_, '_>, arguments: [u64; 5]) -> Result<u64, Error> {
    let mut hasher = Sha256::new();
    hash(call, "Sha256", arguments, 32, |bytes| hasher.update(bytes))?;
    call.memory.write(arguments[2], &hasher.finalize())?;
    Ok(0)
}

pub(super) fn sha512(call: &mut Call<'_, '_, '_>, arguments: [u64; 5]) -> Result<u64, Error> {
    let mut hasher = Sha512::new();
    hash(call, "Sha512", arguments, 64, |bytes| hasher.update(bytes))?;
    call.memory.write(arguments[2], &hasher.finalize())?;
    Ok(0)
}

pub(super) fn keccak256(call: &mut Call<'_, '_, '_>, arguments: [u64; 5]) -> Result<u64, Error> {
    let mut hasher = Keccak256::new();
    hash(call, "Keccak256", arguments, 32, |bytes| hasher.update(bytes))?;
    call.memory.write(arguments[2], &hasher.finalize())?;
    Ok(0)
}

pub(super) fn blake3(call: &mut Call<'_, '_, '_>, arguments: [u64; 5]) -> Result<u64, Error> {
    let mut hasher = Blake3::new();
    hash(call, "Blake3", arguments, 32, |bytes| {
        hasher.update(bytes);
    })?;
    // Not `hasher.finalize()`: with a feature of blake3, that would be the method of `Digest`.
    let digest = Blake3::finalize(&hasher);
    call.memory.write(arguments[2], digest.as_bytes())?;
    Ok(0)
}

/// Passes every slice to `update`. Too many slices are refused before anything is charged. The output
/// is checked next. Each slice is checked before it is charged, and charged before it is hashed.
fn hash(
    call: &mut Call<'_, '_, '_>,
    name: &str,
    [slices, count, out, ..]: [u64; 5],
    out_len: u64,
    mut update: impl FnMut(&[u8]),
) -> Result<(), Error> {
    if count > HASH_SLICES_MAX {
        call.context.logs.line(format!(
            "{name} Hashing {count} sequences in one syscall is over the limit {HASH_SLICES_MAX}"
        ));
        return Err(SyscallError::TooManySlices.into());
    }
    call.charge(HASH_BASE)?;
    call.memory.check_output(call.context, out, out_len)?;
    for slice in call.memory.slices(slices, count)? {
        let bytes = call.memory.bytes(slice.addr, slice.len)?;
        charge(call.meter, HASH_SLICE.compute_units(slice.len))?;
        update(bytes);
    }
    Ok(())
}
