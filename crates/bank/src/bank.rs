//! One bank: a slot's accounts, environment and recent past, on its fork.
//!
//! A bank is open, then frozen; then it becomes the root and is one no more, or dies. Whatever
//! changes it holds `working`, and looks at `life` while it does. Versions of accounts and statuses
//! that it has written are in the ledger that all banks share, under its number.

use std::{
    collections::HashSet,
    sync::{
        Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU8, Ordering},
    },
};

use foldhash::fast::FixedState;
use selkie_svm::{
    AccountSharedData, AccountStore, Builtins, Environment, FeatureSet, Fee, ProcessOptions,
    Processed, ProgramCache, Pubkey, Recent, Transaction,
    batch::process_batch,
    process::{self, process},
    sysvars::Clock,
};
use solana_hash::Hash;
use solana_transaction_error::TransactionError;

use crate::{
    accounts::{Accounts, View},
    ancestors::{Ancestors, BankId},
    error::BankError,
    lattice::LatticeHash,
    state::State,
    statuses::{Key, Statuses, key},
    time,
};

/// What became of a transaction: it was processed, which it has paid for; or it was dropped.
pub type Outcome = Result<Processed, TransactionError>;

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
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            slot_milliseconds: time::SLOT_MILLISECONDS,
            hard_forks: Vec::new(),
            builtins: Builtins::default(),
            log_bytes_max: selkie_svm::cost::LOG_BYTES_MAX,
            threads: 1,
        }
    }
}

/// What all banks share.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) accounts: Accounts,
    pub(crate) statuses: RwLock<Statuses>,
    pub(crate) programs: Arc<ProgramCache>,
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
    pub(crate) collector: Option<Pubkey>,
    pub(crate) parent_lattice: LatticeHash,
    /// A [`Life`], written by whoever holds `working`.
    life: AtomicU8,
    pub(crate) working: RwLock<Working>,
    pub(crate) frozen: OnceLock<Frozen>,
}

/// What changes while a bank is open.
#[derive(Default, Debug)]
pub(crate) struct Working {
    /// Blockhashes, and what ancestors have processed as far as somebody asked for it.
    pub(crate) recent: Recent,
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
}

/// Where a bank is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Life {
    /// It changes.
    Open,
    /// It does not change any more.
    Frozen,
    /// The root came after it: what it has written is the root's.
    Rooted,
    /// It is on a fork that nobody goes on with.
    Dead,
}

impl Life {
    const ALL: [Self; 4] = [Self::Open, Self::Frozen, Self::Rooted, Self::Dead];
}

/// What a bank is made of besides what it finds in the ledger.
pub(crate) struct Parts {
    pub(crate) ancestors: Ancestors,
    pub(crate) slot: u64,
    pub(crate) parent: Option<u64>,
    pub(crate) parent_hash: Hash,
    pub(crate) block_height: u64,
    pub(crate) environment: Environment,
    pub(crate) collector: Option<Pubkey>,
    pub(crate) parent_lattice: LatticeHash,
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
            collector: parts.collector,
            parent_lattice: parts.parent_lattice,
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
        self.read().recent.is_recent(blockhash)
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

    /// Puts an account at an address as if it had always been there; one without lamports is
    /// deleted. Sysvars that are set this way are seen by programs in the banks after.
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

    /// Processes a transaction, and keeps what it leaves behind.
    ///
    /// # Errors
    /// If the bank is not open.
    pub fn process(
        &self,
        transaction: &Transaction,
        options: &ProcessOptions,
    ) -> Result<Outcome, BankError> {
        let mut working = self.open()?;
        self.recall(&mut working.recent, core::slice::from_ref(transaction));
        let view = self.view();
        let outcome = process(transaction, &self.runtime(&view, &working.recent), options, None);
        self.commit(&mut working, core::iter::once((transaction, &outcome)));
        Ok(outcome)
    }

    /// Processes transactions on some threads, and keeps what they leave behind. What becomes of
    /// them is what would become of them one after the other.
    ///
    /// # Errors
    /// If the bank is not open.
    pub fn process_batch(
        &self,
        transactions: &[Transaction],
        options: &ProcessOptions,
        threads: usize,
    ) -> Result<Vec<Outcome>, BankError> {
        let mut working = self.open()?;
        self.recall(&mut working.recent, transactions);
        let view = self.view();
        let runtime = self.runtime(&view, &working.recent);
        let outcomes = process_batch(transactions, &runtime, options, threads);
        self.commit(&mut working, transactions.iter().zip(&outcomes));
        Ok(outcomes)
    }

    /// Processes a transaction, and forgets what it would leave behind. The bank may be frozen.
    ///
    /// # Errors
    /// If the bank has no state of its own any more.
    pub fn simulate(
        &self,
        transaction: &Transaction,
        options: &ProcessOptions,
    ) -> Result<Outcome, BankError> {
        let working = self.read();
        let view = self.view();
        let simulate = |recent| process(transaction, &self.runtime(&view, recent), options, None);
        let outcome = if self.has_processed(transaction) {
            let mut recent = Recent::new(working.recent.blockhashes().copied());
            self.recall(&mut recent, core::slice::from_ref(transaction));
            simulate(&recent)
        } else {
            simulate(&working.recent)
        };
        self.check_has_state()?;
        Ok(outcome)
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
            blockhashes: self.read().recent.blockhashes().copied().collect(),
            lamports_per_signature: self.environment.lamports_per_signature,
            epoch_stake: self.environment.epoch_stake.clone(),
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

    fn runtime<'a>(
        &'a self,
        accounts: &'a View<'a>,
        recent: &'a Recent,
    ) -> process::Bank<'a, View<'a>> {
        let programs = &self.ledger.programs;
        process::Bank { accounts, environment: &self.environment, recent, programs }
    }

    /// Notes which of these were processed by ancestors, or by the bank itself: the runtime says so
    /// when all that is checked before is right.
    fn recall(&self, recent: &mut Recent, transactions: &[Transaction]) {
        let statuses = self.statuses();
        for known in transactions.iter().map(key) {
            if statuses.contains(&known, &self.ancestors) {
                recent.add_processed(known.0, known.1);
            }
        }
    }

    fn commit<'a>(
        &self,
        working: &mut Working,
        outcomes: impl Iterator<Item = (&'a Transaction, &'a Outcome)>,
    ) {
        let mut statuses = self.ledger.statuses.write().unwrap_or_else(PoisonError::into_inner);
        for (transaction, outcome) in outcomes {
            let Ok(processed) = outcome else { continue };
            for (key, account) in processed.writes() {
                self.put(working, *key, account.clone());
            }
            statuses.insert(key(transaction), self.id());
            working.processed.push(key(transaction));
            let signatures = transaction.signatures().len() as u64;
            working.signatures = working.signatures.saturating_add(signatures);
            let (fees, fee) = (&mut working.fees, processed.fee);
            fees.signatures = fees.signatures.saturating_add(fee.signatures);
            fees.priority = fees.priority.saturating_add(fee.priority);
        }
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

    fn open(&self) -> Result<RwLockWriteGuard<'_, Working>, BankError> {
        let working = self.write();
        self.check_has_state()?;
        if self.life() == Life::Open { Ok(working) } else { Err(BankError::Frozen(self.slot)) }
    }

    pub(crate) fn life(&self) -> Life {
        let life = self.life.load(Ordering::Acquire);
        Life::ALL.into_iter().find(|known| *known as u8 == life).unwrap_or(Life::Dead)
    }

    /// What follows in the bank's life, said by whoever holds `working`.
    pub(crate) fn set_life(&self, _working: &mut Working, life: Life) {
        self.life.store(life as u8, Ordering::Release);
    }

    pub(crate) fn check_has_state(&self) -> Result<(), BankError> {
        match self.life() {
            Life::Open | Life::Frozen => Ok(()),
            Life::Rooted => Err(BankError::Rooted(self.slot)),
            Life::Dead => Err(BankError::Dead(self.slot)),
        }
    }

    fn statuses(&self) -> RwLockReadGuard<'_, Statuses> {
        self.ledger.statuses.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What follows in the bank's life, once nobody is at work on it.
    pub(crate) fn enter(&self, life: Life) {
        self.set_life(&mut self.write(), life);
    }

    /// Drops what the bank has written. It is dead, and so is all that descends from it.
    pub(crate) fn drop_state(&self) {
        let mut working = self.write();
        let Working { changed, processed, .. } = core::mem::take(&mut *working);
        let mut statuses = self.ledger.statuses.write().unwrap_or_else(PoisonError::into_inner);
        statuses.remove(&processed, self.id());
        drop(statuses);
        changed.iter().for_each(|key| self.ledger.accounts.remove(key, self.id()));
    }

    /// Makes what the bank has written the root's. It is the root, or before it, and no version of
    /// a dead bank is left.
    pub(crate) fn squash(&self, root: BankId) {
        let mut working = self.write();
        let changed = core::mem::take(&mut working.changed);
        let processed = core::mem::take(&mut working.processed);
        let mut statuses = self.ledger.statuses.write().unwrap_or_else(PoisonError::into_inner);
        statuses.root(&processed);
        drop(statuses);
        changed.iter().for_each(|key| self.ledger.accounts.squash(key, root));
    }
}

impl AccountStore for Bank {
    /// The account at an address; nothing if the bank has no state of its own any more.
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.get_account(key).ok().flatten()
    }
}
