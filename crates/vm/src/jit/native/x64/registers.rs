//! The registers of the processor: see the table of [`x64`](super).

use super::encoder::Reg;
use crate::jit::native::context::WINDOW_BITS;

pub(super) const POINTER: Reg = Reg::Rax;
pub(super) const SCRATCH: Reg = Reg::Rcx;
pub(super) const FRAME: Reg = Reg::Rbx;
pub(super) const METER: Reg = Reg::R11;
pub(super) const CONTEXT: Reg = Reg::Rbp;

/// r0 to r10.
pub(super) const REGISTERS: [Reg; 11] = [
    Reg::R8,
    Reg::Rdi,
    Reg::Rsi,
    Reg::Rdx,
    Reg::R9,
    Reg::R10,
    Reg::R13,
    Reg::R14,
    Reg::R15,
    Reg::R12,
    FRAME,
];

/// The shift from an address to the offset of its window's entry, which has 16 bytes.
pub(super) const WINDOW_SHIFT: u8 = 32 - 4;
/// The mask of that offset.
pub(super) const WINDOWS_MASK: i32 = 7 << 4;
const _: () = assert!(WINDOWS_MASK.count_ones() == WINDOW_BITS, "it has all windows");

/// How far after the start of the [`Context`](crate::jit::native::context::Context) the context register
/// points, so that 8-bit displacements reach the window table.
pub(in crate::jit) const CONTEXT_BIAS: i32 = 128;

/// Returns the distance from the [`Context`](crate::jit::native::context::Context) to the context register.
pub(in crate::jit) fn context_offset(key: i32) -> isize {
    (CONTEXT_BIAS - key) as isize
}

/// Returns how far the frame register is below the end of its frame.
pub(in crate::jit) fn frame_bias(_: u64) -> u64 {
    0
}

/// Returns what the pointer register holds for a group of `span` bytes that end with the one at
/// `last`: the address of the last one.
pub(in crate::jit) fn group_pointer(last: u64, _: u16) -> u64 {
    last
}
