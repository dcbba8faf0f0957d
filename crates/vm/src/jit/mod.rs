//! The JIT: compiles programs to machine code.
//!
//! ```text
//! Program ── scope ──> slots of a unit ── plan ──> blocks, groups ── lower ──> operations ── x64 ──> Unit
//!              ╰──── where control arrives for the first time <──── entry: enter, leave, resume ────╯
//!                                                                      │
//!                                                    the interpreter, for all uncommon cases
//! ```
//!
//! A compilation unit (*unit* for short in this module) is what is compiled at a time. It has
//! nothing to do with compute units.
//!
//! Each module uses only those above it in this list:
//!
//! | module | what it owns |
//! |---|---|
//! | `options` | the options of the JIT |
//! | `class` | the classes of instructions |
//! | `slots` | sets of slots |
//! | `scope` | which slots a unit contains; which registers functions overwrite |
//! | `plan` | blocks, and which accesses are checked together |
//! | `site` | the calls by which machine code leaves the common path, by return address |
//! | `lower` | instructions as operations of any processor |
//! | `harden` | randomness: blinding, keys, no-ops, padding |
//! | `buffer` | pages that are writable or executable, never both |
//! | `units` | the units that are compiled |
//! | `context` | what machine code and Rust share during a run |
//! | `x64` | operations as instructions of x86-64, and the shared routines |
//! | `machine_code` | the machine code of a program, compiled unit by unit |
//! | `entry` | entering machine code; exits to the interpreter and to syscalls |
//! | `frozen` | machine code as bytes that can be stored |
//!
//! Invariant: machine code does nothing that the interpreter would not do. It charges a block
//! before it executes it, and exits *before* any uncommon case, which the interpreter then
//! executes.

mod class;
mod lower;
mod options;
mod plan;
mod scope;
mod site;
mod slots;

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
