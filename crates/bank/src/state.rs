//! What is needed to go on from a bank: the state of a new cluster, or what a root exports.

use selkie_builtins::{PROGRAMS, builtins, precompiles};
use selkie_svm::{
    Account, AccountSharedData, FeatureSet, NATIVE_LOADER, Pubkey, Sysvars,
    sysvars::{Clock, EpochRewards, EpochSchedule, MAINNET_LAMPORTS_PER_BYTE, Rent},
};
use sha2::{Digest, Sha256};
use solana_hash::Hash;
use solana_sdk_ids as ids;

use crate::{stakes::Stakes, sysvars, time};

/// A bank as it can be written down: what is needed to go on from there.
#[derive(Clone, PartialEq, Debug)]
pub struct State {
    /// Its slot.
    pub slot: u64,
    /// How many blocks came before.
    pub block_height: u64,
    /// Its hash, or nothing if it is to be made from the rest, as for a new cluster.
    pub hash: Option<Hash>,
    /// What is switched on.
    pub features: FeatureSet,
    /// The blockhashes that transactions may refer to, oldest first.
    pub blockhashes: Vec<Hash>,
    /// What a signature costs.
    pub lamports_per_signature: u64,
    /// The stakes of this epoch and the next, and stake that no account shows. What is missing is
    /// computed from the accounts.
    pub stakes: Stakes,
    /// What was processed of late: blockhashes, or durable nonces in their place, with the hashes
    /// of messages.
    pub processed: Vec<(Hash, Hash)>,
    /// The accounts by address, those of sysvars and builtin programs among them.
    pub accounts: Vec<(Pubkey, AccountSharedData)>,
}

impl State {
    /// A new cluster at slot 0, with mainnet's prices and epochs.
    #[must_use]
    pub fn genesis(features: FeatureSet) -> Self {
        Self::genesis_with(features, &EpochSchedule::without_warmup())
    }

    /// A new cluster at slot 0 with other epochs.
    #[must_use]
    pub fn genesis_with(features: FeatureSet, schedule: &EpochSchedule) -> Self {
        let rent = Rent { lamports_per_byte: MAINNET_LAMPORTS_PER_BYTE, ..Rent::default() };
        let blockhash = Hash::new_from_array(Sha256::digest("selkie genesis").into());
        let lamports_per_signature = selkie_svm::cost::LAMPORTS_PER_SIGNATURE;
        let clock = Clock {
            epoch_start_timestamp: time::TIMESTAMP,
            unix_timestamp: time::TIMESTAMP,
            leader_schedule_epoch: schedule.get_leader_schedule_epoch(0),
            ..Clock::default()
        };
        let lists = [
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
        let of_sysvars = lists.map(|(id, data)| (id, sysvars::account(None, data, &rent)));
        let builtins = builtins(features);
        let of_builtins = builtins.iter().map(|(id, _)| (*id, native_account(builtin_name(id))));
        let precompiles = precompiles();
        let of_precompiles = precompiles
            .iter()
            .filter(|(_, row)| row.feature.is_none_or(|feature| features.has(feature)))
            .map(|(id, _)| (*id, native_account("")));
        let mut accounts: Vec<_> =
            of_sysvars.into_iter().chain(of_builtins).chain(of_precompiles).collect();
        accounts.sort_unstable_by_key(|(key, _)| *key);
        Self {
            slot: 0,
            block_height: 0,
            hash: None,
            features,
            blockhashes: vec![blockhash],
            lamports_per_signature,
            stakes: Stakes::default(),
            processed: Vec::new(),
            accounts,
        }
    }

    /// Puts an account in, in place of what was at its address.
    pub fn set_account(&mut self, key: Pubkey, account: impl Into<AccountSharedData>) {
        let account = account.into();
        match self.accounts.binary_search_by_key(&key, |(known, _)| *known) {
            Ok(place) => self.accounts[place].1 = account,
            Err(place) => self.accounts.insert(place, (key, account)),
        }
    }

    /// The sysvars, as their accounts have them.
    pub(crate) fn sysvars(&self) -> Sysvars {
        let mut sysvars = Sysvars::empty();
        for (key, account) in &self.accounts {
            use selkie_svm::ReadableAccount;
            if *account.owner() == ids::sysvar::ID {
                // The history of slots is an account and no more: no program can ask for it.
                let _ = sysvars.set(*key, account.data());
            }
        }
        sysvars
    }
}

/// The account of a program that is part of the runtime, which has its name for data.
#[must_use]
pub fn native_account(name: &str) -> AccountSharedData {
    let account = Account {
        lamports: 1,
        data: name.as_bytes().to_vec(),
        owner: NATIVE_LOADER,
        executable: true,
        rent_epoch: 0,
    };
    account.into()
}

/// What mainnet calls the builtin programs.
#[must_use]
#[allow(deprecated, reason = "what is deprecated is still there")]
pub fn builtin_name(id: &Pubkey) -> &'static str {
    const NAMES: [(Pubkey, &str); 9] = [
        (ids::system_program::ID, "solana_system_program"),
        (ids::vote::ID, "solana_vote_program"),
        (ids::bpf_loader_deprecated::ID, "solana_bpf_loader_program"),
        (ids::bpf_loader::ID, "solana_bpf_loader_program"),
        (ids::bpf_loader_upgradeable::ID, "solana_bpf_loader_upgradeable_program"),
        (ids::loader_v4::ID, "solana_loader_v4"),
        (ids::compute_budget::ID, "compute_budget_program"),
        (ids::zk_elgamal_proof_program::ID, "zk_elgamal_proof_program"),
        (ids::zk_token_proof_program::ID, "zk_token_proof_program"),
    ];
    NAMES.iter().find(|(known, _)| known == id).map_or("", |(_, name)| name)
}

/// What a cluster has without anybody having deployed it, and comes with a feature.
pub(crate) fn programs_of_features() -> impl Iterator<Item = &'static selkie_builtins::Row> {
    PROGRAMS.iter().filter(|row| row.feature.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_cluster_has_sysvars_and_programs() {
        let mut state = State::genesis(FeatureSet::mainnet());
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
