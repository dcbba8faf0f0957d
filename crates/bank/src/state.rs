//! The state of a bank for import and export, and that of a new cluster.

use selkie_builtins::{PROGRAMS, builtins, environment, native_accounts, sysvar_account};
use selkie_svm::{
    AccountSharedData, AccountStore, Builtins, EpochStake, FeatureSet, Pubkey, Sysvars,
    sysvars::{Clock, EpochRewards, EpochSchedule, MAINNET_LAMPORTS_PER_BYTE, Rent},
};
use sha2::{Digest, Sha256};
use solana_hash::Hash;
use solana_sdk_ids as ids;

use crate::{lattice::LatticeHash, rewards, stakes::Stakes, sysvars, time};

/// How a new cluster begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Genesis {
    /// The features, active since then.
    pub features: FeatureSet,
    /// The epoch schedule.
    pub schedule: EpochSchedule,
    /// The Unix timestamp of the first slot.
    pub unix_timestamp: i64,
    /// Stake in addition to that of stake accounts, which is effective in every epoch.
    pub stake: EpochStake,
    /// Whether the chain has migrated to Alpenglow, as mainnet has since October 2026. Without it,
    /// activating the gate [`GATE`](crate::alpenglow::GATE) migrates it.
    pub is_alpenglow: bool,
}

impl Default for Genesis {
    /// Returns mainnet's features, schedule and consensus, at the first second of 2026, without
    /// additional stake.
    fn default() -> Self {
        Self {
            features: FeatureSet::mainnet(),
            schedule: EpochSchedule::without_warmup(),
            unix_timestamp: time::TIMESTAMP,
            stake: EpochStake::default(),
            is_alpenglow: true,
        }
    }
}

/// Everything needed to continue from a bank in another process.
#[derive(Clone, PartialEq, Debug)]
pub struct State {
    /// The slot.
    pub slot: u64,
    /// The number of blocks before it.
    pub block_height: u64,
    /// The bank hash; `None` computes it, as for a new cluster.
    pub hash: Option<Hash>,
    /// The active features.
    pub features: FeatureSet,
    /// The recent blockhashes, oldest first.
    pub blockhashes: Vec<Hash>,
    /// The fee per signature, in lamports.
    pub lamports_per_signature: u64,
    /// The stakes of this epoch and the next one, and additional stake. Missing epochs are computed
    /// from the accounts.
    pub stakes: Stakes,
    /// The recently processed transactions, as (blockhash or durable nonce, message hash) pairs.
    pub processed: Vec<(Hash, Hash)>,
    /// The lattice hash of the accounts; `None` computes it.
    pub lattice: Option<LatticeHash>,
    /// The accounts sorted by address, including those of sysvars and builtin programs.
    pub accounts: Vec<(Pubkey, AccountSharedData)>,
}

impl State {
    /// Creates the state of a new cluster at slot 0, with mainnet's fees and rent.
    #[must_use]
    pub fn genesis(genesis: &Genesis) -> Self {
        let Genesis { features, ref schedule, unix_timestamp, ref stake, is_alpenglow } = *genesis;
        let rent = Rent { lamports_per_byte: MAINNET_LAMPORTS_PER_BYTE, ..Rent::default() };
        let blockhash = Hash::new_from_array(Sha256::digest("selkie genesis").into());
        let lamports_per_signature = selkie_svm::cost::LAMPORTS_PER_SIGNATURE;
        let clock = Clock {
            epoch_start_timestamp: unix_timestamp,
            unix_timestamp,
            leader_schedule_epoch: schedule.get_leader_schedule_epoch(0),
            ..Clock::default()
        };
        let sysvars = [
            (ids::sysvar::clock::ID, sysvars::clock(&clock)),
            (ids::sysvar::rent::ID, sysvars::rent(&rent)),
            (ids::sysvar::epoch_schedule::ID, sysvars::epoch_schedule(schedule)),
            (ids::sysvar::epoch_rewards::ID, sysvars::epoch_rewards(&EpochRewards::default())),
            (ids::sysvar::last_restart_slot::ID, sysvars::last_restart_slot(0)),
            (ids::sysvar::slot_hashes::ID, vec![0; 20_488]),
            (ids::sysvar::stake_history::ID, vec![0; 16_392]),
            (ids::sysvar::slot_history::ID, sysvars::slot_history(&[], 0)),
            (
                ids::sysvar::recent_blockhashes::ID,
                sysvars::recent_blockhashes([&blockhash], lamports_per_signature),
            ),
        ];
        let sysvars = sysvars.map(|(id, data)| (id, sysvar_account(None, data, &rent)));
        let environment = environment(features);
        let native = native_accounts(&environment);
        let mut accounts: Vec<_> = sysvars.into_iter().chain(native).collect();
        if is_alpenglow {
            // The first block ends after the time of a slot.
            let end = (unix_timestamp.saturating_mul(1000))
                .saturating_add_unsigned(time::SLOT_MILLISECONDS)
                .saturating_mul(1_000_000);
            accounts.extend(rewards::genesis_accounts(end, schedule.slots_per_epoch, &rent));
        }
        accounts.sort_unstable_by_key(|(key, _)| *key);
        Self {
            slot: 0,
            block_height: 0,
            hash: None,
            features,
            blockhashes: vec![blockhash],
            lamports_per_signature,
            stakes: Stakes { additional: stake.clone(), ..Stakes::default() },
            processed: Vec::new(),
            lattice: None,
            accounts,
        }
    }

    /// Sets an account, replacing any that is there.
    pub fn set_account(&mut self, key: Pubkey, account: impl Into<AccountSharedData>) {
        self.lattice = None;
        let account = account.into();
        match self.accounts.binary_search_by_key(&key, |(known, _)| *known) {
            Ok(index) => self.accounts[index].1 = account,
            Err(index) => self.accounts.insert(index, (key, account)),
        }
    }

    /// Decodes the sysvars from their accounts.
    pub(crate) fn sysvars(&self) -> Sysvars {
        let mut sysvars = Sysvars::empty();
        for (key, account) in &self.accounts {
            use selkie_svm::ReadableAccount;
            if *account.owner() == ids::sysvar::ID {
                // The slot history is an account only: syscalls cannot read it.
                let _ = sysvars.set(*key, account.data());
            }
        }
        sysvars
    }
}

impl AccountStore for State {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        let index = self.accounts.binary_search_by_key(key, |(known, _)| *known).ok()?;
        self.accounts.get(index).map(|(_, account)| account.clone())
    }
}

/// Returns the builtin programs and precompiles that are added by features.
pub(crate) fn programs_of_features()
-> impl Iterator<Item = &'static selkie_builtins::RuntimeProgram> {
    PROGRAMS.iter().filter(|row| row.feature.is_some())
}

/// Returns the builtin programs of these features, and those of the options.
pub(crate) fn all_builtins(features: FeatureSet, host: &Builtins) -> Builtins {
    let mut all = builtins(features);
    host.iter().for_each(|(id, builtin)| all.insert(*id, builtin.clone()));
    all
}

#[cfg(test)]
mod tests {
    use selkie_builtins::native_account;

    use super::*;

    #[test]
    fn genesis_has_sysvars_and_builtin_programs() {
        let mut state = State::genesis(&Genesis::default());
        assert!(state.accounts.is_sorted_by_key(|(key, _)| *key));
        let sysvars = state.sysvars();
        assert_eq!(sysvars.slot(), Some(0));
        assert_eq!(sysvars.has_recent_blockhashes(), Some(true));
        assert_eq!(sysvars.epoch_schedule(), Some(EpochSchedule::without_warmup()));
        let count = state.accounts.len();
        state.set_account(ids::vote::ID, native_account("another"));
        assert_eq!(state.accounts.len(), count);
        state.set_account(Pubkey::new_from_array([200; 32]), native_account(""));
        assert_eq!(state.accounts.len(), count + 1);
        assert!(state.accounts.is_sorted_by_key(|(key, _)| *key));
    }
}
