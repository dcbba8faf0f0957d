//! The JIT: programs as machine code.
//!
//! ```text
//! Program ── scope ──> a unit ── plan ──> blocks, groups ── lower ──> operations ── x64 ──> Unit
//!              ╰──── where control comes for the first time <──── entry: in, out, back ─────╯
//!                                                                   │
//!                                                      the interpreter, for all but the usual
//! ```
//!
//! Each module uses only those above it in this list:
//!
//! | module | what it owns |
//! |---|---|
//! | `class` | what instructions are told apart by |
//! | `scope` | what is compiled at a time, and what functions overwrite |
//! | `plan` | what is straight code, and which accesses are checked together |
//! | `site` | what is known about the places where machine code calls something |
//! | `lower` | instructions as operations of whichever processor |
//! | `options` | how programs are compiled |
//! | `harden` | what is random about the code |
//! | `buffer` | pages that are written or executed, never both |
//! | `units` | what is compiled so far |
//! | `context` | what machine code and Rust share during a run |
//! | `x64` | operations as instructions of x86-64, and the routines that all code shares |
//! | `machine_code` | a program's machine code, compiled unit by unit |
//! | `entry` | the way in, the ways out to the interpreter and to syscalls |
//! | `frozen` | code as bytes that can be kept |
//!
//! What a change must keep: machine code does nothing that the interpreter would not have done. It
//! charges a block before it starts it, and leaves *before* anything out of the ordinary, so that
//! the interpreter can do it instead.

mod class;
mod lower;
mod options;
mod plan;
mod scope;
mod site;

mod harden;

#[cfg(target_arch = "x86_64")]
mod buffer;
#[cfg(target_arch = "x86_64")]
mod context;
#[cfg(target_arch = "x86_64")]
mod units;
#[cfg(target_arch = "x86_64")]
mod x64;

mod machine_code;

#[cfg(target_arch = "x86_64")]
mod entry;
#[cfg(target_arch = "x86_64")]
mod frozen;

pub use self::{
    machine_code::{JitWork, MachineCode, Span},
    options::{JitOptions, MemoryCalls},
};
