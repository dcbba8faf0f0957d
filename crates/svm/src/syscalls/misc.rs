//! Ending, asking where one is, and the heap of old.

use selkie_isa::layout::HEAP_START;
use selkie_vm::SyscallError as Error;

use super::{Call, guest::Output};
use crate::{context::InstructionContext, error::SyscallError, input::ALIGNMENT};

pub(super) fn abort(_: &mut Call<'_, '_, '_>) -> Result<u64, Error> {
    Err(SyscallError::Abort.into())
}

pub(super) fn panic(
    call: &mut Call<'_, '_, '_>,
    file: u64,
    len: u64,
    line: u64,
    column: u64,
) -> Result<u64, Error> {
    let file = call.memory.text(file, len)?.to_owned();
    Err(SyscallError::Panic { file, line, column }.into())
}

pub(super) fn stack_height(call: &mut Call<'_, '_, '_>) -> Result<u64, Error> {
    Ok(call.context.height() as u64)
}

pub(super) fn remaining_compute_units(call: &mut Call<'_, '_, '_>) -> Result<u64, Error> {
    Ok(call.meter.remaining())
}

/// Heap is handed out from the bottom up, and never taken back.
pub(super) fn alloc_free(call: &mut Call<'_, '_, '_>, size: u64, addr: u64) -> Result<u64, Error> {
    let align = if call.memory.aligned { ALIGNMENT as u64 } else { 1 };
    if addr != 0 {
        return Ok(0);
    }
    let heap_bytes = u64::from(call.context.heap_bytes);
    let used = &mut call.context.frame_mut().heap_used;
    let start = used.next_multiple_of(align);
    match start.checked_add(size) {
        Some(end) if end <= heap_bytes => {
            *used = end;
            Ok(HEAP_START.saturating_add(start))
        }
        _ => Ok(0),
    }
}

/// Bytes of an account's meta: address, signer, writable.
const META_BYTES: u64 = 34;

/// The instruction that was processed `index + 1` before the current one, at the same height and
/// for the same caller. It is only written if both of its lengths are as `meta` says; otherwise
/// its lengths are.
pub(super) fn sibling(
    call: &mut Call<'_, '_, '_>,
    index: u64,
    meta: u64,
    program_out: u64,
    data_out: u64,
    accounts_out: u64,
) -> Result<u64, Error> {
    let Some(sibling) = find_sibling(call, index).cloned() else { return Ok(0) };
    let meta_output = Output { addr: meta, len: 16, align: 8 };
    call.memory.check_outputs(&[meta_output])?;
    let lens = [sibling.data.len() as u64, sibling.accounts.len() as u64];
    let lens_bytes = lens.map(u64::to_le_bytes).concat();
    if call.memory.bytes(meta, 16)? != lens_bytes {
        call.memory.write(meta, &lens_bytes)?;
        return Ok(1);
    }
    call.memory.check_outputs(&[
        Output::bytes(program_out, 32),
        Output::bytes(data_out, lens[0]),
        Output::bytes(accounts_out, lens[1].saturating_mul(META_BYTES)),
        meta_output,
    ])?;
    let mut metas = Vec::new();
    for account in &sibling.accounts {
        metas.extend(call.context.transaction.account(account.index).0.as_ref());
        metas.extend([u8::from(account.is_signer), u8::from(account.is_writable)]);
    }
    call.memory.write(program_out, sibling.program_id.as_ref())?;
    call.memory.write(data_out, &sibling.data)?;
    call.memory.write(accounts_out, &metas)?;
    Ok(1)
}

fn find_sibling<'a>(call: &'a Call<'_, '_, '_>, index: u64) -> Option<&'a InstructionContext> {
    let current = call.context.instruction();
    let same_caller = call
        .context
        .trace
        .iter()
        .rev()
        .filter(|other| other.caller == current.caller)
        .take_while(|other| other.height >= current.height)
        .filter(|other| other.height == current.height);
    // The first is the current instruction itself.
    same_caller.skip(1).nth(usize::try_from(index).ok()?)
}
