//! Stands for machine code where there is no back end: the interpreter runs all programs.

#![allow(unsafe_code, reason = "has a function that is unsafe to call elsewhere")]

use core::convert::Infallible;

use super::{
    options::JitOptions,
    work::{JitWork, Span},
};
use crate::{
    config::Config,
    error::{JitError, ThawError},
    host::Host,
    interp::Outcome,
    machine::Machine,
    program::Program,
};

/// The machine code of a program. There is none on this host: no function returns one.
#[derive(Debug)]
pub struct MachineCode(Infallible);

impl MachineCode {
    /// Whether the JIT has a back end for this host.
    pub const SUPPORTED: bool = false;

    /// Returns [`JitError::NoBackEnd`].
    ///
    /// # Errors
    /// Always.
    pub fn compile(_: &Program, _: &Config, _: &JitOptions) -> Result<Self, JitError> {
        Err(JitError::NoBackEnd)
    }

    /// Returns [`JitError::NoBackEnd`].
    ///
    /// # Safety
    /// Always safe to call.
    ///
    /// # Errors
    /// Always.
    pub unsafe fn thaw(
        _: &[u8],
        _: &Program,
        _: &Config,
        _: &JitOptions,
    ) -> Result<Self, ThawError> {
        Err(ThawError::Jit(JitError::NoBackEnd))
    }

    /// Compiles the rest of the program.
    ///
    /// # Errors
    /// Never.
    pub fn complete(&self, _: &Program) -> Result<(), JitError> {
        match self.0 {}
    }

    /// Runs a program to its end.
    pub fn run<H: Host>(&self, _: &Program, _: &mut Machine<'_>, _: &mut H) -> Outcome {
        match self.0 {}
    }

    /// Returns whether the code fits the machine.
    #[must_use]
    pub fn fits(&self, _: &Machine<'_>) -> bool {
        match self.0 {}
    }

    /// Returns the code as bytes.
    #[must_use]
    pub fn freeze(&self) -> Vec<u8> {
        match self.0 {}
    }

    /// Returns how many bytes of memory the machine code takes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match self.0 {}
    }

    /// Returns what compiling has taken so far.
    #[must_use]
    pub fn work(&self) -> JitWork {
        match self.0 {}
    }

    /// Returns the code of the first unit.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self.0 {}
    }

    /// Returns the spans of that code by instruction.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        match self.0 {}
    }
}
