//! The JIT: compiles programs to machine code.
//!
//! ```text
//! Program ── scope ──> slots of a unit ── plan ──> blocks, groups ── lower ──> operations ── back end ──> Unit
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
//! | `work` | what compiling has taken and made |
//! | `native` | machine code on the processors that have a back end |
//! | `absent` | what stands for it on others |
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
mod work;

#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod native;

#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
mod absent;
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
use absent as native;

pub use self::{
    native::MachineCode,
    options::{JitOptions, MemoryCalls},
    work::{JitWork, Span},
};
