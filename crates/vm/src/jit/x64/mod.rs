//! The back end for x86-64.
//!
//! | register | holds |
//! |---|---|
//! | rax | the pointer that the last check or fetch gave; scratch elsewhere |
//! | rcx | scratch |
//! | r8, rdi, rsi, rdx, r9, r10 | r0 to r5: what Rust functions may overwrite |
//! | r13, r14, r15, r12 | r6 to r9: what Rust functions preserve |
//! | rbx | the host address of the end of the current stack frame; with dynamic frames, r10 |
//! | r11 | the units that are left |
//! | rbp | the [`Context`](super::context::Context), off by a distance and a key |
//! | rsp | the host's stack: return addresses and what calls save |

mod encoder;
mod registers;
mod shape;
mod writer;

mod memory_calls;
mod routines;
mod target;

#[cfg(test)]
mod tests;

pub(super) use self::{
    registers::context_offset,
    shape::Shape,
    writer::{Routines, Writer, Written},
};
