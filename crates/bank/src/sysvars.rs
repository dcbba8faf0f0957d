//! The data of the sysvars that change per slot or epoch.
//!
//! Functions take the previous data and return the new ones, with the length they have on mainnet:
//! lists are zero-padded to their maximum length (SDK: `solana-sysvar`).

use core::ops::Range;

use selkie_layout::sysvar::{
    HISTORY_BIT_COUNT, HISTORY_BITS, HISTORY_HAS_BITS, HISTORY_NEXT_SLOT, HISTORY_SLOTS,
    HISTORY_WORD_COUNT, HISTORY_WORDS,
};
use selkie_svm::Pubkey;
use selkie_svm::sysvars::{Clock, EpochRewards, EpochSchedule, LastRestartSlot, Rent, Sysvars};
use solana_hash::Hash;
use solana_sdk_ids::sysvar as ids;
use solana_stake_history::StakeHistory;

use crate::time;

/// How many blockhashes the recent blockhashes sysvar lists.
const BLOCKHASHES_LISTED: usize = 150;
/// How many slots the slot hashes sysvar lists.
const SLOTS_LISTED: usize = 512;

const COUNT_BYTES: usize = 8;

/// Returns the slot hashes after adding a slot with its bank hash.
#[must_use]
pub fn slot_hashes(before: &[u8], slot: u64, hash: &Hash) -> Vec<u8> {
    slot_hashes_after(before, [(slot, *hash)])
}

/// Returns the slot hashes after adding several slots, newest first.
#[must_use]
fn slot_hashes_after(
    before: &[u8],
    newest_first: impl IntoIterator<Item = (u64, Hash)>,
) -> Vec<u8> {
    let record = |(slot, hash): (u64, Hash)| {
        let mut record = [0; 40];
        record[..8].copy_from_slice(&slot.to_le_bytes());
        record[8..].copy_from_slice(hash.as_ref());
        record
    };
    let count = before.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let (records, _) = before.get(COUNT_BYTES..).unwrap_or_default().as_chunks();
    let added = newest_first.into_iter().map(record);
    list(added.chain(records.iter().take(count).copied()), SLOTS_LISTED)
}

/// Returns the slot hashes after adding a slot with its bank hash, and slots passed since then as if
/// each had a block, with [`time::slot_hash`].
pub(crate) fn slot_hashes_passing(
    before: &[u8],
    slot: u64,
    hash: &Hash,
    passed: Range<u64>,
) -> Vec<u8> {
    let newest = passed.rev().take(SLOTS_LISTED).map(|slot| (slot, time::slot_hash(slot)));
    slot_hashes_after(before, newest.chain([(slot, *hash)]))
}

/// Returns the recent blockhashes: the newest of the given ones (newest first), each with the fee
/// per signature.
pub fn recent_blockhashes<'a>(
    newest_first: impl IntoIterator<Item = &'a Hash>,
    lamports_per_signature: u64,
) -> Vec<u8> {
    let record = |blockhash: &Hash| {
        let mut record = [0; 40];
        record[..32].copy_from_slice(blockhash.as_ref());
        record[32..].copy_from_slice(&lamports_per_signature.to_le_bytes());
        record
    };
    list(newest_first.into_iter().map(record), BLOCKHASHES_LISTED)
}

/// Decodes the stake history; invalid data count as an empty one.
#[must_use]
pub fn read_stake_history(data: &[u8]) -> StakeHistory {
    wincode::deserialize(data).unwrap_or_default()
}

/// Encodes the stake history.
///
/// # Panics
/// Never: encoding a list of numbers does not fail.
#[must_use]
pub fn stake_history(history: &StakeHistory) -> Vec<u8> {
    let mut data = wincode::serialize(history).expect("a list of numbers can be written");
    data.resize(solana_stake_history::SIZE, 0);
    data
}

/// Returns the slot history after adding a slot, which must be later than all that it contains.
/// Slots in between were skipped.
#[must_use]
pub fn slot_history(before: &[u8], slot: u64) -> Vec<u8> {
    slot_history_after(before, slot, false)
}

/// Returns the slot history after adding a slot and those in between, as if all had a block.
#[must_use]
pub fn slot_history_passing(before: &[u8], slot: u64) -> Vec<u8> {
    slot_history_after(before, slot, true)
}

fn slot_history_after(before: &[u8], slot: u64, passes_slots: bool) -> Vec<u8> {
    let mut data = before.to_vec();
    if data.len() != HISTORY_NEXT_SLOT.end() {
        data = empty_slot_history();
    }
    let next = HISTORY_NEXT_SLOT.get(&data).unwrap_or(0);
    // Words are little-endian, so bits can be addressed by byte.
    let position = |slot: u64| {
        let bit = slot % HISTORY_SLOTS;
        let byte = usize::try_from(bit / 8).expect("a bit index is below 2^20");
        (HISTORY_BITS.start.saturating_add(byte), 1_u8 << (bit % 8))
    };
    if slot.saturating_sub(next) >= HISTORY_SLOTS {
        data[HISTORY_BITS].fill(if passes_slots { u8::MAX } else { 0 });
    } else {
        for between in next..slot {
            let (byte, bit) = position(between);
            data[byte] = if passes_slots { data[byte] | bit } else { data[byte] & !bit };
        }
    }
    let (byte, bit) = position(slot);
    data[byte] |= bit;
    HISTORY_NEXT_SLOT.put(&mut data, &slot.saturating_add(1)).expect("it has the whole length");
    data
}

/// Returns a slot history with slot 0 alone.
fn empty_slot_history() -> Vec<u8> {
    let mut data = vec![0; HISTORY_NEXT_SLOT.end()];
    let fields = [
        (HISTORY_WORD_COUNT, HISTORY_WORDS),
        (HISTORY_BIT_COUNT, HISTORY_SLOTS),
        (HISTORY_NEXT_SLOT, 1),
    ];
    for (at, value) in fields {
        at.put(&mut data, &value).expect("it has the whole length");
    }
    HISTORY_HAS_BITS.put(&mut data, &true).expect("it has the whole length");
    data[HISTORY_BITS.start] = 1;
    data
}

/// Encodes up to `max` records: their number, the records, and zeros up to the length of `max`
/// records.
fn list<const N: usize>(records: impl Iterator<Item = [u8; N]>, max: usize) -> Vec<u8> {
    let bytes = max.saturating_mul(N).saturating_add(COUNT_BYTES);
    let mut data = Vec::with_capacity(bytes);
    data.extend([0; COUNT_BYTES]);
    let mut count = 0_u64;
    for record in records.take(max) {
        data.extend_from_slice(&record);
        count = count.saturating_add(1);
    }
    data[..COUNT_BYTES].copy_from_slice(&count.to_le_bytes());
    data.resize(bytes, 0);
    data
}

/// Decodes the clock; `None` if the data are too short.
pub(crate) fn read_clock(data: &[u8]) -> Option<Clock> {
    let mut sysvars = Sysvars::empty();
    sysvars.set(ids::clock::ID, data).ok()?;
    sysvars.clock()
}

/// Encodes the clock.
pub(crate) fn clock(clock: &Clock) -> Vec<u8> {
    data_of(ids::clock::ID, |sysvars| sysvars.set_clock(clock))
}

/// Decodes the epoch rewards; `None` if the data are too short.
#[must_use]
pub fn read_epoch_rewards(data: &[u8]) -> Option<EpochRewards> {
    let (height, rest) = data.split_first_chunk::<8>()?;
    let (partitions, rest) = rest.split_first_chunk::<8>()?;
    let (blockhash, rest) = rest.split_first_chunk::<32>()?;
    let (points, rest) = rest.split_first_chunk::<16>()?;
    let (total, rest) = rest.split_first_chunk::<8>()?;
    let (distributed, rest) = rest.split_first_chunk::<8>()?;
    Some(EpochRewards {
        distribution_starting_block_height: u64::from_le_bytes(*height),
        num_partitions: u64::from_le_bytes(*partitions),
        parent_blockhash: Hash::new_from_array(*blockhash),
        total_points: u128::from_le_bytes(*points),
        total_rewards: u64::from_le_bytes(*total),
        distributed_rewards: u64::from_le_bytes(*distributed),
        active: *rest.first()? == 1,
    })
}

/// Encodes the epoch rewards.
pub(crate) fn epoch_rewards(rewards: &EpochRewards) -> Vec<u8> {
    data_of(ids::epoch_rewards::ID, |sysvars| sysvars.set_epoch_rewards(rewards))
}

/// Encodes the last restart slot.
pub(crate) fn last_restart_slot(last_restart_slot: u64) -> Vec<u8> {
    let slot = LastRestartSlot { last_restart_slot };
    data_of(ids::last_restart_slot::ID, |sysvars| sysvars.set_last_restart_slot(&slot))
}

/// Encodes the rent.
pub(crate) fn rent(rent: &Rent) -> Vec<u8> {
    data_of(ids::rent::ID, |sysvars| sysvars.set_rent(rent))
}

/// Encodes the epoch schedule.
pub(crate) fn epoch_schedule(schedule: &EpochSchedule) -> Vec<u8> {
    data_of(ids::epoch_schedule::ID, |sysvars| sysvars.set_epoch_schedule(schedule))
}

fn data_of(id: Pubkey, set: impl FnOnce(&mut Sysvars)) -> Vec<u8> {
    let mut sysvars = Sysvars::empty();
    set(&mut sysvars);
    sysvars.get(&id).expect("it was just set").to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_have_the_lengths_of_mainnet() {
        let hash = Hash::new_from_array([3; 32]);
        assert_eq!(slot_hashes(&[], 1, &hash).len(), 20_488);
        assert_eq!(recent_blockhashes([&hash], 5000).len(), 6_008);
        assert_eq!(stake_history(&StakeHistory::default()).len(), 16_392);
        assert_eq!(slot_history(&[], 1).len(), 131_097);
        assert_eq!(clock(&Clock::default()).len(), 40);
        let rewards = EpochRewards { total_points: 7, active: true, ..EpochRewards::default() };
        assert_eq!(epoch_rewards(&rewards).len(), 81);
        assert_eq!(read_epoch_rewards(&epoch_rewards(&rewards)), Some(rewards));
    }

    #[test]
    fn lists_are_newest_first_and_bounded() {
        let hash = |slot: u64| Hash::new_from_array([u8::try_from(slot % 256).unwrap(); 32]);
        let data = (1..=600).fold(Vec::new(), |data, slot| slot_hashes(&data, slot, &hash(slot)));
        let mut sysvars = Sysvars::empty();
        sysvars.set(ids::slot_hashes::ID, &data).unwrap();
        assert!(sysvars.slot_hashes().eq((89..=600).rev()));
        assert_eq!(data[16..48], *hash(600).as_ref());
        let hashes: Vec<Hash> = (0..200).map(hash).collect();
        let data = recent_blockhashes(hashes.iter().rev(), 7);
        assert_eq!(data[..8], 150_u64.to_le_bytes());
        assert_eq!(data[8..40], *hash(199).as_ref());
        assert_eq!(data[40..48], 7_u64.to_le_bytes());
    }

    #[test]
    fn slot_history_has_a_bit_per_slot() {
        let has = |data: &[u8], slot: u64| {
            let bit = usize::try_from(slot % HISTORY_SLOTS).unwrap();
            data[9 + bit / 8] >> (bit % 8) & 1 == 1
        };
        let data = [0, 2, 20, HISTORY_SLOTS].iter().fold(vec![], |data, slot| {
            let data = slot_history(&data, *slot);
            assert!(has(&data, *slot));
            data
        });
        assert!(has(&data, 2) && has(&data, 20) && has(&data, 0));
        assert!((3..20).chain(21..1000).all(|slot| !has(&data, slot)));
        assert_eq!(data[131_089..], (HISTORY_SLOTS + 1).to_le_bytes());
        assert_eq!((data[0], &data[1..9]), (1, &16_384_u64.to_le_bytes()[..]));
        let data = slot_history(&data, HISTORY_SLOTS * 2 + 1 + 100);
        assert_eq!(data[9..131_081].iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
    }

    /// The expected values were computed with the SDK's crate, version 3.2.0.
    #[test]
    fn slot_history_equals_the_sdks() {
        use sha2::{Digest, Sha256};
        let histories: [(&[u64], &str); 2] = [
            (
                &[1, 2, 5, 70, 1_048_580, 1_048_600],
                "6990251ea5b08b5f9444914724d75053a02ad5f88ce4727e4bd793795d78c036",
            ),
            (
                &[3, 9_000_000, 9_000_001],
                "0c2d84513f5780325033bf4bcaae8abe26c9bdc654639f400f612d3e61495775",
            ),
        ];
        for (slots, expected) in histories {
            let data = slots.iter().fold(vec![], |data, slot| slot_history(&data, *slot));
            let bytes: [u8; 32] = Sha256::digest(&data).into();
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected);
        }
    }
}
