//! Clock and blockhashes, derived from the slot.
//!
//! Everything is deterministic: no clock is read and no randomness used.

use selkie_svm::sysvars::{Clock, EpochSchedule, Sysvars};
use sha2::{Digest, Sha256};
use solana_hash::Hash;

/// The duration of a slot on mainnet (SIMD-0525), in milliseconds.
pub const SLOT_MILLISECONDS: u64 = 200;

/// The Unix timestamp of a new cluster's first slot: the first second of 2026.
pub const TIMESTAMP: i64 = 1_767_225_600;

/// Derives a blockhash from a previous hash and the slot.
#[must_use]
pub fn next_blockhash(before: &Hash, slot: u64) -> Hash {
    let hasher = Sha256::new().chain_update(before.as_ref()).chain_update(slot.to_le_bytes());
    Hash::new_from_array(hasher.finalize().into())
}

/// Returns what stands for the bank hash of a slot if no accounts were hashed.
pub(crate) fn slot_hash(slot: u64) -> Hash {
    let hasher = Sha256::new().chain_update("selkie slot").chain_update(slot.to_le_bytes());
    Hash::new_from_array(hasher.finalize().into())
}

/// Returns the epoch schedule; the default one if it is missing or invalid.
pub(crate) fn schedule(sysvars: &Sysvars) -> EpochSchedule {
    let schedule = sysvars.epoch_schedule().filter(|it| it.slots_per_epoch > 0);
    schedule.unwrap_or_default()
}

/// Returns the clock of a slot, given that of an earlier slot. Real clusters take the time from
/// validators' votes; here every slot takes `slot_milliseconds`.
pub(crate) fn clock_after(
    before: &Clock,
    slot: u64,
    schedule: &EpochSchedule,
    slot_milliseconds: u64,
) -> Clock {
    let seconds = |slots: u64| seconds(slots, slot_milliseconds);
    // Round relative to the start of the epoch, so that many small steps add up exactly.
    let since_start = |slot: u64, epoch: u64| {
        seconds(slot.saturating_sub(schedule.get_first_slot_in_epoch(epoch)))
    };
    let epoch = schedule.get_epoch(slot);
    let is_same_epoch = epoch == before.epoch;
    let passed = if is_same_epoch {
        since_start(slot, epoch).saturating_sub(since_start(before.slot, epoch))
    } else {
        seconds(slot.saturating_sub(before.slot))
    };
    let unix_timestamp = before.unix_timestamp.saturating_add(passed);
    let epoch_start_timestamp = if is_same_epoch {
        before.epoch_start_timestamp
    } else {
        unix_timestamp.saturating_sub(since_start(slot, epoch))
    };
    Clock {
        slot,
        epoch_start_timestamp,
        epoch,
        leader_schedule_epoch: schedule.get_leader_schedule_epoch(slot),
        unix_timestamp,
    }
}

/// Sets the timestamp of a new bank's clock, which is never before that of the parent's clock. An
/// epoch that began in an earlier slot began as many slot times ago, but after the parent.
pub(crate) fn set_timestamp(
    clock: &mut Clock,
    parent: &Clock,
    timestamp: i64,
    schedule: &EpochSchedule,
    slot_milliseconds: u64,
) {
    clock.unix_timestamp = timestamp.max(parent.unix_timestamp);
    if clock.epoch != parent.epoch {
        let first = schedule.get_first_slot_in_epoch(clock.epoch);
        let passed = seconds(clock.slot.saturating_sub(first), slot_milliseconds);
        let start = clock.unix_timestamp.saturating_sub(passed);
        clock.epoch_start_timestamp = start.max(parent.unix_timestamp);
    }
}

/// Returns the duration of some slots, in seconds.
fn seconds(slots: u64, slot_milliseconds: u64) -> i64 {
    let milliseconds = u128::from(slots).saturating_mul(slot_milliseconds.into());
    i64::try_from(milliseconds / 1000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_steps_equal_one_big_step() {
        let schedule = EpochSchedule::custom(64, 64, false);
        let first = Clock { unix_timestamp: TIMESTAMP, ..Clock::default() };
        let step = |before: &Clock, slot| clock_after(before, slot, &schedule, 350);
        let steps = (1..=63).fold(first.clone(), |clock, slot| step(&clock, slot));
        assert_eq!(steps, step(&first, 63));
        let next = step(&steps, 64);
        assert_eq!((next.epoch, next.unix_timestamp), (1, TIMESTAMP + 22));
        assert_eq!(next.epoch_start_timestamp, next.unix_timestamp);
        assert_eq!(next.leader_schedule_epoch, 2);
    }
}
