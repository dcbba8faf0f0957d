//! Many transactions on many cores, with the result of one after the other.
//!
//! A transaction waits for those before it that may write to what it touches; all others run at the
//! same time. Threads take the next transactions in turn and process them in order, so of those that
//! are not done the first one waits for nobody: there is no queue, no lock that all meet at, and
//! nothing to get stuck on. What waits for what depends on those before alone; so one thread plans
//! ahead while the others are at work already.
//!
//! What a transaction leaves behind stays with its outcome, where those behind it read it: so none
//! waits for others to have read what it writes to.

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
        check::{check, is_reserved},
        process::{ChainState, ProcessOptions, Processed, process_with},
        thread_cache::AccountsAtHand,
    },
    programs::transaction_programs::TransactionPrograms,
    runtime::workspace,
};

use self::plan::{Before, Index, Planned, Planner, Use};

mod plan;

type Outcome = Result<Processed, TransactionError>;

/// Processes transactions on `threads` threads. The results are those of processing them one after
/// the other, each on what those before have left, whatever the number of threads. Nothing is
/// committed: what is to be written, and in which order, the results say.
pub fn process_batch<S: AccountStore + Sync>(
    transactions: &[Transaction],
    chain: &ChainState<'_, S>,
    options: &ProcessOptions,
    threads: usize,
) -> Vec<Result<Processed, TransactionError>> {
    let mut outcomes = Vec::new();
    process_batch_into(&mut outcomes, transactions, chain, options, threads);
    outcomes
}

/// Processes transactions as [`process_batch`] does, and writes the results in place of those that
/// were there. Whoever processes block after block saves finding room for them.
pub fn process_batch_into<S: AccountStore + Sync>(
    outcomes: &mut Vec<Result<Processed, TransactionError>>,
    transactions: &[Transaction],
    chain: &ChainState<'_, S>,
    options: &ProcessOptions,
    threads: usize,
) {
    outcomes.resize_with(transactions.len(), || Ok(Processed::default()));
    let threads = threads.clamp(1, transactions.len().max(1));
    let batch = Batch {
        threads,
        transactions,
        chain,
        options,
        entries: outcomes.iter_mut().map(Entry::new).collect(),
        next: AtomicUsize::new(0),
        is_abandoned: AtomicBool::new(false),
        others: RwLock::default(),
    };
    thread::scope(|scope| {
        // If a thread cannot be started, those before it must not wait for a plan.
        let abandon = Abandon(&batch.is_abandoned);
        let work = || workspace::in_room_left(|| batch.work());
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        core::mem::forget(abandon);
        batch.plan();
        batch.work();
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}

/// More transactions are not taken at once.
const SHARE_MAX: usize = 16;

struct Batch<'b, S> {
    transactions: &'b [Transaction],
    chain: &'b ChainState<'b, S>,
    options: &'b ProcessOptions,
    entries: Vec<Entry<'b>>,
    /// The first that nobody has taken.
    next: AtomicUsize,
    threads: usize,
    /// Whether a thread has panicked, so that nobody must wait for what will not come.
    is_abandoned: AtomicBool,
    /// What was written last to accounts that only turned out to be touched, and by which
    /// transaction. Those that all others wait for alone do so.
    others: RwLock<KeyMap<(Index, AccountSharedData)>>,
}

/// A transaction's part.
struct Entry<'o> {
    /// What it waits for, once that is known.
    plan: OnceLock<Planned>,
    /// Where its outcome is to be, until a thread takes it.
    room: Mutex<Option<&'o mut Outcome>>,
    /// Its outcome, once it is known.
    outcome: OnceLock<&'o Outcome>,
}

impl<'o> Entry<'o> {
    fn new(room: &'o mut Outcome) -> Self {
        let room = Mutex::new(Some(room));
        Self { plan: OnceLock::new(), room, outcome: OnceLock::new() }
    }

    /// What it has paid for.
    fn processed(&self) -> Option<&'o Processed> {
        self.outcome.get()?.as_ref().ok()
    }

    /// What it has left at an address: an account, or none. Nothing if it does not say.
    fn left(&self, key: &Pubkey) -> Option<Option<&'o AccountSharedData>> {
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
    fn plan(&self) {
        let abandon = Abandon(&self.is_abandoned);
        let mut planner = Planner::new(self.transactions.len());
        for (transaction, entry) in self.transactions.iter().zip(&self.entries) {
            let is_first = entry.plan.set(planner.plan(transaction, self.chain)).is_ok();
            debug_assert!(is_first, "one thread plans");
        }
        planner.keep();
        core::mem::forget(abandon);
    }

    fn work(&self) {
        let abandon = Abandon(&self.is_abandoned);
        let at_hand = AccountsAtHand::default();
        let mut programs = TransactionPrograms::keeping();
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
            let room = entry.room.lock().unwrap_or_else(PoisonError::into_inner).take();
            let room = room.expect("a transaction is taken by one thread");
            let accounts = Overlay { batch: self, index, planned, at_hand: &at_hand };
            if room.is_err() {
                *room = Ok(Processed::default());
            }
            if let Ok(processed) = room
                && let Err(error) = self.run(transaction, &accounts, &mut programs, processed)
            {
                *room = Err(error);
            }
            let is_first = entry.outcome.set(room).is_ok();
            debug_assert!(is_first, "a transaction is taken by one thread");
        }
        programs.count_uses(self.chain.environment.slot());
        core::mem::forget(abandon);
    }

    /// Takes the next transaction, and if it waits for nobody, those behind that do not either:
    /// neighbours share what processors fight over. Towards the end shares get smaller, so that few
    /// wait for the last.
    fn take(&self) -> Range<usize> {
        let end = self.entries.len();
        let taken_until = |next: usize| {
            let left = end.saturating_sub(next);
            let fair = left.checked_div(self.threads.saturating_mul(8)).unwrap_or_default();
            let max = next.saturating_add(fair.clamp(1, SHARE_MAX)).min(end);
            let first_that_waits = (next..max).find(|place| !self.waits_for_nobody(*place));
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

    fn waits_for_nobody(&self, place: usize) -> bool {
        let is_done = |place: usize| {
            self.entries.get(place).is_none_or(|entry| entry.outcome.get().is_some())
        };
        let planned = self.entries.get(place).and_then(|entry| entry.plan.get());
        planned.is_some_and(|planned| planned.waits_for(place).all(is_done))
    }

    /// Waits until something is done, or will not be.
    fn wait(&self, is_done: impl Fn() -> bool) {
        let mut spins = 0_u32;
        while !is_done() && !self.is_abandoned.load(Ordering::Relaxed) {
            spins = spins.saturating_add(1);
            if spins < 100 { core::hint::spin_loop() } else { thread::yield_now() }
        }
    }

    fn run(
        &self,
        transaction: &Transaction,
        accounts: &Overlay<'_, '_, S>,
        programs: &mut TransactionPrograms,
        processed: &mut Processed,
    ) -> Result<(), TransactionError> {
        let chain = ChainState {
            accounts,
            environment: self.chain.environment,
            blockhash_queue: self.chain.blockhash_queue,
            programs: self.chain.programs,
        };
        if self.has_processed(&accounts.planned.same) {
            if self.options.verify_signatures {
                crate::pipeline::check::verify_signatures(transaction)?;
            }
            check(transaction, accounts, chain.environment, chain.blockhash_queue)?;
            return Err(TransactionError::AlreadyProcessed);
        }
        process_with(programs, processed, transaction, &chain, self.options, None)?;
        if accounts.planned.is_barrier {
            accounts.note_others(processed);
        }
        Ok(())
    }

    /// Whether a transaction was processed, or one before that is the same.
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

/// Lets everybody go on who waits, when it is dropped.
struct Abandon<'b>(&'b AtomicBool);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Accounts as those before a transaction have left them.
struct Overlay<'b, 'o, S> {
    batch: &'b Batch<'o, S>,
    index: usize,
    planned: &'b Planned,
    at_hand: &'b AccountsAtHand,
}

/// Where an account is.
enum Found<'o> {
    /// Where a transaction of the batch has left it, or none.
    Left(Option<&'o AccountSharedData>),
    /// Among those that only turned out to be touched.
    Other(AccountSharedData),
    /// Where it was before the batch.
    Before,
}

impl<'o, S: AccountStore + Sync> Overlay<'_, 'o, S> {
    /// The last transaction before this one that can write to an account.
    fn writer(&self, key: &Pubkey) -> Option<Index> {
        if let Some(used) = self.planned.use_of(key) {
            return used.writer.get();
        }
        if is_reserved(key) {
            return None;
        }
        // It turned out to be touched: what it depends on was written by one before.
        let before = self.batch.entries.iter().enumerate().take(self.index);
        before.rev().find_map(|(index, entry)| {
            let used = entry.plan.get()?.use_of(key)?;
            let own = Index::try_from(index).ok().filter(|_| used.is_writable);
            Some(own.or(used.writer.get()))
        })?
    }

    /// Whether an account is one that nobody can write to, up to this transaction: others are likely
    /// to read it, too.
    fn is_unwritten(&self, key: &Pubkey) -> bool {
        let is_read = |used: &Use| !used.is_writable && used.writer.get().is_none();
        match self.planned.use_of(key) {
            Some(used) => is_read(used) && self.planned.barrier.is_none(),
            None => is_reserved(key),
        }
    }

    fn find(&self, key: &Pubkey) -> Found<'o> {
        let has_others = self.planned.barrier.is_some();
        let others = has_others
            .then(|| self.batch.others.read().unwrap_or_else(PoisonError::into_inner))
            .and_then(|others| others.get(key).cloned());
        let last = self.writer(key);
        let use_of = |index: Index| self.batch.entry(index)?.plan.get()?.use_of(key);
        let (mut writer, mut left) = (last, None);
        while let Some(index) = writer
            && others.as_ref().is_none_or(|(other, _)| *other < index)
        {
            left = self.batch.entry(index).and_then(|entry| entry.left(key));
            if left.is_some() {
                break;
            }
            // It was dropped, or has not come as far as this account.
            writer = use_of(index).and_then(|used| used.writer.get());
        }
        // Those whom it has not waited for may still leave something.
        let has_waited = self.planned.is_barrier || self.planned.use_of(key).is_some();
        if has_waited
            && writer != last
            && let Some(last) = last.and_then(use_of)
        {
            last.writer.pass_over(writer);
        }
        if let Some(left) = left {
            return Found::Left(left);
        }
        match others {
            Some((_, other)) if other.lamports() > 0 => Found::Other(other),
            Some(_) => Found::Left(None),
            None => Found::Before,
        }
    }

    /// Notes what was written to accounts that nobody expected to be.
    fn note_others(&self, processed: &Processed) {
        let Ok(index) = Index::try_from(self.index) else { return };
        for (key, account) in processed.writes() {
            if self.planned.use_of(key).is_none_or(|used| !used.is_writable) {
                let mut others = self.batch.others.write().unwrap_or_else(PoisonError::into_inner);
                others.insert(*key, (index, account.clone()));
            }
        }
    }
}

impl<S: AccountStore + Sync> AccountStore for Overlay<'_, '_, S> {
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
            return self.at_hand.with_account(key, before, then);
        }
        match self.find(key) {
            Found::Left(account) => then(account),
            Found::Other(account) => then(Some(&account)),
            Found::Before => before.with_account(key, then),
        }
    }
}
