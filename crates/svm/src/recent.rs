//! What happened of late: the blockhashes that transactions may refer to, and the transactions
//! that were processed with them.

use std::collections::{HashMap, HashSet, VecDeque};

use foldhash::fast::FixedState;
use solana_hash::Hash;

use crate::cost::BLOCKHASHES_VALID;

/// How many slots a transaction that lives by a durable nonce is remembered for.
const NONCE_SLOTS: usize = 300;

/// Recent blockhashes, and what was processed with them.
///
/// Processed transactions are known by the blockhash that they have, or the durable nonce in its
/// place, and their message's hash (agave: `status_cache.rs`).
#[derive(Clone, Default, Debug)]
pub struct Recent {
    /// Oldest first; the last one is the current one.
    blockhashes: VecDeque<Hash>,
    processed: HashMap<Hash, HashSet<Hash, FixedState>, FixedState>,
    /// Nonces that something was processed with, with how many blockhashes there had been.
    nonces: VecDeque<(usize, Hash)>,
    registered: usize,
}

impl Recent {
    /// Blockhashes, oldest first.
    #[must_use]
    pub fn new(blockhashes: impl IntoIterator<Item = Hash>) -> Self {
        let mut recent = Self::default();
        blockhashes.into_iter().for_each(|blockhash| recent.register(blockhash));
        recent
    }

    /// Adds a blockhash, which is the current one from here on. The oldest may fall out, and with
    /// it what was processed with it.
    pub fn register(&mut self, blockhash: Hash) {
        self.blockhashes.push_back(blockhash);
        self.registered = self.registered.saturating_add(1);
        while self.blockhashes.len() > BLOCKHASHES_VALID {
            if let Some(oldest) = self.blockhashes.pop_front() {
                self.processed.remove(&oldest);
            }
        }
        while let Some((since, nonce)) = self.nonces.front().copied()
            && self.registered.saturating_sub(since) > NONCE_SLOTS
        {
            self.nonces.pop_front();
            self.processed.remove(&nonce);
        }
    }

    /// Drops every blockhash; what was processed is forgotten with them.
    pub fn expire(&mut self) {
        let registered = self.registered;
        *self = Self { registered, ..Self::default() };
    }

    /// The current blockhash.
    #[must_use]
    pub fn blockhash(&self) -> Option<&Hash> {
        self.blockhashes.back()
    }

    /// The blockhashes, oldest first.
    pub fn blockhashes(&self) -> impl DoubleEndedIterator<Item = &Hash> {
        self.blockhashes.iter()
    }

    /// Whether a transaction may still refer to a blockhash.
    #[must_use]
    pub fn is_recent(&self, blockhash: &Hash) -> bool {
        // Most refer to one of the last.
        self.blockhashes.iter().rev().any(|known| known == blockhash)
    }

    /// Whether a message was processed.
    #[must_use]
    pub fn has_processed(&self, blockhash: &Hash, message_hash: &Hash) -> bool {
        self.processed.get(blockhash).is_some_and(|hashes| hashes.contains(message_hash))
    }

    /// Remembers that a message was processed.
    pub fn add_processed(&mut self, blockhash: Hash, message_hash: Hash) {
        if !self.processed.contains_key(&blockhash) && !self.is_recent(&blockhash) {
            self.nonces.push_back((self.registered, blockhash));
        }
        self.processed.entry(blockhash).or_default().insert(message_hash);
    }

    /// Forgets that a message was processed.
    pub fn remove_processed(&mut self, blockhash: &Hash, message_hash: &Hash) {
        if let Some(hashes) = self.processed.get_mut(blockhash) {
            hashes.remove(message_hash);
        }
    }
}
