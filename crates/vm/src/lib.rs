//! The sBPF virtual machine.
//!
//! ```text
//! Executable ── verify ──> Verified ── run ──> Outcome
//!                          (decoded)    │
//!                             Machine: registers, frames, meter, memory
//!                             Host: syscalls        Observer: traces
//! ```
//!
//! | module | what it owns |
//! |---|---|
//! | [`mod@verify`] | what a program must keep to |
//! | [`program`] | the decoded form that engines run |
//! | [`frozen`] | programs as bytes that can be kept |
//! | [`memory`] | every guest access is checked here |
//! | [`marks`] | which pages may have been written to |
//! | [`machine`] | registers, call frames, meter |
//! | [`interp`] | the interpreter: the reference for every other engine |
//! | [`jit`] | machine code that does the same, faster |
//! | [`host`] | the seams: what programs call, and who watches |
//! | [`trap`] | how programs end when they do not end well |

#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, unused_imports, reason = "some of it serves machine code alone")
)]

mod cells;
mod chain;
pub mod config;
mod decode;
pub mod frozen;
pub mod host;
pub mod interp;
pub mod jit;
pub mod machine;
pub mod marks;
pub mod memory;
pub mod program;
pub mod trap;
pub mod verify;

pub use crate::{
    config::Config,
    frozen::ThawError,
    host::{Host, NoHost, Observer},
    interp::{Outcome, observe, run},
    jit::{JitError, JitOptions, JitWork, MachineCode, MemoryCalls},
    machine::{Frames, Machine, Meter, MeterExceeded},
    memory::{MemoryMap, Region, Violation},
    program::{Program, Verified},
    trap::{Access, SyscallError, Trap},
    verify::{VerifyError, verify, verify_calls},
};
pub use selkie_elf::{Executable, SyscallId};
