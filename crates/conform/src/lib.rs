//! Runs conformance vectors: inputs with the results that mainnet's own engine gives for them.
//!
//! A vector is one line of JSON; a fixture is a protobuf file. [`kinds::KINDS`] has one row per kind
//! of vector; supporting another kind means adding a row. A vector and its [`Context`] contain
//! everything that is needed to judge it. Test syscalls and other artificial environments of vectors
//! exist only in this crate.
//!
//! | module | what it owns |
//! |---|---|
//! | [`runner`] | [`run`]: judges files and folders on all cores, and returns a [`Report`] |
//! | [`kinds`] | the table of kinds |
//! | [`verdict`] | passed, failed with differences, or skipped with a reason |
//! | [`check`] | comparison field by field |
//! | [`context`] | what vectors refer to: ELF files, environments, sysvars |
//! | [`engine`] | the engines that run programs: interpreter, JIT or both |
//! | [`elf_loader`], [`elf_load`] | kinds about loading ELF files |
//! | [`verify`], [`exec`], [`vm_interp`] | kinds about verifying and running programs |
//! | [`disasm`], [`cfg`](mod@cfg) | kinds about listings and control-flow graphs |
//! | [`memmap`] | the kind about memory accesses |
//! | [`vm_syscall`] | the kind about syscalls |
//! | [`svm`] | the kind about transactions |
//! | [`named`] | kinds about fixtures for which a vector states a newer result |
//! | [`fixture`], `fixture_kind` | fixtures judged by their own recorded result |
//! | `instr`, `syscall_case`, `txn`, `mollusk` | the kinds of fixtures |
//! | `prototype` | fixtures of loaders that were prototyped as programs |
//! | `rules`, `features` | features of fixtures, and rules that they predate |
//! | `plan` | the files of a run, and which of their fixtures vectors judge |
//! | `content`, `archive`, `unpack` | content of files: lines, fixtures, tar archives, Zstandard |
//! | [`config`], `program` | engine configuration and program of the suite's vectors |
//! | [`vector`] | hex, hashes and numbers as vectors encode them |
//! | `test_syscalls` | the syscalls of the suite's programs |

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

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
mod fixture_kind;
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
    runner::{FailedVector, FileReport, KindReport, Options, Progress, Report, Tally, run},
    verdict::{BadVector, Difference, Missing, Verdict},
};
