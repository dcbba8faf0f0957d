//! The second level: programs that an earlier process has made ready.
//!
//! This crate does no input or output: who has a place for them gives it to the cache. What is kept
//! there must come back unchanged or not at all.

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

/// What a program in a store is known by: everything that decides how it is made ready.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// Its file.
    pub elf: &'a [u8],
    /// What it is loaded against.
    pub environment: &'a selkie_elf::Environment,
    /// The machines that it runs on.
    pub config: &'a Config,
    /// How it is compiled.
    pub options: &'a JitOptions,
}

/// A program from a store.
#[derive(Debug)]
pub struct Stored {
    /// The program.
    pub program: Verified,
    /// Machine code of those parts that were in use, if any was.
    pub code: Option<MachineCode>,
}

/// Where programs outlive the process.
pub trait ProgramStore: fmt::Debug + Send + Sync {
    /// The program, exactly as it was written; `None` if it is not there, or if there is any doubt.
    fn read(&self, wanted: &Wanted<'_>) -> Option<Stored>;

    /// Keeps a program; whether that went well.
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
    /// The same cache, with a second level.
    #[must_use]
    pub fn with_store(self, store: Arc<dyn ProgramStore>) -> Self {
        Self { store: Some(store), ..self }
    }

    /// Writes the programs that are loaded to the second level, with the machine code that there is
    /// by now. Gives how many were written.
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
