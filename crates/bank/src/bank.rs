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
    AccountSharedData, AccountStore, BatchWorkspace, BlockhashQueue, Builtins, Environment,
    FeatureSet, Fee, ProgramCache, Pubkey, Transaction, WorkspacePool, sysvars::Clock,
};
use solana_hash::Hash;

use crate::{
    accounts::{Accounts, View},
    ancestors::{Ancestors, BankId},
    error::BankError,
    lattice::LatticeHash,
    phase::Phase,
    stakes::Stakes,
    state::State,
    status_cache::{Key, StatusCache, key},
    time,
};

/// Options that are not part of a [`State`].
#[derive(Clone, Debug)]
pub struct Options {
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
            slot_milliseconds: time::SLOT_MILLISECONDS,
            hard_forks: Vec::new(),
            builtins: Builtins::default(),
            log_bytes_max: selkie_svm::cost::LOG_BYTES_MAX,
            compute_unit_limit: None,
            hashing_threads: 1,
        }
    }
}

/// Options of a new bank.
#[derive(Clone, Copy, Debug)]
pub struct BankOptions {
    /// Who receives fees; without a collector all fees are burned.
    pub collector: Option<Pubkey>,
    /// The Unix timestamp of the bank's clock, unless the parent's is later. `None` derives it from
    /// the slot.
    pub unix_timestamp: Option<i64>,
    /// Whether the bank counts in the block height and ages blockhashes. A cluster that makes blocks
    /// faster than its slot time can let only one per slot time count.
    pub counts: bool,
    /// Whether features whose accounts are pending become active although no epoch begins.
    pub activates_features: bool,
    /// Whether each slot between the parent's and this one counts as if it had an empty block: it is
    /// in the slot hashes and the slot history, and an epoch that began in it is past its rewards.
    /// Otherwise these slots were skipped.
    pub passes_slots: bool,
}

impl Default for BankOptions {
    /// Returns the options of a bank as on a real cluster, without a collector.
    fn default() -> Self {
        Self {
            collector: None,
            unix_timestamp: None,
            counts: true,
            activates_features: false,
            passes_slots: false,
        }
    }
}

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
    pub(crate) slot: u64,
    pub(crate) parent: Option<u64>,
    pub(crate) parent_hash: Hash,
    pub(crate) block_height: u64,
    /// See [`BankOptions::counts`].
    pub(crate) counts: bool,
    /// See [`BankOptions::passes_slots`].
    pub(crate) passes_slots: bool,
    pub(crate) environment: Environment,
    pub(crate) stakes: Arc<Stakes>,
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
    pub(crate) signatures: u64,
    pub(crate) fees: Fee,
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

/// The fields of a new bank.
pub(crate) struct Parts {
    pub(crate) ancestors: Ancestors,
    pub(crate) slot: u64,
    pub(crate) parent: Option<u64>,
    pub(crate) parent_hash: Hash,
    pub(crate) block_height: u64,
    /// See [`BankOptions::counts`].
    pub(crate) counts: bool,
    /// See [`BankOptions::passes_slots`].
    pub(crate) passes_slots: bool,
    pub(crate) environment: Environment,
    pub(crate) stakes: Arc<Stakes>,
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
            slot: parts.slot,
            parent: parts.parent,
            parent_hash: parts.parent_hash,
            block_height: parts.block_height,
            counts: parts.counts,
            passes_slots: parts.passes_slots,
            environment: parts.environment,
            stakes: parts.stakes,
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
        self.slot
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
        self.block_height
    }

    /// Returns the clock sysvar.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.environment.sysvars.clock().unwrap_or_default()
    }

    /// Returns the active features.
    #[must_use]
    pub fn features(&self) -> FeatureSet {
        self.environment.features
    }

    /// Returns the environment of transactions: features, builtin programs, sysvars, fees.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.environment
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
        self.frozen.get().map_or(self.environment.blockhash, |frozen| frozen.blockhash)
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
        &self.stakes
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
        let hash = self.hash().ok_or(BankError::NotFrozen(self.slot))?;
        let accounts = self.accounts()?;
        let processed = self.statuses().all(&self.ancestors);
        let state = State {
            slot: self.slot,
            block_height: self.block_height,
            hash: Some(hash),
            features: self.environment.features,
            blockhashes: self.read().blockhash_queue.blockhashes().copied().collect(),
            lamports_per_signature: self.environment.lamports_per_signature,
            stakes: Stakes::clone(&self.stakes),
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
