//! Creation of banks: from a parent, or from an imported state.

use std::sync::Arc;

use selkie_builtins::precompiles;
use selkie_svm::{
    AccountSharedData, AccountStore, BlockhashQueue, Builtins, Environment, EpochStake, FeatureSet,
    Pubkey, ReadableAccount,
    sysvars::{Rent, Sysvars},
};
use solana_hash::Hash;
use solana_sdk_ids::sysvar;

use crate::{
    accounts::View,
    ancestors::{Ancestors, BankId},
    bank::{Bank, BankOptions, Frozen, Parts, SharedState, Working},
    error::BankError,
    freeze::{bank_hash, lattice_of},
    lattice::LatticeHash,
    phase::Phase,
    stakes::{StakeAccounts, Stakes},
    state::{State, all_builtins},
    sysvars, time,
};

/// The sysvars that programs can read by syscall.
const SYSVARS: [Pubkey; 8] = [
    sysvar::clock::ID,
    sysvar::epoch_schedule::ID,
    sysvar::epoch_rewards::ID,
    sysvar::rent::ID,
    sysvar::slot_hashes::ID,
    sysvar::stake_history::ID,
    sysvar::last_restart_slot::ID,
    sysvar::recent_blockhashes::ID,
];

/// A bank under construction.
pub(crate) struct BankBuilder<'p> {
    pub(crate) parent: &'p Bank,
    pub(crate) slot: u64,
    pub(crate) block_height: u64,
    pub(crate) features: FeatureSet,
    pub(crate) builtins: Builtins,
    pub(crate) rent: Rent,
    pub(crate) stakes: Arc<Stakes>,
    ancestors: Ancestors,
    working: Working,
}

impl Bank {
    /// Creates the root bank from a state.
    pub(crate) fn import(shared: Arc<SharedState>, id: BankId, state: State) -> Self {
        let sysvars = state.sysvars();
        let State { slot, block_height, features, blockhashes, mut stakes, .. } = state;
        let blockhash_queue = BlockhashQueue::new(blockhashes);
        let blockhash = blockhash_queue.blockhash().copied().unwrap_or_default();
        let mut accounts = state.accounts;
        accounts.retain(|(_, account)| account.lamports() > 0);
        let schedule = time::schedule(&sysvars);
        let history = sysvars.get(&sysvar::stake_history::ID).unwrap_or_default();
        let rent = sysvars.rent().unwrap_or_default();
        let stake_accounts =
            || StakeAccounts::new(accounts.iter().map(|(key, it)| (key, it)), features, &rent);
        stakes.complete(stake_accounts, history, &schedule, slot);
        let compute = || lattice_of(&accounts, shared.options.hashing_threads);
        let lattice = state.lattice.unwrap_or_else(compute);
        accounts.into_iter().for_each(|(key, account)| shared.accounts.put(key, id, account));
        let mut statuses = shared.statuses.write().expect("the shared state is new");
        state.processed.iter().for_each(|key| statuses.insert(*key, id));
        statuses.root(&state.processed, true);
        drop(statuses);
        let hash =
            state.hash.unwrap_or_else(|| bank_hash(&Hash::default(), 0, &blockhash, &lattice, 0));
        let environment = Environment {
            features,
            sysvars,
            builtins: all_builtins(features, &shared.options.builtins),
            precompiles: precompiles(),
            blockhash,
            lamports_per_signature: state.lamports_per_signature,
            epoch_stake: stakes.of(schedule.get_epoch(slot)).clone(),
            log_bytes_max: shared.options.log_bytes_max,
            compute_unit_limit: shared.options.compute_unit_limit,
            ..Environment::default()
        };
        let parts = Parts {
            ancestors: Ancestors::root(id),
            slot,
            parent: None,
            parent_hash: Hash::default(),
            block_height,
            counts: true,
            passes_slots: false,
            environment,
            stakes: Arc::new(stakes),
            collector: None,
            parent_lattice: LatticeHash::default(),
            parent_history: LatticeHash::default(),
            working: Working { blockhash_queue, ..Working::default() },
        };
        let bank = Self::new(shared, parts);
        let history = bank.history();
        let frozen = Frozen { hash, blockhash, lattice, history };
        bank.frozen.set(frozen).expect("the bank is new");
        bank.set_phase(&mut bank.write(), Phase::Frozen);
        bank
    }

    /// Creates a child of this bank, which must be frozen.
    pub(crate) fn child(
        &self,
        id: BankId,
        root: BankId,
        slot: u64,
        options: &BankOptions,
    ) -> Result<Self, BankError> {
        let frozen = self.frozen.get().ok_or(BankError::NotFrozen(self.slot))?;
        let mut builder = BankBuilder::new(self, id, root, slot, options);
        builder.prepare(frozen, options);
        Ok(builder.finish(frozen, options))
    }
}

impl<'p> BankBuilder<'p> {
    fn new(parent: &'p Bank, id: BankId, root: BankId, slot: u64, options: &BankOptions) -> Self {
        let environment = &parent.environment;
        let blockhash_queue = parent.read().blockhash_queue.without_processed();
        Self {
            parent,
            slot,
            block_height: parent.block_height.saturating_add(options.counts.into()),
            features: environment.features,
            builtins: environment.builtins.clone(),
            rent: environment.rent(),
            stakes: Arc::clone(&parent.stakes),
            ancestors: parent.ancestors.child(id, root),
            working: Working { blockhash_queue, ..Working::default() },
        }
    }

    fn finish(self, frozen: &Frozen, options: &BankOptions) -> Bank {
        let epoch_stake = self.epoch_stake();
        let sysvars = self.sysvars();
        let parent = self.parent;
        let environment = &parent.environment;
        let environment = Environment {
            features: self.features,
            sysvars,
            programs: environment.programs.clone(),
            builtins: self.builtins,
            precompiles: environment.precompiles.clone(),
            blockhash: frozen.blockhash,
            lamports_per_signature: environment.lamports_per_signature,
            epoch_stake,
            log_bytes_max: environment.log_bytes_max,
            compute_unit_limit: environment.compute_unit_limit,
        };
        let parts = Parts {
            ancestors: self.ancestors,
            slot: self.slot,
            parent: Some(parent.slot),
            parent_hash: frozen.hash,
            block_height: self.block_height,
            counts: options.counts,
            passes_slots: options.passes_slots,
            environment,
            stakes: self.stakes,
            collector: options.collector,
            parent_lattice: frozen.lattice.clone(),
            parent_history: frozen.history.clone(),
            working: self.working,
        };
        Bank::new(Arc::clone(&parent.shared), parts)
    }

    /// Does what happens before the first transaction (agave: `prepare_for_block_execution`).
    fn prepare(&mut self, parent: &Frozen, options: &BankOptions) {
        let clock = self.parent.clock();
        let schedule = time::schedule(&self.parent.environment.sysvars);
        let epoch_before = schedule.get_epoch(self.parent.slot);
        let begins_epoch = epoch_before < schedule.get_epoch(self.slot);
        if begins_epoch {
            self.activate_features(self.boundary(&schedule, options));
        } else if options.activates_features {
            self.activate_features(self.slot);
        }
        self.pass_epochs(&schedule);
        self.end_rewards();
        if begins_epoch {
            self.begin_rewards(&schedule, options);
        }
        self.set_slot_hashes(&parent.hash, options);
        let slot_milliseconds = self.parent.shared.options.slot_milliseconds;
        let before = clock;
        let mut clock = time::clock_after(&before, self.slot, &schedule, slot_milliseconds);
        if let Some(timestamp) = options.unix_timestamp {
            time::set_timestamp(&mut clock, &before, timestamp, &schedule, slot_milliseconds);
        }
        self.set_sysvar(sysvar::clock::ID, sysvars::clock(&clock));
        self.update_last_restart_slot();
    }

    /// Adds the parent, and the slots passed since then, to the slot hashes.
    fn set_slot_hashes(&mut self, parent: &Hash, options: &BankOptions) {
        let (before, first) = (self.data(&sysvar::slot_hashes::ID), self.parent.slot);
        let passed = if options.passes_slots { first.saturating_add(1)..self.slot } else { 0..0 };
        let data = sysvars::slot_hashes_passing(&before, first, parent, passed);
        self.set_sysvar(sysvar::slot_hashes::ID, data);
    }

    fn update_last_restart_slot(&mut self) {
        let forks = &self.parent.shared.options.hard_forks;
        let last = forks.iter().rev().find(|fork| **fork <= self.slot).copied().unwrap_or(0);
        let data = sysvars::last_restart_slot(last);
        if self.data(&sysvar::last_restart_slot::ID) != data {
            self.set_sysvar(sysvar::last_restart_slot::ID, data);
        }
    }

    /// Returns the epoch stake of the bank's epoch.
    fn epoch_stake(&self) -> EpochStake {
        let environment = &self.parent.environment;
        let schedule = time::schedule(&environment.sysvars);
        let epoch = schedule.get_epoch(self.slot);
        if epoch == schedule.get_epoch(self.parent.slot) {
            return environment.epoch_stake.clone();
        }
        self.stakes.of(epoch).clone()
    }

    /// Reads the stake and vote accounts that the bank sees.
    pub(crate) fn stake_accounts(&self) -> StakeAccounts {
        let accounts = &self.parent.shared.accounts;
        let is_one = |account: &AccountSharedData| StakeAccounts::is_owner(account.owner());
        let found = accounts.filtered(&self.ancestors, is_one);
        let found = found.iter().map(|(key, account)| (key, account));
        StakeAccounts::new(found, self.features, &self.rent)
    }

    pub(crate) fn view(&self) -> View<'_> {
        View { accounts: &self.parent.shared.accounts, ancestors: &self.ancestors }
    }

    /// Returns the data of an account, empty if it does not exist.
    pub(crate) fn data(&self, key: &Pubkey) -> Vec<u8> {
        self.view().account(key).map(|account| account.data().to_vec()).unwrap_or_default()
    }

    pub(crate) fn put(&mut self, key: Pubkey, account: AccountSharedData) {
        self.working.changed.insert(key);
        self.parent.shared.accounts.put(key, self.ancestors.bank(), account);
    }

    pub(crate) fn set_sysvar(&mut self, id: Pubkey, data: Vec<u8>) {
        let before = self.view().account(&id);
        let account = sysvars::account(before.as_ref(), data, &self.rent);
        self.put(id, account);
    }

    /// Decodes the sysvars from their accounts.
    fn sysvars(&self) -> Sysvars {
        let mut sysvars = Sysvars::empty();
        for id in SYSVARS {
            if let Some(account) = self.view().account(&id) {
                // An account with invalid data counts as missing.
                let _ = sysvars.set(id, account.data());
            }
        }
        sysvars
    }
}
