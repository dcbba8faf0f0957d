//! Mollusk's API on [Selkie](selkie): tests written for Mollusk 0.14 to 0.16 run unchanged.
//!
//! ```toml
//! [dev-dependencies]
//! mollusk-svm = { package = "selkie-mollusk", path = "../selkie/compat/mollusk" }
//! ```
//!
//! ```
//! use selkie_mollusk::{Mollusk, program::keyed_account_for_system_program, result::Check};
//! use solana_account::Account;
//! use solana_instruction::{AccountMeta, Instruction};
//! use solana_pubkey::Pubkey;
//!
//! let (alice, bob) = (Pubkey::new_unique(), Pubkey::new_unique());
//! let accounts = vec![AccountMeta::new(alice, true), AccountMeta::new(bob, false)];
//! let data = [&2_u32.to_le_bytes()[..], &1_000_000_u64.to_le_bytes()].concat();
//! let (system, system_account) = keyed_account_for_system_program();
//! let transfer = Instruction { program_id: system, accounts, data };
//!
//! Mollusk::default().process_and_validate_instruction(
//!     &transfer,
//!     &[
//!         (alice, Account { lamports: 10_000_000, ..Account::default() }),
//!         (bob, Account::default()),
//!         (system, system_account),
//!     ],
//!     &[
//!         Check::success(),
//!         Check::compute_units(150),
//!         Check::account(&bob).lamports(1_000_000).build(),
//!     ],
//! );
//! ```

pub mod account_store;
mod context;
pub mod epoch_stake;
mod features;
pub mod file;
pub mod instructions_sysvar;
mod outcome;
mod process;
pub mod program;
#[cfg(not(feature = "until-0-15"))]
mod rent;
pub mod result;
pub mod sysvar;

use core::fmt;
use std::{
    cell::{RefCell, RefMut},
    rc::Rc,
};

#[cfg(feature = "since-0-13")]
use agave_4_svm_log_collector::LogCollector;
use selkie::Svm;
use solana_pubkey::Pubkey;
#[cfg(not(feature = "since-0-13"))]
use solana_svm_log_collector::LogCollector;

pub use crate::context::MolluskContext;
use crate::{
    epoch_stake::EpochStake,
    features::FeatureSet,
    program::{ProgramCache, loader_keys::LOADER_V3},
    result::Config,
    sysvar::Sysvars,
};

/// The slot of a new [`Mollusk`].
const SLOT_DEFAULT: u64 = 1;

/// The limits of instructions. Compute unit costs are mainnet's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComputeBudget {
    /// The compute unit limit.
    pub compute_unit_limit: u64,
    /// The heap size in bytes.
    pub heap_size: u32,
    /// The compute units of a call of another program, to be read: another number has no effect.
    pub invoke_units: u64,
}

impl Default for ComputeBudget {
    fn default() -> Self {
        Self {
            compute_unit_limit: 1_400_000,
            heap_size: 32 * 1024,
            invoke_units: selkie::runtime::cost::INVOKE,
        }
    }
}

/// Processes instructions on given accounts, without transactions.
pub struct Mollusk {
    /// What failed checks do.
    pub config: Config,
    /// The limits of instructions.
    pub compute_budget: ComputeBudget,
    /// The stake of each vote account.
    pub epoch_stake: EpochStake,
    /// The active features: all, as in Mollusk.
    pub feature_set: FeatureSet,
    /// Collects log lines.
    pub logger: Option<Rc<RefCell<LogCollector>>>,
    /// The programs.
    pub program_cache: ProgramCache,
    /// The sysvars.
    pub sysvars: Sysvars,
}

impl fmt::Debug for Mollusk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { config, compute_budget, sysvars, .. } = self;
        let mut it = f.debug_struct("Mollusk");
        it.field("config", config).field("compute_budget", compute_budget);
        it.field("sysvars", sysvars).finish_non_exhaustive()
    }
}

impl Default for Mollusk {
    fn default() -> Self {
        let mut sysvars = Sysvars::default();
        sysvars.clock.slot = SLOT_DEFAULT;
        Self {
            config: Config::default(),
            compute_budget: ComputeBudget::default(),
            epoch_stake: EpochStake::default(),
            feature_set: FeatureSet::all_enabled(),
            logger: None,
            program_cache: ProgramCache::default(),
            sysvars,
        }
    }
}

impl Mollusk {
    /// Creates one with a program, whose file is searched for in `tests/fixtures`, in the folders
    /// that the environment variables `BPF_OUT_DIR` and `SBF_OUT_DIR` name, and in the current one.
    ///
    /// # Panics
    /// If the file is not found or not a valid program.
    #[track_caller]
    #[must_use]
    pub fn new(program_id: &Pubkey, program_name: &str) -> Self {
        let mut mollusk = Self::default();
        mollusk.add_program(program_id, program_name);
        mollusk
    }

    /// Creates the same, which writes the registers of every invocation if wanted: to the folder of
    /// `SBF_TRACE_DIR`, and without that variable to `target/sbf/trace`.
    ///
    /// # Panics
    /// As [`Mollusk::new`].
    #[track_caller]
    #[must_use]
    pub fn new_debuggable(
        program_id: &Pubkey,
        program_name: &str,
        enable_register_tracing: bool,
    ) -> Self {
        let mollusk = Self::new(program_id, program_name);
        if enable_register_tracing {
            mollusk.program_cache.svm.borrow_mut().write_registers();
        }
        mollusk
    }

    /// Adds a program of loader v3, whose file is searched for as by [`Mollusk::new`].
    ///
    /// # Panics
    /// As [`Mollusk::new`].
    #[track_caller]
    pub fn add_program(&mut self, program_id: &Pubkey, program_name: &str) {
        self.add_program_with_loader(program_id, program_name, &LOADER_V3);
    }

    /// Adds a program of a loader, whose file is searched for as by [`Mollusk::new`].
    ///
    /// # Panics
    /// As [`Mollusk::new`], and if there is no such loader.
    #[track_caller]
    pub fn add_program_with_loader(
        &mut self,
        program_id: &Pubkey,
        program_name: &str,
        loader_key: &Pubkey,
    ) {
        let elf = file::load_program_elf(program_name);
        self.add_program_with_loader_and_elf(program_id, loader_key, &elf);
    }

    /// Adds a program of a loader.
    ///
    /// # Panics
    /// If the program is not valid, or there is no such loader.
    #[track_caller]
    pub fn add_program_with_loader_and_elf(
        &mut self,
        program_id: &Pubkey,
        loader_key: &Pubkey,
        elf: &[u8],
    ) {
        self.program_cache.add_program(program_id, loader_key, elf);
    }

    /// Sets the clock to a slot, and fills the slot hashes up to it.
    pub fn warp_to_slot(&mut self, slot: u64) {
        self.sysvars.warp_to_slot(slot);
    }

    /// Returns the chain beneath, which Mollusk does not have: builtin programs, syscalls, engines.
    /// Every run sets its features, sysvars, stakes and limits again.
    ///
    /// # Panics
    /// If the chain is borrowed already.
    #[must_use]
    pub fn svm_mut(&mut self) -> RefMut<'_, Svm> {
        self.program_cache.svm.borrow_mut()
    }
}
