//! Loads sBPF ELF files as mainnet's validator does, and writes them.
//!
//! [`load`] turns the bytes of a `.so` into an [`Executable`]; [`write`](write::write) does the
//! reverse. This crate is a security boundary, since deployed files are untrusted: every read is
//! bounds checked. The rules, their order, their errors and their quirks are those of anza sbpf's
//! `elf.rs`, `elf_parser` and `program.rs`.
//!
//! | module | what it owns |
//! |---|---|
//! | [`environment`] | what a file is loaded against: versions, syscalls, strictness |
//! | `strict` | the loader from V3 on |
//! | `legacy` | the loader until V2, with relocation |
//! | [`executable`] | the loaded program: code, read-only image, entry |
//! | [`functions`] | the functions of a program, by call key |
//! | [`error`] | the loader's errors |
//! | `header` | the structures of the format, read by value |
//! | `tables` | checks of tables and strings that both loaders share |
//! | [`write`](mod@write) | the writer: from a program's image to the bytes of a `.so` |
//! | `strip` | removal of symbols and debug information |
//! | [`sections`] | sections and symbols for tools, of loadable and of broken files |
//! | `not_sbpf` | detection of files that are no programs at all |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

pub mod environment;
pub mod error;
pub mod executable;
pub mod functions;
mod header;
mod legacy;
mod not_sbpf;
pub mod sections;
mod strict;
mod strip;
mod tables;
pub mod write;

use selkie_isa::Version;

pub use crate::{
    environment::{Environment, SyscallId, Syscalls},
    error::ElfError,
    executable::{Executable, ExecutableParts, ReadOnly, SharedBytes},
    functions::{Function, Functions},
    not_sbpf::{Content, NotSbpf, is_truncated},
    sections::{Section, Sections, Symbol},
    strip::{strip, version, with_section_names},
    tables::DYNAMIC_NAME_BYTES_MAX,
};

/// Loads an ELF file.
///
/// # Errors
/// If `environment` does not enable the version of the file, or the file breaks a rule of the
/// format: the first violation in the order of the validator's checks.
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
