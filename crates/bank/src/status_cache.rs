//! The status cache: processed transactions on all forks.
//!
//! A transaction is identified by its blockhash or durable nonce, and the hash of its message
//! (agave: `status_cache.rs`).

use std::collections::{HashMap, HashSet, VecDeque};

use foldhash::fast::FixedState;
use selkie_svm::Transaction;
use solana_hash::Hash;

use crate::ancestors::{Ancestors, BankId};

/// After how many roots a transaction is forgotten; its blockhash has expired long before.
const ROOTS_KEPT: u64 = 300;

/// The identity of a transaction: blockhash and message hash.
pub(crate) type Key = (Hash, Hash);

/// Returns a transaction's key, hashing its message.
pub(crate) fn key(transaction: &Transaction) -> Key {
    (*transaction.blockhash(), transaction.message_hash())
}

/// The banks that processed each transaction.
#[derive(Default, Debug)]
pub(crate) struct StatusCache {
    by_blockhash: HashMap<Hash, BlockhashStatuses, FixedState>,
    /// The number of banks that were rooted and count.
    roots: u64,
    /// Blockhashes used by rooted banks, with the number of the root; oldest first.
    rooted: VecDeque<(u64, Hash)>,
}

#[derive(Default, Debug)]
struct BlockhashStatuses {
    messages: HashMap<Hash, Banks, FixedState>,
    /// The number of the last root that used it.
    rooted: u64,
}

/// The banks that processed a transaction, rarely more than one.
#[derive(Debug)]
struct Banks {
    first: BankId,
    others: Vec<BankId>,
}

impl StatusCache {
    /// Returns whether the bank or an ancestor processed a transaction.
    pub(crate) fn contains(&self, (blockhash, message): &Key, ancestors: &Ancestors) -> bool {
        let of_blockhash = self.by_blockhash.get(blockhash);
        let banks = of_blockhash.and_then(|it| it.messages.get(message));
        banks.is_some_and(|banks| {
            ancestors.contains(banks.first)
                || banks.others.iter().any(|other| ancestors.contains(*other))
        })
    }

    /// Adds a transaction that a bank processed.
    pub(crate) fn insert(&mut self, (blockhash, message): Key, bank: BankId) {
        let messages = &mut self.by_blockhash.entry(blockhash).or_default().messages;
        messages
            .entry(message)
            .and_modify(|banks| banks.others.push(bank))
            .or_insert_with(|| Banks { first: bank, others: Vec::new() });
    }

    /// Removes transactions that a bank processed.
    pub(crate) fn remove(&mut self, keys: &[Key], bank: BankId) {
        for (blockhash, message) in keys {
            let Some(of_blockhash) = self.by_blockhash.get_mut(blockhash) else { continue };
            let messages = &mut of_blockhash.messages;
            if messages.get_mut(message).is_some_and(|banks| banks.remove(bank)) {
                messages.remove(message);
            }
            if messages.is_empty() && of_blockhash.rooted == 0 {
                self.by_blockhash.remove(blockhash);
            }
        }
    }

    /// Adds the transactions that a root processed. A root that counts ages the others, and old ones
    /// are forgotten.
    pub(crate) fn root(&mut self, keys: &[Key], counts: bool) {
        self.roots = self.roots.saturating_add(counts.into());
        for (blockhash, _) in keys {
            if let Some(of_blockhash) = self.by_blockhash.get_mut(blockhash)
                && of_blockhash.rooted < self.roots
            {
                of_blockhash.rooted = self.roots;
                self.rooted.push_back((self.roots, *blockhash));
            }
        }
        while let Some((root, blockhash)) = self.rooted.front().copied()
            && self.roots.saturating_sub(root) > ROOTS_KEPT
        {
            self.rooted.pop_front();
            if self.by_blockhash.get(&blockhash).is_some_and(|it| it.rooted == root) {
                self.by_blockhash.remove(&blockhash);
            }
        }
    }

    /// Returns the transactions that a bank and its ancestors processed, sorted.
    pub(crate) fn all(&self, ancestors: &Ancestors) -> Vec<Key> {
        let known: HashSet<Key, FixedState> = self
            .by_blockhash
            .iter()
            .flat_map(|(blockhash, it)| it.messages.keys().map(|message| (*blockhash, *message)))
            .filter(|key| self.contains(key, ancestors))
            .collect();
        let mut all: Vec<Key> = known.into_iter().collect();
        all.sort_unstable();
        all
    }

    /// Returns the number of transactions.
    pub(crate) fn len(&self) -> usize {
        self.by_blockhash.values().map(|it| it.messages.len()).sum()
    }
}

impl Banks {
    /// Removes a bank; returns whether none is left.
    fn remove(&mut self, bank: BankId) -> bool {
        if self.first != bank {
            self.others.retain(|other| *other != bank);
            return false;
        }
        match self.others.pop() {
            Some(other) => {
                self.first = other;
                false
            }
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(byte: u8) -> Hash {
        Hash::new_from_array([byte; 32])
    }

    #[test]
    fn statuses_are_visible_on_their_fork_only() {
        let ids = [1, 2, 3].map(BankId);
        let root = Ancestors::root(ids[0]);
        let (left, right) = (root.child(ids[1], ids[0]), root.child(ids[2], ids[0]));
        let mut statuses = StatusCache::default();
        let known = (hash(1), hash(2));
        statuses.insert(known, ids[1]);
        assert!(statuses.contains(&known, &left) && !statuses.contains(&known, &right));
        statuses.insert(known, ids[2]);
        assert!(statuses.contains(&known, &right));
        statuses.remove(&[known], ids[1]);
        assert!(!statuses.contains(&known, &left) && statuses.contains(&known, &right));
        statuses.remove(&[known], ids[2]);
        assert!(statuses.by_blockhash.is_empty());
    }

    #[test]
    fn rooted_statuses_are_forgotten_after_enough_roots() {
        let mut statuses = StatusCache::default();
        for round in 0..10_u8 {
            let key = (hash(round), hash(0));
            statuses.insert(key, BankId(round.into()));
            statuses.root(&[key, key], true);
        }
        assert_eq!(statuses.len(), 10);
        (0..ROOTS_KEPT - 9).for_each(|_| statuses.root(&[], true));
        assert_eq!(statuses.len(), 10);
        statuses.root(&[], true);
        assert_eq!(statuses.len(), 9);
        (0..9).for_each(|_| statuses.root(&[], true));
        assert!(statuses.by_blockhash.is_empty() && statuses.rooted.is_empty());
    }
}
