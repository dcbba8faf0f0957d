//! The data of the sysvars that change from slot to slot or from epoch to epoch.
//!
//! Each function takes the data of before and gives those of after, as long as the account is on
//! mainnet: lists are followed by zeros up to what they may grow to (SDK: `solana-sysvar`).

use selkie_svm::sysvars::{
    Clock, EpochRewards, EpochSchedule, LastRestartSlot, Rent, Sysvars, minimum_balance,
};
use selkie_svm::{Account, AccountSharedData, Pubkey, ReadableAccount};
use solana_hash::Hash;
use solana_sdk_ids::sysvar as ids;
use solana_stake_history::StakeHistory;

/// How many blockhashes are listed.
const BLOCKHASHES_LISTED: usize = 150;
/// How many slots are listed with their hashes.
const SLOTS_LISTED: usize = 512;
/// How many slots the history of slots tells of.
const SLOTS_REMEMBERED: u64 = 1024 * 1024;

const COUNT_BYTES: usize = 8;

/// The data of the sysvar of slot hashes after a slot with this hash.
#[must_use]
pub fn slot_hashes(before: &[u8], slot: u64, hash: &Hash) -> Vec<u8> {
    slot_hashes_after(before, [(slot, *hash)])
}

/// The data of the sysvar of slot hashes after these slots, which are given newest first.
#[must_use]
pub fn slot_hashes_after(
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
    let passed = newest_first.into_iter().map(record);
    list(passed.chain(records.iter().take(count).copied()), SLOTS_LISTED)
}

/// The data of the sysvar of recent blockhashes: the newest of these, which are given newest
/// first, each with the price of a signature.
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

/// The stakes of epochs, from the data of their sysvar. Data that are none have no stakes.
#[must_use]
pub fn read_stake_history(data: &[u8]) -> StakeHistory {
    wincode::deserialize(data).unwrap_or_default()
}

/// The data of the sysvar of stakes.
///
/// # Panics
/// Never: numbers can be written.
#[must_use]
pub fn stake_history(history: &StakeHistory) -> Vec<u8> {
    let mut data = wincode::serialize(history).expect("a list of numbers can be written");
    data.resize(solana_stake_history::SIZE, 0);
    data
}

/// The data of the history of slots with one more slot, which comes after all that are in it.
///
/// They are a bit for each of the last slots, behind what bincode needs to know of them, and the
/// slot that comes next.
#[must_use]
pub fn slot_history(before: &[u8], slot: u64) -> Vec<u8> {
    const BITS_AT: usize = 9;
    const BITS_BYTES: usize = 1024 * 1024 / 8;
    const LEN_AT: usize = BITS_AT + BITS_BYTES;
    const NEXT_AT: usize = LEN_AT + 8;
    const BYTES: usize = NEXT_AT + 8;
    let mut data = before.to_vec();
    if data.len() != BYTES {
        data = vec![0; BYTES];
        data[0] = 1;
        data[1..BITS_AT].copy_from_slice(&(SLOTS_REMEMBERED / 64).to_le_bytes());
        data[BITS_AT] = 1;
        data[LEN_AT..NEXT_AT].copy_from_slice(&SLOTS_REMEMBERED.to_le_bytes());
        data[NEXT_AT..].copy_from_slice(&1_u64.to_le_bytes());
    }
    let next = data[NEXT_AT..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    // Words are little-endian: the bits of bytes follow each other, too.
    let place = |slot: u64| {
        let bit = slot % SLOTS_REMEMBERED;
        let byte = usize::try_from(bit / 8).expect("it is one of a mebibit");
        (BITS_AT.saturating_add(byte), 1_u8 << (bit % 8))
    };
    if slot.saturating_sub(next) >= SLOTS_REMEMBERED {
        data[BITS_AT..LEN_AT].fill(0);
    } else {
        for skipped in next..slot {
            let (byte, bit) = place(skipped);
            data[byte] &= !bit;
        }
    }
    let (byte, bit) = place(slot);
    data[byte] |= bit;
    data[NEXT_AT..].copy_from_slice(&slot.saturating_add(1).to_le_bytes());
    data
}

/// The first of these records behind their number, and zeros where there could be more.
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

/// The data of the clock.
pub(crate) fn clock(clock: &Clock) -> Vec<u8> {
    data_of(ids::clock::ID, |sysvars| sysvars.set_clock(clock))
}

/// The data of the epoch rewards.
pub(crate) fn epoch_rewards(rewards: &EpochRewards) -> Vec<u8> {
    data_of(ids::epoch_rewards::ID, |sysvars| sysvars.set_epoch_rewards(rewards))
}

/// The data of the slot of the last restart.
pub(crate) fn last_restart_slot(last_restart_slot: u64) -> Vec<u8> {
    let slot = LastRestartSlot { last_restart_slot };
    data_of(ids::last_restart_slot::ID, |sysvars| sysvars.set_last_restart_slot(&slot))
}

/// The data of the rent.
pub(crate) fn rent(rent: &Rent) -> Vec<u8> {
    data_of(ids::rent::ID, |sysvars| sysvars.set_rent(rent))
}

/// The data of the epoch schedule.
pub(crate) fn epoch_schedule(schedule: &EpochSchedule) -> Vec<u8> {
    data_of(ids::epoch_schedule::ID, |sysvars| sysvars.set_epoch_schedule(schedule))
}

fn data_of(id: Pubkey, set: impl FnOnce(&mut Sysvars)) -> Vec<u8> {
    let mut sysvars = Sysvars::empty();
    set(&mut sysvars);
    sysvars.get(&id).expect("it was just set").to_vec()
}

/// The account of a sysvar with these data: it keeps its lamports, and has at least what its length
/// asks for.
#[must_use]
pub fn account(
    before: Option<&AccountSharedData>,
    data: Vec<u8>,
    rent: &Rent,
) -> AccountSharedData {
    let minimum = minimum_balance(rent, data.len());
    let lamports = before.map_or(1, ReadableAccount::lamports).max(minimum);
    let rent_epoch = before.map_or(0, ReadableAccount::rent_epoch);
    Account { lamports, data, owner: ids::ID, executable: false, rent_epoch }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_as_long_as_on_mainnet() {
        let hash = Hash::new_from_array([3; 32]);
        assert_eq!(slot_hashes(&[], 1, &hash).len(), 20_488);
        assert_eq!(recent_blockhashes([&hash], 5000).len(), 6_008);
        assert_eq!(stake_history(&StakeHistory::default()).len(), 16_392);
        assert_eq!(slot_history(&[], 1).len(), 131_097);
        assert_eq!(clock(&Clock::default()).len(), 40);
        assert_eq!(epoch_rewards(&EpochRewards::default()).len(), 81);
    }

    #[test]
    fn lists_have_the_newest_first_and_do_not_grow_for_ever() {
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
    fn the_history_of_slots_has_a_bit_for_each() {
        let has = |data: &[u8], slot: u64| {
            let bit = usize::try_from(slot % SLOTS_REMEMBERED).unwrap();
            data[9 + bit / 8] >> (bit % 8) & 1 == 1
        };
        let data = [0, 2, 20, SLOTS_REMEMBERED].iter().fold(vec![], |data, slot| {
            let data = slot_history(&data, *slot);
            assert!(has(&data, *slot));
            data
        });
        assert!(has(&data, 2) && has(&data, 20) && has(&data, 0));
        assert!((3..20).chain(21..1000).all(|slot| !has(&data, slot)));
        assert_eq!(data[131_089..], (SLOTS_REMEMBERED + 1).to_le_bytes());
        assert_eq!((data[0], &data[1..9]), (1, &16_384_u64.to_le_bytes()[..]));
        let data = slot_history(&data, SLOTS_REMEMBERED * 2 + 1 + 100);
        assert_eq!(data[9..131_081].iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
    }

    /// Made with the SDK's own crate, 3.2.0.
    #[test]
    fn the_history_of_slots_is_the_sdks() {
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
