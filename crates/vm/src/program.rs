//! Programs as engines run them: an executable and its decoded form.

use core::{
    ops::Deref,
    sync::atomic::{AtomicU64, Ordering},
};
use std::sync::OnceLock;

use selkie_elf::Executable;
use selkie_isa::layout::SLOT_BYTES;

use crate::{
    decode::decode,
    decoded::{DecodedInsn, DecodedProgram},
    verify::{VerifyError, verify},
};

/// A program that engines can run: an executable, decoded.
#[derive(Debug)]
pub struct Program {
    executable: Executable,
    /// Set on first use: thawed programs with complete machine code never need it.
    decoded: OnceLock<DecodedProgram>,
    /// Unique in this process.
    pub(crate) id: u64,
}

static PROGRAM_COUNT: AtomicU64 = AtomicU64::new(0);

impl Program {
    /// Decodes a program without verifying it. Instructions that the verifier would refuse trap
    /// when they are reached.
    #[must_use]
    pub fn new(executable: Executable) -> Self {
        let program = Self::undecoded(executable);
        program.decoded();
        program
    }

    /// Creates a program that is decoded on first use.
    pub(crate) fn undecoded(executable: Executable) -> Self {
        let id = PROGRAM_COUNT.fetch_add(1, Ordering::Relaxed);
        Self { executable, decoded: OnceLock::new(), id }
    }

    /// Returns the executable.
    #[must_use]
    pub fn executable(&self) -> &Executable {
        &self.executable
    }

    /// Returns how many bytes of memory the program takes, including text and read-only data.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let decoded = self.decoded.get().map_or(0, |it| self.slots() + it.cut.len());
        self.executable.text().len()
            + self.executable.read_only().bytes.len()
            + decoded * size_of::<DecodedInsn>()
            + decoded / 8
    }

    /// Returns the number of slots of the text.
    pub(crate) fn slots(&self) -> usize {
        self.executable.text().len() / SLOT_BYTES
    }

    #[inline]
    pub(crate) fn decoded(&self) -> &DecodedProgram {
        self.decoded.get_or_init(|| decode(&self.executable))
    }
}

/// A program that passed the verifier.
#[derive(Debug)]
pub struct Verified(Program);

impl Verified {
    /// Verifies and decodes a program.
    ///
    /// # Errors
    /// The first rule that the program breaks.
    pub fn new(executable: Executable) -> Result<Self, VerifyError> {
        verify(&executable)?;
        Ok(Self(Program::new(executable)))
    }

    /// Wraps a program that passed the verifier before it was frozen.
    pub(crate) fn trusted(program: Program) -> Self {
        Self(program)
    }
}

impl Deref for Verified {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.0
    }
}
