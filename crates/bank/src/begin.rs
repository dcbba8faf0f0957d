//! How a bank begins: from its parent, or from a state that was written down.

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
    bank::{Bank, Frozen, Ledger, Parts, Working},
    epoch::all_builtins,
    error::BankError,
    freeze::{bank_hash, lattice_of},
    lattice::LatticeHash,
    life::Life,
    stakes::{StakeAccounts, Stakes},
    state::State,
    sysvars, time,
};

/// The sysvars that programs can ask for.
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

/// A bank of which not everything is there yet.
pub(crate) struct Beginning<'p> {
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
    /// The bank that a state describes, which is the root.
    pub(crate) fn import(ledger: Arc<Ledger>, id: BankId, state: State) -> Self {
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
        let lattice = lattice_of(&accounts, ledger.options.hashing_threads);
        accounts.into_iter().for_each(|(key, account)| ledger.accounts.put(key, id, account));
        let mut statuses = ledger.statuses.write().expect("nobody else has the ledger yet");
        state.processed.iter().for_each(|key| statuses.insert(*key, id));
        statuses.root(&state.processed);
        drop(statuses);
        let hash =
            state.hash.unwrap_or_else(|| bank_hash(&Hash::default(), 0, &blockhash, &lattice, 0));
        let environment = Environment {
            features,
            sysvars,
            builtins: all_builtins(features, &ledger.options.builtins),
            precompiles: precompiles(),
            blockhash,
            lamports_per_signature: state.lamports_per_signature,
            epoch_stake: stakes.of(schedule.get_epoch(slot)).clone(),
            log_bytes_max: ledger.options.log_bytes_max,
            ..Environment::default()
        };
        let parts = Parts {
            ancestors: Ancestors::root(id),
            slot,
            parent: None,
            parent_hash: Hash::default(),
            block_height,
            environment,
            stakes: Arc::new(stakes),
            collector: None,
            parent_lattice: LatticeHash::default(),
            parent_history: LatticeHash::default(),
            working: Working { blockhash_queue, ..Working::default() },
        };
        let bank = Self::new(ledger, parts);
        let history = bank.history();
        let frozen = Frozen { hash, blockhash, lattice, history };
        bank.frozen.set(frozen).expect("nobody else has the bank yet");
        bank.set_life(&mut bank.write(), Life::Frozen);
        bank
    }

    /// A bank after this one, which is frozen.
    pub(crate) fn child(
        &self,
        id: BankId,
        root: BankId,
        slot: u64,
        collector: Option<Pubkey>,
    ) -> Result<Self, BankError> {
        let frozen = self.frozen.get().ok_or(BankError::NotFrozen(self.slot))?;
        let environment = &self.environment;
        let mut beginning = Beginning {
            parent: self,
            slot,
            block_height: self.block_height.saturating_add(1),
            features: environment.features,
            builtins: environment.builtins.clone(),
            rent: environment.rent(),
            stakes: Arc::clone(&self.stakes),
            ancestors: self.ancestors.child(id, root),
            working: Working {
                blockhash_queue: BlockhashQueue::new(
                    self.read().blockhash_queue.blockhashes().copied(),
                ),
                ..Working::default()
            },
        };
        beginning.prepare(frozen);
        let epoch_stake = beginning.epoch_stake();
        let environment = Environment {
            features: beginning.features,
            sysvars: beginning.sysvars(),
            programs: environment.programs.clone(),
            builtins: beginning.builtins,
            precompiles: environment.precompiles.clone(),
            blockhash: frozen.blockhash,
            lamports_per_signature: environment.lamports_per_signature,
            epoch_stake,
            log_bytes_max: environment.log_bytes_max,
        };
        let parts = Parts {
            ancestors: beginning.ancestors,
            slot,
            parent: Some(self.slot),
            parent_hash: frozen.hash,
            block_height: beginning.block_height,
            environment,
            stakes: beginning.stakes,
            collector,
            parent_lattice: frozen.lattice.clone(),
            parent_history: frozen.history.clone(),
            working: beginning.working,
        };
        Ok(Self::new(Arc::clone(&self.ledger), parts))
    }
}

impl Beginning<'_> {
    /// All that happens before the first transaction (agave: `prepare_for_block_execution`).
    fn prepare(&mut self, parent: &Frozen) {
        let clock = self.parent.clock();
        let schedule = time::schedule(&self.parent.environment.sysvars);
        let epoch_before = schedule.get_epoch(self.parent.slot);
        if epoch_before < schedule.get_epoch(self.slot) {
            self.begin_epoch(epoch_before);
        } else {
            self.note_stakes();
        }
        self.end_rewards();
        let before = self.data(&sysvar::slot_hashes::ID);
        let slot_hashes = sysvars::slot_hashes(&before, self.parent.slot, &parent.hash);
        self.set_sysvar(sysvar::slot_hashes::ID, slot_hashes);
        let slot_milliseconds = self.parent.ledger.options.slot_milliseconds;
        let clock = time::clock_after(&clock, self.slot, &schedule, slot_milliseconds);
        self.set_sysvar(sysvar::clock::ID, sysvars::clock(&clock));
        self.note_restart();
    }

    fn note_restart(&mut self) {
        let forks = &self.parent.ledger.options.hard_forks;
        let last = forks.iter().rev().find(|fork| **fork <= self.slot).copied().unwrap_or(0);
        let data = sysvars::last_restart_slot(last);
        if self.data(&sysvar::last_restart_slot::ID) != data {
            self.set_sysvar(sysvar::last_restart_slot::ID, data);
        }
    }

    /// The stake that counts in the epoch of the bank.
    fn epoch_stake(&self) -> EpochStake {
        let environment = &self.parent.environment;
        let schedule = time::schedule(&environment.sysvars);
        let epoch = schedule.get_epoch(self.slot);
        if epoch == schedule.get_epoch(self.parent.slot) {
            return environment.epoch_stake.clone();
        }
        self.stakes.of(epoch).clone()
    }

    /// The stake and vote accounts, as the bank sees them now.
    pub(crate) fn stake_accounts(&self) -> StakeAccounts {
        let accounts = &self.parent.ledger.accounts;
        let is_one = |account: &AccountSharedData| StakeAccounts::is_owner(account.owner());
        let found = accounts.filtered(&self.ancestors, is_one);
        let found = found.iter().map(|(key, account)| (key, account));
        StakeAccounts::new(found, self.features, &self.rent)
    }

    pub(crate) fn view(&self) -> View<'_> {
        View { accounts: &self.parent.ledger.accounts, ancestors: &self.ancestors }
    }

    /// The data of an account, or none.
    pub(crate) fn data(&self, key: &Pubkey) -> Vec<u8> {
        self.view().account(key).map(|account| account.data().to_vec()).unwrap_or_default()
    }

    pub(crate) fn put(&mut self, key: Pubkey, account: AccountSharedData) {
        self.working.changed.insert(key);
        self.parent.ledger.accounts.put(key, self.ancestors.own(), account);
    }

    pub(crate) fn set_sysvar(&mut self, id: Pubkey, data: Vec<u8>) {
        let before = self.view().account(&id);
        let account = sysvars::account(before.as_ref(), data, &self.rent);
        self.put(id, account);
    }

    /// The sysvars, as their accounts have them.
    fn sysvars(&self) -> Sysvars {
        let mut sysvars = Sysvars::empty();
        for id in SYSVARS {
            if let Some(account) = self.view().account(&id) {
                // Bytes that are no sysvar are as if it were not there.
                let _ = sysvars.set(id, account.data());
            }
        }
        sysvars
    }
}
