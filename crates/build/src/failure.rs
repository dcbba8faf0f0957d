//! Why there is no program.

use core::fmt;
use std::path::Path;

use selkie_asm::{Object, Output};
use selkie_link::LinkError;

/// Why there is no program.
#[derive(Debug)]
pub enum Failure {
    /// It could not be tried: what is wrong, and what to do about it.
    Setup {
        /// What is wrong.
        message: String,
        /// What to do about it.
        help: String,
    },
    /// A compiler refused the sources, and has said why: the command.
    Compiler(String),
    /// The assembler refused a source.
    Assembler(Output<Object>),
    /// The linker refused what compilers wrote.
    Link(Vec<LinkError>),
}

impl Failure {
    pub(crate) fn setup(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Setup { message: message.into(), help: help.into() }
    }

    /// A file or folder that cannot be used.
    pub(crate) fn file(path: &Path, error: &std::io::Error) -> Self {
        let message = format!("cannot use {}: {error}", path.display());
        Self::setup(message, "is the folder there, and may it be written?")
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup { message, help } => write!(f, "{message}\n{help}"),
            Self::Compiler(command) => write!(f, "the compiler refused: {command}"),
            Self::Assembler(output) => f.write_str(&output.render(false)),
            Self::Link(errors) => errors.iter().try_for_each(|error| writeln!(f, "{error}")),
        }
    }
}

impl std::error::Error for Failure {}
