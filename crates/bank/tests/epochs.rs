//! Sysvars of slots, and the first slot of an epoch.

mod common;

use common::*;
use selkie_bank::{Bank, BankOptions, Between, Options, Step};
use selkie_svm::{Account, Feature, FeatureSet, Pubkey, ReadableAccount};
use solana_sdk_ids::{sysvar, zk_elgamal_proof_program};

fn data(bank: &Bank, id: &Pubkey) -> Vec<u8> {
    bank.get_account(id).unwrap().unwrap().data().to_vec()
}

fn numbers(data: &[u8]) -> Vec<u64> {
    let (numbers, _) = data.as_chunks::<8>();
    numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
}

#[test]
fn a_feature_becomes_active_at_the_first_slot_of_an_epoch() {
    let addresses = addresses(1);
    let mut state = genesis();
    put_program(&mut state, &addresses, 0, &program_with_blake3(7));
    let forks = forks(state);
    let feature = Feature::Blake3;
    let bank = forks.new_bank(0, 1).unwrap();
    bank.set_account(feature.address(), pending()).unwrap();
    assert_eq!(result_of_call(&bank, addresses.id, 0), no_syscall());
    assert_eq!(bank.upcoming_features(), None);
    let bank = until(&forks, &bank, SLOTS_PER_EPOCH / 2 - 1);
    assert_eq!(bank.upcoming_features(), None);
    let bank = next(&forks, &bank);
    assert_eq!(bank.upcoming_features(), Some(FeatureSet::mainnet().with(feature)));
    let bank = until(&forks, &bank, SLOTS_PER_EPOCH - 1);
    assert!(!bank.features().has(feature));
    assert_eq!(result_of_call(&bank, addresses.id, 1), no_syscall());
    bank.freeze().unwrap();
    // The forks begin the epoch in different slots.
    for slot in [SLOTS_PER_EPOCH, SLOTS_PER_EPOCH + 3] {
        let first = forks.new_bank(SLOTS_PER_EPOCH - 1, slot).unwrap();
        assert!(first.features().has(feature) && first.epoch() == 1);
        let since = [&[1][..], &slot.to_le_bytes()].concat();
        assert_eq!(data(&first, &feature.address()), since);
        assert_eq!(result_of_call(&first, addresses.id, 2), version(7));
        assert_eq!(first.upcoming_features(), None);
    }
    let late = forks.new_bank(SLOTS_PER_EPOCH - 1, SLOTS_PER_EPOCH * 3).unwrap();
    assert!(late.features().has(feature) && late.epoch() == 3);
    // The first of the epochs that passed began with the feature.
    let since = [&[1][..], &SLOTS_PER_EPOCH.to_le_bytes()].concat();
    assert_eq!(data(&late, &feature.address()), since);
}

#[test]
fn slots_that_passed_count_as_if_they_had_blocks() {
    let forks = forks(genesis());
    let parent = forks.new_bank(0, 3).unwrap();
    parent.freeze().unwrap();
    let hash = parent.hash().unwrap();
    let with = |between, unix_timestamp| BankOptions {
        step: Step { between, unix_timestamp, counts: false, ..Step::default() },
        ..BankOptions::default()
    };
    let now = parent.clock().unix_timestamp + 1000;
    let slot = SLOTS_PER_EPOCH * 2 + 10;
    let skipping = forks.new_bank_with(3, slot, &with(Between::Skipped, Some(now))).unwrap();
    let passing = forks.new_bank_with(3, slot + 1, &with(Between::Idle, Some(now))).unwrap();
    assert!(skipping.environment().sysvars.slot_hashes().eq([3, 0]));
    assert!(passing.environment().sysvars.slot_hashes().eq((3..=slot).rev().chain([0])));
    let hashes = data(&passing, &sysvar::slot_hashes::ID);
    let mut all: Vec<&[u8]> = hashes[8..].chunks(40).take(72).map(|it| &it[8..]).collect();
    assert!(all.contains(&hash.as_ref()));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 72, "each slot has a hash of its own");
    let is_active = |bank: &Bank| data(bank, &sysvar::epoch_rewards::ID)[80];
    assert_eq!((is_active(&skipping), is_active(&passing)), (1, 0));
    // 11 slots of 200 ms, rounded down.
    assert_eq!(passing.clock().epoch_start_timestamp, now - 2);
    let bits = |bank: &Bank| {
        bank.freeze().unwrap();
        let history = &data(bank, &sysvar::slot_history::ID)[9..131_081];
        history.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>()
    };
    assert_eq!((bits(&skipping), bits(&passing)), (3, slot));
    // A far jump fills all that the sysvars hold.
    let far = forks.new_bank_with(3, 1 << 40, &with(Between::Idle, None)).unwrap();
    assert!(far.environment().sysvars.slot_hashes().eq(((1 << 40) - 512..1 << 40).rev()));
    assert_eq!(bits(&far), 1 << 20);
}

#[test]
fn rewards_end_in_a_block_that_does_not_count() {
    let forks = forks(genesis());
    let first = forks.new_bank(0, SLOTS_PER_EPOCH).unwrap();
    first.freeze().unwrap();
    assert_eq!(data(&first, &sysvar::epoch_rewards::ID)[80], 1);
    let step = Step { counts: false, ..Step::default() };
    let options = BankOptions { step, ..BankOptions::default() };
    let second = forks.new_bank_with(first.slot(), SLOTS_PER_EPOCH + 1, &options).unwrap();
    assert_eq!(data(&second, &sysvar::epoch_rewards::ID)[80], 0);
}

#[test]
fn activating_a_feature_adds_its_builtin_program() {
    let feature = Feature::ZkElgamalProofProgram;
    let mut state = genesis_with(FeatureSet::mainnet().without(feature));
    state.set_account(feature.address(), pending());
    // An ordinary account exists at the program's address.
    state.set_account(zk_elgamal_proof_program::ID, lamports(5 * SOL));
    let forks = forks(state);
    let before = forks.new_bank(0, SLOTS_PER_EPOCH - 1).unwrap();
    assert!(before.environment().builtins.get(&zk_elgamal_proof_program::ID).is_none());
    let first = next(&forks, &before);
    assert!(first.environment().builtins.get(&zk_elgamal_proof_program::ID).is_some());
    let account = first.get_account(&zk_elgamal_proof_program::ID).unwrap().unwrap();
    assert_eq!((account.lamports(), account.executable()), (1, true));
    assert_eq!(account.data(), b"zk_elgamal_proof_program");
}

#[test]
fn rent_features_change_the_rent_sysvar() {
    let gate = Pubkey::from_str_const("rntCigrTppP5JdZz7K8TyN9sMzLdAcXp8SejYpVpX6D");
    let mut state = genesis();
    state.set_account(gate, pending());
    let forks = forks(state);
    let before = forks.new_bank(0, 1).unwrap();
    let first = until(&forks, &before, SLOTS_PER_EPOCH);
    let rent = |bank: &Bank| bank.environment().rent().lamports_per_byte;
    assert_eq!((rent(&before), rent(&first)), (5080, 2575));
    assert_eq!(data(&first, &sysvar::rent::ID)[..8], 2575_u64.to_le_bytes());
}

#[test]
fn sysvars_follow_the_slots_of_their_fork() {
    let forks = forks(genesis());
    let bank = forks.new_bank(0, 4).unwrap();
    bank.freeze().unwrap();
    forks.new_bank(4, 5).unwrap().freeze().unwrap();
    let other = forks.new_bank(4, 6).unwrap();
    assert_eq!(forks.bank(5).unwrap().parent_slot(), Some(4));
    let clock = other.clock();
    assert_eq!((clock.slot, clock.epoch, clock.leader_schedule_epoch), (6, 0, 1));
    assert_eq!(clock.unix_timestamp - clock.epoch_start_timestamp, 1);
    let sysvars = &other.environment().sysvars;
    assert!(sysvars.slot_hashes().eq([4, 0]), "5 is on another fork");
    let hashes = data(&other, &sysvar::slot_hashes::ID);
    assert_eq!(hashes[16..48], *bank.hash().unwrap().as_ref());
    assert_eq!(sysvars.get(&sysvar::slot_hashes::ID), Some(hashes.as_slice()));
    let blockhashes = data(&other, &sysvar::recent_blockhashes::ID);
    assert_eq!(numbers(&blockhashes)[0], 2);
    assert_eq!(blockhashes[8..40], *other.latest_blockhash().as_ref());
    assert_eq!(sysvars.get(&sysvar::recent_blockhashes::ID), Some(blockhashes.as_slice()));
    let bits = |bank: &Bank| data(bank, &sysvar::slot_history::ID)[9];
    assert_eq!(bits(&other), 0b01_0001);
    other.freeze().unwrap();
    assert_eq!(bits(&other), 0b101_0001);
    assert_ne!(other.latest_blockhash(), bank.latest_blockhash());
}

#[test]
fn the_first_bank_of_an_epoch_records_stakes_and_starts_rewards() {
    let mut state = genesis();
    state.stakes.additional.total = 1000;
    let forks = forks(state);
    let first = until(&forks, &forks.new_bank(0, 1).unwrap(), SLOTS_PER_EPOCH);
    let history = numbers(&data(&first, &sysvar::stake_history::ID));
    assert_eq!(history[..6], [1, 0, 1000, 0, 0, 0]);
    let rewards = data(&first, &sysvar::epoch_rewards::ID);
    assert_eq!(numbers(&rewards[..16]), [first.block_height() + 1, 1]);
    assert_eq!(rewards[16..48], *first.latest_blockhash().as_ref());
    assert_eq!(rewards[80], 1);
    let second = next(&forks, &first);
    assert_eq!(data(&second, &sysvar::epoch_rewards::ID)[80], 0);
    let third = until(&forks, &second, SLOTS_PER_EPOCH * 2);
    let history = numbers(&data(&third, &sysvar::stake_history::ID));
    assert_eq!((history[0], history[1], history[5]), (2, 1, 0));
}

#[test]
fn hard_forks_change_last_restart_slot_and_bank_hash() {
    let options = Options { hard_forks: vec![3], ..Options::default() };
    let with = selkie_bank::Forks::new(genesis(), Default::default(), options);
    let without = forks(genesis());
    let banks = [&with, &without].map(|forks| forks.new_bank(0, 2).unwrap());
    assert_eq!(banks[0].freeze(), banks[1].freeze());
    let banks = [&with, &without].map(|forks| forks.new_bank(2, 5).unwrap());
    let last = |bank: &Bank| numbers(&data(bank, &sysvar::last_restart_slot::ID));
    assert_eq!((last(&banks[0]), last(&banks[1])), (vec![3], vec![0]));
    assert_ne!(banks[0].freeze(), banks[1].freeze());
}

#[test]
fn programs_are_loaded_ahead_of_the_next_epoch() {
    let programs = [1, 2, 3, 4, 5, 6].map(addresses);
    let mut state = genesis();
    for (addresses, number) in programs.iter().zip(1..) {
        put_program(&mut state, addresses, 0, &program_with_blake3(number));
    }
    state.set_account(Feature::Blake3.address(), pending());
    let forks = forks(state);
    let bank = forks.new_bank(0, 1).unwrap();
    for addresses in &programs {
        assert_eq!(result_of_call(&bank, addresses.id, 0), no_syscall());
    }
    let misses = || forks.programs().statistics().misses;
    assert_eq!(misses(), 6);
    let last = until(&forks, &bank, SLOTS_PER_EPOCH - 1);
    let prepared = misses();
    let first = next(&forks, &last);
    for (addresses, number) in programs.iter().zip(1..) {
        assert_eq!(result_of_call(&first, addresses.id, 0), version(number));
    }
    assert_eq!(misses(), prepared, "no program is loaded on demand");
}

#[test]
fn extreme_slots_and_invalid_sysvars_do_not_panic() {
    let mut state = genesis();
    let forks = forks(state.clone());
    let last = forks.new_bank(0, u64::MAX).unwrap();
    assert_eq!(last.epoch(), u64::MAX / SLOTS_PER_EPOCH);
    last.freeze().unwrap();
    forks.set_root(u64::MAX).unwrap();
    assert!(forks.new_bank(u64::MAX, u64::MAX).is_err());
    // Sysvar accounts may also have invalid data.
    for id in [sysvar::epoch_schedule::ID, sysvar::rent::ID, sysvar::slot_hashes::ID] {
        for data in [vec![0; 33], vec![255; 40], vec![]] {
            let odd = Account { data, owner: sysvar::ID, ..lamports(SOL) };
            state.set_account(id, odd);
            let forks = common::forks(state.clone());
            next(&forks, &forks.new_bank(0, 100).unwrap()).freeze().unwrap();
        }
    }
}
