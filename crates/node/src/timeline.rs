//! The cluster's time: which slot comes next, and when.
//!
//! The cluster's clock is the host's plus an offset. Slots follow it: the next block's slot is as
//! many slots after the last one as slot times have passed, and at least one. Blocks that come faster
//! than slot times run ahead, and the slots of later ones are counted from there.

use std::sync::Arc;

use selkie_bank::time::TIMESTAMP;

use crate::clock::Clock;

/// The time of a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    clock: Arc<dyn Clock>,
    slot_milliseconds: u64,
    /// The cluster's time minus the host's, in milliseconds.
    offset: i64,
    /// The cluster's time if its clock is paused.
    paused: Option<u64>,
    /// The cluster's time when the newest slot began.
    slot_began: u64,
    /// The cluster's time when the newest block that counts was made.
    counted: u64,
}

/// The place of a block in the cluster's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moment {
    /// The slot.
    pub(crate) slot: u64,
    /// Whether the block counts in the block height.
    pub(crate) counts: bool,
}

impl Timeline {
    /// Creates a timeline whose newest slot begins now. A clock before the first second of 2026, as
    /// tests have, counts from there.
    pub(crate) fn new(clock: Arc<dyn Clock>, slot_milliseconds: u64) -> Self {
        let first = u64::try_from(TIMESTAMP).unwrap_or(0).saturating_mul(1000);
        let offset = first.saturating_sub(milliseconds(&*clock));
        let slot_milliseconds = slot_milliseconds.max(1);
        let mut timeline =
            Self { clock, slot_milliseconds, offset: 0, paused: None, slot_began: 0, counted: 0 };
        timeline.offset = i64::try_from(offset).unwrap_or(0);
        timeline.restart(timeline.now());
        timeline
    }

    /// Returns the cluster's time, in milliseconds since the Unix epoch.
    pub(crate) fn now(&self) -> u64 {
        let now = || milliseconds(&*self.clock).saturating_add_signed(self.offset);
        self.paused.unwrap_or_else(now)
    }

    /// Returns the cluster's time in seconds.
    pub(crate) fn timestamp(&self) -> i64 {
        i64::try_from(self.now() / 1000).unwrap_or(i64::MAX)
    }

    /// Returns how far the cluster's clock is ahead of the host's, in milliseconds.
    pub(crate) fn offset(&self) -> i64 {
        self.offset
    }

    /// Returns the number of slot times since the newest slot began.
    pub(crate) fn slots_passed(&self) -> u64 {
        let passed = self.now().saturating_sub(self.slot_began);
        passed.checked_div(self.slot_milliseconds).unwrap_or(0)
    }

    /// Returns the host's time, in milliseconds, at which the next slot begins; `None` if the clock is
    /// paused.
    pub(crate) fn next_slot_at(&self) -> Option<u64> {
        let next = self.slot_began.saturating_add(self.slot_milliseconds);
        self.paused.is_none().then(|| next.saturating_add_signed(self.offset.saturating_neg()))
    }

    /// Returns where a block after the slot `last` would be now.
    pub(crate) fn next(&self, last: u64) -> Moment {
        let passed = self.slots_passed();
        let since_counted = self.now().saturating_sub(self.counted);
        let counts = passed > 0 || since_counted >= self.slot_milliseconds;
        Moment { slot: last.saturating_add(passed.max(1)), counts }
    }

    /// Records that a block was made `slots` after the last one.
    pub(crate) fn advance(&mut self, slots: u64, counts: bool) {
        let now = self.now();
        let step = slots.saturating_mul(self.slot_milliseconds);
        self.slot_began = self.slot_began.saturating_add(step).min(now);
        if counts {
            self.counted = self.slot_began;
        }
    }

    /// Continues a cluster whose clock was ahead of the host's, and whose newest slot began then.
    pub(crate) fn restore(&mut self, offset: i64, slot_began: u64) {
        self.offset = self.offset.max(offset);
        self.restart(slot_began);
    }

    /// Lets the newest slot begin at a time of the cluster.
    pub(crate) fn restart(&mut self, at: u64) {
        (self.slot_began, self.counted) = (at, at);
    }

    /// Moves the cluster's clock forward by milliseconds.
    pub(crate) fn skip(&mut self, by: u64) {
        match &mut self.paused {
            Some(now) => *now = now.saturating_add(by),
            None => self.offset = self.offset.saturating_add_unsigned(by),
        }
        self.restart(self.now());
    }

    /// Sets the cluster's clock.
    pub(crate) fn set(&mut self, now: u64) {
        if let Some(paused) = &mut self.paused {
            *paused = now;
        }
        let host = milliseconds(&*self.clock);
        self.offset = now.cast_signed().saturating_sub(host.cast_signed());
        self.restart(now);
    }

    /// Returns the cluster's time that passes in some slots, in milliseconds.
    pub(crate) fn milliseconds_of(&self, slots: u64) -> u64 {
        slots.saturating_mul(self.slot_milliseconds)
    }

    /// Stops the clock, or lets it continue from where it was stopped.
    pub(crate) fn pause(&mut self, is_paused: bool) {
        let now = self.now();
        if is_paused {
            self.paused = Some(now);
        } else if self.paused.take().is_some() {
            self.set(now);
        }
    }
}

/// Returns the milliseconds since the Unix epoch.
pub(crate) fn milliseconds(clock: &dyn Clock) -> u64 {
    u64::try_from(clock.now().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::clock::ManualClock;

    #[test]
    fn slots_follow_the_clock_and_run_ahead_of_it() {
        let clock = Arc::new(ManualClock::at(Duration::from_secs(2_000_000_000)));
        let mut time = Timeline::new(clock.clone(), 400);
        assert_eq!(time.next(10), Moment { slot: 11, counts: false });
        clock.advance(Duration::from_millis(1000));
        assert_eq!(time.next(10), Moment { slot: 12, counts: true });
        time.advance(2, true);
        assert_eq!(time.next(12), Moment { slot: 13, counts: false });
        clock.advance(Duration::from_millis(200));
        assert_eq!(time.next(12), Moment { slot: 13, counts: true });
        time.advance(1, true);
        time.advance(1, false);
        assert_eq!(time.next(14), Moment { slot: 15, counts: false });
        assert_eq!(time.timestamp(), 2_000_000_001);
    }

    #[test]
    fn a_paused_clock_continues_where_it_was() {
        let clock = Arc::new(ManualClock::at(Duration::ZERO));
        let mut time = Timeline::new(clock.clone(), 400);
        let start = time.now();
        time.pause(true);
        clock.advance(Duration::from_secs(60));
        assert_eq!((time.now(), time.next_slot_at()), (start, None));
        time.skip(5000);
        time.pause(false);
        assert_eq!(time.now(), start + 5000);
        clock.advance(Duration::from_secs(1));
        assert_eq!(time.now(), start + 6000);
    }
}
