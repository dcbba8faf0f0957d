//! A bank: the accounts, environment and recent blockhashes of a slot on its fork.
//!
//! A bank is open, then frozen; then it becomes the root and is superseded by the next root, or it
//! dies. Every change takes the lock `working` and checks `phase` under it. The versions of
//! accounts and the statuses that a bank wrote are in the state shared by all banks, under its
//! number.

use std::{
    collections::HashSet,
    sync::{
        Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic::AtomicU8,
    },
};

use foldhash::fast::FixedState;
use selkie_svm::{
    AccountSharedData, AccountStore, BatchWorkspace, BlockhashQueue, Environment, FeatureSet, Fee,
    ProgramCache, Pubkey, ReadableAccount, Transaction, WorkspacePool, sysvars::Clock,
};
use solana_hash::Hash;
use solana_sdk_ids::sysvar;

use crate::{
    accounts::{Accounts, View},
    alpenglow::active_since,
    ancestors::{Ancestors, BankId},
    error::BankError,
    head::{BlockEnd, Head},
    lattice::LatticeHash,
    options::Options,
    phase::Phase,
    rewards::{Inflation, InflationSchedule, Reward, doubled_since, inflation_since},
    slot_time::{RAISE_BLOCK_LIMITS_TO_100M, SlotParameters},
    stakes::Stakes,
    state::State,
    status_cache::{Key, StatusCache, key},
    sysvars, time,
};

/// The state that all banks share.
#[derive(Debug)]
pub(crate) struct SharedState {
    pub(crate) accounts: Accounts,
    pub(crate) statuses: RwLock<StatusCache>,
    pub(crate) programs: Arc<ProgramCache>,
    pub(crate) workspaces: WorkspacePool,
    pub(crate) batch_workspaces: WorkspacePool<BatchWorkspace>,
    pub(crate) options: Options,
}

/// The bank of a slot: accounts, environment and processed transactions.
#[derive(Debug)]
pub struct Bank {
    pub(crate) shared: Arc<SharedState>,
    pub(crate) ancestors: Ancestors,
    pub(crate) head: Head,
    pub(crate) parent: Option<u64>,
    pub(crate) parent_hash: Hash,
    /// See [`Step::counts`](crate::Step::counts).
    pub(crate) counts: bool,
    pub(crate) collector: Option<Pubkey>,
    pub(crate) parent_lattice: LatticeHash,
    pub(crate) parent_history: LatticeHash,
    /// A [`Phase`], written while `working` is locked.
    pub(crate) phase: AtomicU8,
    pub(crate) working: RwLock<Working>,
    pub(crate) frozen: OnceLock<Frozen>,
}

/// The mutable state of an open bank.
#[derive(Default, Debug)]
pub(crate) struct Working {
    /// The recent blockhashes, and transactions processed by ancestors as far as they were looked
    /// up.
    pub(crate) blockhash_queue: BlockhashQueue,
    /// The addresses that this bank wrote to.
    pub(crate) changed: HashSet<Pubkey, FixedState>,
    /// The transactions that this bank processed.
    pub(crate) processed: Vec<Key>,
    /// The number of signatures of its transactions, and after the migration to Alpenglow these.
    pub(crate) signatures: u64,
    pub(crate) signature_bytes: Vec<[u8; 64]>,
    pub(crate) fees: Fee,
    /// Who received them: the collector, and the vote account for its delegators.
    pub(crate) collected: Vec<Reward>,
}

/// The results of freezing a bank.
#[derive(Debug)]
pub(crate) struct Frozen {
    pub(crate) hash: Hash,
    pub(crate) blockhash: Hash,
    pub(crate) lattice: LatticeHash,
    /// The hash of the slot history sysvar, whose large account changes in every bank.
    pub(crate) history: LatticeHash,
}

impl Frozen {
    /// Returns the hashes with which the block ended.
    pub(crate) fn end(&self) -> BlockEnd {
        BlockEnd { hash: self.hash, blockhash: self.blockhash }
    }
}

/// The fields of a new bank.
pub(crate) struct Parts {
    pub(crate) ancestors: Ancestors,
    pub(crate) head: Head,
    pub(crate) parent: Option<u64>,
    pub(crate) parent_hash: Hash,
    /// See [`Step::counts`](crate::Step::counts).
    pub(crate) counts: bool,
    pub(crate) collector: Option<Pubkey>,
    pub(crate) parent_lattice: LatticeHash,
    pub(crate) parent_history: LatticeHash,
    pub(crate) working: Working,
}

impl Bank {
    pub(crate) fn new(shared: Arc<SharedState>, parts: Parts) -> Self {
        Self {
            shared,
            ancestors: parts.ancestors,
            head: parts.head,
            parent: parts.parent,
            parent_hash: parts.parent_hash,
            counts: parts.counts,
            collector: parts.collector,
            parent_lattice: parts.parent_lattice,
            parent_history: parts.parent_history,
            phase: AtomicU8::new(Phase::Open as u8),
            working: RwLock::new(parts.working),
            frozen: OnceLock::new(),
        }
    }

    /// Returns the slot.
    #[must_use]
    pub fn slot(&self) -> u64 {
        self.head.slot
    }

    /// Returns the parent's slot; `None` for the genesis bank and for an imported one.
    #[must_use]
    pub fn parent_slot(&self) -> Option<u64> {
        self.parent
    }

    /// Returns the parent's bank hash.
    #[must_use]
    pub fn parent_hash(&self) -> &Hash {
        &self.parent_hash
    }

    /// Returns the epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.clock().epoch
    }

    /// Returns the number of blocks before it on its fork.
    #[must_use]
    pub fn block_height(&self) -> u64 {
        self.head.block_height
    }

    /// Returns the clock sysvar that the bank's transactions see; once the bank is frozen, that of its
    /// account, which its footer has set on a chain that has migrated to Alpenglow.
    #[must_use]
    pub fn clock(&self) -> Clock {
        let footer = || {
            let account = self.view().account(&sysvar::clock::ID)?;
            sysvars::read_clock(account.data())
        };
        let has_footer = self.environment().is_alpenglow && self.is_frozen();
        let clock = has_footer.then(footer).flatten();
        clock.or_else(|| self.environment().sysvars.clock()).unwrap_or_default()
    }

    /// Returns the parameters of its slot: duration, limits of a block.
    #[must_use]
    pub fn slot_parameters(&self) -> SlotParameters {
        self.head.slot_times.at(self.slot())
    }

    /// Returns how the supply grows, and the years since it began to at the start of the epoch (agave:
    /// `slot_in_year_for_inflation`).
    #[must_use]
    pub fn inflation(&self) -> (InflationSchedule, f64) {
        let schedule = time::schedule(&self.environment().sysvars);
        let inflation = Inflation {
            schedule: &schedule,
            slot_times: &self.head.slot_times,
            epoch: schedule.get_epoch(self.slot()),
            since: inflation_since(self),
            doubled_since: doubled_since(self),
        };
        inflation.schedule()
    }

    /// Returns the limits of compute units for an account and for a block.
    #[must_use]
    pub fn units_max(&self) -> (u64, u64) {
        let is_raised = active_since(self, &RAISE_BLOCK_LIMITS_TO_100M).is_some();
        self.slot_parameters().units_max(is_raised)
    }

    /// Returns the active features.
    #[must_use]
    pub fn features(&self) -> FeatureSet {
        self.environment().features
    }

    /// Returns the environment of transactions: features, builtin programs, sysvars, fees.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.head.environment
    }

    /// Returns the cache of loaded programs, which all banks share.
    #[must_use]
    pub fn programs(&self) -> &Arc<ProgramCache> {
        &self.shared.programs
    }

    /// Returns the fee collector, if there is one.
    #[must_use]
    pub fn collector(&self) -> Option<&Pubkey> {
        self.collector.as_ref()
    }

    /// Returns whether the bank is frozen.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.frozen.get().is_some()
    }

    /// Returns whether the bank is on an abandoned fork.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.phase() == Phase::Dead
    }

    /// Returns the bank hash, once the bank is frozen.
    #[must_use]
    pub fn hash(&self) -> Option<Hash> {
        self.frozen.get().map(|frozen| frozen.hash)
    }

    /// Returns the hash of all accounts, once the bank is frozen.
    #[must_use]
    pub fn lattice_hash(&self) -> Option<&LatticeHash> {
        self.frozen.get().map(|frozen| &frozen.lattice)
    }

    /// Returns the newest blockhash that transactions may refer to: the parent's until the bank is
    /// frozen, then its own.
    #[must_use]
    pub fn latest_blockhash(&self) -> Hash {
        self.frozen.get().map_or(self.environment().blockhash, |frozen| frozen.blockhash)
    }

    /// Returns at most so many of the recent blockhashes: the newest ones, oldest first.
    #[must_use]
    pub fn newest_blockhashes(&self, max: usize) -> Vec<Hash> {
        let working = self.read();
        let newest_first = working.blockhash_queue.blockhashes().rev().take(max);
        let mut blockhashes: Vec<Hash> = newest_first.copied().collect();
        blockhashes.reverse();
        blockhashes
    }

    /// Returns the stakes by epoch.
    #[must_use]
    pub fn stakes(&self) -> &Stakes {
        &self.head.stakes
    }

    /// Returns whether transactions with this blockhash are accepted.
    #[must_use]
    pub fn is_blockhash_valid(&self, blockhash: &Hash) -> bool {
        self.read().blockhash_queue.is_recent(blockhash)
    }

    /// Returns the number of signatures processed so far.
    #[must_use]
    pub fn signature_count(&self) -> u64 {
        self.read().signatures
    }

    /// Returns the fees paid so far. Freezing burns and distributes them.
    #[must_use]
    pub fn fees(&self) -> Fee {
        self.read().fees
    }

    /// Returns what the runtime paid and took in the block: the admission of vote accounts, commissions
    /// and the rewards of stakes, and once the bank is frozen what the collector received of the fees.
    #[must_use]
    pub fn rewards(&self) -> Vec<Reward> {
        self.head.rewards.iter().copied().chain(self.read().collected.iter().copied()).collect()
    }

    /// Returns in how many blocks after this one stakes are rewarded, if this is the first block of an
    /// epoch (agave: `get_rewards_and_num_partitions`).
    #[must_use]
    pub fn reward_partitions(&self) -> Option<u64> {
        let schedule = time::schedule(&self.environment().sysvars);
        let parent = schedule.get_epoch(self.parent?);
        let data = self.environment().sysvars.get(&sysvar::epoch_rewards::ID)?;
        let rewards = sysvars::read_epoch_rewards(data);
        let active = rewards.filter(|it| it.active && parent < schedule.get_epoch(self.slot()));
        active.map(|it| it.num_partitions)
    }

    /// Returns whether this bank or an ancestor has processed the transaction.
    #[must_use]
    pub fn has_processed(&self, transaction: &Transaction) -> bool {
        self.statuses().contains(&key(transaction), &self.ancestors)
    }

    /// Returns the account at `key`.
    ///
    /// # Errors
    /// If the bank is dead or before the root.
    pub fn get_account(&self, key: &Pubkey) -> Result<Option<AccountSharedData>, BankError> {
        let account = self.view().account(key);
        // The account belongs to this bank only if it still had state after the lookup.
        self.check_has_state()?;
        Ok(account)
    }

    /// Returns every account, sorted by address.
    ///
    /// # Errors
    /// If the bank is dead or before the root.
    pub fn accounts(&self) -> Result<Vec<(Pubkey, AccountSharedData)>, BankError> {
        let _working = self.read();
        let accounts = self.shared.accounts.all(&self.ancestors);
        self.check_has_state()?;
        Ok(accounts)
    }

    /// Returns the addresses that the bank has written to so far, sorted. A bank that became the root,
    /// or is before it, has none any more.
    #[must_use]
    pub fn changed_addresses(&self) -> Vec<Pubkey> {
        let mut changed: Vec<Pubkey> = self.read().changed.iter().copied().collect();
        changed.sort_unstable();
        changed
    }

    /// Sets the account at `key`; one with 0 lamports is deleted. Programs see sysvars set this way
    /// in child banks only.
    ///
    /// # Errors
    /// If the bank is not open.
    pub fn set_account(
        &self,
        key: Pubkey,
        account: impl Into<AccountSharedData>,
    ) -> Result<(), BankError> {
        let mut working = self.open()?;
        self.put(&mut working, key, account.into());
        Ok(())
    }

    /// Returns the state from which another process can continue.
    ///
    /// # Errors
    /// If the bank is not frozen, is dead, or is before the root.
    pub fn export(&self) -> Result<State, BankError> {
        let hash = self.hash().ok_or(BankError::NotFrozen(self.slot()))?;
        let accounts = self.accounts()?;
        let processed = self.statuses().all(&self.ancestors);
        let state = State {
            slot: self.slot(),
            block_height: self.block_height(),
            hash: Some(hash),
            features: self.features(),
            blockhashes: self.read().blockhash_queue.blockhashes().copied().collect(),
            lamports_per_signature: self.environment().lamports_per_signature,
            stakes: self.stakes().clone(),
            processed,
            // The caller may change the accounts.
            lattice: None,
            accounts,
        };
        self.check_has_state()?;
        Ok(state)
    }

    pub(crate) fn view(&self) -> View<'_> {
        View { accounts: &self.shared.accounts, ancestors: &self.ancestors }
    }

    pub(crate) fn id(&self) -> BankId {
        self.ancestors.bank()
    }

    pub(crate) fn put(&self, working: &mut Working, key: Pubkey, account: AccountSharedData) {
        working.changed.insert(key);
        self.shared.accounts.put(key, self.id(), account);
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Working> {
        self.working.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Working> {
        self.working.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn statuses(&self) -> RwLockReadGuard<'_, StatusCache> {
        self.shared.statuses.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AccountStore for Bank {
    /// Returns the account at `key`; `None` also if the bank is dead or before the root.
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.get_account(key).ok().flatten()
    }
}
