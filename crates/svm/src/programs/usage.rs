//! How often programs are looked up, and how much memory they take: what the program cache weighs.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

/// What the programs of a cache take together. It may be more than that, since programs that were
/// dropped may still run; who finds it too much counts anew.
#[derive(Clone, Default, Debug)]
pub(crate) struct Total(Arc<AtomicUsize>);

impl Total {
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Puts a sum in the place of one that was read before. What was added meanwhile stays.
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

    /// Notes what the program takes by now. It may grow with every run, and seldom does.
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
    /// Notes so many look-ups in a slot.
    pub(crate) fn note(&self, slot: u64, uses: u64) {
        self.uses.fetch_add(uses, Ordering::Relaxed);
        // Most look-ups are of one slot, and what is only read is not fought for.
        if self.last_access.load(Ordering::Relaxed) < slot {
            self.last_access.fetch_max(slot, Ordering::Relaxed);
        }
    }

    pub(crate) fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }

    /// The slot of the last look-up.
    pub(crate) fn last_access(&self) -> u64 {
        self.last_access.load(Ordering::Relaxed)
    }

    /// Both together.
    pub(crate) fn with(&self, other: &Self) -> Self {
        Self {
            uses: self.uses().saturating_add(other.uses()).into(),
            last_access: self.last_access().max(other.last_access()).into(),
        }
    }

    /// How much the program is worth keeping: uses and what it costs to load it again count by
    /// their logarithm, against the slots that it was not asked for.
    pub(crate) fn score(&self, slots: u64) -> u64 {
        let uses = self.uses().saturating_mul(slots).max(1);
        self.last_access().saturating_add(uses.ilog2().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_counts_once() {
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
