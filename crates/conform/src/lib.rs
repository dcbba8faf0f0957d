//! Runs conformance vectors: inputs with what mainnet's own engine makes of them.
//!
//! A vector is one line of JSON. Which kind it is, the line tells; [`kinds::KINDS`] has a row for
//! each kind, and to support another is to add a row. Everything that a kind needs to judge is in
//! the vector or in its [`Context`]; test syscalls and other make-believe of the vectors live here
//! and nowhere else in the project.
//!
//! | module | what it owns |
//! |---|---|
//! | [`kinds`] | the table of kinds |
//! | [`runner`] | files and folders in, [`Report`] out, on all cores |
//! | [`check`] | comparing, field by field |
//! | [`verdict`] | passed, failed with differences, or skipped with a reason |
//! | [`context`] | what vectors refer to: base ELFs, environments |
//! | [`engine`] | what runs programs, one or each |
//! | [`config`] | the engine configuration that suite vectors carry |
//! | `unpack` | Zstandard files |
//! | [`fixture`] | fixtures that are run by themselves |
//! | `prototype` | fixtures of loaders that were written as programs |
//! | `plan` | what a run judges, and which fixtures are left to vectors |
//! | `content`, `archive` | what files hold: vectors a line, fixtures, archives of them |
//! | [`vector`] | hex, hashes and numbers as vectors write them |
//! | [`elf_loader`], [`elf_load`] | ELF files and what loading them gives |
//! | [`verify`], [`exec`], [`vm_interp`] | programs, what the verifier says and what running gives |
//! | [`vm_syscall`] | a syscall and memory |
//! | [`svm`] | a transaction |
//! | `program` | the programs of the suite's vectors: instructions or files |
//! | [`disasm`], [`cfg`](mod@cfg) | programs, their listing and their control-flow graph |
//! | [`memmap`] | regions and an access |
//! | `test_syscalls` | the syscalls that the suite's programs call |

mod archive;
pub mod cfg;
pub mod check;
pub mod config;
mod content;
pub mod context;
pub mod disasm;
pub mod elf_load;
pub mod elf_loader;
pub mod engine;
pub mod exec;
pub mod features;
mod files;
pub mod fixture;
mod instr;
pub mod kinds;
pub mod memmap;
mod message;
mod mollusk;
pub mod named;
mod plan;
mod program;
mod prototype;
mod rules;
pub mod runner;
mod runtime;
pub mod svm;

mod syscall_case;
mod sysvars;
mod test_syscalls;
mod txn;
mod unpack;
pub mod vector;
pub mod verdict;
pub mod verify;
pub mod vm_interp;
pub mod vm_syscall;

pub use crate::{
    check::Check,
    context::Context,
    engine::Engine,
    kinds::{KINDS, Kind},
    runner::{Failure, FileReport, KindReport, Options, Progress, Report, Tally, run},
    verdict::{BadVector, Difference, Verdict},
};
