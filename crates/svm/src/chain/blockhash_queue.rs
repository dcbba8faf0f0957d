//! What happened of late: the blockhashes that transactions may refer to, and the transactions
//! that were processed with them.

use std::collections::{HashSet, VecDeque};

use foldhash::fast::FixedState;
use solana_hash::Hash;

use crate::chain::{cost::BLOCKHASHES_VALID, message_id::MessageId};

/// How many slots a transaction that lives by a durable nonce is remembered for.
const NONCE_SLOTS: usize = 300;

/// BlockhashQueue blockhashes, and what was processed with them.
///
/// Processed transactions are known by the blockhash that they have, or the durable nonce in its
/// place, and their message (agave: `status_cache.rs`).
#[derive(Clone, Default, Debug)]
pub struct BlockhashQueue {
    /// Oldest first; the last one is the current one.
    blockhashes: VecDeque<Known>,
    /// Nonces that something was processed with, oldest first.
    nonces: VecDeque<Known>,
    registered: usize,
}

/// A blockhash or a nonce, and what was processed with it.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    hash: Hash,
    /// How many blockhashes there had been when it became known.
    since: usize,
    processed: HashSet<MessageId, FixedState>,
}

impl Known {
    fn new(hash: Hash, since: usize) -> Self {
        Self { hash, since, processed: HashSet::default() }
    }

    #[inline]
    fn is_of(&self, hash: &Hash) -> bool {
        self.hash == *hash
    }

    /// Whether a message was processed with it.
    #[inline]
    pub(crate) fn has_processed(&self, message: MessageId) -> bool {
        self.processed.contains(&message)
    }
}

impl BlockhashQueue {
    /// Blockhashes, oldest first.
    #[must_use]
    pub fn new(blockhashes: impl IntoIterator<Item = Hash>) -> Self {
        let mut blockhash_queue = Self::default();
        blockhashes.into_iter().for_each(|blockhash| blockhash_queue.register(blockhash));
        blockhash_queue
    }

    /// Adds a blockhash, which is the current one from here on. The oldest may fall out, and with
    /// it what was processed with it.
    pub fn register(&mut self, blockhash: Hash) {
        self.registered = self.registered.saturating_add(1);
        self.blockhashes.push_back(Known::new(blockhash, self.registered));
        while self.blockhashes.len() > BLOCKHASHES_VALID {
            self.blockhashes.pop_front();
        }
        let registered = self.registered;
        while self
            .nonces
            .pop_front_if(|nonce| registered.saturating_sub(nonce.since) > NONCE_SLOTS)
            .is_some()
        {}
    }

    /// Drops every blockhash; what was processed is forgotten with them.
    pub fn expire(&mut self) {
        let registered = self.registered;
        *self = Self { registered, ..Self::default() };
    }

    /// The current blockhash.
    #[must_use]
    pub fn blockhash(&self) -> Option<&Hash> {
        self.blockhashes.back().map(|known| &known.hash)
    }

    /// The blockhashes, oldest first.
    pub fn blockhashes(&self) -> impl DoubleEndedIterator<Item = &Hash> {
        self.blockhashes.iter().map(|known| &known.hash)
    }

    /// What is known of a blockhash that transactions may still refer to.
    #[inline]
    pub(crate) fn blockhash_known(&self, blockhash: &Hash) -> Option<&Known> {
        // Most refer to one of the last.
        self.blockhashes.iter().rev().find(|known| known.is_of(blockhash))
    }

    /// What is known of a durable nonce, if anything was processed with it.
    pub(crate) fn nonce_known(&self, nonce: &Hash) -> Option<&Known> {
        self.nonces.iter().rev().find(|known| known.is_of(nonce))
    }

    /// Whether a transaction may still refer to a blockhash.
    #[must_use]
    pub fn is_recent(&self, blockhash: &Hash) -> bool {
        self.blockhash_known(blockhash).is_some()
    }

    /// Whether a message was processed.
    #[must_use]
    pub fn has_processed(&self, blockhash: &Hash, message: MessageId) -> bool {
        let known = self.blockhash_known(blockhash).or_else(|| self.nonce_known(blockhash));
        known.is_some_and(|known| known.has_processed(message))
    }

    /// Remembers that a message was processed.
    pub fn add_processed(&mut self, blockhash: Hash, message: MessageId) {
        if let Some(known) = self.find_mut(&blockhash) {
            known.processed.insert(message);
            return;
        }
        let mut nonce = Known::new(blockhash, self.registered);
        nonce.processed.insert(message);
        self.nonces.push_back(nonce);
    }

    /// Forgets that a message was processed.
    pub fn remove_processed(&mut self, blockhash: &Hash, message: MessageId) {
        if let Some(known) = self.find_mut(blockhash) {
            known.processed.remove(&message);
        }
    }

    fn find_mut(&mut self, hash: &Hash) -> Option<&mut Known> {
        let blockhash = self.blockhashes.iter_mut().rev().find(|known| known.is_of(hash));
        blockhash.or_else(|| self.nonces.iter_mut().rev().find(|known| known.is_of(hash)))
    }
}
