//! The sBPF virtual machine: verifies, interprets and compiles programs.
//!
//! ```text
//! Executable ── verify ──> Verified ── run ──> Outcome
//!                          (decoded)    │
//!                             Machine: registers, call frames, meter, memory
//!                             Host: syscalls        Observer: traces
//! ```
//!
//! The main path is [`Verified::new`], [`MemoryMap::new`], [`Machine::new`], and then [`run`], or
//! [`MachineCode::compile`] and [`MachineCode::run`].
//!
//! Each module uses only those above it in this list (`cargo xtask tidy` checks that):
//!
//! | module | what it owns |
//! |---|---|
//! | [`config`] | the settings of a run |
//! | [`trap`] | why programs are stopped |
//! | [`error`] | why there is no machine code, or a frozen program is refused |
//! | `bytes` | numbers and byte strings in frozen programs |
//! | `processor` | what machine code may use of this processor |
//! | [`dirty_pages`] | which pages may have been written to |
//! | [`mod@verify`] | the rules that a program must keep |
//! | [`memory`] | regions and the memory map: the check of every guest access |
//! | [`machine`] | registers, call frames, meter |
//! | [`host`] | the traits `Host` and `Observer` |
//! | `decoded` | decoded instructions, and the cursor that walks them |
//! | `fast_path` | the interpreter's handlers: instructions that need neither host nor trap |
//! | `chain` | how long chains of handlers may be |
//! | `decode` | from an executable to its decoded form |
//! | [`program`] | a program with its decoded form |
//! | [`frozen`] | programs as bytes that can be stored |
//! | [`interp`] | the interpreter: the reference for every other engine |
//! | [`counters`] | how often branches are taken, for tools that search for inputs |
//! | [`jit`] | machine code that does the same, faster |

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![cfg_attr(
    not(any(target_arch = "aarch64", target_arch = "x86_64")),
    allow(dead_code, unused_imports, reason = "some of it serves machine code alone")
)]

mod block_loop;
mod bytes;
mod chain;
pub mod config;
pub mod counters;
mod decode;
mod decoded;
pub mod dirty_pages;
pub mod error;
mod execute;
mod fast_path;
pub mod frozen;
pub mod host;
pub mod interp;
pub mod jit;
pub mod machine;
pub mod memory;
mod processor;
pub mod program;
pub mod trap;
pub mod verify;

pub use crate::{
    config::Config,
    counters::BranchCounters,
    error::{JitError, ThawError},
    host::{Host, Interrupted, NoHost, Observer},
    interp::{Outcome, observe, observe_by_host, run, run_counted},
    jit::{JitOptions, JitWork, MachineCode, MemoryCalls},
    machine::{Machine, MachineBuffers, Meter, MeterExceeded},
    memory::{MemoryMap, Region, Violation, WriteLog},
    program::{Program, Verified},
    trap::{Access, SyscallError, Trap},
    verify::{VerifyError, verify, verify_calls},
};
pub use selkie_elf::{Executable, SyscallId};
