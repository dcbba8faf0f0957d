//! Stakes per epoch: warmup and cooldown, on forks and across many epochs at once.

mod common;

use std::collections::BTreeMap;

use common::{SLOTS_PER_EPOCH, SOL, forks, genesis, key, lamports, schedule, until};
use selkie_bank::{
    Bank, Certified, Footer, Genesis, StakeAccounts, Stakes, State, rewards::VoteRewards,
};
use selkie_builtins::vote_account::VoteAccount;
use selkie_svm::{
    Account, AccountSharedData, EpochStake, Feature, FeatureSet, Pubkey, ReadableAccount,
    sysvars::Rent,
};
use solana_sdk_ids::{stake, sysvar, vote};

const FOREVER: u64 = u64::MAX;

/// A delegation: amount, activation epoch, deactivation epoch.
#[derive(Clone, Copy, Debug)]
struct Delegated {
    voter: Pubkey,
    stake: u64,
    from: u64,
    until: u64,
}

impl Delegated {
    fn account(&self) -> Account {
        let mut data = vec![0; 200];
        data[0] = 2;
        data[124..156].copy_from_slice(self.voter.as_ref());
        for (offset, number) in [(156, self.stake), (164, self.from), (172, self.until)] {
            data[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
        }
        Account { data, owner: stake::ID, ..lamports(self.stake.saturating_add(SOL)) }
    }
}

/// Creates a vote account of the newest version, with or without a BLS key.
fn vote_account(has_key: bool) -> Account {
    let mut data = vec![0; 3762];
    data[0] = 3;
    data[144] = has_key.into();
    // Enough for the admission to many epochs.
    Account { data, owner: vote::ID, ..lamports(1000 * SOL) }
}

/// A deterministic pseudo-random number generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
        (self.0 >> 24) % end
    }
}

type Entry = [u64; 4];

/// Decodes a history, newest first: epoch, effective, activating, deactivating.
fn entries(history: &[u8]) -> Vec<Entry> {
    let (numbers, _) = history.as_chunks::<8>();
    let numbers: Vec<u64> = numbers.iter().map(|it| u64::from_le_bytes(*it)).collect();
    let count = usize::try_from(numbers[0]).unwrap();
    numbers[1..].as_chunks::<4>().0.iter().take(count).copied().collect()
}

fn history(bank: &Bank) -> Vec<Entry> {
    let sysvars = &bank.environment().sysvars;
    let data = sysvars.get(&sysvar::stake_history::ID).unwrap();
    let account = bank.get_account(&sysvar::stake_history::ID).unwrap().unwrap();
    assert_eq!(data, account.data());
    entries(data)
}

/// An independent implementation of the rule: each delegation remembers its effective stake, and
/// each epoch changes its share of it. No history is looked up.
struct Model {
    delegations: Vec<(Delegated, u64)>,
    additional: u64,
}

impl Model {
    /// Returns the entry of an epoch, and advances to the next one.
    fn end_epoch(&mut self, epoch: u64) -> Entry {
        let (mut effective, mut activating, mut deactivating) = (self.additional, 0, 0);
        for (it, now) in &self.delegations {
            let begins_and_ends = it.from == it.until && it.from != FOREVER;
            effective += now;
            if !begins_and_ends && it.from <= epoch && epoch < it.until {
                activating += it.stake - now;
            } else if it.until <= epoch {
                deactivating += now;
            }
        }
        let share = |part: u64, all: u64| {
            let allowed = u128::from(part) * u128::from(effective) * 9 / (u128::from(all) * 100);
            u64::try_from(allowed.clamp(1, part.into())).unwrap()
        };
        for (it, now) in &mut self.delegations {
            let begins_and_ends = it.from == it.until && it.from != FOREVER;
            if !begins_and_ends && it.from <= epoch && epoch < it.until && *now < it.stake {
                *now += share(it.stake - *now, activating);
            } else if it.until <= epoch && *now > 0 {
                *now -= share(*now, deactivating);
            }
        }
        [epoch, effective, activating, deactivating]
    }
}

fn some_delegations(numbers: &mut Numbers, voters: &[Pubkey]) -> Vec<Delegated> {
    let mut all = vec![];
    for _ in 0..=numbers.below(12) {
        let from = if numbers.below(5) == 0 { FOREVER } else { numbers.below(8) };
        let until = match numbers.below(3) {
            0 => FOREVER,
            1 if from != FOREVER => from + numbers.below(6),
            _ => 3 + numbers.below(8),
        };
        // Deactivation cannot precede activation.
        let until = if from == FOREVER { until } else { until.max(from) };
        let voter = voters[usize::try_from(numbers.below(3)).unwrap()];
        let digits = u32::try_from(numbers.below(17)).unwrap();
        let stake = numbers.below(10_u64.pow(digits + 1));
        all.push(Delegated { voter, stake, from, until });
    }
    all
}

fn state_of(delegations: &[Delegated]) -> State {
    let mut state = genesis();
    for (it, byte) in delegations.iter().zip(150..) {
        state.set_account(key(byte), it.account());
    }
    state.set_account(key(1), vote_account(true));
    state.set_account(key(2), vote_account(true));
    state.set_account(key(3), vote_account(false));
    state
}

fn first_of(forks: &selkie_bank::Forks, parent: &Bank, epoch: u64) -> std::sync::Arc<Bank> {
    parent.freeze().unwrap();
    forks.new_bank(parent.slot(), epoch * SLOTS_PER_EPOCH).unwrap()
}

#[test]
fn stake_warms_up_and_cools_down_as_in_a_simple_model() {
    let mut numbers = Numbers(1);
    let voters = [key(1), key(2), key(3)];
    for round in 0..60 {
        let delegations = some_delegations(&mut numbers, &voters);
        let additional = numbers.below(10_u64.pow(u32::try_from(round % 18).unwrap() + 1));
        let mut state = state_of(&delegations);
        state.stakes.additional.total = additional;
        let forks = forks(state);
        let begun = |it: &Delegated| if it.from == FOREVER { it.stake } else { 0 };
        let delegations = delegations.iter().map(|it| (*it, begun(it))).collect();
        let mut model = Model { delegations, additional };
        let mut bank = forks.new_bank(0, 1).unwrap();
        for epoch in 0..40 {
            let mut sums = BTreeMap::from([(key(1), 0), (key(2), 0)]);
            for (it, now) in &model.delegations {
                sums.entry(it.voter).and_modify(|sum| *sum += now);
            }
            // The stake that counts was effective at the start of the epoch.
            let stake = &bank.environment().epoch_stake;
            for (voter, sum) in &sums {
                let known = stake.vote_accounts.get(voter).copied().unwrap_or(0);
                assert_eq!(known, *sum, "{round} {epoch}");
            }
            assert_eq!(stake.total, additional + sums.values().sum::<u64>());
            assert_eq!(stake.vote_accounts.get(&key(3)), None, "it has no BLS key");
            let expected = model.end_epoch(epoch);
            bank = first_of(&forks, &bank, epoch + 1);
            assert_eq!(history(&bank)[0], expected, "{round}: {:?}", model.delegations);
        }
        assert_eq!(history(&bank).len(), 40);
    }
}

/// A cluster of `testdata/stakes/history.txt`.
struct Known {
    features: FeatureSet,
    additional: u64,
    delegations: Vec<Delegated>,
    entries: Vec<Entry>,
}

fn known_clusters() -> Vec<Known> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/stakes/history.txt");
    let text = std::fs::read_to_string(file).unwrap();
    let mut clusters: Vec<Known> = vec![];
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |index: usize| match words[index] {
            "-" => FOREVER,
            number => number.parse().unwrap(),
        };
        match words[0] {
            "cluster" => {
                let features = match words[1] {
                    "fixed" => FeatureSet::mainnet(),
                    _ => FeatureSet::mainnet().without(Feature::UpgradeBpfStakeProgramToV5_1),
                };
                let (delegations, entries) = (vec![], vec![]);
                clusters.push(Known { features, additional: number(2), delegations, entries });
            }
            "delegation" => {
                let (stake, from, until) = (number(1), number(2), number(3));
                let delegated = Delegated { voter: key(1), stake, from, until };
                clusters.last_mut().unwrap().delegations.push(delegated);
            }
            _ => clusters.last_mut().unwrap().entries.push([0, 1, 2, 3].map(number)),
        }
    }
    clusters
}

#[test]
fn stake_histories_equal_agaves() {
    let clusters = known_clusters();
    assert_eq!(clusters.len(), 12);
    for Known { features, additional, delegations, entries: expected } in clusters {
        let mut state = state_of(&delegations);
        state.features = features;
        state.stakes.additional.total = additional;
        let forks = forks(state);
        let mut bank = forks.new_bank(0, 1).unwrap();
        for entry in expected {
            bank = first_of(&forks, &bank, entry[0] + 1);
            assert_eq!(history(&bank)[0], entry, "{delegations:?}");
        }
    }
}

#[test]
fn passing_epochs_at_once_equals_one_bank_per_epoch() {
    for Known { features, additional, delegations, .. } in known_clusters() {
        let mut state = state_of(&delegations);
        state.features = features;
        state.stakes.additional.total = additional;
        let rent = state_rent(&state);
        let mut stakes =
            Stakes::constant(EpochStake { total: additional, ..EpochStake::default() }, 0..=0);
        let accounts = || {
            StakeAccounts::new(state.accounts.iter().map(|(key, it)| (key, it)), features, &rent, 0)
        };
        let slots = 1..20 * SLOTS_PER_EPOCH;
        let at_once = stakes.pass(&accounts(), &[], &schedule(), slots).unwrap();
        let forks = forks(state.clone());
        let first = forks.new_bank(0, 1).unwrap();
        let bank = (1..=20).fold(first, |bank, epoch| first_of(&forks, &bank, epoch));
        assert_eq!(history(&bank), entries(&at_once));
        assert_eq!(bank.environment().epoch_stake, *stakes.of(20));
        bank.freeze().unwrap();
        let noted = bank.export().unwrap().stakes;
        assert_eq!(noted.epochs.get(&21), stakes.epochs.get(&21));
    }
}

fn state_rent(state: &State) -> Rent {
    let forks = forks(state.clone());
    forks.root().environment().rent()
}

/// Leader schedules may be computed in the middle of an epoch.
#[test]
fn epoch_stakes_are_recorded_when_leader_schedules_are_computed() {
    let schedule = selkie_svm::sysvars::EpochSchedule::custom(32, 8, false);
    let bootstrap = |stake| Delegated { voter: key(1), stake, from: FOREVER, until: FOREVER };
    let mut state = State::genesis(&Genesis { schedule: schedule.clone(), ..Genesis::default() });
    state.set_account(key(1), vote_account(true));
    state.set_account(key(150), bootstrap(SOL).account());
    let forks = forks(state.clone());
    let bank = forks.new_bank(0, 20).unwrap();
    bank.set_account(key(150), bootstrap(2 * SOL).account()).unwrap();
    bank.freeze().unwrap();
    // The leader schedule of epoch 1 is computed in slot 24.
    let bank = forks.new_bank(20, 25).unwrap();
    bank.set_account(key(150), bootstrap(3 * SOL).account()).unwrap();
    bank.freeze().unwrap();
    let bank = forks.new_bank(25, 33).unwrap();
    assert_eq!(bank.environment().epoch_stake.total, 2 * SOL);

    let stake_accounts = |sol: u64| {
        let account: AccountSharedData = bootstrap(sol * SOL).account().into();
        let vote: AccountSharedData = vote_account(true).into();
        let accounts = [(&key(1), &vote), (&key(150), &account)];
        StakeAccounts::new(accounts, FeatureSet::mainnet(), &Rent::default(), 0)
    };
    let mut stakes = Stakes::default();
    stakes.pass(&stake_accounts(1), &[], &schedule, 1..20);
    stakes.pass(&stake_accounts(2), &[], &schedule, 20..25);
    assert_eq!(stakes.pass(&stake_accounts(9), &[], &schedule, 25..26), None);
    stakes.pass(&stake_accounts(3), &[], &schedule, 26..33);
    assert_eq!(stakes.of(1).total, 2 * SOL);
    stakes.pass(&stake_accounts(4), &[], &schedule, 33..100);
    assert_eq!((stakes.of(2).total, stakes.of(3).total), (4 * SOL, 4 * SOL));
}

#[test]
fn many_epochs_at_once_equal_single_epochs() {
    let mut numbers = Numbers(2);
    let schedule = schedule();
    for round in 0..20 {
        let delegations = some_delegations(&mut numbers, &[key(1), key(2), key(3)]);
        let state = state_of(&delegations);
        let rent = Rent::default();
        let mut features = FeatureSet::mainnet();
        if round % 5 == 0 {
            features = features.without(Feature::UpgradeBpfStakeProgramToV5_1);
        }
        let accounts = || {
            StakeAccounts::new(state.accounts.iter().map(|(key, it)| (key, it)), features, &rent, 0)
        };
        let total = numbers.below(1000 * SOL);
        let start = Stakes::constant(EpochStake { total, ..EpochStake::default() }, 0..=1);
        let epochs = [3, 40, 600, 1300][usize::try_from(numbers.below(4)).unwrap()];
        let last = epochs * SLOTS_PER_EPOCH + numbers.below(SLOTS_PER_EPOCH);
        let mut at_once = start.clone();
        let history_at_once = at_once.pass(&accounts(), &[], &schedule, 1..last).unwrap();
        let (mut stepwise, mut history, mut slot) = (start, vec![], 1);
        while slot < last {
            let next = (slot + 1 + numbers.below(2 * SLOTS_PER_EPOCH)).min(last);
            history =
                stepwise.pass(&accounts(), &history, &schedule, slot..next).unwrap_or(history);
            slot = next;
        }
        assert_eq!(entries(&history), entries(&history_at_once), "{round}");
        assert_eq!(stepwise, at_once);
        assert_eq!(entries(&history).len() as u64, epochs.min(512));
    }
}

#[test]
fn passing_a_huge_number_of_epochs_terminates() {
    let later = |from, until| Delegated { voter: key(1), stake: 70 * SOL, from, until };
    let delegations = [later(0, FOREVER), later(5_000_000, 9_000_000_000), later(2, 700)];
    let state = state_of(&delegations);
    let rent = Rent::default();
    let accounts = || {
        let accounts = state.accounts.iter().map(|(key, it)| (key, it));
        StakeAccounts::new(accounts, FeatureSet::mainnet(), &rent, 0)
    };
    let mut stakes = Stakes::default();
    let slots = 0..10_000_000_000 * SLOTS_PER_EPOCH;
    let history = stakes.pass(&accounts(), &[], &schedule(), slots).unwrap();
    assert_eq!(entries(&history)[0], [9_999_999_999, 70 * SOL, 0, 0]);
    assert_eq!(stakes.of(10_000_000_000).vote_accounts[&key(1)], 70 * SOL);
    let slots = 10_000_000_000 * SLOTS_PER_EPOCH..u64::MAX;
    assert_eq!(
        entries(&stakes.pass(&accounts(), &history, &schedule(), slots).unwrap()).len(),
        512
    );
}

#[test]
fn missing_epochs_of_the_history_are_filled_in() {
    let mut stakes = Stakes::constant(EpochStake { total: 7, ..EpochStake::default() }, 0..=1);
    let no_accounts = || StakeAccounts::new([], FeatureSet::mainnet(), &Rent::default(), 0);
    let slots = 100 * SLOTS_PER_EPOCH..101 * SLOTS_PER_EPOCH;
    let history = stakes.pass(&no_accounts(), &[], &schedule(), slots).unwrap();
    let epochs: Vec<u64> = entries(&history).iter().map(|entry| entry[0]).collect();
    assert!(epochs.into_iter().eq((0..=100).rev()));
    // A longer gap is filled in only as far as the history reaches.
    let slots = 5_000_000 * SLOTS_PER_EPOCH..5_000_001 * SLOTS_PER_EPOCH;
    let long = stakes.pass(&no_accounts(), &history, &schedule(), slots).unwrap();
    let epochs: Vec<u64> = entries(&long).iter().map(|entry| entry[0]).collect();
    assert!(epochs.into_iter().eq((4_999_489..=5_000_000).rev()));
    let known = Stakes::constant(EpochStake::default(), 7..=u64::MAX).epochs;
    assert!(known.into_keys().eq(u64::MAX - 4..=u64::MAX));
    // Within an epoch no accounts are read.
    let slots = 5_000_001 * SLOTS_PER_EPOCH..5_000_002 * SLOTS_PER_EPOCH - 1;
    assert_eq!(stakes.pass(&no_accounts(), &long, &schedule(), slots), None);
}

#[test]
fn forks_have_separate_stakes() {
    let delegated = Delegated { voter: key(1), stake: 40 * SOL, from: 0, until: FOREVER };
    let mut state = state_of(&[delegated]);
    state.stakes.additional.total = 1000 * SOL;
    let forks = forks(state);
    let parent = forks.new_bank(0, 1).unwrap();
    parent.freeze().unwrap();
    let [left, right] = [2, 3].map(|slot| forks.new_bank(1, slot).unwrap());
    let ended = Delegated { until: 0, ..delegated };
    right.set_account(key(150), ended.account()).unwrap();
    let left = first_of(&forks, &left, 1);
    right.freeze().unwrap();
    let right = forks.new_bank(3, SLOTS_PER_EPOCH + 1).unwrap();
    assert_eq!(history(&left), [[0, 1000 * SOL, 40 * SOL, 0]]);
    assert_eq!(history(&right), [[0, 1000 * SOL, 0, 0]]);
    left.freeze().unwrap();
    right.freeze().unwrap();
    let left = forks.new_bank(left.slot(), 2 * SLOTS_PER_EPOCH).unwrap();
    let right = forks.new_bank(right.slot(), 2 * SLOTS_PER_EPOCH + 1).unwrap();
    let stake = |bank: &Bank| bank.environment().epoch_stake.total;
    assert_eq!((stake(&left), stake(&right)), (1040 * SOL, 1000 * SOL));
}

#[test]
fn imported_banks_continue_with_the_same_stakes() {
    let delegated = Delegated { voter: key(1), stake: 400 * SOL, from: 0, until: FOREVER };
    let bootstrap = Delegated { stake: 1000 * SOL, from: FOREVER, ..delegated };
    let forks = forks(state_of(&[delegated, bootstrap]));
    let mut bank = forks.new_bank(0, 1).unwrap();
    for epoch in 1..8 {
        bank.freeze().unwrap();
        let state = bank.export().unwrap();
        let other = common::forks(state.clone());
        assert_eq!(other.root().export().unwrap().stakes, state.stakes);
        let there = first_of(&other, &other.root(), epoch);
        bank = first_of(&forks, &bank, epoch);
        assert_eq!(history(&bank), history(&there));
        assert_eq!(bank.environment().epoch_stake, there.environment().epoch_stake);
    }
    assert_eq!(bank.environment().epoch_stake.total, 1400 * SOL);
}

#[test]
fn a_bank_that_skips_epochs_has_the_stakes_of_one_bank_per_epoch() {
    for Known { features, additional, delegations, .. } in known_clusters() {
        for last in [2, 3, 20] {
            let mut state = state_of(&delegations);
            state.features = features;
            state.stakes.additional.total = additional;
            let forks = forks(state);
            let first = forks.new_bank(0, 1).unwrap();
            let jumped = first_of(&forks, &first, last);
            let state = first.export().unwrap();
            let forks = common::forks(state);
            let first = forks.root();
            let walked = (1..=last).fold(first, |bank, epoch| first_of(&forks, &bank, epoch));
            assert_eq!(history(&jumped), history(&walked));
            assert_eq!(history(&jumped).len() as u64, last);
            assert_eq!(jumped.environment().epoch_stake, walked.environment().epoch_stake);
            assert_eq!(jumped.stakes(), walked.stakes());
        }
    }
}

#[test]
fn only_rent_exempt_vote_accounts_with_a_bls_key_count() {
    let to = |voter| Delegated { voter, stake: 5 * SOL, from: FOREVER, until: FOREVER };
    let mut state = state_of(&[to(key(1)), to(key(3)), to(key(4)), to(key(5)), to(key(6))]);
    state.set_account(key(5), Account { lamports: 1, ..vote_account(true) });
    state.set_account(key(6), Account { owner: key(9), ..vote_account(true) });
    // Accounts that are not delegations do not count.
    let mut short = to(key(1)).account();
    short.data.truncate(196);
    state.set_account(key(170), short);
    let mut initialized = to(key(1)).account();
    initialized.data[0] = 1;
    state.set_account(key(171), initialized);
    let forks = forks(state);
    let bank = first_of(&forks, &forks.new_bank(0, 1).unwrap(), 1);
    let expected = EpochStake { total: 5 * SOL, vote_accounts: [(key(1), 5 * SOL)].into() };
    assert_eq!(bank.environment().epoch_stake, expected);
    assert_eq!(history(&bank), [[0, 25 * SOL, 0, 0]], "in the history all count");
}

#[test]
fn the_smallest_of_too_many_vote_accounts_do_not_count() {
    let voter = |number: u64| {
        let mut bytes = [9; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        Pubkey::new_from_array(bytes)
    };
    let mut accounts: Vec<(Pubkey, AccountSharedData)> = vec![];
    for number in 0..2003 {
        accounts.push((voter(number), vote_account(true).into()));
        let stake = 1 + number / 3;
        let to = Delegated { voter: voter(number), stake, from: FOREVER, until: FOREVER };
        accounts.push((voter(number + 10_000), to.account().into()));
    }
    let read = || {
        let accounts = accounts.iter().map(|(key, it)| (key, it));
        StakeAccounts::new(accounts, FeatureSet::mainnet(), &Rent::default(), 0)
    };
    let mut stakes = Stakes::default();
    stakes.pass(&read(), &[], &schedule(), 1..2);
    // The 2001st vote account, and all with the same or less stake, do not count.
    assert_eq!(stakes.of(1).vote_accounts.len(), 2000);
    accounts.truncate(2 * 2002);
    let mut stakes = Stakes::default();
    let read = || {
        let accounts = accounts.iter().map(|(key, it)| (key, it));
        StakeAccounts::new(accounts, FeatureSet::mainnet(), &Rent::default(), 0)
    };
    stakes.pass(&read(), &[], &schedule(), 1..2);
    assert_eq!(stakes.of(1).vote_accounts.len(), 2002 - 3);
}

#[test]
fn the_certificates_of_a_footer_change_vote_accounts() {
    let [one, other] = [key(50), key(51)];
    let stake = EpochStake { total: 1000 * SOL, vote_accounts: [(one, 250 * SOL)].into() };
    let genesis = Genesis { schedule: schedule(), stake, ..Genesis::default() };
    let start = genesis.unix_timestamp;
    let mut state = State::genesis(&genesis);
    let mut data = vec![0; 3762];
    (data[0], data[144]) = (3, 1);
    let account = Account { lamports: 100 * SOL, data, owner: vote::ID, ..Account::default() };
    [one, other].into_iter().for_each(|key| state.set_account(key, account.clone()));
    let forks = forks(state);
    let vote = |bank: &Bank, key: Pubkey| {
        let account = bank.get_account(&key).unwrap().unwrap();
        VoteAccount::read(&key, account.data()).unwrap()
    };
    // Slot 41 is in epoch 1, in which there is inflation, and ends 8.2 seconds after the start.
    let bank = until(&forks, &forks.new_bank(0, 1).unwrap(), 41);
    let mut expected = [one, other].map(|key| vote(&bank, key));
    let footer = Footer {
        leader: other,
        rewarded: Some(Certified { slot: 33, voters: [one].into() }),
        finalized: Some(Certified { slot: 40, voters: [one, other].into() }),
        ..Footer::default()
    };
    bank.freeze_with_footer(&footer).unwrap();
    let inflation = VoteRewards::read(&*bank).unwrap().of(1).unwrap();
    let earned = inflation.lamports / 4 / 32;
    expected[0].record_vote(33, start + 6);
    expected[0].add_credits(1, earned / 2, Some(0));
    expected[1].add_credits(1, earned - earned / 2, Some(0));
    for vote in &mut expected {
        vote.record_root(40);
        vote.record_vote(40, start + 8);
    }
    assert_eq!([one, other].map(|key| vote(&bank, key)), expected);
    assert!(earned > 0 && expected[1].credits() > 0);
}
