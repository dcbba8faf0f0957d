//! The state, and how it goes back.
//!
//! While somebody holds a snapshot, each change first notes what undoes it. Going back undoes the
//! notes, newest first: it costs what was changed, however much there is besides. While nobody
//! does, nothing is noted.

use std::sync::{Arc, Weak};

use selkie_bank::Stakes;
use selkie_svm::{BlockhashQueue, Environment, MessageId};
use solana_account::AccountSharedData;
use solana_hash::Hash;
use solana_pubkey::Pubkey;

use crate::{
    history::{Entry, History},
    receipt::Receipt,
    store::Accounts,
};

/// Everything that changes when time or transactions pass.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) accounts: Accounts,
    pub(crate) environment: Arc<Environment>,
    pub(crate) blockhash_queue: BlockhashQueue,
    pub(crate) stakes: Arc<Stakes>,
    pub(crate) history: History,
}

/// What undoes a change.
#[derive(Debug)]
enum Undo {
    Account(Pubkey, Option<AccountSharedData>),
    Environment(Arc<Environment>),
    BlockhashQueue(Box<BlockhashQueue>),
    Stakes(Arc<Stakes>),
    Processed { blockhash: Hash, message: MessageId },
    Sent { evicted: Option<Entry> },
}

/// The state, changed only through here.
#[derive(Debug)]
pub(crate) struct Journal {
    state: State,
    undos: Vec<Undo>,
    /// The snapshots that were taken, oldest first.
    marks: Vec<Mark>,
    /// A receipt that nobody asks for any more: the next transaction has room in it.
    spare: Option<Entry>,
}

#[derive(Debug)]
struct Mark {
    /// How many notes there were.
    at: usize,
    holder: Weak<()>,
}

/// A state to come back to, as [`Svm::snapshot`](crate::Svm::snapshot) gives it.
///
/// It holds nothing itself: as long as it lives, its `Svm` notes what changes.
#[derive(Clone, Debug)]
pub struct Snapshot(Arc<()>);

/// A snapshot that cannot be restored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SnapshotError;

impl core::fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(
            "the snapshot is not of this past: an older one was restored after it was taken, or \
             it belongs to another `Svm`",
        )
    }
}

impl core::error::Error for SnapshotError {}

impl Clone for Journal {
    /// The same state; snapshots stay with the original.
    fn clone(&self) -> Self {
        Self::new(self.state.clone())
    }
}

impl Journal {
    pub(crate) fn new(state: State) -> Self {
        Self { state, undos: Vec::new(), marks: Vec::new(), spare: None }
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// The state, for whoever sets it up before anything can have happened.
    pub(crate) fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    fn is_noting(&mut self) -> bool {
        !self.marks.is_empty() && self.has_holder()
    }

    /// Whether somebody holds one of the snapshots that were taken.
    fn has_holder(&mut self) -> bool {
        while let Some(mark) = self.marks.last() {
            if mark.holder.strong_count() > 0 {
                return true;
            }
            self.marks.pop();
        }
        self.undos.clear();
        false
    }

    fn note(&mut self, undo: impl FnOnce(&State) -> Undo) {
        if self.is_noting() {
            self.undos.push(undo(&self.state));
        }
    }

    pub(crate) fn set_account(&mut self, key: Pubkey, account: Option<AccountSharedData>) {
        let before = self.state.accounts.set(key, account);
        self.note(|_| Undo::Account(key, before));
    }

    /// Writes an account down that somebody keeps.
    #[inline]
    pub(crate) fn write_account(&mut self, key: &Pubkey, account: &AccountSharedData) {
        if self.is_noting() || !self.state.accounts.change(key, account) {
            self.set_account(*key, Some(account.clone()));
        }
    }

    pub(crate) fn environment_mut(&mut self) -> &mut Environment {
        self.note(|state| Undo::Environment(Arc::clone(&state.environment)));
        Arc::make_mut(&mut self.state.environment)
    }

    pub(crate) fn blockhash_queue_mut(&mut self) -> &mut BlockhashQueue {
        self.note(|state| Undo::BlockhashQueue(Box::new(state.blockhash_queue.clone())));
        &mut self.state.blockhash_queue
    }

    pub(crate) fn set_stakes(&mut self, stakes: Stakes) {
        self.note(|state| Undo::Stakes(Arc::clone(&state.stakes)));
        self.state.stakes = Arc::new(stakes);
    }

    pub(crate) fn add_processed(&mut self, blockhash: Hash, message: MessageId) {
        self.note(|_| Undo::Processed { blockhash, message });
        self.state.blockhash_queue.add_processed(blockhash, message);
    }

    /// A receipt that nobody else has, to be written.
    pub(crate) fn blank_receipt(&mut self) -> Entry {
        self.spare.take().unwrap_or_else(|| Arc::new(Receipt::empty()))
    }

    /// Adds a transaction to those that were sent last. If nobody else has the one that makes room,
    /// another transaction can have its place.
    pub(crate) fn add_sent(&mut self, entry: Entry) {
        if self.state.history.capacity() == 0 {
            return;
        }
        let evicted = self.state.history.push(entry);
        if self.is_noting() {
            self.undos.push(Undo::Sent { evicted });
        } else if evicted.as_ref().is_some_and(|it| Arc::strong_count(it) == 1) {
            self.spare = evicted;
        }
    }

    pub(crate) fn snapshot(&mut self) -> Snapshot {
        self.forget();
        let snapshot = Snapshot(Arc::new(()));
        self.marks.push(Mark { at: self.undos.len(), holder: Arc::downgrade(&snapshot.0) });
        snapshot
    }

    /// Forgets what no snapshot needs any more.
    fn forget(&mut self) {
        self.marks.retain(|mark| mark.holder.strong_count() > 0);
        let needed_from = self.marks.first().map_or(self.undos.len(), |mark| mark.at);
        self.undos.drain(..needed_from);
        for mark in &mut self.marks {
            mark.at = mark.at.saturating_sub(needed_from);
        }
    }

    pub(crate) fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        let is_it = |mark: &Mark| core::ptr::eq(mark.holder.as_ptr(), Arc::as_ptr(&snapshot.0));
        let place = self.marks.iter().rposition(is_it).ok_or(SnapshotError)?;
        self.marks.truncate(place.saturating_add(1));
        let at = self.marks.get(place).map_or(0, |mark| mark.at);
        while self.undos.len() > at
            && let Some(undo) = self.undos.pop()
        {
            self.state.undo(undo);
        }
        Ok(())
    }
}

impl State {
    fn undo(&mut self, undo: Undo) {
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
            Undo::Sent { evicted } => self.history.undo_push(evicted),
        }
    }
}
