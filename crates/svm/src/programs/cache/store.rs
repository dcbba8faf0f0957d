//! The cache's second level: verified programs that persist between processes.
//!
//! This crate does no input or output: the storage is a [`ProgramStore`] that the application passes to
//! the cache. A store must return programs unchanged or not at all.

use core::fmt;
use std::sync::Arc;

use selkie_vm::{Config, JitOptions, MachineCode, Verified};

use super::{ProgramCache, count, target::Target};
use crate::{
    chain::account::Loader,
    programs::{
        engine::{config, memory_calls, options},
        program::Program,
    },
};

/// The key of a program in a store: everything that loading, verification and compilation depend on.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The program's file.
    pub elf: &'a [u8],
    /// The environment that the program is loaded against.
    pub environment: &'a selkie_elf::Environment,
    /// The configuration of the machines that run the program.
    pub config: &'a Config,
    /// The options of the JIT.
    pub options: &'a JitOptions,
}

/// A program from a store.
#[derive(Debug)]
pub struct Stored {
    /// The program.
    pub program: Verified,
    /// The machine code of the compilation units that were compiled, if any was.
    pub code: Option<MachineCode>,
}

/// A persistent store of programs.
pub trait ProgramStore: fmt::Debug + Send + Sync {
    /// Returns the program exactly as it was written; `None` if it is missing or may be damaged.
    fn read(&self, wanted: &Wanted<'_>) -> Option<Stored>;

    /// Writes a program, and returns whether that succeeded.
    fn write(&self, wanted: &Wanted<'_>, program: &Verified, code: Option<&MachineCode>) -> bool;
}

impl Target {
    fn with_wanted<T>(&self, elf: &[u8], then: impl FnOnce(&Wanted<'_>) -> T) -> T {
        then(&Wanted {
            elf,
            environment: &self.environment,
            config: &config(self.has_account_regions),
            options: &options(memory_calls(&self.bindings)),
        })
    }
}

impl ProgramCache {
    /// Returns the cache with a second level.
    #[must_use]
    pub fn with_store(self, store: Arc<dyn ProgramStore>) -> Self {
        Self { store: Some(store), ..self }
    }

    /// Writes the loaded programs, with their machine code so far, to the second level. Returns the number
    /// of programs that were written.
    pub fn persist(&self) -> usize {
        let Some(store) = &self.store else { return 0 };
        let loaded = self.loaded_versions();
        let written = loaded.iter().filter(|version| {
            let Some(Some(program)) = version.body.program.get() else { return false };
            let write = |wanted: &Wanted<'_>| {
                store.write(wanted, program.verified(), program.compiled().code())
            };
            version.body.target.with_wanted(version.source.file(), write)
        });
        written.count()
    }

    pub(super) fn restore(&self, file: &[u8], loader: Loader, target: &Target) -> Option<Program> {
        let store = self.store.as_ref()?;
        let Stored { program, code } = target.with_wanted(file, |wanted| store.read(wanted))?;
        let program = Program::ready(program, loader, Arc::clone(&target.bindings));
        let program = program.with_account_regions(target.has_account_regions);
        count(&self.counters.restored);
        Some(match code {
            Some(code) => program.with_machine_code(code),
            None => program,
        })
    }
}
