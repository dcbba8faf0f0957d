//! Many transactions on many cores, with the result of one after the other.
//!
//! Transactions that write to what another one touches wait for it, in the order that they were
//! given; all others run at the same time. Threads take the next transaction in turn, so whatever
//! one waits for was taken before it: there is no queue, no lock that all meet at, and nothing to
//! get stuck on. What waits for what depends on those before alone; so one thread plans ahead while
//! the others are at work already.

use std::{
    sync::{
        Mutex, OnceLock, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering},
    },
    thread,
};

use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use crate::{
    account::AccountStore,
    at_hand::AccountsAtHand,
    check::{check, is_reserved},
    key_map::KeyMap,
    process::{Bank, ProcessOptions, Processed, process_with},
    programs::TransactionPrograms,
    transaction::Transaction,
};

use self::plan::{Place, Planned, Planner};

mod plan;

type Outcome = Result<Processed, TransactionError>;

/// Processes transactions on `threads` threads. The results are those of processing them one after
/// the other, each on what those before have left, whatever the number of threads. Nothing is
/// committed: what is to be written, and in which order, the results say.
pub fn process_batch<S: AccountStore + Sync>(
    transactions: &[Transaction],
    bank: &Bank<'_, S>,
    options: &ProcessOptions,
    threads: usize,
) -> Vec<Result<Processed, TransactionError>> {
    let batch = Batch {
        transactions,
        bank,
        options,
        entries: transactions.iter().map(|_| Entry::default()).collect(),
        next: AtomicUsize::new(0),
        is_abandoned: AtomicBool::new(false),
        others: RwLock::default(),
    };
    let threads = threads.clamp(1, transactions.len().max(1));
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| batch.work())).collect();
        batch.plan();
        batch.work();
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    let taken =
        |entry: Entry| entry.outcome.into_inner().expect("every transaction was taken once");
    batch.entries.into_iter().map(taken).collect()
}

const WAITING: u8 = 0;
/// It was dropped.
const DROPPED: u8 = 1;
/// It has paid its fee, at least.
const PROCESSED: u8 = 2;

struct Batch<'b, S> {
    transactions: &'b [Transaction],
    bank: &'b Bank<'b, S>,
    options: &'b ProcessOptions,
    entries: Vec<Entry>,
    next: AtomicUsize,
    /// Whether a thread has panicked, so that nobody must wait for what will not come.
    is_abandoned: AtomicBool,
    /// What was written to accounts that only turned out to be touched: those of barriers.
    others: RwLock<KeyMap<AccountSharedData>>,
}

/// A transaction's part.
#[derive(Default)]
struct Entry {
    /// What it waits for, once that is known.
    plan: OnceLock<Planned>,
    state: AtomicU8,
    outcome: OnceLock<Outcome>,
}

impl<S: AccountStore + Sync> Batch<'_, S> {
    /// Plans all transactions, in order.
    fn plan(&self) {
        let abandon = Abandon(&self.is_abandoned);
        let mut planner = Planner::new(self.transactions.len());
        for (transaction, entry) in self.transactions.iter().zip(&self.entries) {
            let is_first = entry.plan.set(planner.plan(transaction, self.bank)).is_ok();
            debug_assert!(is_first, "one thread plans");
        }
        core::mem::forget(abandon);
    }

    fn work(&self) {
        let abandon = Abandon(&self.is_abandoned);
        let at_hand = AccountsAtHand::default();
        let mut programs = TransactionPrograms::keeping();
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let (Some(transaction), Some(entry)) =
                (self.transactions.get(index), self.entries.get(index))
            else {
                break;
            };
            self.wait(|| entry.plan.get().is_some());
            let Some(planned) = entry.plan.get() else { break };
            for before in planned.waits_for(index).filter_map(|before| self.entries.get(before)) {
                self.wait(|| before.state.load(Ordering::Acquire) != WAITING);
            }
            let accounts = Overlay { batch: self, index, planned, at_hand: &at_hand };
            let outcome = self.run(transaction, &accounts, &mut programs);
            let state = if outcome.is_ok() { PROCESSED } else { DROPPED };
            let is_first = entry.outcome.set(outcome).is_ok();
            debug_assert!(is_first, "a transaction is taken by one thread");
            entry.state.store(state, Ordering::Release);
        }
        programs.count_uses(self.bank.environment.slot());
        core::mem::forget(abandon);
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
        accounts: &Overlay<'_, S>,
        programs: &mut TransactionPrograms,
    ) -> Outcome {
        let bank = Bank {
            accounts,
            environment: self.bank.environment,
            recent: self.bank.recent,
            programs: self.bank.programs,
        };
        let same = accounts.planned.same.and_then(|same| self.entries.get(same));
        if same.is_some_and(|same| same.state.load(Ordering::Acquire) == PROCESSED) {
            if self.options.verify_signatures {
                crate::check::verify_signatures(transaction)?;
            }
            check(transaction, accounts, bank.environment, bank.recent)?;
            return Err(TransactionError::AlreadyProcessed);
        }
        let mut processed = Processed::default();
        process_with(programs, &mut processed, transaction, &bank, self.options, None)?;
        processed.writes().for_each(|(key, account)| accounts.write(key, account));
        Ok(processed)
    }

    /// What was written to a place; nothing if nobody has yet.
    fn written(&self, place: Place) -> Option<&Mutex<Option<AccountSharedData>>> {
        let entry = self.entries.get(place.transaction as usize)?;
        entry.plan.get()?.written.get(place.slot as usize)
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
struct Overlay<'b, S> {
    batch: &'b Batch<'b, S>,
    index: usize,
    planned: &'b Planned,
    at_hand: &'b AccountsAtHand,
}

impl<S: AccountStore + Sync> Overlay<'_, S> {
    /// Where an account is that this transaction or one before can write to.
    fn place(&self, key: &Pubkey) -> Option<Place> {
        if let Some(place) = self.planned.place(key) {
            return place;
        }
        if is_reserved(key) {
            return None;
        }
        // It turned out to be touched: what it depends on was written by one before.
        let before = self.batch.entries.get(..self.index)?;
        before.iter().rev().find_map(|entry| entry.plan.get()?.place(key)).flatten()
    }

    /// Whether an account is one that nobody can write to, up to this transaction: others are likely
    /// to read it, too.
    fn is_unwritten(&self, key: &Pubkey) -> bool {
        self.planned.barrier.is_none() && matches!(self.planned.place(key), Some(None))
    }

    fn read(&self, key: &Pubkey) -> Option<AccountSharedData> {
        let slot = self.place(key).and_then(|place| self.batch.written(place));
        let written =
            slot.and_then(|slot| slot.lock().unwrap_or_else(PoisonError::into_inner).clone());
        // What barriers wrote to, but is planned later, is not in its place yet.
        let others = || self.batch.others.read().unwrap_or_else(PoisonError::into_inner);
        let has_barriers = self.planned.barrier.is_some();
        written.or_else(|| has_barriers.then(|| others().get(key).cloned()).flatten())
    }

    /// What those before have left, or else what was there before the batch.
    fn current(&self, key: &Pubkey) -> Option<AccountSharedData> {
        match self.read(key) {
            Some(account) => (account.lamports() > 0).then_some(account),
            None => self.batch.bank.accounts.account(key),
        }
    }

    fn write(&self, key: &Pubkey, account: &AccountSharedData) {
        if let Some(slot) = self.place(key).and_then(|place| self.batch.written(place)) {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(account.clone());
        } else {
            let mut others = self.batch.others.write().unwrap_or_else(PoisonError::into_inner);
            others.insert(*key, account.clone());
        }
    }
}

impl<S: AccountStore + Sync> AccountStore for Overlay<'_, S> {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        if self.is_unwritten(key) {
            return self.at_hand.with_account(key, self.batch.bank.accounts, |it| it.cloned());
        }
        self.current(key)
    }

    fn with_account<R>(
        &self,
        key: &Pubkey,
        then: impl FnOnce(Option<&AccountSharedData>) -> R,
    ) -> R {
        if self.is_unwritten(key) {
            return self.at_hand.with_account(key, self.batch.bank.accounts, then);
        }
        then(self.current(key).as_ref())
    }
}
