//! Programs that are loaded, verified and ready to run.

use std::sync::Arc;

use selkie_elf::Executable;
use selkie_vm::{BranchCounters, MachineCode, SyscallId, Verified};

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
    /// Its share of the memory that the programs of its cache use.
    share: Share,
    loader: Loader,
    /// The handlers of the executable's syscalls, by id.
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

    /// Like [`Program::load`], for an environment with custom syscalls.
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

    /// Creates a program that was verified before: from a
    /// [`ProgramStore`](crate::programs::cache::ProgramStore) or from [`Program::frozen`].
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

    /// Loads and verifies a program; `syscalls` are the handlers of the environment's syscalls.
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

    /// Serializes the program, so that it can be restored with its file without loading and verifying.
    pub(crate) fn frozen(&self, elf: &[u8]) -> Vec<u8> {
        self.verified.freeze(elf)
    }

    /// Verifies a loaded program.
    ///
    /// # Errors
    /// If the verifier rejects it, or its environment has a syscall that the runtime lacks.
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

    /// Returns the program for a cluster with these features: whether each account's data are a region of
    /// their own (SIMD-0460) affects compilation.
    #[must_use]
    pub fn for_features(self, features: FeatureSet) -> Self {
        self.with_account_regions(features.has(Feature::VirtualAddressSpaceAdjustments))
    }

    pub(crate) fn with_account_regions(self, has_account_regions: bool) -> Self {
        Self { compiled: Compiled::new(has_account_regions, self.compiled.memory_calls), ..self }
    }

    /// Counts the program's branches.
    pub(crate) fn with_branch_counters(mut self, counters: Arc<BranchCounters>) -> Self {
        self.compiled.counters = Some(counters);
        self
    }

    pub(crate) fn with_machine_code(self, code: MachineCode) -> Self {
        Self { compiled: self.compiled.with(code), ..self }
    }

    /// Adds the program's size to the total of its cache.
    pub(crate) fn with_share(self, share: Share) -> Self {
        let program = Self { share, ..self };
        program.note_size();
        program
    }

    /// Updates the cache's total with the memory that the program uses now.
    #[inline]
    pub(crate) fn note_size(&self) {
        self.share.note(self.loaded_bytes());
    }

    pub(crate) fn has_account_regions(&self) -> bool {
        self.compiled.has_account_regions
    }

    /// Returns the loaded executable.
    #[must_use]
    pub fn executable(&self) -> &Executable {
        self.verified.executable()
    }

    /// Returns the verified program, which engines run.
    #[must_use]
    pub fn verified(&self) -> &Verified {
        &self.verified
    }

    /// Returns the loader that owns the program's account.
    #[must_use]
    pub fn loader(&self) -> Loader {
        self.loader
    }

    /// Compiles the whole program now, as validators do when they load it. By default the JIT compiles
    /// units on demand, once that is worth it.
    ///
    /// # Errors
    /// If this host does not support the JIT.
    pub fn compile(&self) -> Result<(), EngineError> {
        let completed = self.compiled.complete(&self.verified);
        self.note_size();
        completed
    }

    /// Returns the number of instruction slots of the text.
    #[must_use]
    pub fn slots(&self) -> u64 {
        (self.executable().text().len() / selkie_isa::layout::SLOT_BYTES) as u64
    }

    /// Returns the memory that the program uses, in bytes, including machine code.
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
