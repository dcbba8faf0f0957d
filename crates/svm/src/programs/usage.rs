//! The usage and memory of programs, by which the program cache decides about eviction.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

/// The memory of a cache's programs, in bytes. It is an upper bound, since programs that were evicted
/// stay included until the cache recounts.
#[derive(Clone, Default, Debug)]
pub(crate) struct Total(Arc<AtomicUsize>);

impl Total {
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Replaces a sum that was read before by a recount. What was added in the meantime stays included.
    pub(crate) fn correct(&self, before: usize, now: usize) {
        self.0.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
    }
}

/// A program's part of a [`Total`].
#[derive(Default, Debug)]
pub(crate) struct Share {
    noted: AtomicUsize,
    total: Total,
}

impl Share {
    pub(crate) fn of(total: Total) -> Self {
        Self { noted: AtomicUsize::new(0), total }
    }

    /// Updates the program's size. It may grow with every run, but seldom does.
    #[inline]
    pub(crate) fn note(&self, bytes: usize) {
        if bytes > self.noted.load(Ordering::Relaxed) {
            let before = self.noted.fetch_max(bytes, Ordering::Relaxed);
            self.total.0.fetch_add(bytes.saturating_sub(before), Ordering::Relaxed);
        }
    }
}

/// How often a program was looked up.
#[derive(Default, Debug)]
pub(crate) struct Usage {
    uses: AtomicU64,
    last_access: AtomicU64,
}

impl Usage {
    /// Counts `uses` look-ups in a slot.
    pub(crate) fn note(&self, slot: u64, uses: u64) {
        self.uses.fetch_add(uses, Ordering::Relaxed);
        // Most look-ups are of the same slot: reading first avoids contention for the cache line.
        if self.last_access.load(Ordering::Relaxed) < slot {
            self.last_access.fetch_max(slot, Ordering::Relaxed);
        }
    }

    pub(crate) fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }

    /// Returns the slot of the last look-up.
    pub(crate) fn last_access(&self) -> u64 {
        self.last_access.load(Ordering::Relaxed)
    }

    /// Returns the sum of the look-ups, and the later slot.
    pub(crate) fn with(&self, other: &Self) -> Self {
        Self {
            uses: self.uses().saturating_add(other.uses()).into(),
            last_access: self.last_access().max(other.last_access()).into(),
        }
    }

    /// Returns the program's score, of which the lowest is evicted: the slot of the last look-up plus the
    /// binary logarithm of look-ups times instruction slots, which measure the cost of loading it again.
    pub(crate) fn score(&self, slots: u64) -> u64 {
        let uses = self.uses().saturating_mul(slots).max(1);
        self.last_access().saturating_add(uses.ilog2().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_counts_each_growth_once() {
        let total = Total::default();
        let shares = [Share::of(total.clone()), Share::of(total.clone())];
        for (share, bytes) in [(0, 10), (1, 5), (0, 10), (0, 7), (0, 12)] {
            shares[share].note(bytes);
        }
        assert_eq!(total.get(), 17);
        total.correct(17, 5);
        shares[1].note(6);
        assert_eq!(total.get(), 6);
    }
}
