//! Transactions in parallel, with the results of sequential processing.
//!
//! A transaction waits for those before it that may write to an account it uses; all others run at
//! the same time. Threads take the next transactions in turn and process them in order. So the first
//! transaction that is not done never waits: there is no queue, no lock shared by all, and no
//! deadlock. What a transaction waits for depends on those before it alone; so one thread plans ahead
//! while the others already process.
//!
//! Signatures depend on nothing: threads verify those of later transactions while they wait, so that a
//! block whose transactions all write to one account is verified on all threads.
//!
//! The accounts that a transaction writes stay in its outcome, where later transactions read them: so
//! none waits for the readers of what it overwrites.

use core::ops::Range;
use std::{
    sync::{
        Mutex, OnceLock, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use crate::{
    chain::{
        account::{AccountStore, is_same},
        key_map::KeyMap,
        transaction::Transaction,
    },
    pipeline::{
        chain_state::{ChainState, ProcessOptions},
        check::{check, is_reserved, verify_signatures},
        outcome::Processed,
        process::process_verified,
        thread_cache::AccountCache,
        workspace::Workspace,
    },
    programs::transaction_programs::TransactionPrograms,
};

use self::plan::{Before, Index, Planned, Planner, Use};

mod plan;

type Outcome = Result<Box<Processed>, TransactionError>;

/// The outcome of a transaction until it is processed.
const UNPROCESSED: Outcome = Err(TransactionError::ResanitizationNeeded);

/// Processes transactions on `threads` threads. The results are those of processing them one after
/// the other, each on what those before have left, whatever the number of threads. Nothing is
/// committed: what is to be written, and in which order, the results say.
pub fn process_batch<S: AccountStore + Sync>(
    transactions: &[Transaction],
    chain: &ChainState<'_, S>,
    options: &ProcessOptions,
    threads: usize,
    workspace: &mut BatchWorkspace,
) -> Vec<Result<Box<Processed>, TransactionError>> {
    let mut outcomes = Vec::new();
    process_batch_into(&mut outcomes, transactions, chain, options, threads, workspace);
    outcomes
}

/// Processes transactions as [`process_batch`] does, but overwrites `outcomes`, reusing its
/// allocations.
pub fn process_batch_into<S: AccountStore + Sync>(
    outcomes: &mut Vec<Result<Box<Processed>, TransactionError>>,
    transactions: &[Transaction],
    chain: &ChainState<'_, S>,
    options: &ProcessOptions,
    threads: usize,
    workspace: &mut BatchWorkspace,
) {
    outcomes.resize_with(transactions.len(), || UNPROCESSED);
    let threads = threads.clamp(1, transactions.len().max(1));
    let BatchWorkspace { planner, threads: workspaces } = workspace;
    workspaces.resize_with(threads.max(workspaces.len()), Workspace::default);
    let (own, others) = workspaces.split_first_mut().expect("there is one thread at least");
    let batch = Batch {
        threads,
        transactions,
        chain,
        options,
        entries: outcomes.iter_mut().map(Entry::new).collect(),
        next: AtomicUsize::new(0),
        unverified: AtomicUsize::new(0),
        is_abandoned: AtomicBool::new(false),
        unplanned_writes: RwLock::default(),
    };
    thread::scope(|scope| {
        // If a thread cannot be started, those before it must not wait for a plan.
        let abandon = AbandonOnDrop(&batch.is_abandoned);
        let batch = &batch;
        let others = others.iter_mut().take(threads.saturating_sub(1));
        let others: Vec<_> =
            others.map(|workspace| scope.spawn(|| batch.work(workspace))).collect();
        core::mem::forget(abandon);
        batch.plan(planner);
        batch.work(own);
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}

/// Memory that is reused from one batch to the next.
#[derive(Default, Debug)]
pub struct BatchWorkspace {
    planner: Planner,
    /// One for each thread.
    threads: Vec<Workspace>,
}

/// The most transactions that a thread takes at once.
const SHARE_MAX: usize = 16;

struct Batch<'b, S> {
    transactions: &'b [Transaction],
    chain: &'b ChainState<'b, S>,
    options: &'b ProcessOptions,
    entries: Vec<Entry<'b>>,
    /// The first transaction that no thread has taken.
    next: AtomicUsize,
    /// The first transaction whose signatures no thread has begun to verify.
    unverified: AtomicUsize,
    threads: usize,
    /// Whether a thread has panicked: the others must not wait for its results.
    is_abandoned: AtomicBool,
    /// The last writes to accounts that were not planned to be touched, with the transaction that
    /// wrote them. Only barriers make such writes.
    unplanned_writes: RwLock<KeyMap<(Index, AccountSharedData)>>,
}

/// The state of one transaction of the batch.
struct Entry<'o> {
    /// What the transaction waits for, once it is planned.
    plan: OnceLock<Planned>,
    /// Whether its signatures are valid, once they are verified.
    signatures: OnceLock<Result<(), TransactionError>>,
    /// The slot for the outcome, until a thread takes the transaction.
    slot: Mutex<Option<&'o mut Outcome>>,
    /// The outcome, once the transaction is processed.
    outcome: OnceLock<&'o Outcome>,
}

impl<'o> Entry<'o> {
    fn new(slot: &'o mut Outcome) -> Self {
        let slot = Mutex::new(Some(slot));
        Self { plan: OnceLock::new(), signatures: OnceLock::new(), slot, outcome: OnceLock::new() }
    }

    /// Returns the result, if the transaction was processed and not dropped.
    fn processed(&self) -> Option<&'o Processed> {
        self.outcome.get()?.as_deref().ok()
    }

    /// Returns the account at an address after the transaction, or `Some(None)` if there is none.
    /// `None` if the result does not tell.
    fn account_after(&self, key: &Pubkey) -> Option<Option<&'o AccountSharedData>> {
        let processed = self.processed()?;
        let change = processed.accounts.iter().find(|change| is_same(&change.key, key))?;
        match &change.write {
            Some(written) => Some(Some(written).filter(|written| written.lamports() > 0)),
            None => processed.is_executed.then_some(change.before.as_ref()),
        }
    }
}

impl<'o, S: AccountStore + Sync> Batch<'o, S> {
    /// Plans all transactions, in order.
    fn plan(&self, planner: &mut Planner) {
        let abandon = AbandonOnDrop(&self.is_abandoned);
        planner.begin(self.transactions.len());
        for (transaction, entry) in self.transactions.iter().zip(&self.entries) {
            let is_first = entry.plan.set(planner.plan(transaction, self.chain)).is_ok();
            debug_assert!(is_first, "one thread plans");
        }
        planner.finish();
        core::mem::forget(abandon);
    }

    /// Processes transactions until none is left.
    fn work(&self, workspace: &mut Workspace) {
        let abandon = AbandonOnDrop(&self.is_abandoned);
        let thread_cache = AccountCache::default();
        workspace.programs = TransactionPrograms::for_batch();
        let mut taken = 0..0;
        while let Some(index) = taken.next().or_else(|| {
            taken = self.take();
            taken.next()
        }) {
            let (Some(transaction), Some(entry)) =
                (self.transactions.get(index), self.entries.get(index))
            else {
                break;
            };
            self.wait(|| entry.plan.get().is_some());
            let Some(planned) = entry.plan.get() else { break };
            for before in planned.waits_for(index).filter_map(|before| self.entries.get(before)) {
                self.wait(|| before.outcome.get().is_some());
            }
            let slot = entry.slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            let slot = slot.expect("a transaction is taken by one thread");
            if let Ok(processed) = core::mem::replace(slot, UNPROCESSED) {
                workspace.recycle(processed);
            }
            let accounts =
                BatchAccounts { batch: self, index, planned, thread_cache: &thread_cache };
            *slot = self.process(transaction, &accounts, workspace);
            let is_first = entry.outcome.set(slot).is_ok();
            debug_assert!(is_first, "a transaction is taken by one thread");
        }
        core::mem::take(&mut workspace.programs).count_uses(self.chain.environment.slot());
        core::mem::forget(abandon);
    }

    /// Takes the next transaction, and those behind it that need not wait: neighbours share cache
    /// lines. Towards the end shares get smaller, so that threads finish at about the same time.
    fn take(&self) -> Range<usize> {
        let end = self.entries.len();
        let taken_until = |next: usize| {
            let left = end.saturating_sub(next);
            let fair = left.checked_div(self.threads.saturating_mul(8)).unwrap_or_default();
            let max = next.saturating_add(fair.clamp(1, SHARE_MAX)).min(end);
            let first_that_waits = (next..max).find(|index| !self.is_ready(*index));
            first_that_waits.unwrap_or(max).max(next.saturating_add(1))
        };
        let mut next = self.next.load(Ordering::Relaxed);
        while next < end {
            let until = taken_until(next);
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.next.compare_exchange_weak(next, until, success, failure) {
                Ok(_) => return next..until,
                Err(other) => next = other,
            }
        }
        end..end
    }

    fn is_ready(&self, index: usize) -> bool {
        let is_done = |index: usize| {
            self.entries.get(index).is_none_or(|entry| entry.outcome.get().is_some())
        };
        let planned = self.entries.get(index).and_then(|entry| entry.plan.get());
        planned.is_some_and(|planned| planned.waits_for(index).all(is_done))
    }

    /// Waits until `is_done` holds, or the batch is abandoned. Meanwhile signatures are verified.
    fn wait(&self, is_done: impl Fn() -> bool) {
        let mut spins = 0_u32;
        while !is_done() && !self.is_abandoned.load(Ordering::Relaxed) {
            if self.verify_next() {
                continue;
            }
            spins = spins.saturating_add(1);
            if spins < 100 { core::hint::spin_loop() } else { thread::yield_now() }
        }
    }

    /// Verifies the signatures of the first transaction of which no thread has; returns `false` if
    /// there is none.
    fn verify_next(&self) -> bool {
        if !self.options.verify_signatures
            || self.unverified.load(Ordering::Relaxed) >= self.entries.len()
        {
            return false;
        }
        let index = self.unverified.fetch_add(1, Ordering::Relaxed);
        let (Some(transaction), Some(entry)) =
            (self.transactions.get(index), self.entries.get(index))
        else {
            return false;
        };
        let is_first = entry.signatures.set(verify_signatures(transaction)).is_ok();
        debug_assert!(is_first, "signatures are verified by one thread");
        true
    }

    /// Returns whether the signatures of a transaction are valid, once some thread has verified them.
    fn verified(&self, index: usize) -> Result<(), TransactionError> {
        if !self.options.verify_signatures {
            return Ok(());
        }
        while self.unverified.load(Ordering::Relaxed) <= index && self.verify_next() {}
        let signatures = || self.entries.get(index).and_then(|entry| entry.signatures.get());
        self.wait(|| signatures().is_some());
        signatures().cloned().unwrap_or(Err(TransactionError::SignatureFailure))
    }

    fn process(
        &self,
        transaction: &Transaction,
        accounts: &BatchAccounts<'_, '_, S>,
        workspace: &mut Workspace,
    ) -> Outcome {
        self.verified(accounts.index)?;
        let ChainState { environment, blockhash_queue, programs, .. } = *self.chain;
        if self.has_processed(&accounts.planned.same) {
            check(transaction, accounts, environment, blockhash_queue)?;
            return Err(TransactionError::AlreadyProcessed);
        }
        let chain = ChainState { accounts, environment, blockhash_queue, programs };
        let processed = process_verified(transaction, &chain, self.options, None, workspace)?;
        if accounts.planned.is_barrier {
            accounts.record_unplanned_writes(&processed);
        }
        Ok(processed)
    }

    /// Returns whether the same transaction was processed earlier in the batch.
    fn has_processed(&self, same: &Before) -> bool {
        let mut processed = same.get();
        while let Some(entry) = processed.and_then(|index| self.entry(index))
            && entry.processed().is_none()
        {
            processed = entry.plan.get().and_then(|planned| planned.same.get());
        }
        same.pass_over(processed);
        processed.is_some()
    }

    fn entry(&self, index: Index) -> Option<&Entry<'o>> {
        self.entries.get(index as usize)
    }
}

/// Ends the waiting of all threads when it is dropped, as by a panic.
struct AbandonOnDrop<'b>(&'b AtomicBool);

impl Drop for AbandonOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The accounts as the transactions before one have left them.
struct BatchAccounts<'b, 'o, S> {
    batch: &'b Batch<'o, S>,
    index: usize,
    planned: &'b Planned,
    thread_cache: &'b AccountCache,
}

/// Where the newest state of an account is.
enum Location<'o> {
    /// In the outcome of a transaction of the batch; `None` if that deleted it.
    Outcome(Option<&'o AccountSharedData>),
    /// Among the unplanned writes.
    Unplanned(AccountSharedData),
    /// In the account store, as before the batch.
    Store,
}

impl<'o, S: AccountStore + Sync> BatchAccounts<'_, 'o, S> {
    /// Returns the last transaction before this one that may write to an account.
    fn writer(&self, key: &Pubkey) -> Option<Index> {
        if let Some(used) = self.planned.use_of(key) {
            return used.writer.get();
        }
        if is_reserved(key) {
            return None;
        }
        // The access was not planned: it depends on what a transaction before has written.
        let before = self.batch.entries.iter().enumerate().take(self.index);
        before.rev().find_map(|(index, entry)| {
            let used = entry.plan.get()?.use_of(key)?;
            let own = Index::try_from(index).ok().filter(|_| used.is_writable);
            Some(own.or(used.writer.get()))
        })?
    }

    /// Returns whether no transaction of the batch up to this one may write to an account. Others are
    /// likely to read it, too.
    fn is_unwritten(&self, key: &Pubkey) -> bool {
        let is_read = |used: &Use| !used.is_writable && used.writer.get().is_none();
        match self.planned.use_of(key) {
            Some(used) => is_read(used) && self.planned.barrier.is_none(),
            None => is_reserved(key),
        }
    }

    fn find(&self, key: &Pubkey) -> Location<'o> {
        let has_others = self.planned.barrier.is_some();
        let others = has_others
            .then(|| self.batch.unplanned_writes.read().unwrap_or_else(PoisonError::into_inner))
            .and_then(|others| others.get(key).cloned());
        let last = self.writer(key);
        let use_of = |index: Index| self.batch.entry(index)?.plan.get()?.use_of(key);
        let (mut writer, mut left) = (last, None);
        while let Some(index) = writer
            && others.as_ref().is_none_or(|(other, _)| *other < index)
        {
            left = self.batch.entry(index).and_then(|entry| entry.account_after(key));
            if left.is_some() {
                break;
            }
            // The transaction was dropped, or did not load this account.
            writer = use_of(index).and_then(|used| used.writer.get());
        }
        // A transaction that this one has not waited for may still write the account.
        let has_waited = self.planned.is_barrier || self.planned.use_of(key).is_some();
        if has_waited
            && writer != last
            && let Some(last) = last.and_then(use_of)
        {
            last.writer.pass_over(writer);
        }
        if let Some(left) = left {
            return Location::Outcome(left);
        }
        match others {
            Some((_, other)) if other.lamports() > 0 => Location::Unplanned(other),
            Some(_) => Location::Outcome(None),
            None => Location::Store,
        }
    }

    /// Records writes to accounts that were not planned.
    fn record_unplanned_writes(&self, processed: &Processed) {
        let Ok(index) = Index::try_from(self.index) else { return };
        for (key, account) in processed.writes() {
            if self.planned.use_of(key).is_none_or(|used| !used.is_writable) {
                let mut others =
                    self.batch.unplanned_writes.write().unwrap_or_else(PoisonError::into_inner);
                others.insert(*key, (index, account.clone()));
            }
        }
    }
}

impl<S: AccountStore + Sync> AccountStore for BatchAccounts<'_, '_, S> {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.with_account(key, |found| found.cloned())
    }

    fn with_account<R>(
        &self,
        key: &Pubkey,
        then: impl FnOnce(Option<&AccountSharedData>) -> R,
    ) -> R {
        let before = self.batch.chain.accounts;
        if self.is_unwritten(key) {
            return self.thread_cache.with_account(key, before, then);
        }
        match self.find(key) {
            Location::Outcome(account) => then(account),
            Location::Unplanned(account) => then(Some(&account)),
            Location::Store => before.with_account(key, then),
        }
    }
}
