//! Build failures.

use core::fmt;
use std::path::Path;

use selkie_asm::{Object, Output};
use selkie_link::LinkError;

use crate::layout::Difference;

/// Why layouts differ.
pub const LAYOUT_CAUSE: &str = "which aligns 128-bit integers to 8 bytes instead of 16";

/// What to do about it.
pub const LAYOUT_HELP: &str = "use [u8; 16] or two u64 for the integer, or add padding that is the same for both; \
    or build with --toolchain official, or on Linux";

/// The reason why a build failed.
#[derive(Debug)]
pub enum BuildError {
    /// The build could not start: a compiler, file or manifest is missing or unusable.
    Setup {
        /// What is wrong.
        message: String,
        /// What to do about it.
        help: String,
    },
    /// A compiler reported errors. Holds its command.
    Compiler(String),
    /// An assembly source has errors.
    Assembler(Output<Object>),
    /// The objects cannot be linked.
    Link(Vec<LinkError>),
    /// Types that may lie over the bytes of accounts have another layout than officially.
    Layout {
        /// The types.
        differences: Vec<Difference>,
        /// Why the compiler could not be given the official layout.
        reason: String,
    },
}

impl BuildError {
    pub(crate) fn setup(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Setup { message: message.into(), help: help.into() }
    }

    /// Makes the failure for a file or folder that cannot be read or written.
    pub(crate) fn file(path: &Path, error: &std::io::Error) -> Self {
        let message = format!("cannot use {}: {error}", path.display());
        Self::setup(message, "check that the folder exists and is writable")
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup { message, help } => write!(f, "{message}\n{help}"),
            Self::Compiler(command) => write!(f, "the compiler failed: {command}"),
            Self::Assembler(output) => f.write_str(&output.render(false)),
            Self::Layout { differences, reason } => {
                writeln!(
                    f,
                    "types have another layout than with the official toolchain, {LAYOUT_CAUSE}"
                )?;
                differences.iter().try_for_each(|it| writeln!(f, "  {it}"))?;
                write!(f, "({reason})")
            }
            Self::Link(errors) => errors.iter().try_for_each(|error| writeln!(f, "{error}")),
        }
    }
}

impl std::error::Error for BuildError {}
