//! One bank: a slot's accounts, environment and recent past, on its fork.
//!
//! A bank is open, then frozen; then it becomes the root and is one no more, or dies. Whatever
//! changes it holds `working`, and looks at `life` while it does. Versions of accounts and statuses
//! that it has written are in the ledger that all banks share, under its number.

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
    life::Life,
    stakes::Stakes,
    state::State,
    statuses::{Key, Statuses, key},
    time,
};

/// How a cluster differs from mainnet in what its state does not say.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long a slot takes.
    pub slot_milliseconds: u64,
    /// The slots in which the cluster was restarted, in order.
    pub hard_forks: Vec<u64>,
    /// Programs of the host besides those that the features bring.
    pub builtins: Builtins,
    /// Bytes of a transaction's log after which lines are dropped.
    pub log_bytes_max: usize,
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
            hashing_threads: 1,
        }
    }
}

/// What all banks share.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) accounts: Accounts,
    pub(crate) statuses: RwLock<Statuses>,
    pub(crate) programs: Arc<ProgramCache>,
    pub(crate) workspaces: WorkspacePool,
    pub(crate) batch_workspaces: WorkspacePool<BatchWorkspace>,
    pub(crate) options: Options,
}

/// A slot's block being made, or made: accounts, environment, and what was processed.
#[derive(Debug)]
pub struct Bank {
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) ancestors: Ancestors,
    pub(crate) slot: u64,
    pub(crate) parent: Option<u64>,
    pub(crate) parent_hash: Hash,
    pub(crate) block_height: u64,
    pub(crate) environment: Environment,
    pub(crate) stakes: Arc<Stakes>,
    pub(crate) collector: Option<Pubkey>,
    pub(crate) parent_lattice: LatticeHash,
    pub(crate) parent_history: LatticeHash,
    /// A [`Life`], written by whoever holds `working`.
    pub(crate) life: AtomicU8,
    pub(crate) working: RwLock<Working>,
    pub(crate) frozen: OnceLock<Frozen>,
}

/// What changes while a bank is open.
#[derive(Default, Debug)]
pub(crate) struct Working {
    /// Blockhashes, and what ancestors have processed as far as somebody asked for it.
    pub(crate) blockhash_queue: BlockhashQueue,
    /// The addresses that were written to.
    pub(crate) changed: HashSet<Pubkey, FixedState>,
    /// The transactions that were processed.
    pub(crate) processed: Vec<Key>,
    pub(crate) signatures: u64,
    pub(crate) fees: Fee,
}

/// What is known of a bank once it is frozen.
#[derive(Debug)]
pub(crate) struct Frozen {
    pub(crate) hash: Hash,
    pub(crate) blockhash: Hash,
    pub(crate) lattice: LatticeHash,
    /// The part of it that is the history of slots: it is long, and changes in every bank.
    pub(crate) history: LatticeHash,
}

/// What a bank is made of besides what it finds in the ledger.
pub(crate) struct Parts {
    pub(crate) ancestors: Ancestors,
    pub(crate) slot: u64,
    pub(crate) parent: Option<u64>,
    pub(crate) parent_hash: Hash,
    pub(crate) block_height: u64,
    pub(crate) environment: Environment,
    pub(crate) stakes: Arc<Stakes>,
    pub(crate) collector: Option<Pubkey>,
    pub(crate) parent_lattice: LatticeHash,
    pub(crate) parent_history: LatticeHash,
    pub(crate) working: Working,
}

impl Bank {
    pub(crate) fn new(ledger: Arc<Ledger>, parts: Parts) -> Self {
        Self {
            ledger,
            ancestors: parts.ancestors,
            slot: parts.slot,
            parent: parts.parent,
            parent_hash: parts.parent_hash,
            block_height: parts.block_height,
            environment: parts.environment,
            stakes: parts.stakes,
            collector: parts.collector,
            parent_lattice: parts.parent_lattice,
            parent_history: parts.parent_history,
            life: AtomicU8::new(Life::Open as u8),
            working: RwLock::new(parts.working),
            frozen: OnceLock::new(),
        }
    }

    /// The slot.
    #[must_use]
    pub fn slot(&self) -> u64 {
        self.slot
    }

    /// The parent's slot; the first bank of all has none, nor has one that was imported.
    #[must_use]
    pub fn parent_slot(&self) -> Option<u64> {
        self.parent
    }

    /// The parent's hash.
    #[must_use]
    pub fn parent_hash(&self) -> &Hash {
        &self.parent_hash
    }

    /// The epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.clock().epoch
    }

    /// How many blocks came before on its fork.
    #[must_use]
    pub fn block_height(&self) -> u64 {
        self.block_height
    }

    /// The clock, as programs see it.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.environment.sysvars.clock().unwrap_or_default()
    }

    /// What is switched on.
    #[must_use]
    pub fn features(&self) -> FeatureSet {
        self.environment.features
    }

    /// What the cluster gives to all.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Programs that are ready, which all banks share.
    #[must_use]
    pub fn programs(&self) -> &Arc<ProgramCache> {
        &self.ledger.programs
    }

    /// Who gets the fees, if anybody does.
    #[must_use]
    pub fn collector(&self) -> Option<&Pubkey> {
        self.collector.as_ref()
    }

    /// Whether the bank does not change any more.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.frozen.get().is_some()
    }

    /// Whether the bank is on a fork that nobody goes on with.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.life() == Life::Dead
    }

    /// The hash, once the bank is frozen.
    #[must_use]
    pub fn hash(&self) -> Option<Hash> {
        self.frozen.get().map(|frozen| frozen.hash)
    }

    /// The hash of all accounts, once the bank is frozen.
    #[must_use]
    pub fn lattice_hash(&self) -> Option<&LatticeHash> {
        self.frozen.get().map(|frozen| &frozen.lattice)
    }

    /// The newest blockhash that transactions may refer to: the parent's until the bank is frozen,
    /// then its own.
    #[must_use]
    pub fn latest_blockhash(&self) -> Hash {
        self.frozen.get().map_or(self.environment.blockhash, |frozen| frozen.blockhash)
    }

    /// Whether transactions with this blockhash may still be sent.
    #[must_use]
    pub fn is_blockhash_valid(&self, blockhash: &Hash) -> bool {
        self.read().blockhash_queue.is_recent(blockhash)
    }

    /// How many signatures there were so far.
    #[must_use]
    pub fn signature_count(&self) -> u64 {
        self.read().signatures
    }

    /// The fees that were paid so far, which are burned and distributed when the bank is frozen.
    #[must_use]
    pub fn fees(&self) -> Fee {
        self.read().fees
    }

    /// Whether the bank or an ancestor has processed the transaction.
    #[must_use]
    pub fn has_processed(&self, transaction: &Transaction) -> bool {
        self.statuses().contains(&key(transaction), &self.ancestors)
    }

    /// The account at an address, if there is one.
    ///
    /// # Errors
    /// If the bank has no state of its own any more.
    pub fn get_account(&self, key: &Pubkey) -> Result<Option<AccountSharedData>, BankError> {
        let account = self.view().account(key);
        // What was found is the bank's if it has been there all the while.
        self.check_has_state()?;
        Ok(account)
    }

    /// Every account, by address.
    ///
    /// # Errors
    /// If the bank has no state of its own any more.
    pub fn accounts(&self) -> Result<Vec<(Pubkey, AccountSharedData)>, BankError> {
        let _working = self.read();
        let accounts = self.ledger.accounts.all(&self.ancestors);
        self.check_has_state()?;
        Ok(accounts)
    }

    /// Puts an account at an address by hand; one without lamports is deleted. Sysvars that are set
    /// this way are seen by programs in the banks after.
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

    /// What is needed to go on from here elsewhere.
    ///
    /// # Errors
    /// If the bank is not frozen, or has no state of its own any more.
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
            accounts,
        };
        self.check_has_state()?;
        Ok(state)
    }

    pub(crate) fn view(&self) -> View<'_> {
        View { accounts: &self.ledger.accounts, ancestors: &self.ancestors }
    }

    pub(crate) fn id(&self) -> BankId {
        self.ancestors.own()
    }

    pub(crate) fn put(&self, working: &mut Working, key: Pubkey, account: AccountSharedData) {
        working.changed.insert(key);
        self.ledger.accounts.put(key, self.id(), account);
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Working> {
        self.working.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Working> {
        self.working.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn statuses(&self) -> RwLockReadGuard<'_, Statuses> {
        self.ledger.statuses.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AccountStore for Bank {
    /// The account at an address; nothing if the bank has no state of its own any more.
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.get_account(key).ok().flatten()
    }
}
