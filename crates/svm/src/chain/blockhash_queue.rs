//! The blockhash queue: recent blockhashes, and the transactions processed under each.

use std::collections::{HashSet, VecDeque};

use foldhash::fast::FixedState;
use solana_hash::Hash;

use crate::chain::{cost::BLOCKHASHES_VALID, message_id::MessageId, recent_blockhashes::Recent};

/// For how many slots a transaction with a durable nonce is remembered.
const NONCE_SLOTS: usize = 300;

/// How many blockhashes are kept at most, if several have the same age.
pub const BLOCKHASHES_MAX: usize = 65_536;

/// Recent blockhashes, and the transactions processed under each.
///
/// A processed transaction is identified by its blockhash, or the durable nonce in its place, and its
/// message (agave: `status_cache.rs`).
#[derive(Clone, Default, Debug)]
pub struct BlockhashQueue {
    /// Shared between copies of the queue.
    recent: Recent,
    /// The blockhashes and durable nonces under which transactions were processed, oldest first.
    processed: VecDeque<Processed>,
    registered: usize,
}

/// The transactions processed under a blockhash or a durable nonce.
#[derive(Clone, Debug)]
struct Processed {
    under: Hash,
    /// How many blockhashes that age the others had been registered before the first of them.
    since: usize,
    messages: HashSet<MessageId, FixedState>,
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
        let (recent, registered) = (self.recent.clone(), self.registered);
        Self { recent, processed: VecDeque::new(), registered }
    }

    /// Adds a blockhash, which becomes the current one, and ages the others. Those that are too old
    /// are dropped.
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
        self.recent.push(blockhash, registered);
        let age = |since: usize| registered.saturating_sub(since);
        while self.recent.oldest_since().is_some_and(|since| age(since) >= BLOCKHASHES_VALID)
            || self.recent.len() > BLOCKHASHES_MAX
        {
            self.recent.pop_oldest();
        }
        while self.processed.front().is_some_and(|it| age(it.since) > NONCE_SLOTS) {
            self.processed.pop_front();
        }
    }

    /// Drops all blockhashes, with the transactions processed under them.
    pub fn expire(&mut self) {
        let registered = self.registered;
        *self = Self { registered, ..Self::default() };
    }

    /// Returns the current blockhash.
    #[must_use]
    pub fn blockhash(&self) -> Option<&Hash> {
        self.blockhashes().next_back()
    }

    /// Returns the blockhashes, oldest first.
    pub fn blockhashes(&self) -> impl DoubleEndedIterator<Item = &Hash> {
        self.recent.iter()
    }

    /// Returns whether a blockhash is still valid.
    #[inline]
    #[must_use]
    pub fn is_recent(&self, blockhash: &Hash) -> bool {
        self.recent.contains(blockhash)
    }

    /// Returns whether a message was processed under a blockhash or a durable nonce.
    #[inline]
    #[must_use]
    pub fn has_processed(&self, under: &Hash, message: MessageId) -> bool {
        let processed = self.processed.iter().rev().find(|it| it.under == *under);
        processed.is_some_and(|it| it.messages.contains(&message))
    }

    /// Records that a message was processed.
    pub fn add_processed(&mut self, under: Hash, message: MessageId) {
        if let Some(processed) = self.find_mut(&under) {
            processed.messages.insert(message);
            return;
        }
        let messages = HashSet::from_iter([message]);
        self.processed.push_back(Processed { under, since: self.registered, messages });
    }

    /// Removes the record of a processed message.
    pub fn remove_processed(&mut self, under: &Hash, message: MessageId) {
        if let Some(processed) = self.find_mut(under) {
            processed.messages.remove(&message);
        }
    }

    fn find_mut(&mut self, under: &Hash) -> Option<&mut Processed> {
        self.processed.iter_mut().rev().find(|it| it.under == *under)
    }
}

#[cfg(test)]
mod tests {
    use solana_message::{Message, VersionedMessage};

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
        (0..=u16::MAX).for_each(|number| queue.register_same_age(hash(number)));
        assert_eq!(queue.blockhashes().count(), BLOCKHASHES_MAX);
        assert!(queue.is_recent(&hash(0)) && queue.is_recent(&hash(1000)));
        queue.register_same_age(hash(0));
        assert_eq!(queue.blockhashes().next(), Some(&hash(1)));
    }

    #[test]
    fn messages_are_forgotten_long_after_their_blockhash_has_expired() {
        let message = MessageId::of(&VersionedMessage::Legacy(Message::default()));
        let mut queue = BlockhashQueue::new([hash(0)]);
        queue.add_processed(hash(0), message);
        let mut copy = queue.without_processed();
        assert!(!copy.has_processed(&hash(0), message));
        (1..=300).for_each(|number| queue.register(hash(number)));
        assert!(!queue.is_recent(&hash(0)));
        assert!(queue.has_processed(&hash(0), message));
        queue.register(hash(301));
        assert!(!queue.has_processed(&hash(0), message));
        copy.register(hash(400));
        assert!(copy.is_recent(&hash(0)) && !copy.is_recent(&hash(1)), "copies are their own");
    }
}
