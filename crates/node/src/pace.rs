//! How fast blocks may follow each other.
//!
//! A blockhash should be valid for as long as on a cluster: 150 slot times. A bank keeps 65,536 of them,
//! and blocks that are made on demand could use up more. So once many have been made, transactions
//! that come together wait about a millisecond for others, to share a block.

use core::time::Duration;

use selkie_svm::{blockhash_queue::BLOCKHASHES_MAX, cost::BLOCKHASHES_VALID};

/// The slot times for which a blockhash is valid.
const VALID_SLOTS: u64 = BLOCKHASHES_VALID as u64 - 1;
/// The blocks that may follow each other at once.
const BURST: u64 = 1024;
/// The other blocks in the time for which a blockhash is valid.
const STEADY: u64 = BLOCKHASHES_MAX as u64 - BURST;

/// Blocks that were made, and the rate at which they may go on.
#[derive(Debug)]
pub(crate) struct Pace {
    /// The microseconds from one block to the next, in the long run.
    interval: u64,
    /// The time, in microseconds, at which the blocks so far would have been made at this rate.
    due: u64,
}

impl Pace {
    pub(crate) fn new(slot_milliseconds: u64) -> Self {
        let valid = slot_milliseconds.saturating_mul(VALID_SLOTS * 1000);
        Self { interval: valid.div_ceil(STEADY), due: 0 }
    }

    /// Records that a block is made at a time in milliseconds.
    pub(crate) fn advance(&mut self, now: u64) {
        let due = self.due.max(now.saturating_mul(1000)).saturating_add(self.interval);
        self.due = due.min(self.latest(now));
    }

    /// Returns how long transactions should wait for others.
    pub(crate) fn wait(&self, now: u64) -> Duration {
        let next = self.due.saturating_add(self.interval);
        Duration::from_micros(next.saturating_sub(self.latest(now)))
    }

    /// How late the last block may be due at a time.
    fn latest(&self, now: u64) -> u64 {
        now.saturating_mul(1000).saturating_add(self.interval.saturating_mul(BURST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_wait_are_no_more_than_blockhashes_are_kept() {
        let mut pace = Pace::new(400);
        let (mut now, mut blocks) = (1_000_000, 0_u64);
        let end = now + 400 * VALID_SLOTS;
        while now < end {
            let wait = pace.wait(now).as_micros().div_ceil(1000);
            now += u64::try_from(wait).unwrap();
            pace.advance(now);
            blocks += 1;
        }
        assert!((65_000..=BURST + STEADY).contains(&blocks), "{blocks} blocks");
    }

    #[test]
    fn blocks_do_not_wait_after_a_pause() {
        let mut pace = Pace::new(400);
        for _ in 0..BURST {
            assert_eq!(pace.wait(1000), Duration::ZERO);
            pace.advance(1000);
        }
        assert_eq!(pace.wait(1000).as_micros(), 931);
        assert_eq!(pace.wait(61_000), Duration::ZERO);
    }
}
