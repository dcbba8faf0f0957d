//! Programs that are ready to run, and what they are loaded against.

use std::sync::Arc;

use selkie_elf::Executable;
use selkie_vm::{MachineCode, SyscallId, Verified};

use crate::{
    chain::{
        account::Loader,
        features::{Feature, FeatureSet},
    },
    programs::{
        bindings::{Bindings, Bound, CustomSyscalls, bind_syscalls},
        dirty_hints::DirtyHints,
        engine::{Compiled, EngineError, memory_calls},
        file::LoadError,
        usage::{Share, Usage},
    },
};

/// A program that is ready to run.
#[derive(Debug)]
pub struct Program {
    verified: Verified,
    compiled: Compiled,
    pub(crate) dirty_hints: DirtyHints,
    /// How often it was looked up.
    pub(crate) usage: Usage,
    /// Its part of what the programs of its cache take.
    share: Share,
    loader: Loader,
    /// What the executable's syscalls are, by their number there.
    syscalls: Bindings,
}

impl Program {
    /// Loads and verifies a program file.
    ///
    /// # Errors
    /// The first rule that the file breaks.
    pub fn load(
        elf: &[u8],
        loader: Loader,
        environment: &selkie_elf::Environment,
    ) -> Result<Self, LoadError> {
        Self::load_with(elf, loader, environment, &CustomSyscalls::default())
    }

    /// The same for an environment that has syscalls besides those of the table.
    ///
    /// # Errors
    /// As [`Program::load`].
    pub fn load_with(
        elf: &[u8],
        loader: Loader,
        environment: &selkie_elf::Environment,
        custom: &CustomSyscalls,
    ) -> Result<Self, LoadError> {
        let executable = selkie_elf::load(elf, environment).map_err(LoadError::Elf)?;
        Self::bind(executable, loader, custom)
    }

    /// A program that is ready already, as [`ProgramStore`](crate::programs::cache::ProgramStore) and
    /// [`Program::frozen`] have it.
    pub(crate) fn ready(verified: Verified, loader: Loader, syscalls: Bindings) -> Self {
        Self {
            verified,
            compiled: Compiled::new(false, memory_calls(&syscalls)),
            dirty_hints: DirtyHints::default(),
            usage: Usage::default(),
            share: Share::default(),
            loader,
            syscalls,
        }
    }

    /// Loads and verifies a program, whose environment's syscalls these are.
    pub(crate) fn load_bound(
        elf: &[u8],
        loader: Loader,
        environment: &selkie_elf::Environment,
        syscalls: Bindings,
    ) -> Result<Self, LoadError> {
        let executable = selkie_elf::load(elf, environment).map_err(LoadError::Elf)?;
        let verified = Verified::new(executable).map_err(LoadError::Verify)?;
        Ok(Self::ready(verified, loader, syscalls))
    }

    /// The program as bytes, to be had again from its file without loading and verifying.
    pub(crate) fn frozen(&self, elf: &[u8]) -> Vec<u8> {
        self.verified.freeze(elf)
    }

    /// Verifies a loaded program.
    ///
    /// # Errors
    /// If the verifier refuses it, or if it may call a syscall that the runtime has not.
    pub fn new(executable: Executable, loader: Loader) -> Result<Self, LoadError> {
        Self::bind(executable, loader, &CustomSyscalls::default())
    }

    fn bind(
        executable: Executable,
        loader: Loader,
        custom: &CustomSyscalls,
    ) -> Result<Self, LoadError> {
        let syscalls = bind_syscalls(executable.syscalls(), custom)?;
        let verified = Verified::new(executable).map_err(LoadError::Verify)?;
        Ok(Self::ready(verified, loader, syscalls))
    }

    /// The same program, for a cluster with these features: whether accounts have regions of
    /// memory of their own (SIMD-0460) decides how it is compiled.
    #[must_use]
    pub fn for_features(self, features: FeatureSet) -> Self {
        self.with_account_regions(features.has(Feature::VirtualAddressSpaceAdjustments))
    }

    pub(crate) fn with_account_regions(self, has_account_regions: bool) -> Self {
        Self { compiled: Compiled::new(has_account_regions, self.compiled.memory_calls), ..self }
    }

    pub(crate) fn with_machine_code(self, code: MachineCode) -> Self {
        Self { compiled: self.compiled.with(code), ..self }
    }

    /// The same program, whose size is part of its cache's.
    pub(crate) fn with_share(self, share: Share) -> Self {
        let program = Self { share, ..self };
        program.note_size();
        program
    }

    /// Notes how much memory it takes by now.
    #[inline]
    pub(crate) fn note_size(&self) {
        self.share.note(self.loaded_bytes());
    }

    pub(crate) fn has_account_regions(&self) -> bool {
        self.compiled.has_account_regions
    }

    /// The program as it was loaded.
    #[must_use]
    pub fn executable(&self) -> &Executable {
        self.verified.executable()
    }

    /// The program in the form that engines run.
    #[must_use]
    pub fn verified(&self) -> &Verified {
        &self.verified
    }

    /// The loader that owns the program's account.
    #[must_use]
    pub fn loader(&self) -> Loader {
        self.loader
    }

    /// Compiles the whole program now, as validators do when they load it. Otherwise it is compiled
    /// bit by bit, once that is worth it.
    ///
    /// # Errors
    /// If this host cannot run machine code.
    pub fn compile(&self) -> Result<(), EngineError> {
        let completed = self.compiled.complete(&self.verified);
        self.note_size();
        completed
    }

    /// How many slots its text has.
    #[must_use]
    pub fn slots(&self) -> u64 {
        (self.executable().text().len() / selkie_isa::layout::SLOT_BYTES) as u64
    }

    /// Bytes of memory that it takes, its machine code included.
    #[must_use]
    pub fn loaded_bytes(&self) -> usize {
        self.verified.memory_bytes().saturating_add(self.compiled.code_bytes())
    }

    pub(crate) fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    pub(crate) fn syscall(&self, id: SyscallId) -> Option<&Bound> {
        self.syscalls.get(usize::from(id.0))
    }
}

/// The state of a program that a transaction names.
#[derive(Clone, Debug)]
pub enum ProgramEntry {
    /// The program is ready to run.
    Loaded(Arc<Program>),
    /// The file was rejected by the loader or the verifier.
    FailedVerification,
    /// The transaction has closed the program.
    Closed,
    /// The program was deployed in this slot, and becomes visible in the next one.
    DelayVisibility,
}

/// A program in progress: one of the transaction, or one that it has deployed itself.
#[derive(Clone, Debug)]
pub(crate) enum Running<'e> {
    Borrowed(&'e Program),
    Shared(Arc<Program>),
}

impl core::ops::Deref for Running<'_> {
    type Target = Program;

    fn deref(&self) -> &Program {
        match self {
            Self::Borrowed(program) => program,
            Self::Shared(program) => program,
        }
    }
}
