//! What a cluster gives to every instruction: features, sysvars, programs, stakes.

use std::collections::BTreeMap;

use solana_hash::Hash;
use solana_pubkey::Pubkey;

use crate::{
    chain::{
        cost::{LAMPORTS_PER_SIGNATURE, LOG_BYTES_MAX},
        features::FeatureSet,
        sysvars::{Rent, Sysvars},
    },
    programs::transaction_programs::Programs,
    runtime::context::builtin::{Builtins, Precompiles},
};

/// What stays the same from instruction to instruction.
#[derive(Clone, Debug)]
pub struct Environment {
    /// What is switched on.
    pub features: FeatureSet,
    /// The chain's variables.
    pub sysvars: Sysvars,
    /// The programs that can be called without being named by a transaction's accounts: those of
    /// tools that run single instructions.
    pub programs: Programs,
    /// The programs that are part of the runtime.
    pub builtins: Builtins,
    /// The instructions that are verified and not run.
    pub precompiles: Precompiles,
    /// The last blockhash before this slot, which durable nonces advance to.
    pub blockhash: Hash,
    /// What that blockhash's slot charged for a signature.
    pub lamports_per_signature: u64,
    /// The stakes of the epoch.
    pub epoch_stake: EpochStake,
    /// Bytes of a transaction's log after which lines are dropped. The same everywhere, but tools
    /// may want to see more.
    pub log_bytes_max: usize,
}

impl Default for Environment {
    /// Mainnet's features and prices, at the first slot of all, without any program.
    fn default() -> Self {
        Self {
            features: FeatureSet::default(),
            sysvars: Sysvars::default(),
            programs: Programs::default(),
            builtins: Builtins::default(),
            precompiles: Precompiles::default(),
            blockhash: Hash::default(),
            lamports_per_signature: LAMPORTS_PER_SIGNATURE,
            epoch_stake: EpochStake::default(),
            log_bytes_max: LOG_BYTES_MAX,
        }
    }
}

impl Environment {
    /// The slot, as the clock has it.
    #[must_use]
    pub fn slot(&self) -> u64 {
        self.sysvars.slot().unwrap_or(0)
    }

    /// The rent, or none at all.
    #[must_use]
    pub fn rent(&self) -> Rent {
        self.sysvars.rent().unwrap_or_default()
    }
}

/// The stakes of an epoch, in lamports.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct EpochStake {
    /// Of the whole cluster.
    pub total: u64,
    /// Of each vote account.
    pub vote_accounts: BTreeMap<Pubkey, u64>,
}
