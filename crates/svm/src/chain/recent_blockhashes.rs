//! The list of recent blockhashes, which copies share.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, OnceLock},
};

use foldhash::fast::FixedState;
use solana_hash::Hash;

/// How many blockhashes a part of the list has. A copy of the list copies the last part as soon as
/// it adds a blockhash.
const PART: usize = 512;

/// Blockhashes, oldest first, in parts that copies of the list share.
#[derive(Clone, Default, Debug)]
pub(crate) struct Recent {
    parts: VecDeque<Arc<Part>>,
    /// How many of the first part have been dropped.
    dropped: usize,
    len: usize,
}

#[derive(Default, Debug)]
struct Part {
    /// Each with a number that the caller chose.
    blockhashes: Vec<(Hash, usize)>,
    /// The last place of each in a part that is full, made when one is first looked for.
    places: OnceLock<HashMap<Hash, usize, FixedState>>,
}

impl Recent {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds a blockhash as the newest one.
    pub(crate) fn push(&mut self, blockhash: Hash, since: usize) {
        if self.parts.back().is_none_or(|part| part.is_full()) {
            self.parts.push_back(Arc::default());
        }
        if let Some(last) = self.parts.back_mut() {
            Arc::make_mut(last).blockhashes.push((blockhash, since));
            self.len = self.len.saturating_add(1);
        }
    }

    /// Returns the number of the oldest blockhash.
    pub(crate) fn oldest_since(&self) -> Option<usize> {
        let (_, since) = self.parts.front()?.blockhashes.get(self.dropped)?;
        Some(*since)
    }

    pub(crate) fn pop_oldest(&mut self) {
        self.dropped = self.dropped.saturating_add(1);
        self.len = self.len.saturating_sub(1);
        if self.parts.front().is_some_and(|first| first.blockhashes.len() <= self.dropped) {
            self.parts.pop_front();
            self.dropped = 0;
        }
    }

    /// Returns the blockhashes, oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Hash> {
        self.parts().flat_map(|(start, part)| part.blockhashes.iter().skip(start)).map(|it| &it.0)
    }

    #[inline]
    pub(crate) fn contains(&self, blockhash: &Hash) -> bool {
        // Most transactions use one of the newest.
        self.parts().rev().any(|(start, part)| part.find(blockhash).is_some_and(|at| at >= start))
    }

    /// Returns the parts, each with the place of its oldest blockhash.
    fn parts(&self) -> impl DoubleEndedIterator<Item = (usize, &Part)> {
        let start = |index| if index == 0 { self.dropped } else { 0 };
        self.parts.iter().enumerate().map(move |(index, part)| (start(index), &**part))
    }
}

impl Part {
    fn is_full(&self) -> bool {
        self.blockhashes.len() >= PART
    }

    /// Returns the last place of a blockhash.
    #[inline]
    fn find(&self, blockhash: &Hash) -> Option<usize> {
        if self.is_full() {
            return self.places().get(blockhash).copied();
        }
        self.blockhashes.iter().rposition(|(known, _)| known == blockhash)
    }

    #[cold]
    fn places(&self) -> &HashMap<Hash, usize, FixedState> {
        let places = || (0..).zip(&self.blockhashes).map(|(place, (hash, _))| (*hash, place));
        self.places.get_or_init(|| places().collect())
    }
}

impl Clone for Part {
    /// Copies the blockhashes. Only parts that are not full are copied, and those have no places.
    fn clone(&self) -> Self {
        let mut blockhashes = Vec::with_capacity(PART);
        blockhashes.extend_from_slice(&self.blockhashes);
        Self { blockhashes, places: OnceLock::new() }
    }
}
