//! The back end for x86-64.
//!
//! | register | holds |
//! |---|---|
//! | rax | pointer register: the pointer of the last check or reload; scratch elsewhere |
//! | rcx | scratch |
//! | r8, rdi, rsi, rdx, r9, r10 | r0 to r5: registers that Rust functions may overwrite |
//! | r13, r14, r15, r12 | r6 to r9: registers that Rust functions preserve |
//! | rbx | frame register: the host address of the end of the current stack frame; with dynamic frames, r10 |
//! | r11 | compute units that are left |
//! | rbp | context register: the [`Context`](super::context::Context), plus a bias and a key |
//! | rsp | the host's stack: return addresses and saved registers |

mod calls;
mod encoder;
mod registers;
mod writer;

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
