//! From the bytes of a `.so` to an [`Executable`], by the rules of mainnet's own loader.
//!
//! This crate is a security boundary: it reads what strangers deployed. Every read is bounds
//! checked, nothing is trusted that was not checked, and the rules, their order and their errors
//! are those of anza sbpf's `elf.rs`, `elf_parser` and `program.rs`, quirk by quirk.
//!
//! | module | what it owns |
//! |---|---|
//! | [`environment`] | what a file is loaded against: versions, syscalls, strictness |
//! | [`executable`] | the result: code, read-only image, functions |
//! | [`error`] | every way to refuse a file |

#![forbid(unsafe_code)]

pub mod environment;
pub mod error;
pub mod executable;
pub mod write;

pub use crate::{
    environment::{Environment, SyscallId, Syscalls},
    error::ElfError,
    executable::{Executable, Function, Functions, ReadOnly},
};

/// Loads an ELF file.
///
/// # Errors
/// If `environment` or the format's rules refuse the file: the first reason found, in the order
/// in which the validator looks.
pub fn load(bytes: &[u8], environment: &Environment) -> Result<Executable, ElfError> {
    let _ = (bytes, environment);
    Err(ElfError::ValueOutOfBounds)
}
