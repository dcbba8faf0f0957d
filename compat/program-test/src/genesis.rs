//! The genesis of a test's chain (`solana-program-test` 4.2: `setup_bank`; `solana-runtime`:
//! `genesis_utils.rs`).

use std::time::{SystemTime, UNIX_EPOCH};

use selkie::{Account, AccountSharedData, FeatureSet, Genesis, Svm};
use solana_address::Address;
use solana_keypair::{Keypair, Signer};
use solana_sdk_ids::{feature, stake, system_program, vote};
use solana_sysvar::{epoch_schedule::EpochSchedule, rent::Rent};

/// Lamports per SOL.
const SOL: u64 = 1_000_000_000;

/// The rent of `solana_rent::Rent::default()`, in lamports per byte.
const LAMPORTS_PER_BYTE: u64 = 6960;

/// The seed of the payer's keypair.
const PAYER_SEED: [u8; 32] = *b"selkie-program-test payer key  1";

/// The validator's addresses.
const IDENTITY: Address = Address::new_from_array(*b"selkie-program-test validator  1");
const VOTE: Address = Address::new_from_array(*b"selkie-program-test vote acct  1");
const STAKE: Address = Address::new_from_array(*b"selkie-program-test stake acct 1");

/// The lengths of vote accounts and stake accounts.
const VOTE_BYTES: usize = 3762;
const STAKE_BYTES: usize = 200;

/// What a test can know of the genesis.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct GenesisConfig {
    /// When the chain began, in seconds since 1970: the time at which the test started it.
    pub creation_time: i64,
    /// The number of ticks in a slot.
    pub ticks_per_slot: u64,
    /// The rent.
    pub rent: Rent,
    /// The epoch schedule: the first epoch has 32 slots, each one twice as many, up to 432,000.
    pub epoch_schedule: EpochSchedule,
}

impl Default for GenesisConfig {
    fn default() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
        Self {
            creation_time: i64::try_from(now).unwrap_or_default(),
            ticks_per_slot: 64,
            rent: Rent::default(),
            epoch_schedule: EpochSchedule::default(),
        }
    }
}

/// Returns the keypair that has a million SOL, the same in every test.
pub(crate) fn payer() -> Keypair {
    Keypair::new_from_array(PAYER_SEED)
}

/// Creates the chain, in slot 1.
pub(crate) fn start(
    config: &GenesisConfig,
    features: FeatureSet,
    accounts: impl IntoIterator<Item = (Address, AccountSharedData)>,
) -> Svm {
    let rent = selkie::Rent { lamports_per_byte: LAMPORTS_PER_BYTE, ..selkie::Rent::default() };
    let genesis = Genesis {
        features,
        schedule: selkie::EpochSchedule::default(),
        unix_timestamp: config.creation_time,
        stake: selkie::EpochStake::default(),
        is_alpenglow: false,
    };
    let own = of_features(features, &rent).chain(of_validator(&rent));
    let payer = (payer().pubkey(), system(1_000_000 * SOL));
    let all = own.chain([payer]).map(|(key, account)| (key, account.into()));
    Svm::from_genesis(&genesis, all.chain(accounts)).with_rent(&rent)
}

fn system(lamports: u64) -> Account {
    Account { lamports, owner: system_program::ID, ..Account::default() }
}

/// The accounts of active features, `Some(slot)` as bincode encodes it.
fn of_features(
    features: FeatureSet,
    rent: &selkie::Rent,
) -> impl Iterator<Item = (Address, Account)> {
    let data = vec![1, 0, 0, 0, 0, 0, 0, 0, 0];
    let lamports = rent.minimum_balance(data.len());
    let account = Account { lamports, data, owner: feature::ID, ..Account::default() };
    let active = selkie::Feature::ALL.iter().filter(move |it| features.has(**it));
    active.map(move |it| (it.address(), account.clone()))
}

/// The accounts of a validator with a million SOL of stake, effective since the genesis.
fn of_validator(rent: &selkie::Rent) -> [(Address, Account); 3] {
    let lamports = rent.minimum_balance(VOTE_BYTES) + 1_000_000 * SOL;
    let reserve = rent.minimum_balance(STAKE_BYTES);
    // Version 4 of the state, without BLS key, votes and root; the identity votes since epoch 0.
    let mut data = vec![0; VOTE_BYTES];
    put(&mut data, 0, &3_u32.to_le_bytes());
    put(&mut data, 4, &[IDENTITY.to_bytes(), IDENTITY.to_bytes(), VOTE.to_bytes()].concat());
    put(&mut data, 100, IDENTITY.as_ref());
    put(&mut data, 134, &10_000_u16.to_le_bytes());
    put(&mut data, 154, &1_u64.to_le_bytes());
    put(&mut data, 170, IDENTITY.as_ref());
    let vote = Account { lamports, data, owner: vote::ID, ..Account::default() };
    // A delegation that activated before all epochs, and never deactivates.
    let mut data = vec![0; STAKE_BYTES];
    put(&mut data, 0, &2_u32.to_le_bytes());
    put(&mut data, 4, &reserve.to_le_bytes());
    put(&mut data, 12, &[IDENTITY.to_bytes(), IDENTITY.to_bytes()].concat());
    put(&mut data, 124, VOTE.as_ref());
    for (offset, number) in [(156, lamports - reserve), (164, u64::MAX), (172, u64::MAX)] {
        put(&mut data, offset, &number.to_le_bytes());
    }
    put(&mut data, 180, &0.25_f64.to_le_bytes());
    let stake = Account { lamports, data, owner: stake::ID, ..Account::default() };
    [(IDENTITY, system(rent.minimum_balance(0))), (VOTE, vote), (STAKE, stake)]
}

fn put(data: &mut [u8], offset: usize, bytes: &[u8]) {
    data[offset..][..bytes.len()].copy_from_slice(bytes);
}
