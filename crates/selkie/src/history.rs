//! The transactions that were sent last, by signature.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use foldhash::fast::FixedState;
use solana_signature::Signature;

use crate::receipt::Receipt;

/// How many transactions are kept unless another number is asked for.
pub(crate) const CAPACITY_DEFAULT: usize = 256;

/// What became of a transaction.
pub(crate) type Entry = Arc<Receipt>;

/// What became of the last transactions. Memory is bounded: the oldest makes room.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// Oldest first.
    entries: VecDeque<Entry>,
    by_signature: HashMap<Signature, Entry, FixedState>,
    capacity: usize,
}

impl History {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { entries: VecDeque::new(), by_signature: HashMap::default(), capacity }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) fn get(&self, signature: &Signature) -> Option<&Entry> {
        self.by_signature.get(signature)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Adds an entry; gives the one that made room.
    pub(crate) fn push(&mut self, entry: Entry) -> Option<Entry> {
        let is_full = self.entries.len() >= self.capacity;
        let evicted = if is_full { self.entries.pop_front() } else { None };
        if let Some(evicted) = &evicted {
            self.remove(evicted);
        }
        self.by_signature.insert(entry.signature(), Arc::clone(&entry));
        self.entries.push_back(entry);
        evicted
    }

    /// Takes the newest entry away, and puts back the one that made room for it.
    pub(crate) fn undo_push(&mut self, evicted: Option<Entry>) {
        if let Some(newest) = self.entries.pop_back() {
            self.remove(&newest);
        }
        if let Some(evicted) = evicted {
            self.by_signature.insert(evicted.signature(), Arc::clone(&evicted));
            self.entries.push_front(evicted);
        }
    }

    fn remove(&mut self, entry: &Entry) {
        let signature = entry.signature();
        // Where signatures are not checked, a later transaction may have the same one.
        if self.by_signature.get(&signature).is_some_and(|known| Arc::ptr_eq(known, entry)) {
            self.by_signature.remove(&signature);
        }
    }
}
