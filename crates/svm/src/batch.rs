//! Many transactions on many cores, with the result of one after the other.
//!
//! Transactions that write to what another one touches wait for it, in the order that they were
//! given; all others run at the same time. Threads take the next transaction in turn, so whatever
//! one waits for was taken before it: there is no queue, no lock that all meet at, and nothing to
//! get stuck on.

use std::{
    collections::HashMap,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicU8, AtomicUsize, Ordering},
    },
    thread,
};

use foldhash::fast::FixedState;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use crate::{
    account::{AccountStore, Loader},
    check::check,
    lookup,
    message_id::MessageId,
    process::{Bank, ProcessOptions, Processed, process},
    program_cache::program_data_address,
    transaction::Transaction,
};

/// Processes transactions on `threads` threads. The results are those of processing them one after
/// the other, each on what those before have left, whatever the number of threads. Nothing is
/// committed: what is to be written, and in which order, the results say.
pub fn process_batch<S: AccountStore + Sync>(
    transactions: &[Transaction],
    bank: &Bank<'_, S>,
    options: &ProcessOptions,
    threads: usize,
) -> Vec<Result<Processed, TransactionError>> {
    let plan = Plan::new(transactions, bank);
    let batch = Batch {
        transactions,
        bank,
        options,
        states: transactions.iter().map(|_| AtomicU8::new(WAITING)).collect(),
        next: AtomicUsize::new(0),
        plan,
    };
    let threads = threads.clamp(1, transactions.len().max(1));
    let mut results: Vec<Option<Result<Processed, TransactionError>>> = Vec::new();
    results.resize_with(transactions.len(), || None);
    let mut keep = |done: Vec<(usize, Result<Processed, TransactionError>)>| {
        for (index, result) in done {
            if let Some(place) = results.get_mut(index) {
                *place = Some(result);
            }
        }
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| batch.work())).collect();
        keep(batch.work());
        for other in others {
            match other.join() {
                Ok(done) => keep(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    results.into_iter().map(|result| result.expect("every transaction was taken once")).collect()
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
    plan: Plan,
    states: Vec<AtomicU8>,
    next: AtomicUsize,
}

impl<S: AccountStore + Sync> Batch<'_, S> {
    fn work(&self) -> Vec<(usize, Result<Processed, TransactionError>)> {
        let mut done = Vec::with_capacity(self.transactions.len());
        // Should a transaction make this thread panic, nobody must wait for it for ever.
        let abandon = Abandon { states: &self.states };
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let (Some(transaction), Some(needs)) =
                (self.transactions.get(index), self.plan.needs.get(index))
            else {
                break;
            };
            needs.all(index).for_each(|before| self.wait(before));
            let result = self.run(transaction, needs.same);
            let state = if result.is_ok() { PROCESSED } else { DROPPED };
            if let Some(own) = self.states.get(index) {
                own.store(state, Ordering::Release);
            }
            done.push((index, result));
        }
        core::mem::forget(abandon);
        done
    }

    fn wait(&self, before: usize) {
        let Some(state) = self.states.get(before) else { return };
        let mut spins = 0_u32;
        while state.load(Ordering::Acquire) == WAITING {
            spins = spins.saturating_add(1);
            if spins < 100 { core::hint::spin_loop() } else { thread::yield_now() }
        }
    }

    fn run(
        &self,
        transaction: &Transaction,
        same: Option<usize>,
    ) -> Result<Processed, TransactionError> {
        let accounts = Overlay { base: self.bank.accounts, plan: &self.plan };
        let bank = Bank {
            accounts: &accounts,
            environment: self.bank.environment,
            recent: self.bank.recent,
            programs: self.bank.programs,
        };
        let is_processed = |it: &AtomicU8| it.load(Ordering::Acquire) == PROCESSED;
        if same.and_then(|same| self.states.get(same)).is_some_and(is_processed) {
            if self.options.verify_signatures {
                crate::check::verify_signatures(transaction)?;
            }
            check(transaction, &accounts, bank.environment, bank.recent)?;
            return Err(TransactionError::AlreadyProcessed);
        }
        let processed = process(transaction, &bank, self.options, None)?;
        processed.writes().for_each(|(key, account)| self.plan.write(key, account));
        Ok(processed)
    }
}

/// Lets everybody go on who waits, when it is dropped.
struct Abandon<'b> {
    states: &'b [AtomicU8],
}

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        self.states.iter().for_each(|state| {
            let _ = state.compare_exchange(WAITING, DROPPED, Ordering::Release, Ordering::Relaxed);
        });
    }
}

/// Accounts as those before have left them.
struct Overlay<'b, S> {
    base: &'b S,
    plan: &'b Plan,
}

impl<S: AccountStore> AccountStore for Overlay<'_, S> {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        match self.plan.read(key) {
            Some(account) => (account.lamports() > 0).then_some(account),
            None => self.base.account(key),
        }
    }
}

/// Who waits for whom, and where accounts are that are written to.
struct Plan {
    needs: Vec<Needs>,
    /// A place for each account that some transaction can write to.
    places: HashMap<Pubkey, usize, FixedState>,
    written: Vec<RwLock<Option<AccountSharedData>>>,
    /// What was written to accounts that only turned out to be touched: those of barriers.
    others: RwLock<HashMap<Pubkey, AccountSharedData, FixedState>>,
    has_barriers: bool,
}

/// What a transaction waits for.
#[derive(Default)]
struct Needs {
    /// Transactions before that touch the same accounts.
    before: Vec<usize>,
    /// Whether it waits for all before: what it touches depends on what they do.
    is_barrier: bool,
    /// The last transaction that all others wait for.
    barrier: Option<usize>,
    /// The transaction before that is the same.
    same: Option<usize>,
}

impl Needs {
    fn all(&self, index: usize) -> impl Iterator<Item = usize> {
        let barrier = if self.is_barrier { 0..index } else { 0..0 };
        barrier.chain(self.barrier).chain(self.before.iter().copied())
    }
}

/// The last that wrote to an account, and those that have read it since.
#[derive(Default)]
struct Users {
    writer: Option<usize>,
    readers: Vec<usize>,
}

impl Plan {
    fn new<S: AccountStore>(transactions: &[Transaction], bank: &Bank<'_, S>) -> Self {
        // Most transactions write to a few accounts that no other one touches.
        let room = transactions.len().saturating_mul(4);
        let mut plan = Self {
            needs: Vec::with_capacity(transactions.len()),
            places: HashMap::with_capacity_and_hasher(room, FixedState::default()),
            written: Vec::with_capacity(room),
            others: RwLock::default(),
            has_barriers: false,
        };
        let mut users: HashMap<Pubkey, Users, FixedState> =
            HashMap::with_capacity_and_hasher(room, FixedState::default());
        let mut seen: HashMap<MessageId, usize, FixedState> =
            HashMap::with_capacity_and_hasher(transactions.len(), FixedState::default());
        let mut barrier = None;
        for (index, transaction) in transactions.iter().enumerate() {
            let mut needs = Needs { barrier, ..Needs::default() };
            let touched = touched(transaction, bank);
            let is_written =
                |key: &Pubkey| users.get(key).is_some_and(|users| users.writer.is_some());
            needs.is_barrier = touched.looked_at.iter().any(is_written);
            for (key, is_writable) in touched.keys {
                let users = users.entry(key).or_default();
                needs.before.extend(users.writer);
                if is_writable {
                    needs.before.append(&mut users.readers);
                    users.writer = Some(index);
                    plan.add_place(key);
                } else {
                    users.readers.push(index);
                }
            }
            // An account may be there twice, for more than one reason.
            needs.before.retain(|before| *before != index);
            needs.before.sort_unstable();
            needs.before.dedup();
            // The message has the blockhash in it.
            needs.same = seen.insert(transaction.message_id(), index);
            if needs.is_barrier {
                barrier = Some(index);
                plan.has_barriers = true;
            }
            plan.needs.push(needs);
        }
        plan
    }

    fn add_place(&mut self, key: Pubkey) {
        let next = self.written.len();
        if *self.places.entry(key).or_insert(next) == next {
            self.written.push(RwLock::new(None));
        }
    }

    fn read(&self, key: &Pubkey) -> Option<AccountSharedData> {
        if let Some(place) = self.places.get(key) {
            let slot = self.written.get(*place)?;
            return slot.read().unwrap_or_else(PoisonError::into_inner).clone();
        }
        let others = || self.others.read().unwrap_or_else(PoisonError::into_inner);
        self.has_barriers.then(|| others().get(key).cloned()).flatten()
    }

    fn write(&self, key: &Pubkey, account: &AccountSharedData) {
        let slot = self.places.get(key).and_then(|place| self.written.get(*place));
        if let Some(slot) = slot {
            *slot.write().unwrap_or_else(PoisonError::into_inner) = Some(account.clone());
        } else {
            let mut others = self.others.write().unwrap_or_else(PoisonError::into_inner);
            others.insert(*key, account.clone());
        }
    }
}

/// What a transaction touches, as things stand before the batch.
struct Touched {
    /// Accounts, and whether it can write to them.
    keys: Vec<(Pubkey, bool)>,
    /// Accounts that tell which others it touches.
    looked_at: Vec<Pubkey>,
}

fn touched<S: AccountStore>(transaction: &Transaction, bank: &Bank<'_, S>) -> Touched {
    let header = transaction.message().header();
    let own = transaction.static_keys();
    let signers = transaction.signers();
    let writable_signers = signers.saturating_sub(usize::from(header.num_readonly_signed_accounts));
    let writable_others =
        own.len().saturating_sub(usize::from(header.num_readonly_unsigned_accounts));
    let mut keys: Vec<(Pubkey, bool)> = own
        .iter()
        .enumerate()
        .map(|(place, key)| {
            let writable =
                if place < signers { place < writable_signers } else { place < writable_others };
            (*key, writable && !crate::check::is_reserved(key))
        })
        .collect();
    let mut looked_at = Vec::new();
    if let VersionedMessage::V0(message) = transaction.message() {
        for lookup in &message.address_table_lookups {
            keys.push((lookup.account_key, false));
            looked_at.push(lookup.account_key);
        }
        // What cannot be resolved is dropped, and touches nothing else.
        let lookups = &message.address_table_lookups;
        if let Ok((writable, readonly)) = lookup::resolve(lookups, bank.accounts, bank.environment)
        {
            keys.extend(writable.into_iter().map(|key| (key, true)));
            keys.extend(readonly.into_iter().map(|key| (key, false)));
        }
    }
    // Programs of loader v3 have their code in another account.
    for place in 0..keys.len() {
        let Some((key, _)) = keys.get(place).copied() else { break };
        if crate::check::is_reserved(&key) {
            continue;
        }
        let Some(account) = bank.accounts.account(&key) else { continue };
        if Loader::of(account.owner()) == Some(Loader::V3) {
            looked_at.push(key);
            if let Some(address) = program_data_address(account.data()) {
                keys.push((address, false));
            }
        }
    }
    Touched { keys, looked_at }
}
