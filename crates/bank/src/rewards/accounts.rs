//! The two accounts with which Alpenglow computes rewards, written at the boundaries of epochs (agave:
//! `epoch_inflation_account_state.rs`, `alpenglow_epoch_type.rs`).

use std::collections::BTreeMap;

use selkie_svm::{
    Account, AccountSharedData, AccountStore, Pubkey, ReadableAccount,
    sysvars::{Rent, minimum_balance},
};
use solana_hash::Hash;
use solana_sdk_ids::{feature, system_program};

use crate::alpenglow;

/// The account that says how much a validator can earn in the current and in the previous epoch.
/// Derived from the gate of Alpenglow and "vote_reward_account".
pub const VOTE_REWARDS: Pubkey =
    Pubkey::from_str_const("3vJzniWALu2qGFJ1ZY6JD3Y2ZmA5zWqmVdDX7yBXHgu7");

/// The account of the effective stake of each vote account in the epoch that is rewarded. Derived from
/// the gate of Alpenglow and "reward_epoch_delegated_stakes".
pub const DELEGATED_STAKES: Pubkey =
    Pubkey::from_str_const("CHfmHwNcskfxg1ZnLatbHbmVvYbA6rLDz3Xok5a3Ku8i");

/// The size for which the account of delegated stakes holds lamports: that of 2,000 vote accounts.
const DELEGATED_STAKES_BYTES_MAX: usize = 16 + 2000 * 40;

/// What a validator can earn in an epoch.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EpochInflation {
    /// The inflation of the epoch in lamports: what a validator with all stake would earn.
    pub lamports: u64,
    /// The number of slots in an epoch.
    pub slots: u64,
    /// The epoch.
    pub epoch: u64,
}

impl EpochInflation {
    fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        let fields = [self.lamports, self.slots, self.epoch];
        let (chunks, _) = bytes.as_chunks_mut::<8>();
        chunks.iter_mut().zip(fields).for_each(|(chunk, field)| *chunk = field.to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (numbers, _) = bytes.get(..24)?.as_chunks::<8>();
        let number = |index: usize| numbers.get(index).map(|bytes| u64::from_le_bytes(*bytes));
        Some(Self { lamports: number(0)?, slots: number(1)?, epoch: number(2)? })
    }
}

/// What a validator can earn in the current epoch, and in the one before.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct VoteRewards {
    /// The current epoch.
    pub current: EpochInflation,
    /// The one before.
    pub previous: Option<EpochInflation>,
}

impl VoteRewards {
    /// Reads the account.
    pub fn read(accounts: &impl AccountStore) -> Option<Self> {
        let account = accounts.account(&VOTE_REWARDS)?;
        let data = account.data();
        let current = EpochInflation::read(data)?;
        let previous = match data.get(24)? {
            1 => EpochInflation::read(data.get(25..)?),
            _ => None,
        };
        Some(Self { current, previous })
    }

    /// Returns the account. Its lamports are those of `rent`.
    #[must_use]
    pub fn account(&self, rent: &Rent) -> AccountSharedData {
        let previous = self.previous.map(EpochInflation::to_bytes);
        let previous = previous.as_ref().map_or(&[][..], |bytes| bytes);
        let tag = [self.previous.is_some().into()];
        let data = [&self.current.to_bytes(), &tag[..], previous].concat();
        let lamports = minimum_balance(rent, data.len());
        account(data, lamports)
    }

    /// Returns the inflation of an epoch, in lamports, and its number of slots.
    #[must_use]
    pub fn of(&self, epoch: u64) -> Option<EpochInflation> {
        let both = [Some(self.current), self.previous].into_iter().flatten();
        both.into_iter().find(|it| it.epoch == epoch)
    }
}

/// Returns the accounts with which a chain that began with Alpenglow differs from others, and its clock
/// shows this time, in nanoseconds.
#[must_use]
pub fn genesis_accounts(
    nanoseconds: i64,
    slots_per_epoch: u64,
    rent: &Rent,
) -> Vec<(Pubkey, AccountSharedData)> {
    let gate = [&[1][..], &0_u64.to_le_bytes()].concat();
    let lamports = minimum_balance(rent, gate.len());
    let current = EpochInflation { slots: slots_per_epoch, ..EpochInflation::default() };
    let vote_rewards = VoteRewards { current, previous: None };
    let gate = Account { lamports, data: gate, owner: feature::ID, ..Account::default() };
    vec![
        (alpenglow::GATE, gate.into()),
        (alpenglow::CERTIFICATE, alpenglow::certificate(0, &Hash::default())),
        (alpenglow::CLOCK, alpenglow::clock_account(nanoseconds)),
        (VOTE_REWARDS, vote_rewards.account(&Rent::default())),
    ]
}

/// Returns the account of the delegated stakes of an epoch.
pub(crate) fn delegated_stakes(
    epoch: u64,
    stakes: &BTreeMap<Pubkey, u64>,
    rent: &Rent,
) -> AccountSharedData {
    let mut data = [epoch.to_le_bytes(), (stakes.len() as u64).to_le_bytes()].concat();
    for (voter, stake) in stakes {
        data.extend_from_slice(voter.as_ref());
        data.extend_from_slice(&stake.to_le_bytes());
    }
    account(data, minimum_balance(rent, DELEGATED_STAKES_BYTES_MAX))
}

/// Reads the account of the delegated stakes of an epoch; `None` if it has those of another one.
pub(crate) fn read_delegated_stakes(
    accounts: &impl AccountStore,
    epoch: u64,
) -> Option<BTreeMap<Pubkey, u64>> {
    let account = accounts.account(&DELEGATED_STAKES)?;
    let (header, rows) = account.data().split_first_chunk::<16>()?;
    let (rows, _) = rows.as_chunks::<40>();
    let row = |row: &[u8; 40]| {
        let (key, stake) = row.split_first_chunk::<32>()?;
        Some((Pubkey::new_from_array(*key), u64::from_le_bytes(*stake.first_chunk()?)))
    };
    header.starts_with(&epoch.to_le_bytes()).then(|| rows.iter().filter_map(row).collect())
}

fn account(data: Vec<u8>, lamports: u64) -> AccountSharedData {
    Account { lamports, data, owner: system_program::ID, ..Account::default() }.into()
}

#[cfg(test)]
mod tests {
    use selkie_svm::find_program_address;

    use super::*;
    use crate::alpenglow::GATE;

    #[test]
    fn addresses_are_derived_from_the_gate() {
        let derived = |seed: &[u8]| find_program_address(&[seed], &GATE).map(|(key, _)| key);
        assert_eq!(derived(b"vote_reward_account"), Some(VOTE_REWARDS));
        assert_eq!(derived(b"reward_epoch_delegated_stakes"), Some(DELEGATED_STAKES));
    }

    struct One(AccountSharedData);

    impl AccountStore for One {
        fn account(&self, _: &Pubkey) -> Option<AccountSharedData> {
            Some(self.0.clone())
        }
    }

    #[test]
    fn vote_rewards_keep_the_previous_epoch() {
        let current = EpochInflation { lamports: 1, slots: 2, epoch: 3 };
        let previous = Some(EpochInflation { lamports: 4, slots: 5, epoch: 2 });
        for (previous, bytes) in [(None, 25), (previous, 49)] {
            let rewards = VoteRewards { current, previous };
            let account = rewards.account(&Rent::default());
            assert_eq!(account.data().len(), bytes);
            assert_eq!(VoteRewards::read(&One(account)), Some(rewards));
            assert_eq!(rewards.of(2), previous);
        }
    }
}
