//! The transactions that were sent last.

use std::{collections::VecDeque, sync::Arc};

use solana_signature::Signature;

use crate::receipt::Receipt;

/// How many transactions are kept unless another number is asked for.
pub(crate) const CAPACITY_DEFAULT: usize = 32;

/// What became of a transaction.
pub(crate) type Entry = Arc<Receipt>;

/// What became of the last transactions. Memory is bounded: the oldest makes room.
///
/// Transactions are sent much more often than somebody asks for one of them: who asks has them
/// searched, by the first bytes of their signatures.
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

    /// The newest one with a signature: where signatures are not checked, there may be more.
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

    /// Adds an entry; gives the one that made room.
    pub(crate) fn push(&mut self, entry: Entry) -> Option<Entry> {
        let is_full = self.entries.len() >= self.capacity;
        let evicted = if is_full { self.entries.pop_front() } else { None };
        let first = entry.transaction.signatures.first().map_or(0, first_bytes);
        self.entries.push_back((first, entry));
        evicted.map(|(_, entry)| entry)
    }

    /// Takes the newest entry away, and puts back the one that made room for it.
    pub(crate) fn undo_push(&mut self, evicted: Option<Entry>) {
        self.entries.pop_back();
        if let Some(evicted) = evicted {
            self.entries.push_front((first_bytes(&evicted.signature()), evicted));
        }
    }
}
