//! LiteSVM's API on [Selkie](selkie): tests written for LiteSVM 0.17 and 0.18 run unchanged, and
//! transactions are processed as mainnet processes them.
//!
//! ```toml
//! [dev-dependencies]
//! litesvm = { package = "selkie-litesvm", path = "../selkie/compat/litesvm" }
//! ```
//!
//! ```
//! use selkie_litesvm::LiteSVM;
//! use solana_address::Address;
//!
//! let alice = Address::new_unique();
//! let mut svm = LiteSVM::new();
//! let metadata = svm.airdrop(&alice, 1_000_000_000).unwrap();
//! assert_eq!(metadata.compute_units_consumed, 150);
//! assert_eq!(svm.get_balance(&alice), Some(1_000_000_000));
//! ```
//!
//! Functions that prepare a test do what LiteSVM's do: `warp_to_slot`, for example, sets the clock's
//! slot and nothing else. Everything that a transaction meets is mainnet's: rent, fees, the order of
//! checks. [`LiteSVM::svm_mut`] reaches the [`selkie::Svm`] beneath.

mod accounts;
#[cfg(any(feature = "agave-types", feature = "agave-4-types"))]
mod agave_types;
mod empty_accounts;
mod encoding;
pub mod error;
pub mod features;
mod format_logs;
mod history;
mod options;
mod programs;
mod stake;
mod sysvars;
mod transactions;
pub mod types;
#[cfg(feature = "until-0-6")]
mod until_0_6;

use selkie::Svm;

pub use crate::{
    accounts::AccountsDb,
    encoding::{DecodeSysvar, EncodeSysvar},
    features::MAINNET_DEFAULT_SLOT,
};
use crate::{features::FeatureSet, history::TransactionHistory, types::ComputeBudget};

/// The seed of the keypair that pays for airdrops.
const AIRDROP_SEED: [u8; 32] = *b"selkie-litesvm airdrop keypair 1";

/// A Solana chain in the process, with LiteSVM's functions.
#[derive(Clone, Debug)]
pub struct LiteSVM {
    accounts: AccountsDb,
    features: FeatureSet,
    history: TransactionHistory,
    compute_budget: Option<ComputeBudget>,
    sigverify: bool,
}

impl Default for LiteSVM {
    /// Creates a chain without features, programs and checks, for [`LiteSVM::with_builtins`] and the
    /// other functions that add them. Builtin programs and sysvars are present already.
    fn default() -> Self {
        let svm = Svm::new()
            .with_history(0)
            .with_well_known_programs(false)
            .with_rules(selkie::Rules {
                features: selkie::FeatureSet::none(),
                // That of LiteSVM's runtime.
                release: selkie::Release::V4_3,
            })
            .with_epoch_stake(selkie::EpochStake::default())
            .with_empty_accounts_below_rent(cfg!(feature = "until-0-10"));
        let chain = Self {
            accounts: AccountsDb::new(svm),
            features: FeatureSet::default(),
            history: TransactionHistory::default(),
            compute_budget: None,
            sigverify: false,
        };
        chain.with_sigverify(false).with_blockhash_check(false)
    }
}

impl LiteSVM {
    /// Creates a chain with mainnet's features and programs, in slot [`MAINNET_DEFAULT_SLOT`]. For users of
    /// LiteSVM up to 0.13, it is in slot 0; for those of 0.11 and earlier, it has all known features.
    #[must_use]
    pub fn new() -> Self {
        let features = if cfg!(feature = "all-features") {
            FeatureSet::all_enabled()
        } else {
            FeatureSet::mainnet()
        };
        Self::default()
            .with_feature_set(features)
            .with_builtins()
            .with_lamports(1_000_000_000_000_000)
            .with_sysvars()
            .with_feature_accounts()
            .with_default_programs()
            .with_sigverify(true)
            .with_blockhash_check(true)
    }

    /// Creates the same chain, which writes the registers of every invocation if wanted: to the folder of
    /// `SBF_TRACE_DIR`, and without that variable to `target/sbf/trace`.
    #[must_use]
    pub fn new_debuggable(enable_register_tracing: bool) -> Self {
        let mut svm = Self::new();
        if enable_register_tracing {
            svm.svm_mut().write_registers();
        }
        svm
    }

    /// Returns the chain beneath, which LiteSVM does not have.
    #[must_use]
    pub fn svm(&self) -> &Svm {
        &self.accounts.svm
    }

    /// Returns the chain beneath, which LiteSVM does not have: snapshots, traces, receipts, time.
    /// The history of this type does not show transactions that are sent to it directly.
    ///
    /// ```
    /// # use solana_address::Address;
    /// let alice = Address::new_unique();
    /// let mut svm = selkie_litesvm::LiteSVM::new();
    /// let start = svm.svm_mut().snapshot();
    /// svm.airdrop(&alice, 1_000_000_000).unwrap();
    /// svm.svm_mut().restore(&start).unwrap();
    /// assert_eq!(svm.get_balance(&alice), None);
    /// ```
    #[must_use]
    pub fn svm_mut(&mut self) -> &mut Svm {
        &mut self.accounts.svm
    }

    /// Returns which features are active, which LiteSVM does not tell.
    #[must_use]
    pub fn features(&self) -> &FeatureSet {
        &self.features
    }

    /// Applies a function of [`Svm`] that takes the chain by value.
    fn map_svm(mut self, change: impl FnOnce(Svm) -> Svm) -> Self {
        self.change_svm(change);
        self
    }

    fn change_svm(&mut self, change: impl FnOnce(Svm) -> Svm) {
        let svm = core::mem::take(&mut self.accounts.svm);
        self.accounts.svm = change(svm);
    }
}

/// Runs the examples of the page about switching as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/switch.md")]
struct Switch;
