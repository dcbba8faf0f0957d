//! Sysvars: the cluster's state that programs can read.
//!
//! Each is kept as the bytes of its account. The getter syscalls write the same values in the layout of
//! the SDK's C structs, which have padding that the account data lack.

use std::collections::BTreeMap;

pub use solana_clock::Clock;
pub use solana_epoch_rewards::EpochRewards;
pub use solana_epoch_schedule::EpochSchedule;
pub use solana_last_restart_slot::LastRestartSlot;
use solana_pubkey::Pubkey;
pub use solana_rent::Rent;
use solana_sdk_ids::sysvar as ids;

/// Mainnet's minimum balance per byte, in lamports, since September 2026 (SIMD-0437).
pub const MAINNET_LAMPORTS_PER_BYTE: u64 = 5080;

/// Returns the balance that makes an account with `data_len` bytes of data rent exempt, in lamports;
/// `u64::MAX` if it overflows.
#[must_use]
pub fn minimum_balance(rent: &Rent, data_len: usize) -> u64 {
    const ACCOUNT_BYTES: u64 = 128;
    let bytes = ACCOUNT_BYTES.saturating_add(data_len as u64);
    // The SDK does not check this product.
    let is_possible = bytes.checked_mul(rent.lamports_per_byte).is_some();
    is_possible.then(|| rent.try_minimum_balance(data_len)).flatten().unwrap_or(u64::MAX)
}

/// The sysvars that programs can read by syscalls, and the recent blockhashes.
#[derive(Clone, PartialEq, Debug)]
pub struct Sysvars {
    accounts: BTreeMap<Pubkey, Sysvar>,
    /// Clock and rent are read for every transaction, and therefore kept parsed.
    clock: Option<Clock>,
    rent: Option<Rent>,
}

#[derive(Clone, PartialEq, Debug)]
struct Sysvar {
    /// The account's data.
    data: Vec<u8>,
    /// The C struct, if there is one.
    as_struct: Option<Vec<u8>>,
}

/// The error of setting a sysvar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SysvarError {
    /// The address is not that of a sysvar that the runtime reads.
    UnknownAddress(Pubkey),
    /// The data are too short for the sysvar, or malformed.
    InvalidData(Pubkey),
}

impl core::fmt::Display for SysvarError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::UnknownAddress(id) => write!(f, "{id} is not a sysvar that programs can read"),
            Self::InvalidData(id) => write!(f, "invalid data for sysvar {id}"),
        }
    }
}

impl core::error::Error for SysvarError {}

impl Sysvars {
    /// Returns the addresses of the sysvars that a set can hold: those that programs can read by syscalls, and
    /// the recent blockhashes.
    pub fn ids() -> impl Iterator<Item = Pubkey> {
        SHAPES.iter().map(|(id, _)| *id)
    }

    /// Returns an empty set: all getters fail with `UnsupportedSysvar`.
    #[must_use]
    pub fn empty() -> Self {
        Self { accounts: BTreeMap::new(), clock: None, rent: None }
    }

    /// Sets the clock.
    pub fn set_clock(&mut self, clock: &Clock) {
        let bytes = [
            clock.slot.to_le_bytes(),
            clock.epoch_start_timestamp.to_le_bytes(),
            clock.epoch.to_le_bytes(),
            clock.leader_schedule_epoch.to_le_bytes(),
            clock.unix_timestamp.to_le_bytes(),
        ];
        self.put(ids::clock::ID, bytes.concat());
    }

    /// Sets the rent.
    #[allow(deprecated, reason = "programs still see the fields that lost their meaning")]
    pub fn set_rent(&mut self, rent: &Rent) {
        let mut bytes = rent.lamports_per_byte.to_le_bytes().to_vec();
        bytes.extend(rent.exemption_threshold);
        bytes.push(rent.burn_percent);
        self.put(ids::rent::ID, bytes);
    }

    /// Sets the epoch schedule.
    pub fn set_epoch_schedule(&mut self, schedule: &EpochSchedule) {
        let mut bytes = schedule.slots_per_epoch.to_le_bytes().to_vec();
        bytes.extend(schedule.leader_schedule_slot_offset.to_le_bytes());
        bytes.push(schedule.warmup.into());
        bytes.extend(schedule.first_normal_epoch.to_le_bytes());
        bytes.extend(schedule.first_normal_slot.to_le_bytes());
        self.put(ids::epoch_schedule::ID, bytes);
    }

    /// Sets the epoch rewards.
    pub fn set_epoch_rewards(&mut self, rewards: &EpochRewards) {
        let mut bytes = rewards.distribution_starting_block_height.to_le_bytes().to_vec();
        bytes.extend(rewards.num_partitions.to_le_bytes());
        bytes.extend(rewards.parent_blockhash.to_bytes());
        bytes.extend(rewards.total_points.to_le_bytes());
        bytes.extend(rewards.total_rewards.to_le_bytes());
        bytes.extend(rewards.distributed_rewards.to_le_bytes());
        bytes.push(rewards.active.into());
        self.put(ids::epoch_rewards::ID, bytes);
    }

    /// Sets the slot of the last restart.
    pub fn set_last_restart_slot(&mut self, slot: &LastRestartSlot) {
        let bytes = slot.last_restart_slot.to_le_bytes().to_vec();
        self.put(ids::last_restart_slot::ID, bytes);
    }

    /// Sets a sysvar to the data of its account.
    ///
    /// # Errors
    /// If the address is not that of a sysvar that the runtime reads, or the data are invalid.
    pub fn set(&mut self, id: Pubkey, data: &[u8]) -> Result<(), SysvarError> {
        let fields = shape(&id).ok_or(SysvarError::UnknownAddress(id))?;
        split(fields, data).ok_or(SysvarError::InvalidData(id))?;
        self.put(id, data.to_vec());
        Ok(())
    }

    /// Removes a sysvar, as if its account were missing or malformed: getters fail with
    /// `UnsupportedSysvar` (agave: `SysvarCache::fill_missing_entries`).
    pub fn remove(&mut self, id: &Pubkey) {
        self.accounts.remove(id);
        match *id {
            ids::clock::ID => self.clock = None,
            ids::rent::ID => self.rent = None,
            _ => {}
        }
    }

    /// Returns the data of a sysvar's account, if the sysvar is set.
    #[must_use]
    pub fn get(&self, id: &Pubkey) -> Option<&[u8]> {
        self.accounts.get(id).map(|sysvar| sysvar.data.as_slice())
    }

    /// Returns the data of a sysvar's account, if it is set and programs can read it by syscalls.
    #[must_use]
    pub fn get_for_programs(&self, id: &Pubkey) -> Option<&[u8]> {
        if *id == ids::recent_blockhashes::ID { None } else { self.get(id) }
    }

    /// Returns the current slot, if the clock is set.
    #[must_use]
    pub fn slot(&self) -> Option<u64> {
        self.clock.as_ref().map(|clock| clock.slot)
    }

    fn numbers<const N: usize>(&self, id: &Pubkey) -> Option<[[u8; 8]; N]> {
        let (numbers, _) = self.get(id)?.as_chunks::<8>();
        numbers.first_chunk().copied()
    }

    fn put(&mut self, id: Pubkey, data: Vec<u8>) {
        let as_struct = shape(&id).and_then(|fields| as_struct(fields, &data));
        self.accounts.insert(id, Sysvar { data, as_struct });
        match id {
            ids::clock::ID => self.clock = self.read_clock(),
            ids::rent::ID => self.rent = self.read_rent(),
            _ => {}
        }
    }

    /// Returns the clock, if it is set.
    #[must_use]
    pub fn clock(&self) -> Option<Clock> {
        self.clock.clone()
    }

    /// Returns the rent, if it is set.
    #[must_use]
    pub fn rent(&self) -> Option<Rent> {
        self.rent.clone()
    }

    fn read_clock(&self) -> Option<Clock> {
        let [slot, start, epoch, leader_schedule_epoch, now] = self.numbers(&ids::clock::ID)?;
        Some(Clock {
            slot: u64::from_le_bytes(slot),
            epoch_start_timestamp: i64::from_le_bytes(start),
            epoch: u64::from_le_bytes(epoch),
            leader_schedule_epoch: u64::from_le_bytes(leader_schedule_epoch),
            unix_timestamp: i64::from_le_bytes(now),
        })
    }

    #[allow(deprecated, reason = "clusters may still have other values in these fields")]
    fn read_rent(&self) -> Option<Rent> {
        let [lamports_per_byte, exemption_threshold] = self.numbers(&ids::rent::ID)?;
        let burn_percent = *self.get(&ids::rent::ID)?.get(16)?;
        let lamports_per_byte = u64::from_le_bytes(lamports_per_byte);
        Some(Rent { lamports_per_byte, exemption_threshold, burn_percent })
    }

    /// Returns the epoch schedule, if it is set.
    #[must_use]
    pub fn epoch_schedule(&self) -> Option<EpochSchedule> {
        let data = self.get(&ids::epoch_schedule::ID)?;
        let number = |at: usize| Some(u64::from_le_bytes(*data.get(at..)?.first_chunk()?));
        Some(EpochSchedule {
            slots_per_epoch: number(0)?,
            leader_schedule_slot_offset: number(8)?,
            warmup: *data.get(16)? == 1,
            first_normal_epoch: number(17)?,
            first_normal_slot: number(25)?,
        })
    }

    /// Returns the slots of the slot hashes sysvar, newest first.
    pub fn slot_hashes(&self) -> impl Iterator<Item = u64> {
        let data = self.get(&ids::slot_hashes::ID).unwrap_or_default();
        let (entries, _) = data.get(8..).unwrap_or_default().as_chunks::<40>();
        let count =
            self.numbers(&ids::slot_hashes::ID).map_or(0, |[count]| u64::from_le_bytes(count));
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        // The account may be longer than its entries.
        let slot = |entry: &[u8; 40]| Some(u64::from_le_bytes(*entry.first_chunk()?));
        entries.iter().take(count).filter_map(slot)
    }

    /// Returns whether the recent blockhashes sysvar has entries; `None` if it is not set.
    #[must_use]
    pub fn has_recent_blockhashes(&self) -> Option<bool> {
        let [count] = self.numbers(&ids::recent_blockhashes::ID)?;
        Some(u64::from_le_bytes(count) > 0)
    }

    /// Returns every sysvar that is set, with the data of its account, sorted by address.
    pub fn iter(&self) -> impl Iterator<Item = (&Pubkey, &[u8])> {
        self.accounts.iter().map(|(id, sysvar)| (id, sysvar.data.as_slice()))
    }
}

impl Default for Sysvars {
    /// Returns mainnet's constants, at slot 0.
    fn default() -> Self {
        let mut sysvars = Self::empty();
        sysvars.set_clock(&Clock::default());
        sysvars.set_rent(&Rent { lamports_per_byte: MAINNET_LAMPORTS_PER_BYTE, ..Rent::default() });
        sysvars.set_epoch_schedule(&EpochSchedule::without_warmup());
        sysvars.set_epoch_rewards(&EpochRewards::default());
        sysvars.set_last_restart_slot(&LastRestartSlot::default());
        sysvars
    }
}

/// A field of a sysvar's account.
#[derive(Clone, Copy, Debug)]
enum Field {
    /// A number with this many bytes, which is also its alignment in a struct.
    Number(usize),
    /// This many bytes without alignment.
    Bytes(usize),
    /// One byte, 0 or 1.
    Bool,
    /// Records of this many bytes; the number before them is their count.
    Records(usize),
}

/// The fields of each sysvar's account.
const SHAPES: [(Pubkey, &[Field]); 8] = {
    use Field::{Bool, Bytes, Number, Records};
    [
        (ids::clock::ID, &[Number(8), Number(8), Number(8), Number(8), Number(8)]),
        (ids::epoch_schedule::ID, &[Number(8), Number(8), Bool, Number(8), Number(8)]),
        (
            ids::epoch_rewards::ID,
            &[Number(8), Number(8), Bytes(32), Number(16), Number(8), Number(8), Bool],
        ),
        (ids::rent::ID, &[Number(8), Number(8), Number(1)]),
        (ids::slot_hashes::ID, &[Number(8), Records(40)]),
        (ids::stake_history::ID, &[Number(8), Records(32)]),
        (ids::last_restart_slot::ID, &[Number(8)]),
        (ids::recent_blockhashes::ID, &[Number(8), Records(40)]),
    ]
};

/// The alignment and size of each sysvar's C struct, in the order of [`SHAPES`].
const LAYOUTS: [Option<(usize, usize)>; SHAPES.len()] = {
    let mut layouts = [None; SHAPES.len()];
    let mut index = 0;
    while index < SHAPES.len() {
        layouts[index] = layout(SHAPES[index].1);
        index += 1;
    }
    layouts
};

fn shape(id: &Pubkey) -> Option<&'static [Field]> {
    SHAPES.iter().find(|(known, _)| known == id).map(|(_, fields)| *fields)
}

/// Splits an account's data into its fields; `None` if the data are too short or have a boolean that is
/// neither 0 nor 1. Trailing bytes are allowed.
fn split<'a>(fields: &[Field], mut data: &'a [u8]) -> Option<Vec<&'a [u8]>> {
    let mut parts: Vec<&[u8]> = Vec::with_capacity(fields.len());
    for field in fields {
        let len = match field {
            Field::Number(len) | Field::Bytes(len) => *len,
            Field::Bool => 1,
            Field::Records(len) => {
                let count = u64::from_le_bytes(parts.last()?.first_chunk().copied()?);
                usize::try_from(count).ok()?.checked_mul(*len)?
            }
        };
        let (part, rest) = data.split_at_checked(len)?;
        if matches!(field, Field::Bool) && part != [0] && part != [1] {
            return None;
        }
        parts.push(part);
        data = rest;
    }
    Some(parts)
}

/// Returns the alignment and size of a sysvar's C struct; `None` if a field has no fixed size.
#[allow(clippy::arithmetic_side_effects, reason = "evaluated at compile time")]
const fn layout(fields: &[Field]) -> Option<(usize, usize)> {
    let (mut align, mut end, mut index) = (1, 0_usize, 0);
    while index < fields.len() {
        let field = fields[index];
        let Some(len) = field.len() else { return None };
        if field.align() > align {
            align = field.align();
        }
        end = end.next_multiple_of(field.align()) + len;
        index += 1;
    }
    Some((align, end.next_multiple_of(align)))
}

/// Converts a sysvar's account data to its C struct, with zeros as padding.
fn as_struct(fields: &[Field], data: &[u8]) -> Option<Vec<u8>> {
    let (_, size) = layout(fields)?;
    let mut bytes = Vec::with_capacity(size);
    for (field, part) in fields.iter().zip(split(fields, data)?) {
        bytes.resize(bytes.len().next_multiple_of(field.align()), 0);
        bytes.extend(part);
    }
    bytes.resize(size, 0);
    Some(bytes)
}

impl Field {
    const fn align(self) -> usize {
        match self {
            Self::Number(len) => len,
            Self::Bytes(_) | Self::Bool | Self::Records(_) => 1,
        }
    }

    const fn len(self) -> Option<usize> {
        match self {
            Self::Number(len) | Self::Bytes(len) => Some(len),
            Self::Bool => Some(1),
            Self::Records(_) => None,
        }
    }
}

/// Returns the size and alignment of a sysvar's C struct; 0 and 1 if it has none.
pub(crate) fn struct_layout(id: &Pubkey) -> (u64, u64) {
    let index = SHAPES.iter().position(|(known, _)| known == id);
    let layout = index.and_then(|index| *LAYOUTS.get(index)?);
    let (align, size) = layout.unwrap_or((1, 0));
    (size as u64, align as u64)
}

impl Sysvars {
    /// Returns the C struct of a sysvar that is set, with zeros as padding; [`struct_layout`] has its
    /// alignment.
    pub(crate) fn as_struct(&self, id: &Pubkey) -> Option<&[u8]> {
        self.accounts.get(id)?.as_struct.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_have_the_sizes_of_the_sdk() {
        for (id, size, align) in [
            (ids::clock::ID, size_of::<Clock>(), align_of::<Clock>()),
            (ids::rent::ID, size_of::<Rent>(), align_of::<Rent>()),
            (ids::epoch_schedule::ID, size_of::<EpochSchedule>(), align_of::<EpochSchedule>()),
            (ids::epoch_rewards::ID, size_of::<EpochRewards>(), align_of::<EpochRewards>()),
            (ids::last_restart_slot::ID, 8, 8),
        ] {
            assert_eq!(struct_layout(&id), (size as u64, align as u64), "{id}");
            assert_eq!(Sysvars::default().as_struct(&id).map(|it| it.len()), Some(size), "{id}");
        }
    }

    #[test]
    fn struct_of_the_epoch_schedule_pads_the_boolean_with_zeros() {
        let mut sysvars = Sysvars::empty();
        sysvars.set_epoch_schedule(&EpochSchedule {
            slots_per_epoch: 1,
            leader_schedule_slot_offset: 2,
            warmup: true,
            first_normal_epoch: 3,
            first_normal_slot: 4,
        });
        let expected: Vec<u8> =
            [1_u64, 2, 1, 3, 4].iter().flat_map(|it| it.to_le_bytes()).collect();
        assert_eq!(sysvars.as_struct(&ids::epoch_schedule::ID), Some(&*expected));
    }

    #[test]
    fn set_rejects_short_and_malformed_data() {
        let mut sysvars = Sysvars::empty();
        let set = |sysvars: &mut Sysvars, id, data: &[u8]| sysvars.set(id, data).is_ok();
        assert!(!set(&mut sysvars, ids::clock::ID, &[0; 39]));
        assert!(set(&mut sysvars, ids::clock::ID, &[0; 41]));
        assert!(!set(&mut sysvars, ids::epoch_schedule::ID, &[2; 33]));
        assert!(!set(&mut sysvars, ids::slot_hashes::ID, &[0xff; 48]));
        assert!(set(&mut sysvars, ids::slot_hashes::ID, &[0; 8]));
        assert!(!set(&mut sysvars, ids::instructions::ID, &[]));
    }

    #[test]
    fn removed_sysvars_are_missing() {
        let mut sysvars = Sysvars::default();
        for (id, ..) in SHAPES {
            sysvars.remove(&id);
        }
        assert_eq!(sysvars, Sysvars::empty());
        assert_eq!((sysvars.clock(), sysvars.rent(), sysvars.slot()), (None, None, None));
    }
}
