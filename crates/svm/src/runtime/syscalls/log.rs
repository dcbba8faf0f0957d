//! Logging.

use selkie_vm::SyscallError as Error;

use super::Call;
use crate::chain::cost::{LOG_DATA_BYTE, LOG_DATA_SLICE};

pub(super) fn message(
    call: &mut Call<'_, '_, '_>,
    [addr, len, ..]: [u64; 5],
) -> Result<u64, Error> {
    let text = call.memory.text(addr, len)?;
    call.context.logs.message(text);
    Ok(0)
}

pub(super) fn numbers(
    call: &mut Call<'_, '_, '_>,
    [a, b, c, d, e]: [u64; 5],
) -> Result<u64, Error> {
    call.context.logs.message(format_args!("{a:#x}, {b:#x}, {c:#x}, {d:#x}, {e:#x}"));
    Ok(0)
}

pub(super) fn pubkey(call: &mut Call<'_, '_, '_>, [addr, ..]: [u64; 5]) -> Result<u64, Error> {
    let pubkey = call.memory.pubkey(addr)?;
    call.context.logs.message(pubkey);
    Ok(0)
}

pub(super) fn compute_units(call: &mut Call<'_, '_, '_>, _: [u64; 5]) -> Result<u64, Error> {
    let remaining = call.meter.remaining();
    call.context.logs.line(format!("Program consumption: {remaining} units remaining"));
    Ok(0)
}

/// `sol_log_data`. The table is read before the slices are charged, the slices are read after.
pub(super) fn data(
    call: &mut Call<'_, '_, '_>,
    [slices, count, ..]: [u64; 5],
) -> Result<u64, Error> {
    let slices: Vec<_> = call.memory.slices(slices, count)?.collect();
    call.charge(LOG_DATA_SLICE.saturating_mul(slices.len() as u64))?;
    let bytes = slices.iter().fold(0, |sum: u64, slice| sum.saturating_add(slice.len));
    call.charge(LOG_DATA_BYTE.saturating_mul(bytes))?;
    let fields: Result<Vec<_>, _> =
        slices.iter().map(|slice| call.memory.bytes(slice.addr, slice.len)).collect();
    call.context.logs.data(&fields?);
    Ok(0)
}
