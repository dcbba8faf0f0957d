//! The blockhash queue: recent blockhashes, and the transactions processed under each.

use std::collections::{HashSet, VecDeque};

use foldhash::fast::FixedState;
use solana_hash::Hash;

use crate::chain::{cost::BLOCKHASHES_VALID, message_id::MessageId};

/// For how many slots a transaction with a durable nonce is remembered.
const NONCE_SLOTS: usize = 300;

/// How many blockhashes are kept at most, if several have the same age.
pub const BLOCKHASHES_MAX: usize = 4096;

/// Recent blockhashes, and the transactions processed under each.
///
/// A processed transaction is identified by its blockhash, or the durable nonce in its place, and its
/// message (agave: `status_cache.rs`).
#[derive(Clone, Default, Debug)]
pub struct BlockhashQueue {
    /// Oldest first; the last one is the current one.
    blockhashes: VecDeque<BlockhashEntry>,
    /// Durable nonces under which transactions were processed, oldest first.
    nonces: VecDeque<BlockhashEntry>,
    registered: usize,
}

/// A blockhash or a durable nonce, and the transactions processed under it.
#[derive(Clone, Debug)]
pub(crate) struct BlockhashEntry {
    hash: Hash,
    /// How many blockhashes that age the others had been registered when this entry was added.
    since: usize,
    processed: HashSet<MessageId, FixedState>,
}

impl BlockhashEntry {
    fn new(hash: Hash, since: usize) -> Self {
        Self { hash, since, processed: HashSet::default() }
    }

    #[inline]
    fn is_of(&self, hash: &Hash) -> bool {
        self.hash == *hash
    }

    /// Returns whether a message was processed under this blockhash.
    #[inline]
    pub(crate) fn has_processed(&self, message: MessageId) -> bool {
        self.processed.contains(&message)
    }
}

impl BlockhashQueue {
    /// Creates a queue of blockhashes, oldest first.
    #[must_use]
    pub fn new(blockhashes: impl IntoIterator<Item = Hash>) -> Self {
        let mut blockhash_queue = Self::default();
        blockhashes.into_iter().for_each(|blockhash| blockhash_queue.register(blockhash));
        blockhash_queue
    }

    /// Returns a queue with the same blockhashes and their ages, but no processed transactions.
    #[must_use]
    pub fn without_processed(&self) -> Self {
        let entry = |entry: &BlockhashEntry| BlockhashEntry::new(entry.hash, entry.since);
        let blockhashes = self.blockhashes.iter().map(entry).collect();
        Self { blockhashes, nonces: VecDeque::new(), registered: self.registered }
    }

    /// Adds a blockhash, which becomes the current one, and ages the others. Those that are too old
    /// are dropped, with the transactions processed under them.
    pub fn register(&mut self, blockhash: Hash) {
        self.registered = self.registered.saturating_add(1);
        self.add(blockhash);
    }

    /// Adds a blockhash, which becomes the current one, without aging the others: for clusters whose
    /// blocks come faster than their slots. Beyond a bound on their number the oldest is dropped.
    pub fn register_same_age(&mut self, blockhash: Hash) {
        self.add(blockhash);
    }

    fn add(&mut self, blockhash: Hash) {
        let registered = self.registered;
        self.blockhashes.push_back(BlockhashEntry::new(blockhash, registered));
        let is_old =
            |it: &mut BlockhashEntry| registered.saturating_sub(it.since) >= BLOCKHASHES_VALID;
        while self.blockhashes.pop_front_if(is_old).is_some() {}
        while self.blockhashes.len() > BLOCKHASHES_MAX {
            self.blockhashes.pop_front();
        }
        while self
            .nonces
            .pop_front_if(|nonce| registered.saturating_sub(nonce.since) > NONCE_SLOTS)
            .is_some()
        {}
    }

    /// Drops all blockhashes, with the transactions processed under them.
    pub fn expire(&mut self) {
        let registered = self.registered;
        *self = Self { registered, ..Self::default() };
    }

    /// Returns the current blockhash.
    #[must_use]
    pub fn blockhash(&self) -> Option<&Hash> {
        self.blockhashes.back().map(|entry| &entry.hash)
    }

    /// Returns the blockhashes, oldest first.
    pub fn blockhashes(&self) -> impl DoubleEndedIterator<Item = &Hash> {
        self.blockhashes.iter().map(|entry| &entry.hash)
    }

    /// Returns the entry of a blockhash that is still valid.
    #[inline]
    pub(crate) fn blockhash_entry(&self, blockhash: &Hash) -> Option<&BlockhashEntry> {
        // Most transactions use one of the newest.
        self.blockhashes.iter().rev().find(|entry| entry.is_of(blockhash))
    }

    /// Returns the entry of a durable nonce, if a transaction was processed under it.
    pub(crate) fn nonce_entry(&self, nonce: &Hash) -> Option<&BlockhashEntry> {
        self.nonces.iter().rev().find(|entry| entry.is_of(nonce))
    }

    /// Returns whether a blockhash is still valid.
    #[must_use]
    pub fn is_recent(&self, blockhash: &Hash) -> bool {
        self.blockhash_entry(blockhash).is_some()
    }

    /// Returns whether a message was processed.
    #[must_use]
    pub fn has_processed(&self, blockhash: &Hash, message: MessageId) -> bool {
        let entry = self.blockhash_entry(blockhash).or_else(|| self.nonce_entry(blockhash));
        entry.is_some_and(|entry| entry.has_processed(message))
    }

    /// Records that a message was processed.
    pub fn add_processed(&mut self, blockhash: Hash, message: MessageId) {
        if let Some(entry) = self.find_mut(&blockhash) {
            entry.processed.insert(message);
            return;
        }
        let mut nonce = BlockhashEntry::new(blockhash, self.registered);
        nonce.processed.insert(message);
        self.nonces.push_back(nonce);
    }

    /// Removes the record of a processed message.
    pub fn remove_processed(&mut self, blockhash: &Hash, message: MessageId) {
        if let Some(entry) = self.find_mut(blockhash) {
            entry.processed.remove(&message);
        }
    }

    fn find_mut(&mut self, hash: &Hash) -> Option<&mut BlockhashEntry> {
        let blockhash = self.blockhashes.iter_mut().rev().find(|entry| entry.is_of(hash));
        blockhash.or_else(|| self.nonces.iter_mut().rev().find(|entry| entry.is_of(hash)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u16) -> Hash {
        let mut bytes = [0; 32];
        bytes[..2].copy_from_slice(&number.to_le_bytes());
        Hash::new_from_array(bytes)
    }

    #[test]
    fn blockhashes_of_the_same_age_expire_together() {
        let mut queue = BlockhashQueue::default();
        queue.register(hash(0));
        (1..300).for_each(|number| queue.register_same_age(hash(number)));
        assert!(queue.is_recent(&hash(0)) && queue.is_recent(&hash(299)));
        (1000..1150).for_each(|number| queue.register(hash(number)));
        assert!(queue.is_recent(&hash(0)) && queue.without_processed().is_recent(&hash(299)));
        queue.register(hash(1150));
        assert!(!queue.is_recent(&hash(299)) && queue.is_recent(&hash(1000)));
        (0..5000).for_each(|number| queue.register_same_age(hash(number)));
        assert_eq!(queue.blockhashes().count(), BLOCKHASHES_MAX);
    }
}
