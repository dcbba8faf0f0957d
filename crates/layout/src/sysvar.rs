//! Sysvars with layouts that clients are shown.

use core::ops::Range;

use crate::{account::At, declare::record, system::FeeCalculator};

record! {
    /// The clock.
    Clock {
        /// The slot.
        slot: u64,
        /// The time of the epoch's first slot, in seconds since 1970.
        epoch_start_timestamp: i64,
        /// The epoch.
        epoch: u64,
        /// The epoch for which the leader schedule is known.
        leader_schedule_epoch: u64,
        /// The time of the slot, in seconds since 1970.
        unix_timestamp: i64,
    }
}

record! {
    /// The epoch schedule.
    EpochSchedule {
        /// The slots of an epoch.
        slots_per_epoch: u64,
        /// How many slots before an epoch its leader schedule is made.
        leader_schedule_slot_offset: u64,
        /// Whether the first epochs are short.
        warmup: bool,
        /// The first epoch that is not short.
        first_normal_epoch: u64,
        /// Its first slot.
        first_normal_slot: u64,
    }
}

record! {
    /// The fees.
    Fees {
        /// The fee for signatures.
        fee_calculator: FeeCalculator,
    }
}

record! {
    /// The rewards, as they were before there were stakes.
    Rewards {
        /// Lamports for a point.
        validator_point_value: f64,
    }
}

record! {
    /// The rent. Behind it there are fields that nothing reads any longer.
    Rent {
        /// Lamports for a byte.
        lamports_per_byte: u64 as Text,
    }
}

record! {
    /// The slot of the newest restart of the cluster.
    LastRestartSlot {
        /// The slot.
        last_restart_slot: u64,
    }
}

record! {
    /// The rewards that are being distributed.
    EpochRewards {
        /// The block height at which that begins.
        distribution_starting_block_height: u64,
        /// Over how many blocks they are distributed.
        num_partitions: u64,
        /// The blockhash that seeds the order of accounts.
        parent_blockhash: [u8; 32] as Base58,
        /// The points of all accounts.
        total_points: u128 as Text,
        /// The lamports for all accounts.
        total_rewards: u64 as Text,
        /// The lamports that were distributed.
        distributed_rewards: u64 as Text,
        /// Whether that goes on.
        active: bool,
    }
}

record! {
    /// A blockhash of the sysvar of recent blockhashes.
    RecentBlockhash {
        /// The blockhash.
        blockhash: [u8; 32] as Base58,
        /// The fee for signatures.
        fee_calculator: FeeCalculator,
    }
}

record! {
    /// A slot with its hash.
    SlotHash {
        /// The slot.
        slot: u64,
        /// The hash of its bank.
        hash: [u8; 32] as Base58,
    }
}

record! {
    /// The stake of an epoch.
    StakeHistory {
        /// The epoch.
        epoch: u64,
        /// The stake.
        stake_history: StakeHistoryEntry,
    }
}

record! {
    /// The lamports of the stake of an epoch.
    StakeHistoryEntry {
        /// What was effective.
        effective: u64,
        /// What became so.
        activating: u64,
        /// What ceased to be so.
        deactivating: u64,
    }
}

/// How many slots the slot history covers, with a bit for each.
pub const HISTORY_SLOTS: u64 = 1024 * 1024;
/// The words that hold these bits.
pub const HISTORY_WORDS: u64 = HISTORY_SLOTS / 64;
/// Where the slot history says that there are bits.
pub const HISTORY_HAS_BITS: At<bool> = At::new(0);
/// Where the slot history has the number of words.
pub const HISTORY_WORD_COUNT: At<u64> = At::new(HISTORY_HAS_BITS.end());
/// Where the slot history has the bits, the lowest one of a byte first: that of a slot is at the slot's
/// remainder by [`HISTORY_SLOTS`].
pub const HISTORY_BITS: Range<usize> =
    HISTORY_WORD_COUNT.end()..HISTORY_WORD_COUNT.end() + 1024 * 1024 / 8;
/// Where the slot history has the number of bits.
pub const HISTORY_BIT_COUNT: At<u64> = At::new(HISTORY_BITS.end);
/// Where the slot history has the slot after its newest one.
pub const HISTORY_NEXT_SLOT: At<u64> = At::new(HISTORY_BIT_COUNT.end());
