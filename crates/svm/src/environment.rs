//! What a cluster gives to every instruction: features, sysvars, programs, stakes.

use std::collections::BTreeMap;

use solana_pubkey::Pubkey;

use crate::{features::FeatureSet, programs::Programs, sysvars::Sysvars};

/// What stays the same from instruction to instruction.
#[derive(Clone, Default, Debug)]
pub struct Environment {
    /// What is switched on.
    pub features: FeatureSet,
    /// The chain's variables.
    pub sysvars: Sysvars,
    /// The programs that can be called.
    pub programs: Programs,
    /// The stakes of the epoch.
    pub epoch_stake: EpochStake,
}

/// The stakes of an epoch, in lamports.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct EpochStake {
    /// Of the whole cluster.
    pub total: u64,
    /// Of each vote account.
    pub vote_accounts: BTreeMap<Pubkey, u64>,
}
