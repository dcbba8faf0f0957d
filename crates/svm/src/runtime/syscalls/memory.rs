//! Copying, filling and comparing memory.

use selkie_vm::SyscallError as Error;

use super::{
    Call,
    guest::{Output, are_apart},
};
use crate::chain::error::SyscallError;

/// `sol_memcpy_`: C's `memcpy`, except that ranges of guest addresses that overlap are an error.
pub(super) fn copy_nonoverlapping(
    call: &mut Call<'_, '_, '_>,
    arguments: [u64; 5],
) -> Result<u64, Error> {
    let [dst, src, len, ..] = arguments;
    if !are_apart(src, len, dst, len) {
        return Err(SyscallError::CopyOverlapping.into());
    }
    copy(call, arguments)
}

/// `sol_memmove_`: C's `memmove`. The destination is checked first.
pub(super) fn copy(
    call: &mut Call<'_, '_, '_>,
    [dst, src, len, ..]: [u64; 5],
) -> Result<u64, Error> {
    if len > 0 {
        call.memory.map.prepare_store(call.context, dst, len)?;
        call.memory.map.copy(dst, src, len)?;
    }
    Ok(0)
}

/// `sol_memset_`: C's `memset`. Only the lowest eight bits of `byte` count.
pub(super) fn fill(
    call: &mut Call<'_, '_, '_>,
    [dst, byte, len, ..]: [u64; 5],
) -> Result<u64, Error> {
    if len > 0 {
        call.memory.map.prepare_store(call.context, dst, len)?;
        call.memory.map.slice_mut(dst, len)?.fill(byte.to_le_bytes()[0]);
    }
    Ok(0)
}

/// `sol_memcmp_`: C's `memcmp`, which writes its result to memory.
pub(super) fn compare(
    call: &mut Call<'_, '_, '_>,
    [left, right, len, out, ..]: [u64; 5],
) -> Result<u64, Error> {
    let left = call.memory.bytes(left, len)?;
    let right = call.memory.bytes(right, len)?;
    let difference = left
        .iter()
        .zip(right)
        .find(|(left, right)| left != right)
        .map_or(0, |(left, right)| i32::from(*left).saturating_sub(i32::from(*right)));
    call.memory.check_outputs(call.context, &[Output { addr: out, len: 4, align: 4 }])?;
    call.memory.write(out, &difference.to_le_bytes())?;
    Ok(0)
}
