//! Sysvars.

use solana_account::Account;
use solana_clock::Clock;
use solana_epoch_rewards::EpochRewards;
use solana_epoch_schedule::EpochSchedule;
use solana_hash::Hash;
use solana_last_restart_slot::LastRestartSlot;
use solana_pubkey::Pubkey;
use solana_rent::Rent;
use solana_sdk_ids::sysvar as ids;
use solana_slot_hashes::SlotHashes;
#[cfg(not(feature = "sdk-3"))]
use solana_stake_history::{StakeHistory, StakeHistoryEntry};
#[cfg(feature = "sdk-3")]
use solana_stake_interface::stake_history::{StakeHistory, StakeHistoryEntry};

/// How many slot hashes there are.
const SLOT_HASHES: usize = 512;
/// Mollusk's rent, which mainnet has lowered since: 6960 lamports per byte.
#[cfg(not(feature = "sdk-3"))]
fn rent() -> Rent {
    Rent { lamports_per_byte: 6960, ..Rent::default() }
}

/// The same, of which versions up to 3 have half per year, and two years.
#[cfg(feature = "sdk-3")]
fn rent() -> Rent {
    Rent::default()
}

/// The sysvars that instructions see.
#[derive(PartialEq, Debug)]
pub struct Sysvars {
    /// The clock.
    pub clock: Clock,
    /// The epoch rewards.
    pub epoch_rewards: EpochRewards,
    /// The epoch schedule.
    pub epoch_schedule: EpochSchedule,
    /// The last restart slot.
    pub last_restart_slot: LastRestartSlot,
    /// The rent.
    pub rent: Rent,
    /// The slot hashes.
    pub slot_hashes: SlotHashes,
    /// The stake history.
    pub stake_history: StakeHistory,
}

impl Default for Sysvars {
    fn default() -> Self {
        let mut stake_history = StakeHistory::default();
        stake_history.add(0, StakeHistoryEntry::default());
        Self {
            clock: Clock::default(),
            epoch_rewards: EpochRewards::default(),
            epoch_schedule: EpochSchedule::without_warmup(),
            last_restart_slot: LastRestartSlot::default(),
            rent: rent(),
            slot_hashes: SlotHashes::new(&[(0, Hash::default()); SLOT_HASHES]),
            stake_history,
        }
    }
}

impl Sysvars {
    /// Sets the clock to a slot, and fills the slot hashes up to the slot before it.
    pub fn warp_to_slot(&mut self, slot: u64) {
        self.clock = Clock {
            slot,
            epoch: self.epoch_schedule.get_epoch(slot),
            leader_schedule_epoch: self.epoch_schedule.get_leader_schedule_epoch(slot),
            ..Clock::default()
        };
        let last = self.slot_hashes.first().map_or(0, |(slot, _)| *slot);
        for slot in last.max(slot.saturating_sub(SLOT_HASHES as u64))..slot {
            self.slot_hashes.add(slot, Hash::default());
        }
    }

    /// Returns the account of the clock.
    #[must_use]
    pub fn keyed_account_for_clock_sysvar(&self) -> (Pubkey, Account) {
        self.keyed_account(ids::clock::ID)
    }

    /// Returns the account of the epoch rewards.
    #[must_use]
    pub fn keyed_account_for_epoch_rewards_sysvar(&self) -> (Pubkey, Account) {
        self.keyed_account(ids::epoch_rewards::ID)
    }

    /// Returns the account of the epoch schedule.
    #[must_use]
    pub fn keyed_account_for_epoch_schedule_sysvar(&self) -> (Pubkey, Account) {
        self.keyed_account(ids::epoch_schedule::ID)
    }

    /// Returns the account of the last restart slot.
    #[must_use]
    pub fn keyed_account_for_last_restart_slot_sysvar(&self) -> (Pubkey, Account) {
        self.keyed_account(ids::last_restart_slot::ID)
    }

    /// Returns the account of the rent.
    #[must_use]
    pub fn keyed_account_for_rent_sysvar(&self) -> (Pubkey, Account) {
        self.keyed_account(ids::rent::ID)
    }

    /// Returns the account of the slot hashes.
    #[must_use]
    pub fn keyed_account_for_slot_hashes_sysvar(&self) -> (Pubkey, Account) {
        self.keyed_account(ids::slot_hashes::ID)
    }

    /// Returns the account of the stake history.
    #[must_use]
    pub fn keyed_account_for_stake_history_sysvar(&self) -> (Pubkey, Account) {
        self.keyed_account(ids::stake_history::ID)
    }

    /// Returns the account of the recent blockhashes.
    #[must_use]
    pub fn keyed_account_for_recent_blockhashes_sysvar(&self) -> (Pubkey, Account) {
        self.keyed_account(ids::recent_blockhashes::ID)
    }

    /// Returns the accounts of all sysvars.
    #[must_use]
    pub fn get_all_keyed_sysvar_accounts(&self) -> Vec<(Pubkey, Account)> {
        self.data().into_iter().map(|(id, data)| (id, self.account(data))).collect()
    }

    /// Returns the account of a sysvar.
    pub(crate) fn maybe_create_sysvar_account(&self, id: &Pubkey) -> Option<Account> {
        let (_, data) = self.data().into_iter().find(|(it, _)| it == id)?;
        Some(self.account(data))
    }

    fn keyed_account(&self, id: Pubkey) -> (Pubkey, Account) {
        let account = self.maybe_create_sysvar_account(&id);
        (id, account.expect("every function names a sysvar that is present"))
    }

    fn account(&self, data: Vec<u8>) -> Account {
        let lamports = self.rent.minimum_balance(data.len());
        Account { lamports, data, owner: ids::ID, ..Account::default() }
    }

    /// Returns the sysvars, serialized.
    pub(crate) fn data(&self) -> [(Pubkey, Vec<u8>); 8] {
        let count = |count: usize| (count as u64).to_le_bytes().to_vec();
        let mut slot_hashes = count(self.slot_hashes.len());
        for (slot, hash) in self.slot_hashes.iter() {
            slot_hashes.extend(slot.to_le_bytes());
            slot_hashes.extend(hash.as_ref());
        }
        let mut stake_history = count(self.stake_history.len());
        for (epoch, entry) in self.stake_history.iter() {
            let StakeHistoryEntry { effective, activating, deactivating } = *entry;
            let numbers = [*epoch, effective, activating, deactivating];
            stake_history.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        }
        [
            (ids::clock::ID, bytes(&self.clock)),
            (ids::epoch_rewards::ID, bytes(&self.epoch_rewards)),
            (ids::epoch_schedule::ID, bytes(&self.epoch_schedule)),
            (ids::last_restart_slot::ID, bytes(&self.last_restart_slot)),
            (ids::rent::ID, rent_bytes(&self.rent)),
            (ids::slot_hashes::ID, slot_hashes),
            (ids::stake_history::ID, stake_history),
            (ids::recent_blockhashes::ID, count(0)),
        ]
    }
}

#[cfg(not(feature = "sdk-3"))]
fn rent_bytes(rent: &Rent) -> Vec<u8> {
    bytes(rent)
}

#[cfg(feature = "sdk-3")]
#[allow(deprecated, reason = "the sysvar has all fields")]
fn rent_bytes(rent: &Rent) -> Vec<u8> {
    let threshold = rent.exemption_threshold.to_le_bytes();
    [&rent.lamports_per_byte_year.to_le_bytes()[..], &threshold, &[rent.burn_percent]].concat()
}

fn bytes<T: wincode::Serialize<Src = T>>(sysvar: &T) -> Vec<u8> {
    wincode::serialize(sysvar).expect("a sysvar can be serialized")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_hashes_end_before_the_slot() {
        let mut sysvars = Sysvars::default();
        for slot in [200, 4_000, 800_000] {
            sysvars.warp_to_slot(slot);
            assert_eq!(sysvars.clock.slot, slot);
            assert_eq!(sysvars.slot_hashes.first(), Some(&(slot - 1, Hash::default())));
            assert_eq!(sysvars.slot_hashes.len(), SLOT_HASHES);
        }
    }
}
