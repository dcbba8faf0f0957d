//! From the bytes of a `.so` to an [`Executable`], by the rules of mainnet's own loader, and back.
//!
//! This crate is a security boundary: it reads what strangers deployed. Every read is bounds
//! checked, nothing is trusted that was not checked, and the rules, their order and their errors
//! are those of anza sbpf's `elf.rs`, `elf_parser` and `program.rs`, quirk by quirk.
//!
//! | module | what it owns |
//! |---|---|
//! | [`environment`] | what a file is loaded against: versions, syscalls, strictness |
//! | [`executable`] | the result: code, read-only image, entry |
//! | [`functions`] | the functions that calls can reach |
//! | `foreign` | files that are no programs, told before any rule is applied |
//! | `header` | the structures of the format, read by value |
//! | `strict` | the rules from V3 |
//! | `legacy`, `relocate` | the rules until V2 |
//! | [`sections`] | sections and symbols for tools, loadable file or not |
//! | [`error`] | every way to refuse a file |
//! | `strip` | files without what only tools read |
//! | [`write`](mod@write) | from a program's image to the bytes of a `.so` |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

pub mod environment;
pub mod error;
pub mod executable;
mod foreign;
pub mod functions;
mod header;
mod legacy;
mod relocate;
pub mod sections;
mod strict;
mod strip;
pub mod write;

use selkie_isa::Version;

pub use crate::{
    environment::{Environment, SyscallId, Syscalls},
    error::ElfError,
    executable::{Executable, Parts, ReadOnly, SharedBytes},
    foreign::{Foreign, is_cut_off},
    functions::{Function, Functions},
    sections::{DYNAMIC_NAME_BYTES_MAX, Section, Sections, Symbol},
    strip::strip,
};

/// Loads an ELF file.
///
/// # Errors
/// If `environment` or the format's rules refuse the file: the first reason found, in the order
/// in which the validator looks.
pub fn load(bytes: &[u8], environment: &Environment) -> Result<Executable, ElfError> {
    let e_flags = bytes.get(header::E_FLAGS..).and_then(<[u8]>::first_chunk);
    let e_flags = u32::from_le_bytes(*e_flags.ok_or(ElfError::ValueOutOfBounds)?);
    let version = Version::from_e_flags(e_flags)
        .filter(|version| environment.versions.contains(version))
        .ok_or(ElfError::UnsupportedSBPFVersion)?;
    match version.strict_elf() {
        true => strict::load(bytes, version, environment),
        false => legacy::load(bytes, version, environment),
    }
}
