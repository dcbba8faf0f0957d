//! The registers of the processor: see the table of [`arm64`](super).

use core::mem::offset_of;

use super::operands::Reg;
use crate::jit::native::context::Context;

pub(super) const POINTER: Reg = Reg::X8;
/// Holds right-hand sides and what is loaded from the context.
pub(super) const SCRATCH: Reg = Reg::X9;
pub(super) const SECOND: Reg = Reg::X10;
/// Holds immediates and offsets that instructions have no room for.
pub(super) const IMMEDIATE: Reg = Reg::X11;
/// In a check: the address of the first byte.
pub(super) const FIRST: Reg = Reg::X12;
pub(super) const THIRD: Reg = Reg::X13;
pub(super) const FOURTH: Reg = Reg::X14;
/// In a check: the address of the last byte.
pub(super) const LAST: Reg = Reg::X15;
/// In a check: the context register plus the offset of the window.
pub(super) const WINDOW: Reg = Reg::X16;
/// Where the caller of a routine returns to; the routine moves it to the link register.
pub(super) const OUTER_LINK: Reg = Reg::X17;
pub(super) const LINK: Reg = Reg::X30;
pub(super) const METER: Reg = Reg::X6;
pub(super) const FRAME: Reg = Reg::X23;
pub(super) const CONTEXT: Reg = Reg::X24;

/// r0 to r10. r1 to r5 are where the calling convention has the arguments of a syscall.
pub(super) const REGISTERS: [Reg; 11] = [
    Reg::X0,
    Reg::X1,
    Reg::X2,
    Reg::X3,
    Reg::X4,
    Reg::X5,
    Reg::X19,
    Reg::X20,
    Reg::X21,
    Reg::X22,
    FRAME,
];

/// How many different displacements of the context register there are: displacements of loads end
/// at 32,760.
const KEYS: u32 = 3584;

const _: () = {
    assert!(offset_of!(Context<()>, run) + KEYS as usize * 8 <= 32_760, "fields are in reach");
};

/// Returns what is added to the offsets of fields, so that the context register does not hold the
/// address of the context.
pub(super) fn displacement(key: i32) -> u32 {
    key.cast_unsigned() % KEYS * 8
}

/// Returns the distance from the [`Context`] to the context register.
pub(in crate::jit) fn context_offset(key: i32) -> isize {
    -(displacement(key) as isize)
}

/// Returns how far the frame register is below the end of its frame: offsets of accesses are
/// positive, since negative ones have few bits.
pub(in crate::jit) fn frame_bias(frame_bytes: u64) -> u64 {
    frame_bytes
}

/// Returns what the pointer register holds for a group of `span` bytes that end with the one at
/// `last`: the address of the first one.
pub(in crate::jit) fn group_pointer(last: u64, span: u16) -> u64 {
    last.wrapping_add(1).wrapping_sub(span.into())
}
