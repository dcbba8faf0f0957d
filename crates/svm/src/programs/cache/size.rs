//! How much memory the programs of a cache take, as it grows.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// What the programs of a cache take together. It may be more than that, since programs that were
/// dropped may still run; who finds it too much counts anew.
#[derive(Clone, Default, Debug)]
pub(crate) struct Total(Arc<AtomicUsize>);

impl Total {
    pub(super) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Puts a sum in the place of one that was read before. What was added meanwhile stays.
    pub(super) fn correct(&self, before: usize, now: usize) {
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
