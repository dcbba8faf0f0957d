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
/// Lookups search linearly, comparing the first bytes of signatures: transactions are sent far more
/// often than looked up, so there is no index to maintain.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// Oldest first.
    entries: VecDeque<(u64, Entry)>,
    capacity: usize,
}

fn first_bytes(signature: &Signature) -> u64 {
    signature.as_array().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
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
        let first = first_bytes(signature);
        let mut newest_first = self.entries.iter().rev();
        let found =
            newest_first.find(|(known, it)| *known == first && it.signature() == *signature);
        found.map(|(_, entry)| entry)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter().map(|(_, entry)| entry)
    }

    /// Adds a receipt; returns the evicted one.
    pub(crate) fn push(&mut self, entry: Entry) -> Option<Entry> {
        let is_full = self.entries.len() >= self.capacity;
        let evicted = if is_full { self.entries.pop_front() } else { None };
        let first = entry.transaction.signatures.first().map_or(0, first_bytes);
        self.entries.push_back((first, entry));
        evicted.map(|(_, entry)| entry)
    }

    /// Undoes [`History::push`]: removes the newest receipt, which it returns, and restores the evicted
    /// one.
    pub(crate) fn undo_push(&mut self, evicted: Option<Entry>) -> Option<Entry> {
        let removed = self.entries.pop_back();
        if let Some(evicted) = evicted {
            self.entries.push_front((first_bytes(&evicted.signature()), evicted));
        }
        removed.map(|(_, entry)| entry)
    }
}
