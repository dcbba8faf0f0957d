//! The chain's state with an undo log, for snapshots.
//!
//! While a snapshot is alive, every change first logs how to undo it. Restoring undoes the log,
//! newest entry first, so it costs as much as what changed, regardless of the size of the state.
//! Without a live snapshot nothing is logged.

use std::sync::{Arc, Weak};

use selkie_bank::{BlockEnd, Footer, Head, HeadAccounts, Stakes, Step};
use selkie_svm::{AccountStore, BlockhashQueue, Environment, MessageId};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_hash::Hash;
use solana_pubkey::Pubkey;

use crate::{
    history::{Entry, History},
    receipt::Receipt,
    store::Accounts,
};

/// Everything that transactions and time change.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) accounts: Accounts,
    pub(crate) environment: Arc<Environment>,
    pub(crate) blockhash_queue: BlockhashQueue,
    pub(crate) stakes: Arc<Stakes>,
    pub(crate) history: History,
}

/// An entry of the undo log.
#[derive(Debug)]
enum Undo {
    Account(Pubkey, Option<AccountSharedData>),
    Environment(Arc<Environment>),
    BlockhashQueue(Box<BlockhashQueue>),
    Stakes(Arc<Stakes>),
    Processed { blockhash: Hash, message: MessageId },
    Sent { evicted: Option<Entry> },
}

/// The state, which changes only through this type.
#[derive(Debug)]
pub(crate) struct Journal {
    state: State,
    undos: Vec<Undo>,
    /// The snapshots that were taken, oldest first.
    snapshots: Vec<TakenSnapshot>,
    /// The receipt that left the history last: the next transaction reuses its allocations, unless it
    /// still has other references.
    reusable: Option<Entry>,
}

#[derive(Debug)]
struct TakenSnapshot {
    /// The length of the undo log when the snapshot was taken.
    log_len: usize,
    handle: Weak<()>,
}

/// A snapshot of a chain, taken by [`Svm::snapshot`](crate::Svm::snapshot).
///
/// It holds no state itself: while it is alive, its `Svm` logs how to undo changes.
#[derive(Clone, Debug)]
pub struct Snapshot(Arc<()>);

/// Error of [`Svm::restore`](crate::Svm::restore): the snapshot is stale or belongs to another
/// `Svm`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SnapshotError;

impl core::fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(
            "stale snapshot: an older one was restored after it was taken, or it belongs to \
             another `Svm`",
        )
    }
}

impl core::error::Error for SnapshotError {}

impl Clone for Journal {
    /// Clones the state; snapshots stay valid for the original only.
    fn clone(&self) -> Self {
        Self::new(self.state.clone())
    }
}

impl Journal {
    pub(crate) fn new(state: State) -> Self {
        Self { state, undos: Vec::new(), snapshots: Vec::new(), reusable: None }
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Returns the state without logging changes, for setting it up before snapshots can exist.
    pub(crate) fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    fn is_logging(&mut self) -> bool {
        !self.snapshots.is_empty() && self.has_live_snapshot()
    }

    /// Returns whether a snapshot is alive; drops dead ones from the end, and the log if none is
    /// left.
    fn has_live_snapshot(&mut self) -> bool {
        while let Some(snapshot) = self.snapshots.last() {
            if snapshot.handle.strong_count() > 0 {
                return true;
            }
            self.snapshots.pop();
        }
        self.undos.clear();
        false
    }

    fn log(&mut self, undo: impl FnOnce(&State) -> Undo) {
        if self.is_logging() {
            self.undos.push(undo(&self.state));
        }
    }

    pub(crate) fn set_account(&mut self, key: Pubkey, account: Option<AccountSharedData>) {
        let before = self.state.accounts.set(key, account);
        self.log(|_| Undo::Account(key, before));
    }

    /// Sets an account without taking ownership of it.
    #[inline]
    pub(crate) fn write_account(&mut self, key: &Pubkey, account: &AccountSharedData) {
        if self.is_logging() || !self.state.accounts.change(key, account) {
            self.set_account(*key, Some(account.clone()));
        }
    }

    pub(crate) fn environment_mut(&mut self) -> &mut Environment {
        self.log(|state| Undo::Environment(Arc::clone(&state.environment)));
        Arc::make_mut(&mut self.state.environment)
    }

    pub(crate) fn blockhash_queue_mut(&mut self) -> &mut BlockhashQueue {
        self.log(|state| Undo::BlockhashQueue(Box::new(state.blockhash_queue.clone())));
        &mut self.state.blockhash_queue
    }

    /// Ends the slot of `head`, as a block that ends with this blockhash does.
    pub(crate) fn end(&mut self, head: &Head, blockhash: Hash) {
        let mut blockhashes = core::mem::take(self.blockhash_queue_mut());
        head.end(blockhash, true, &Footer::default(), &mut blockhashes, self);
        self.state.blockhash_queue = blockhashes;
    }

    /// Goes on from the slot of `head`, which has ended, to a later slot.
    pub(crate) fn advance(&mut self, head: &Head, end: BlockEnd, slot: u64, step: &Step) {
        let mut blockhashes = core::mem::take(self.blockhash_queue_mut());
        let next = head.advance(end, slot, step, &mut blockhashes, self);
        self.state.blockhash_queue = blockhashes;
        self.log(|state| Undo::Environment(Arc::clone(&state.environment)));
        self.state.environment = next.environment;
        self.log(|state| Undo::Stakes(Arc::clone(&state.stakes)));
        self.state.stakes = next.stakes;
    }

    pub(crate) fn set_stakes(&mut self, stakes: Stakes) {
        self.log(|state| Undo::Stakes(Arc::clone(&state.stakes)));
        self.state.stakes = Arc::new(stakes);
    }

    pub(crate) fn add_processed(&mut self, blockhash: Hash, message: MessageId) {
        self.log(|_| Undo::Processed { blockhash, message });
        self.state.blockhash_queue.add_processed(blockhash, message);
    }

    /// Returns a receipt without other references, to be overwritten.
    pub(crate) fn blank_receipt(&mut self) -> Entry {
        let unshared = self.reusable.take().filter(|it| Arc::strong_count(it) == 1);
        unshared.unwrap_or_else(|| Arc::new(Receipt::empty()))
    }

    /// Adds a receipt to the history.
    pub(crate) fn add_sent(&mut self, entry: Entry) {
        if self.state.history.capacity() == 0 {
            return;
        }
        let evicted = self.state.history.push(entry);
        if self.is_logging() {
            self.undos.push(Undo::Sent { evicted });
        } else {
            self.reuse(evicted);
        }
    }

    /// Keeps a receipt that the history no longer holds, for [`Journal::blank_receipt`].
    fn reuse(&mut self, receipt: Option<Entry>) {
        if receipt.is_some() {
            self.reusable = receipt;
        }
    }

    pub(crate) fn snapshot(&mut self) -> Snapshot {
        self.drop_unneeded();
        let snapshot = Snapshot(Arc::new(()));
        self.snapshots
            .push(TakenSnapshot { log_len: self.undos.len(), handle: Arc::downgrade(&snapshot.0) });
        snapshot
    }

    /// Drops the part of the undo log that no live snapshot needs.
    fn drop_unneeded(&mut self) {
        self.snapshots.retain(|snapshot| snapshot.handle.strong_count() > 0);
        let needed_from =
            self.snapshots.first().map_or(self.undos.len(), |snapshot| snapshot.log_len);
        self.undos.drain(..needed_from);
        for snapshot in &mut self.snapshots {
            snapshot.log_len = snapshot.log_len.saturating_sub(needed_from);
        }
    }

    pub(crate) fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        let is_it =
            |taken: &TakenSnapshot| core::ptr::eq(taken.handle.as_ptr(), Arc::as_ptr(&snapshot.0));
        let index = self.snapshots.iter().rposition(is_it).ok_or(SnapshotError)?;
        self.snapshots.truncate(index.saturating_add(1));
        let log_len = self.snapshots.get(index).map_or(0, |snapshot| snapshot.log_len);
        while self.undos.len() > log_len
            && let Some(undo) = self.undos.pop()
        {
            let removed = self.state.undo(undo);
            self.reuse(removed);
        }
        Ok(())
    }
}

impl AccountStore for Journal {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.state.accounts.account(key)
    }
}

impl HeadAccounts for Journal {
    fn put(&mut self, key: Pubkey, account: AccountSharedData) {
        self.set_account(key, Some(account));
    }

    fn owned_by(&self, is_owner: fn(&Pubkey) -> bool) -> Vec<(Pubkey, AccountSharedData)> {
        // Stakes and votes are never among the unwritten accounts of mainnet's programs.
        let written = self.state.accounts.written().into_iter();
        let owned = written.filter(|(_, account)| is_owner(account.owner()));
        owned.map(|(key, account)| (key, account.clone())).collect()
    }

    fn capitalization(&self) -> u64 {
        let written = self.state.accounts.written();
        written.iter().map(|(_, account)| account.lamports()).fold(0, u64::saturating_add)
    }

    fn may_have_changed(&self, key: &Pubkey) -> bool {
        self.state.accounts.get(key).is_some()
    }
}

impl State {
    /// Undoes a change. Returns the receipt that was removed from the history, if one was.
    fn undo(&mut self, undo: Undo) -> Option<Entry> {
        match undo {
            Undo::Account(key, before) => {
                self.accounts.set(key, before);
            }
            Undo::Environment(before) => self.environment = before,
            Undo::BlockhashQueue(before) => self.blockhash_queue = *before,
            Undo::Stakes(before) => self.stakes = before,
            Undo::Processed { blockhash, message } => {
                self.blockhash_queue.remove_processed(&blockhash, message);
            }
            Undo::Sent { evicted } => return self.history.undo_push(evicted),
        }
        None
    }
}
