//! The history of recently processed transactions.

use std::{collections::VecDeque, sync::Arc};

use solana_signature::Signature;

use crate::receipt::Receipt;

/// How many receipts are kept by default.
pub(crate) const CAPACITY_DEFAULT: usize = 32;

/// A receipt in the history.
pub(crate) type Entry = Arc<Receipt>;

/// The most recent receipts, bounded in number: adding one evicts the oldest.
///
/// Lookups search linearly: transactions are sent far more often than looked up, and an index would make
/// the signature of each, which takes longer than processing it. A lookup makes those of the receipts
/// that it passes, once.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// Oldest first.
    entries: VecDeque<Entry>,
    capacity: usize,
}

impl History {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { entries: VecDeque::new(), capacity }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the newest receipt with this signature. Without signature checks there may be
    /// several.
    pub(crate) fn get(&self, signature: &Signature) -> Option<&Entry> {
        self.entries.iter().rev().find(|it| it.signature() == *signature)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Adds a receipt; returns the evicted one.
    pub(crate) fn push(&mut self, entry: Entry) -> Option<Entry> {
        let is_full = self.entries.len() >= self.capacity;
        let evicted = if is_full { self.entries.pop_front() } else { None };
        self.entries.push_back(entry);
        evicted
    }

    /// Undoes [`History::push`]: removes the newest receipt, which it returns, and restores the evicted
    /// one.
    pub(crate) fn undo_push(&mut self, evicted: Option<Entry>) -> Option<Entry> {
        let removed = self.entries.pop_back();
        if let Some(evicted) = evicted {
            self.entries.push_front(evicted);
        }
        removed
    }
}
