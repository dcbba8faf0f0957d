//! Time on the test library's chain and on banks passes in the same way.

use std::sync::Arc;

use selkie::{Account, AccountSharedData, EpochStake, Feature, FeatureSet, Pubkey, Svm};
use selkie_bank::{Bank, BankOptions, Between, Distribution, Forks, Genesis, Options, State, Step};
use selkie_svm::ProgramCache;
use solana_account::ReadableAccount;
use solana_sdk_ids::{feature, incinerator, sysvar};

/// The slots per epoch of mainnet.
const EPOCH: u64 = 432_000;

/// Returns the account of a feature that becomes active when the next epoch begins.
fn pending() -> Account {
    let (data, owner) = (vec![0; 9], feature::ID);
    Account { lamports: 1_000_000_000, data, owner, executable: false, rent_epoch: u64::MAX }
}

fn data(account: Option<AccountSharedData>) -> Vec<u8> {
    account.map(|account| account.data().to_vec()).unwrap_or_default()
}

/// Creates the bank of a slot, after empty blocks since slot 1.
fn bank(features: FeatureSet, accounts: &[(Pubkey, Account)], slot: u64) -> Arc<Bank> {
    let stake = EpochStake { total: selkie_bank::MAINNET_STAKE, ..EpochStake::default() };
    let mut state = State::genesis(&Genesis { features, stake, ..Genesis::default() });
    for (key, account) in accounts {
        state.set_account(*key, account.clone());
    }
    let forks = Forks::new(state, Arc::new(ProgramCache::new()), Options::default());
    forks.new_bank(0, 1).unwrap().freeze().unwrap();
    let step =
        Step { between: Between::Empty, distribution: Distribution::AtOnce, ..Step::default() };
    forks.new_bank_with(1, slot, &BankOptions { step, ..BankOptions::default() }).unwrap()
}

#[test]
fn epochs_pass_as_in_a_bank() {
    let which = Feature::ALL.iter().copied().find(|it| !FeatureSet::mainnet().has(*it)).unwrap();
    let accounts = [(which.address(), pending())];
    let slot = EPOCH * 3 + 700;
    let mut svm = Svm::new();
    for (key, account) in &accounts {
        svm.set_account(*key, account.clone()).unwrap();
    }
    svm.warp_to_slot(slot).unwrap();
    let bank = bank(FeatureSet::mainnet(), &accounts, slot);
    assert!(svm.features().has(which));
    assert_eq!(svm.features(), bank.features());
    assert_eq!(svm.clock(), bank.clock());
    assert_eq!(svm.environment().epoch_stake, bank.environment().epoch_stake);
    // The feature is active since the first slot of the epoch that began first.
    let activated = svm.account(&which.address()).unwrap().data;
    assert_eq!(activated, [&[1][..], &EPOCH.to_le_bytes()].concat());
    assert_eq!(activated, data(bank.get_account(&which.address()).unwrap()));
    for id in [
        sysvar::clock::ID,
        sysvar::epoch_schedule::ID,
        sysvar::last_restart_slot::ID,
        sysvar::rent::ID,
        sysvar::slot_hashes::ID,
        sysvar::slot_history::ID,
        sysvar::stake_history::ID,
    ] {
        let of_svm = svm.account(&id).map(AccountSharedData::from);
        assert_eq!(of_svm, bank.get_account(&id).unwrap(), "{id}");
    }
}

#[test]
fn the_incinerator_is_emptied_when_the_slot_ends() {
    let mut svm = Svm::new();
    svm.airdrop(&incinerator::ID, 1_000_000_000).unwrap();
    svm.warp_by_slots(1);
    assert_eq!(svm.balance(&incinerator::ID), 0);
}

#[test]
fn rewards_of_an_epoch_are_over_in_its_first_slot() {
    let mut svm = Svm::new();
    svm.warp_to_epoch(2).unwrap();
    let rewards = svm.sysvar(&sysvar::epoch_rewards::ID).unwrap();
    // One partition, and the distribution is not active.
    assert_eq!(rewards[8..16], 1_u64.to_le_bytes());
    assert_eq!(rewards[80], 0);
}
