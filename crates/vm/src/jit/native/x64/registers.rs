//! The registers of the processor: see the table of [`x64`](super).

use super::encoder::Reg;

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

/// How far after the start of the [`Context`](crate::jit::native::context::Context) the context register
/// points, so that 8-bit displacements reach the window table.
pub(in crate::jit) const CONTEXT_BIAS: i32 = 128;

/// Returns the distance from the [`Context`](crate::jit::native::context::Context) to the context register.
pub(in crate::jit) fn context_offset(key: i32) -> isize {
    (CONTEXT_BIAS - key) as isize
}
