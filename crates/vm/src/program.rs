//! A program as engines run it: an executable that is decoded once, with its calls resolved.

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

/// A program, decoded.
#[derive(Debug)]
pub struct Program {
    executable: Executable,
    /// Programs that were thawed are decoded when somebody asks: machine code does not.
    decoded: OnceLock<DecodedProgram>,
    /// Tells it from every other program of this process.
    pub(crate) id: u64,
}

static PROGRAM_COUNT: AtomicU64 = AtomicU64::new(0);

impl Program {
    /// Decodes a program without verifying it. What the verifier would have refused traps when
    /// it is reached.
    #[must_use]
    pub fn new(executable: Executable) -> Self {
        let program = Self::later(executable);
        program.decoded();
        program
    }

    /// As [`Program::new`]; it is decoded when that is asked for.
    pub(crate) fn later(executable: Executable) -> Self {
        let id = PROGRAM_COUNT.fetch_add(1, Ordering::Relaxed);
        Self { executable, decoded: OnceLock::new(), id }
    }

    /// The program as it was loaded.
    #[must_use]
    pub fn executable(&self) -> &Executable {
        &self.executable
    }

    /// Bytes of memory that the program takes, its file's parts included.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let insns = self.decoded.get().map_or(0, |it| self.slots() + it.cut.len());
        self.executable.text().len()
            + self.executable.read_only().bytes.len()
            + insns * size_of::<DecodedInsn>()
    }

    /// Slots of the text.
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

    /// A program that passed the verifier before it was frozen.
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
