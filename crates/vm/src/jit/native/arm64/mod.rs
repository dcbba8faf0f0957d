//! The back end for Arm64.
//!
//! | register | holds |
//! |---|---|
//! | x0 to x5 | r0 to r5: registers that Rust functions may overwrite |
//! | x19 to x22 | r6 to r9: registers that Rust functions preserve |
//! | x23 | frame register: the host address of the start of the current stack frame; with dynamic frames, r10 |
//! | x6 | compute units that are left |
//! | x24 | context register: the address of the [`Context`](super::context::Context), less a key |
//! | x8 | pointer register: the pointer of the last check or reload; scratch elsewhere |
//! | x7 | scratch of the routines of memory syscalls |
//! | x9 to x16 | scratch |
//! | x17 | link register of the caller of a routine |
//! | x30 | link register |
//! | sp | the host's stack: saved registers, each time with the link register |
//!
//! x18, which belongs to some systems, and x25 to x29 are not used.
//!
//! Functions of the program return to the link register, which calls save with the registers of the
//! program. Routines are called with the link register in x17, and move it back. So the stack holds
//! no return addresses but those that calls and routines have saved.

mod calls;
mod encoder;
mod operands;
mod registers;
mod writer;

mod access;
mod cold;
mod memory_calls;
mod routines;
mod target;

#[cfg(test)]
mod tests;

pub(super) use self::{
    calls::{Enter, leave_address, syscall_address},
    registers::{context_offset, frame_bias, group_pointer},
    writer::Writer,
};
