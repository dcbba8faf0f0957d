//! Errors of the engine itself, as opposed to a program's [`Trap`](crate::Trap)s.

use core::fmt;

/// Why a program has no machine code.
#[derive(Debug)]
pub enum JitError {
    /// The JIT has no back end for this processor or operating system.
    NoBackEnd,
    /// The operating system provides no executable memory.
    Memory(std::io::Error),
}

impl fmt::Display for JitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBackEnd => f.write_str("the JIT has no back end for this host"),
            Self::Memory(error) => write!(f, "no executable memory: {error}"),
        }
    }
}

impl core::error::Error for JitError {}

/// Why a frozen program or frozen machine code was refused.
#[derive(Debug)]
pub enum ThawError {
    /// The bytes are not a frozen program or not frozen machine code.
    Malformed,
    /// The machine code was made for another program, configuration, hardening or processor.
    Other,
    /// This host cannot run machine code.
    Jit(JitError),
}

impl fmt::Display for ThawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("malformed frozen bytes"),
            Self::Other => f.write_str("frozen machine code is for something else"),
            Self::Jit(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ThawError {}
