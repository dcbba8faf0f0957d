//! The execution environment: the cluster's features, sysvars, builtin programs and stakes.

use std::collections::BTreeMap;

use solana_hash::Hash;
use solana_pubkey::Pubkey;

use crate::{
    chain::{
        cost::{LAMPORTS_PER_SIGNATURE, LOG_BYTES_MAX},
        features::{Feature, FeatureSet, Release, Rules},
        sysvars::{Rent, Sysvars},
    },
    programs::transaction_programs::Programs,
    runtime::context::builtin::{Builtins, Precompiles},
};

/// The state of a cluster that all transactions of a slot share.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The active features.
    pub features: FeatureSet,
    /// The release of agave whose behaviour holds where no feature switches it.
    pub release: Release,
    /// Whether the chain has moved to Alpenglow: it has the account of the genesis certificate.
    /// Validators then vote outside of transactions, and the vote program refuses votes.
    pub is_alpenglow: bool,
    /// The sysvars.
    pub sysvars: Sysvars,
    /// Programs that can be invoked even if they are not among a transaction's accounts: for tools that
    /// execute single instructions.
    pub programs: Programs,
    /// The builtin programs.
    pub builtins: Builtins,
    /// The precompiles.
    pub precompiles: Precompiles,
    /// The last blockhash before this slot, from which advanced nonces are derived.
    pub blockhash: Hash,
    /// The fee per signature of that blockhash's slot, in lamports.
    pub lamports_per_signature: u64,
    /// The stakes of the epoch.
    pub epoch_stake: EpochStake,
    /// The limit of a transaction's log in bytes, beyond which lines are dropped. It is the same on all
    /// clusters; tools may raise it.
    pub log_bytes_max: usize,
    /// The compute unit limit of every transaction, whatever it asks for; `None`, as on all clusters,
    /// for what it asks for.
    pub compute_unit_limit: Option<u64>,
    /// Whether accounts without data may keep fewer lamports than rent asks for after a transaction. On no
    /// cluster they may; LiteSVM up to 0.10 lets them, and knows nothing of SIMD-0392.
    pub empty_below_rent: bool,
}

impl Default for Environment {
    /// Returns mainnet's rules and fees, at slot 0, without programs, before Alpenglow.
    fn default() -> Self {
        let Rules { features, release } = Rules::mainnet();
        Self {
            features,
            release,
            is_alpenglow: false,
            sysvars: Sysvars::default(),
            programs: Programs::default(),
            builtins: Builtins::default(),
            precompiles: Precompiles::default(),
            blockhash: Hash::default(),
            lamports_per_signature: LAMPORTS_PER_SIGNATURE,
            epoch_stake: EpochStake::default(),
            log_bytes_max: LOG_BYTES_MAX,
            compute_unit_limit: None,
            empty_below_rent: false,
        }
    }
}

impl Environment {
    /// Returns the rules: the features, and the release of agave.
    #[must_use]
    pub const fn rules(&self) -> Rules {
        Rules { features: self.features, release: self.release }
    }

    /// Returns the slot of the clock sysvar; 0 if it is not set.
    #[must_use]
    pub fn slot(&self) -> u64 {
        self.sysvars.slot().unwrap_or(0)
    }

    /// Returns the rent sysvar; the default if it is not set.
    #[must_use]
    pub fn rent(&self) -> Rent {
        self.sysvars.rent().unwrap_or_default()
    }

    /// Whether an account that exists counts as exempt from rent (SIMD-0392).
    pub(crate) fn relaxes_min_balance(&self) -> bool {
        self.features.has(Feature::RelaxMinBalanceCheck) && !self.empty_below_rent
    }
}

/// The stakes of an epoch, in lamports.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct EpochStake {
    /// The stake of the whole cluster.
    pub total: u64,
    /// The stake of each vote account.
    pub vote_accounts: BTreeMap<Pubkey, u64>,
}
