//! Options of forks and of banks.

use selkie_svm::{Builtins, Pubkey, Release};

use crate::{step::Step, time};

/// Options that are not part of a [`State`](crate::State).
#[derive(Clone, Debug)]
pub struct Options {
    /// The release of agave whose behaviour holds where no feature switches it.
    pub release: Release,
    /// The duration of a slot in milliseconds.
    pub slot_milliseconds: u64,
    /// The slots in which the cluster was restarted, in ascending order.
    pub hard_forks: Vec<u64>,
    /// Builtin programs in addition to those of the feature set.
    pub builtins: Builtins,
    /// Size of a transaction's log, in bytes, after which lines are dropped.
    pub log_bytes_max: usize,
    /// The compute unit limit of every transaction, whatever it asks for; `None` for what it asks for.
    pub compute_unit_limit: Option<u64>,
    /// How many threads hash the accounts of a bank that is frozen. The hash does not depend on it.
    pub hashing_threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            release: Release::MAINNET,
            slot_milliseconds: time::SLOT_MILLISECONDS,
            hard_forks: Vec::new(),
            builtins: Builtins::default(),
            log_bytes_max: selkie_svm::cost::LOG_BYTES_MAX,
            compute_unit_limit: None,
            hashing_threads: 1,
        }
    }
}

/// Options of a new bank: by default, as on a real cluster without a collector.
#[derive(Clone, Copy, Default, Debug)]
pub struct BankOptions {
    /// Who receives fees; without a collector all fees are burned.
    pub collector: Option<Pubkey>,
    /// How the chain goes from the parent to the bank.
    pub step: Step,
}
