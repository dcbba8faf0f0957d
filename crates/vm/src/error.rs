//! Errors of the engine itself, as opposed to a program's [`Trap`](crate::Trap)s.

use core::fmt;

/// Why there is no machine code.
#[derive(Debug)]
pub enum JitError {
    /// There is no back end for this kind of processor or operating system.
    NoBackEnd,
    /// The operating system gives no memory that can be executed.
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

/// Why bytes were not thawed.
#[derive(Debug)]
pub enum ThawError {
    /// They are no frozen program, or no frozen machine code.
    Malformed,
    /// They are machine code for another program, configuration, kind of hardening or processor.
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
