//! Rewards of epochs: who receives them, and in which blocks.

mod common;

use std::sync::Arc;

use common::{
    OPTIONS, PAYER, SLOTS_PER_EPOCH, SOL, balance, key, pending, schedule, transaction, transfer,
    until,
};
use selkie_bank::{Bank, BankOptions, Footer, Forks, Genesis, Options, State, Step};
use selkie_builtins::vote_account::VoteAccount;
use selkie_svm::{Account, Feature, FeatureSet, ProgramCache, Pubkey, ReadableAccount, RewardKind};
use solana_sdk_ids::{stake, sysvar, vote};

const VOTER: Pubkey = key(1);

/// The lamports of a stake account's rent.
const RENT: u64 = 328 * 5080;

/// The gate of SIMD-0599.
const REMOVE_INACTIVE_STAKES: Pubkey =
    Pubkey::from_str_const("RMsTKfD6hZnBhhNvgGBeKNrqCNkeoP3DYYxNtcuWtRg");

/// A delegation of one SOL that is effective since ever, or never was if it ends, with the credits that it
/// has observed.
fn delegated(until: u64, observed: u64) -> Account {
    let mut data = vec![0; 200];
    data[0] = 2;
    data[124..156].copy_from_slice(VOTER.as_ref());
    for (offset, number) in [(156, SOL), (164, until), (172, until), (188, observed)] {
        data[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
    }
    let lamports = SOL + RENT;
    Account { lamports, data, owner: stake::ID, ..Account::default() }
}

/// A vote account whose delegators receive a quarter of the fees of its blocks.
fn voter() -> Account {
    let mut data = vec![0; 3762];
    (data[0], data[144]) = (3, 1);
    data[100..132].copy_from_slice(key(2).as_ref());
    data[134..136].copy_from_slice(&7500_u16.to_le_bytes());
    Account { lamports: 100 * SOL, data, owner: vote::ID, ..Account::default() }
}

fn address(index: usize) -> Pubkey {
    let mut bytes = [9; 32];
    bytes[..8].copy_from_slice(&index.to_le_bytes());
    Pubkey::new_from_array(bytes)
}

/// Creates a cluster with slots of 200 ms and stakes at [`address`].
fn cluster(features: FeatureSet, stakes: impl IntoIterator<Item = Account>) -> (Forks, Arc<Bank>) {
    let genesis = Genesis { features, schedule: schedule(), ..Genesis::default() };
    let mut state = State::genesis(&genesis);
    state.set_account(VOTER, voter());
    state.set_account(PAYER, common::lamports(1000 * SOL));
    stakes.into_iter().enumerate().for_each(|(index, it)| state.set_account(address(index), it));
    let options = Options { slot_milliseconds: 200, ..Options::default() };
    let forks = Forks::new(state, Arc::new(ProgramCache::new()), options);
    let bank = forks.new_bank(0, 1).unwrap();
    (forks, bank)
}

/// Lets the vote account earn lamports in the bank's epoch.
fn earn(bank: &Bank, lamports: u64) {
    let mut account = bank.get_account(&VOTER).unwrap().unwrap();
    let mut vote = VoteAccount::read(&VOTER, account.data()).unwrap();
    vote.add_credits(bank.slot() / SLOTS_PER_EPOCH, lamports, Some(0));
    account.set_data_from_slice(&vote.write(account.data().len()).unwrap());
    bank.set_account(VOTER, account).unwrap();
}

fn is_active(bank: &Bank) -> bool {
    bank.get_account(&sysvar::epoch_rewards::ID).unwrap().unwrap().data()[80] == 1
}

#[test]
fn every_partition_is_paid_once_whichever_blocks_count() {
    const STAKES: usize = 4200;
    let (forks, bank) = cluster(FeatureSet::mainnet(), vec![delegated(u64::MAX, 0); STAKES]);
    let bank = until(&forks, &bank, SLOTS_PER_EPOCH + 1);
    earn(&bank, STAKES as u64 * 1000);
    let first = until(&forks, &bank, 2 * SLOTS_PER_EPOCH);
    first.freeze().unwrap();
    assert_eq!(first.reward_partitions(), Some(3));
    let paid = |bank: &Bank| (0..STAKES).map(|it| balance(bank, &address(it)) - RENT - SOL).sum();
    for (index, counting) in (0..).zip([0b000, 0b001, 0b010, 0b011, 0b110, 0b111]) {
        let (mut bank, mut sums) = (Arc::clone(&first), Vec::<u64>::new());
        for block in 0..4 {
            let step = Step { counts: counting >> block & 1 == 1, ..Step::default() };
            let options = BankOptions { step, ..BankOptions::default() };
            let slot = bank.slot() + 1 + if block == 0 { 4 * index } else { 0 };
            bank = forks.new_bank_with(bank.slot(), slot, &options).unwrap();
            bank.freeze().unwrap();
            sums.push(paid(&bank));
            assert_eq!(is_active(&bank), block < 2, "{counting:03b}");
        }
        let [one, two, three, four] = sums[..] else { panic!("{sums:?}") };
        assert!(0 < one && one < two && two < three && three == four, "{counting:03b}: {sums:?}");
        assert_eq!(three, STAKES as u64 * 1000);
    }
}

#[test]
fn stakes_that_are_inactive_are_left_alone_once_their_gate_is_active() {
    // Before SIMD-0599 their observed credits are reset if the vote account has fewer of them.
    let observed = |has_gate: bool| {
        let stakes = [delegated(u64::MAX, 0), delegated(0, 5000)];
        let (forks, bank) = cluster(FeatureSet::mainnet(), stakes);
        if has_gate {
            bank.set_account(REMOVE_INACTIVE_STAKES, pending()).unwrap();
        }
        let bank = until(&forks, &bank, 2 * SLOTS_PER_EPOCH + 1);
        let before = [0, 1].map(|it| balance(&bank, &address(it)));
        earn(&bank, 1000);
        let bank = until(&forks, &bank, 3 * SLOTS_PER_EPOCH + 2);
        let observed = |it: usize| {
            let account = bank.get_account(&address(it)).unwrap().unwrap();
            u64::from_le_bytes(*account.data()[188..].first_chunk().unwrap())
        };
        assert_eq!(balance(&bank, &address(0)) - before[0], 1000);
        assert_eq!(balance(&bank, &address(1)), before[1]);
        [observed(0), observed(1)]
    };
    assert_eq!(observed(false), [1000, 0]);
    assert_eq!(observed(true), [1000, 5000]);
}

#[test]
fn delegators_receive_their_part_of_fees_with_the_rewards() {
    let features = FeatureSet::mainnet().with(Feature::BlockRevenueSharing);
    let (forks, bank) = cluster(features, [delegated(u64::MAX, 0), delegated(u64::MAX, 0)]);
    let bank = until(&forks, &bank, SLOTS_PER_EPOCH + 1);
    // The collector of the leader's vote account must be rent-exempt.
    bank.set_account(key(2), common::lamports(SOL)).unwrap();
    let send = |bank: &Bank, lamports: u64| {
        let transaction = transaction(bank, &[transfer(PAYER, key(3), lamports)]);
        bank.process(&transaction, &OPTIONS).unwrap().unwrap();
    };
    (0..4).for_each(|it| send(&bank, SOL + it));
    let before = balance(&bank, &VOTER);
    let capitalization =
        |bank: &Bank| bank.accounts().unwrap().iter().map(|(_, it)| it.lamports()).sum::<u64>();
    bank.freeze_with_footer(&Footer { leader: VOTER, ..Footer::default() }).unwrap();
    // Four fees of 5,000 lamports, of which half is burned.
    assert_eq!(balance(&bank, &key(2)), SOL + 7500);
    assert_eq!(balance(&bank, &VOTER), before + 2500);
    let rewards = bank.rewards();
    let rewards: Vec<_> = rewards.iter().map(|it| (it.address, it.kind, it.lamports)).collect();
    assert_eq!(rewards, [(key(2), RewardKind::Fee, 7500), (VOTER, RewardKind::Fee, 2500)]);
    let next = forks.new_bank(bank.slot(), bank.slot() + 1).unwrap();
    let last = until(&forks, &next, 2 * SLOTS_PER_EPOCH - 1);
    last.freeze().unwrap();
    let first = forks.new_bank(last.slot(), last.slot() + 1).unwrap();
    first.freeze().unwrap();
    let admission = before + 2500 - balance(&first, &VOTER) - 2500;
    assert_eq!(admission, 800_000_000, "the fees are gone as well");
    let held = balance(&first, &sysvar::epoch_rewards::ID);
    assert_eq!(held, balance(&last, &sysvar::epoch_rewards::ID) + 2500);
    let second = forks.new_bank(first.slot(), first.slot() + 1).unwrap();
    second.freeze().unwrap();
    assert_eq!([0, 1].map(|it| balance(&second, &address(it))), [SOL + RENT + 1250; 2]);
    assert_eq!(balance(&second, &sysvar::epoch_rewards::ID), held - 2500);
    assert_eq!(capitalization(&second), capitalization(&first));
}
