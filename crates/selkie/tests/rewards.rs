//! Alpenglow and rewards as a user's tests see them: a lockup with a deadline in seconds, and delegations
//! over five epochs.

use selkie::{
    Account, AccountMeta, Feature, Instruction, InstructionError, Pubkey, Signer, Svm, ids, keypair,
};

const SOL: u64 = 1_000_000_000;
/// The stake besides that of stake accounts.
const MAINNET: u64 = 400_000_000 * SOL;

#[path = "../examples/lockup.rs"]
mod lockup;

#[test]
fn a_lockup_ends_with_the_block_after_its_deadline() {
    lockup::main().unwrap();
}

#[test]
fn a_clock_that_was_set_goes_on_from_there() {
    let mut svm = Svm::new();
    svm.warp_by_slots(2);
    let mut clock = svm.clock();
    clock.unix_timestamp = 2_000_000_000;
    svm.set_clock(&clock);
    svm.warp_by_slots(5);
    assert_eq!(svm.clock().unix_timestamp, 2_000_000_001);
    // A time that has no nanoseconds stays.
    clock.unix_timestamp = i64::MAX;
    clock.slot = svm.slot();
    svm.set_clock(&clock);
    svm.warp_by_slots(5);
    assert_eq!(svm.clock().unix_timestamp, i64::MAX);
}

/// Sets a vote account with a BLS key, and a commission in basis points.
fn vote_account(svm: &mut Svm, name: &str, commission: u16) -> Pubkey {
    let key = keypair(name).pubkey();
    let mut data = vec![0; 3762];
    data[0] = 3;
    data[68..100].copy_from_slice(key.as_ref());
    data[132..134].copy_from_slice(&commission.to_le_bytes());
    data[144] = 1;
    let owner = ids::vote::ID;
    let account = Account { lamports: 100 * SOL, data, owner, ..Account::default() };
    svm.set_account(key, account).unwrap();
    key
}

/// Sets a stake account that is delegated since the current epoch.
fn stake_account(svm: &mut Svm, name: &str, vote: &Pubkey, amount: u64) -> Pubkey {
    let key = keypair(name).pubkey();
    let mut data = vec![0; 200];
    data[0] = 2;
    data[124..156].copy_from_slice(vote.as_ref());
    for (offset, number) in [(156, amount), (164, svm.epoch()), (172, u64::MAX)] {
        data[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
    }
    let lamports = svm.minimum_balance_for_rent_exemption(data.len()) + amount;
    let account = Account { lamports, data, owner: ids::stake::ID, ..Account::default() };
    svm.set_account(key, account).unwrap();
    key
}

fn number(svm: &Svm, key: &Pubkey, offset: usize) -> u64 {
    u64::from_le_bytes(svm.account(key).unwrap().data[offset..offset + 8].try_into().unwrap())
}

#[test]
fn delegations_earn_what_their_vote_account_did() {
    let mut svm = Svm::new();
    let vote = vote_account(&mut svm, "vote", 1000);
    let [small, large] = [("small", 100), ("large", 300)]
        .map(|(name, amount)| stake_account(&mut svm, name, &vote, amount * SOL));
    svm.warp_to_epoch(1).unwrap();
    let mut stakes = [100 * SOL, 300 * SOL];
    let (mut credits, mut balance) = (0, svm.balance(&vote));
    for epoch in 1..=5 {
        let earned = 1_000_003 * epoch;
        svm.increment_vote_account_credits(&vote, earned).unwrap();
        credits += earned;
        svm.warp_to_epoch(epoch + 1).unwrap();
        let sum: u64 = stakes.iter().sum();
        balance -= SOL * 8 / 10;
        for stake in &mut stakes {
            let share = u128::from(earned) * u128::from(*stake) / u128::from(sum);
            let reward = u64::try_from(share * 9000 / 10_000).unwrap();
            balance += u64::try_from(share).unwrap() - reward;
            *stake += reward;
        }
        for (key, stake) in [small, large].iter().zip(stakes) {
            assert_eq!(number(&svm, key, 156), stake, "epoch {epoch}");
            assert_eq!(number(&svm, key, 188), credits);
            let rent = svm.minimum_balance_for_rent_exemption(200);
            assert_eq!(svm.balance(key), stake + rent);
        }
        assert_eq!(svm.balance(&vote), balance);
    }
    let rewards = svm.sysvar(&ids::sysvar::epoch_rewards::ID).unwrap();
    assert_eq!((rewards[48..64].to_vec(), rewards[80]), (vec![0; 16], 0), "no points, all is paid");
}

#[test]
fn a_validator_that_votes_in_every_slot_earns_its_share_of_the_inflation() {
    let mut svm = Svm::new();
    let vote = vote_account(&mut svm, "vote", 0);
    let stake = stake_account(&mut svm, "stake", &vote, 1_000_000 * SOL);
    svm.warp_to_epoch(1).unwrap();
    svm.warp_to_epoch(2).unwrap();
    svm.vote_for_slots(&vote, 432_000).unwrap();
    svm.warp_to_epoch(3).unwrap();
    let reward = number(&svm, &stake, 156) - 1_000_000 * SOL;
    // 8 % a year of the stake in an epoch of a day, to a thousandth.
    let expected = 1_000_000 * SOL / 100 * 8 / 365;
    assert!(reward.abs_diff(expected) < expected / 500, "{reward} {expected}");
}

/// SIMD-0357; `solana-runtime` 3.1 rewards all vote accounts.
#[test]
fn vote_accounts_need_a_bls_key_once_the_gate_of_tickets_is_active() {
    for is_active in [true, false] {
        let mut svm = Svm::new().with_alpenglow(false);
        if !is_active {
            svm.deactivate_feature(Feature::ValidatorAdmissionTicket);
        }
        let vote = vote_account(&mut svm, "vote", 0);
        let mut account = svm.account(&vote).unwrap();
        account.data[144] = 0;
        svm.set_account(vote, account).unwrap();
        let stake = stake_account(&mut svm, "stake", &vote, 100 * SOL);
        svm.warp_to_epoch(1).unwrap();
        svm.increment_vote_account_credits(&vote, 1).unwrap();
        svm.warp_to_epoch(2).unwrap();
        assert_eq!(number(&svm, &stake, 156) == 100 * SOL, is_active);
    }
}

#[test]
fn rewards_of_votes_are_split_by_points() {
    let mut svm = Svm::new().with_alpenglow(false);
    let vote = vote_account(&mut svm, "vote", 500);
    let stake = stake_account(&mut svm, "stake", &vote, 1000 * SOL);
    svm.warp_to_epoch(1).unwrap();
    svm.vote_for_slots(&vote, 432_000).unwrap();
    svm.warp_to_epoch(2).unwrap();
    let rewards = svm.sysvar(&ids::sysvar::epoch_rewards::ID).unwrap();
    let points = u128::from_le_bytes(rewards[48..64].try_into().unwrap());
    let credits = 432_000_u128 * 16;
    assert_eq!(points, u128::from(MAINNET + 1000 * SOL) * credits);
    let inflation = u128::from(u64::from_le_bytes(rewards[64..72].try_into().unwrap()));
    let share = u128::from(1000 * SOL) * credits * inflation / points;
    let reward = u64::try_from(share * 9500 / 10_000).unwrap();
    assert_eq!(number(&svm, &stake, 156), 1000 * SOL + reward);
    assert_eq!(svm.balance(&vote), 100 * SOL + u64::try_from(share * 500 / 10_000).unwrap());
}

#[test]
fn votes_are_refused_after_the_migration() {
    let payer = keypair("payer");
    // TowerSync without lockouts: a root option, lengths and a timestamp option.
    let data = [&14_u32.to_le_bytes()[..], &[0xff; 8], &[0], &[0; 32], &[0], &[0; 32]].concat();
    let error = |svm: &mut Svm| {
        svm.airdrop(&payer.pubkey(), SOL).unwrap();
        let vote = vote_account(svm, "vote", 0);
        let accounts =
            vec![AccountMeta::new(vote, false), AccountMeta::new_readonly(payer.pubkey(), true)];
        let sync = Instruction { program_id: ids::vote::ID, accounts, data: data.clone() };
        svm.send_instructions(&[sync], &[&payer]).unwrap_err().instruction_error().cloned()
    };
    let mut svm = Svm::new().with_alpenglow(false);
    assert_ne!(error(&mut svm), Some(InstructionError::InvalidInstructionData));
    svm.migrate_to_alpenglow();
    svm.warp_by_slots(1);
    assert_eq!(error(&mut svm), Some(InstructionError::InvalidInstructionData));
}

#[path = "../examples/stake_pool.rs"]
mod stake_pool;

#[test]
fn a_stake_pool_earns_to_the_lamport() {
    stake_pool::main().unwrap();
}
