//! Stake per epoch, with mainnet's stake program.

use selkie::{
    AccountMeta, Clock, EpochStake, FailedTransaction, Instruction, InstructionError, Keypair,
    Pubkey, Signer, StakeHistory, StakeHistoryEntry, Svm, TransactionError, address, ids, keypair,
    system,
};

const SOL: u64 = 1_000_000_000;
/// The default additional stake.
const MAINNET: u64 = 400_000_000 * SOL;
const STAKE_BYTES: usize = 200;
const VOTE_BYTES: usize = 3762;

/// `StakeError`: the account is warming up or cooling down.
const MERGE_TRANSIENT_STAKE: u32 = 5;

fn staker() -> Keypair {
    keypair("staker")
}

/// Returns a chain with a staker and a vote account with a BLS key.
fn cluster() -> Svm {
    let mut svm = Svm::new();
    svm.airdrop(&staker().pubkey(), 1_000_000 * SOL).unwrap();
    let vote = keypair("vote");
    // Each epoch costs it 0.8 SOL.
    let lamports = svm.minimum_balance_for_rent_exemption(VOTE_BYTES) + 100_000 * SOL;
    let payer = staker().pubkey();
    let create =
        system::create_account(&payer, &vote.pubkey(), lamports, VOTE_BYTES as u64, &ids::vote::ID);
    let mut data = vec![0; 4];
    (0..3).for_each(|_| data.extend(payer.as_ref()));
    data.push(10);
    let accounts = vec![
        AccountMeta::new(vote.pubkey(), false),
        AccountMeta::new_readonly(ids::sysvar::rent::ID, false),
        AccountMeta::new_readonly(ids::sysvar::clock::ID, false),
        AccountMeta::new_readonly(payer, true),
    ];
    let initialize = Instruction { program_id: ids::vote::ID, accounts, data };
    svm.send_instructions(&[create, initialize], &[&staker(), &vote]).unwrap();
    give_key(&mut svm, &vote.pubkey());
    svm
}

/// Sets the BLS key of a vote account: an option at offset 144 that was `None`.
fn give_key(svm: &mut Svm, vote: &Pubkey) {
    let mut account = svm.account(vote).unwrap();
    assert_eq!((account.data[0], account.data[144]), (3, 0));
    account.data[144] = 1;
    account.data.splice(145..145, [7; 48]);
    account.data.truncate(VOTE_BYTES);
    svm.set_account(*vote, account).unwrap();
}

fn instruct(number: u32, rest: &[u8], accounts: &[Pubkey]) -> Instruction {
    let writable = |key: &Pubkey| {
        let is_read = [ids::sysvar::clock::ID, ids::sysvar::stake_history::ID];
        !is_read.contains(key) && *key != keypair("vote").pubkey()
    };
    let mut accounts: Vec<AccountMeta> = accounts
        .iter()
        .map(|key| AccountMeta { pubkey: *key, is_signer: false, is_writable: writable(key) })
        .collect();
    accounts.push(AccountMeta::new_readonly(staker().pubkey(), true));
    let data = [&number.to_le_bytes()[..], rest].concat();
    Instruction { program_id: ids::stake::ID, accounts, data }
}

fn send(svm: &mut Svm, instruction: Instruction) -> Result<(), TransactionError> {
    let sent = svm.send_instructions(&[instruction], &[&staker()]);
    sent.map(|_| ()).map_err(|failed: FailedTransaction| failed.error)
}

/// Creates a stake account with `lamports` to delegate.
fn create(svm: &mut Svm, name: &str, lamports: u64) -> Pubkey {
    let account = keypair(name);
    let (payer, key) = (staker().pubkey(), account.pubkey());
    let lamports = lamports + svm.minimum_balance_for_rent_exemption(STAKE_BYTES);
    let create =
        system::create_account(&payer, &key, lamports, STAKE_BYTES as u64, &ids::stake::ID);
    let rest = [payer.as_ref(), payer.as_ref(), &[0; 48]].concat();
    let accounts =
        vec![AccountMeta::new(key, false), AccountMeta::new_readonly(ids::sysvar::rent::ID, false)];
    let data = [&[0; 4][..], &rest].concat();
    let initialize = Instruction { program_id: ids::stake::ID, accounts, data };
    svm.send_instructions(&[create, initialize], &[&staker(), &account]).unwrap();
    key
}

fn delegate(svm: &mut Svm, stake: Pubkey) {
    let accounts = [
        stake,
        keypair("vote").pubkey(),
        ids::sysvar::clock::ID,
        ids::sysvar::stake_history::ID,
        // The former stake config account, which is not read.
        ids::sysvar::clock::ID,
    ];
    send(svm, instruct(2, &[], &accounts)).unwrap();
}

fn delegated(svm: &mut Svm, name: &str, lamports: u64) -> Pubkey {
    let stake = create(svm, name, lamports);
    delegate(svm, stake);
    stake
}

fn split(svm: &mut Svm, from: Pubkey, to: &str, lamports: u64) -> Pubkey {
    let (account, payer) = (keypair(to), staker().pubkey());
    let rent = svm.minimum_balance_for_rent_exemption(STAKE_BYTES);
    let key = account.pubkey();
    let create = system::create_account(&payer, &key, rent, STAKE_BYTES as u64, &ids::stake::ID);
    let split = instruct(3, &lamports.to_le_bytes(), &[from, key]);
    svm.send_instructions(&[create, split], &[&staker(), &account]).unwrap();
    key
}

fn deactivate(svm: &mut Svm, stake: Pubkey) {
    send(svm, instruct(5, &[], &[stake, ids::sysvar::clock::ID])).unwrap();
}

fn withdraw(svm: &mut Svm, stake: Pubkey, lamports: u64) -> Result<(), TransactionError> {
    let sysvars = [ids::sysvar::clock::ID, ids::sysvar::stake_history::ID];
    let accounts = [stake, keypair("purse").pubkey(), sysvars[0], sysvars[1]];
    send(svm, instruct(4, &lamports.to_le_bytes(), &accounts))
}

fn merge(svm: &mut Svm, into: Pubkey, from: Pubkey) -> Result<(), TransactionError> {
    let sysvars = [ids::sysvar::clock::ID, ids::sysvar::stake_history::ID];
    send(svm, instruct(7, &[], &[into, from, sysvars[0], sysvars[1]]))
}

fn move_stake(svm: &mut Svm, from: Pubkey, to: Pubkey, lamports: u64) {
    send(svm, instruct(16, &lamports.to_le_bytes(), &[from, to])).unwrap();
}

fn failed(error: InstructionError) -> Result<(), TransactionError> {
    Err(TransactionError::InstructionError(0, error))
}

/// Returns the stake history, newest first: epoch, effective, activating, deactivating.
fn history(svm: &Svm) -> Vec<[u64; 4]> {
    let data = svm.sysvar(&ids::sysvar::stake_history::ID).unwrap();
    assert_eq!(data, svm.account(&ids::sysvar::stake_history::ID).unwrap().data);
    assert_eq!(data.len(), 16_392, "as on mainnet");
    let entries = svm.stake_history();
    let numbers = |it: &StakeHistoryEntry| [it.effective, it.activating, it.deactivating];
    let line = |epoch, [one, two, three]: [u64; 3]| [epoch, one, two, three];
    entries.iter().map(|item| line(item.epoch, numbers(&item.entry))).collect()
}

/// Returns `sol_get_epoch_stake` of the cluster and of the vote account.
fn epoch_stake(svm: &Svm) -> (u64, u64) {
    let stake = &svm.environment().epoch_stake;
    let vote = stake.vote_accounts.get(&keypair("vote").pubkey());
    (stake.total, vote.copied().unwrap_or(0))
}

#[test]
fn stake_is_effective_one_epoch_after_delegation_and_free_one_after_deactivation() {
    let mut svm = cluster();
    let stake = delegated(&mut svm, "stake", 10 * SOL);
    svm.warp_to_epoch(1).unwrap();
    assert_eq!(history(&svm), [[0, MAINNET, 10 * SOL, 0]]);
    assert_eq!(epoch_stake(&svm), (MAINNET + 10 * SOL, 10 * SOL));
    svm.warp_to_epoch(2).unwrap();
    assert_eq!(history(&svm)[0], [1, MAINNET + 10 * SOL, 0, 0]);
    assert_eq!(epoch_stake(&svm), (MAINNET + 10 * SOL, 10 * SOL));
    let rest = svm.minimum_balance_for_rent_exemption(STAKE_BYTES);
    assert_eq!(withdraw(&mut svm, stake, 1), failed(InstructionError::InsufficientFunds));
    deactivate(&mut svm, stake);
    assert_eq!(withdraw(&mut svm, stake, 1), failed(InstructionError::InsufficientFunds));
    svm.warp_to_epoch(3).unwrap();
    assert_eq!(history(&svm)[0], [2, MAINNET + 10 * SOL, 0, 10 * SOL]);
    withdraw(&mut svm, stake, 10 * SOL + rest).unwrap();
    assert_eq!(
        (svm.balance(&keypair("purse").pubkey()), svm.account(&stake)),
        (10 * SOL + rest, None)
    );
    svm.warp_to_epoch(5).unwrap();
    assert_eq!(history(&svm)[..2], [[4, MAINNET, 0, 0], [3, MAINNET, 0, 0]]);
    assert_eq!(epoch_stake(&svm), (MAINNET, 0));
}

#[test]
fn stake_warms_up_by_nine_percent_per_epoch() {
    let mut svm =
        cluster().with_epoch_stake(EpochStake { total: 1000 * SOL, ..EpochStake::default() });
    let stake = delegated(&mut svm, "stake", 200 * SOL);
    let other = delegated(&mut svm, "other", 100 * SOL);
    svm.warp_to_epoch(4).unwrap();
    // 90 SOL warm up in epoch 1, 9 % of 1090 in epoch 2, 9 % of 1188.1 in epoch 3.
    let expected = [
        [3, 1_295_029_000_000, 4_971_000_000, 0],
        [2, 1_188_100_000_000, 111_900_000_000, 0],
        [1, 1_090_000_000_000, 210_000_000_000, 0],
        [0, 1_000_000_000_000, 300_000_000_000, 0],
    ];
    let close = |entries: &[[u64; 4]], expected: &[[u64; 4]]| {
        assert_eq!(entries.len(), expected.len());
        let pairs = entries.as_flattened().iter().zip(expected.as_flattened());
        // Each share is rounded down.
        pairs.for_each(|(one, other)| assert!(one.abs_diff(*other) <= 6, "{entries:?}"));
    };
    close(&history(&svm), &expected);
    svm.warp_to_epoch(5).unwrap();
    assert_eq!(history(&svm)[0], [4, 1300 * SOL, 0, 0]);
    // It cools down at the same rate, and only cooled-down stake can be withdrawn.
    deactivate(&mut svm, stake);
    svm.warp_to_epoch(6).unwrap();
    assert_eq!(history(&svm)[0], [5, 1300 * SOL, 0, 200 * SOL]);
    assert_eq!(withdraw(&mut svm, stake, 118 * SOL), failed(InstructionError::InsufficientFunds));
    withdraw(&mut svm, stake, 117 * SOL).unwrap();
    let transient = failed(InstructionError::Custom(MERGE_TRANSIENT_STAKE));
    assert_eq!(merge(&mut svm, other, stake), transient);
    svm.warp_to_epoch(7).unwrap();
    assert_eq!(history(&svm)[0], [6, 1183 * SOL, 0, 83 * SOL]);
    assert_eq!(svm.balance(&stake), 83 * SOL + svm.minimum_balance_for_rent_exemption(STAKE_BYTES));
    let rest = svm.balance(&stake);
    withdraw(&mut svm, stake, rest).unwrap();
}

#[test]
fn splitting_merging_and_moving_preserve_total_stake() {
    let mut svm = cluster();
    let one = delegated(&mut svm, "one", 60 * SOL);
    svm.warp_to_epoch(2).unwrap();
    let part = split(&mut svm, one, "part", 20 * SOL);
    svm.warp_to_epoch(3).unwrap();
    assert_eq!(history(&svm)[0], [2, MAINNET + 60 * SOL, 0, 0]);
    move_stake(&mut svm, one, part, 5 * SOL);
    let new = delegated(&mut svm, "new", 7 * SOL);
    assert_eq!(
        merge(&mut svm, one, new),
        failed(InstructionError::Custom(6)),
        "one is active, the other is activating"
    );
    svm.warp_to_epoch(4).unwrap();
    assert_eq!(history(&svm)[0], [3, MAINNET + 60 * SOL, 7 * SOL, 0]);
    merge(&mut svm, one, new).unwrap();
    merge(&mut svm, one, part).unwrap();
    deactivate(&mut svm, one);
    svm.warp_to_epoch(6).unwrap();
    let sum = 67 * SOL;
    // After a merge, the surplus is rent and not part of the stake.
    let [after, during, ..] = history(&svm)[..] else { panic!("there is more") };
    assert_eq!(after, [5, MAINNET, 0, 0]);
    assert!(during[3] >= sum && during[3] < sum + SOL, "{during:?}");
    assert_eq!(during[1], MAINNET + during[3]);
    assert_eq!(svm.balance(&part), 0);
}

/// Returns the stake of the vote account in the instruction data, followed by the newest entry of
/// the stake history, whose address follows.
const ASKS: &str = "
    .globl entrypoint
entrypoint:
    mov64 r6, r2
    mov64 r1, r2
    call sol_get_epoch_stake
    stxdw [r10 - 40], r0
    mov64 r1, r6
    add64 r1, 32
    mov64 r2, r10
    add64 r2, -32
    mov64 r3, 8
    mov64 r4, 32
    call sol_get_sysvar
    jne r0, 0, out
    mov64 r1, r10
    add64 r1, -40
    mov64 r2, 40
    call sol_set_return_data
    mov64 r0, 0
out:
    exit
";

#[test]
fn programs_see_the_stake_of_the_epoch_and_the_history() {
    let mut svm = cluster();
    let output = selkie_asm::assemble(ASKS, &selkie_asm::Options::default());
    svm.add_program(address("asks"), output.assembly.unwrap().to_elf()).unwrap();
    let data = [keypair("vote").pubkey().to_bytes(), ids::sysvar::stake_history::ID.to_bytes()];
    let ask = Instruction { program_id: address("asks"), accounts: vec![], data: data.concat() };
    delegated(&mut svm, "stake", 10 * SOL);
    let sums = [[10 * SOL, MAINNET, 10 * SOL], [10 * SOL, MAINNET + 10 * SOL, 0]];
    for (epoch, [counts, effective, activating]) in (1..).zip(sums) {
        svm.warp_to_epoch(epoch).unwrap();
        let receipt = svm.send_instructions(std::slice::from_ref(&ask), &[&staker()]).unwrap();
        let answer: Vec<u8> = [counts, epoch - 1, effective, activating, 0]
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        assert_eq!(receipt.return_data.as_ref().unwrap().data, answer, "epoch {epoch}");
    }
}

#[test]
fn snapshots_and_state_files_restore_stakes() {
    let mut svm = cluster();
    let stake = delegated(&mut svm, "stake", 10 * SOL);
    svm.warp_to_epoch(1).unwrap();
    let early = svm.snapshot();
    let file = svm.to_bytes();
    svm.warp_to_epoch(2).unwrap();
    let (known, entries) = (epoch_stake(&svm), history(&svm));
    assert_eq!(known.1, 10 * SOL);
    deactivate(&mut svm, stake);
    svm.warp_to_epoch(9).unwrap();
    assert_eq!(epoch_stake(&svm), (MAINNET, 0));
    svm.restore(&early).unwrap();
    assert_eq!((epoch_stake(&svm), history(&svm).len()), ((MAINNET + 10 * SOL, 10 * SOL), 1));
    for mut other in [svm.clone(), Svm::from_bytes(&file).unwrap(), svm] {
        assert_eq!(epoch_stake(&other), (MAINNET + 10 * SOL, 10 * SOL));
        other.warp_to_epoch(2).unwrap();
        assert_eq!((epoch_stake(&other), history(&other)), (known, entries.clone()));
    }
}

#[test]
fn a_vote_account_without_a_bls_key_does_not_count() {
    let mut svm = cluster();
    let vote = keypair("vote").pubkey();
    let mut account = svm.account(&vote).unwrap();
    account.data[144] = 0;
    account.data.drain(145..193);
    account.data.resize(VOTE_BYTES, 0);
    svm.set_account(vote, account).unwrap();
    delegated(&mut svm, "stake", 10 * SOL);
    svm.warp_to_epoch(4).unwrap();
    assert_eq!(epoch_stake(&svm), (MAINNET, 0));
    assert_eq!(history(&svm)[0], [3, MAINNET + 10 * SOL, 0, 0]);
}

#[test]
fn without_votes_no_rewards_are_paid() {
    let mut svm = cluster();
    let (stake, vote) = (delegated(&mut svm, "stake", 10 * SOL), keypair("vote").pubkey());
    let before = (svm.account(&stake), svm.balance(&vote));
    svm.warp_to_epoch(600).unwrap();
    assert_eq!(before.0, svm.account(&stake));
    assert!(svm.balance(&vote) < before.1, "it paid for its admission");
    let rewards = svm.sysvar(&ids::sysvar::epoch_rewards::ID).unwrap();
    assert_eq!(rewards.last(), Some(&0), "nor are they being distributed");
}

#[test]
fn warping_far_adds_an_entry_per_epoch() {
    let mut svm = cluster();
    delegated(&mut svm, "stake", 10 * SOL);
    svm.warp_to_epoch(10_000).unwrap();
    let epochs: Vec<u64> = history(&svm).iter().map(|entry| entry[0]).collect();
    assert!(epochs.into_iter().eq((9488..10_000).rev()));
    assert_eq!(epoch_stake(&svm), (MAINNET + 10 * SOL, 10 * SOL));
    // Setting the clock leaves no gap, which would make the stake program fail.
    let mut svm = cluster();
    let mut clock = svm.clock();
    clock.slot = svm.epoch_schedule().get_first_slot_in_epoch(80);
    clock.epoch = 80;
    svm.set_clock(&clock);
    let stake = delegated(&mut svm, "stake", 10 * SOL);
    svm.warp_to_epoch(82).unwrap();
    assert_eq!(history(&svm).len(), 82);
    deactivate(&mut svm, stake);
    svm.warp_to_epoch(83).unwrap();
    withdraw(&mut svm, stake, 10 * SOL).unwrap();
}

#[test]
fn setting_the_clock_to_a_later_epoch_adds_an_entry_per_epoch() {
    let mut svm = cluster();
    let stake = delegated(&mut svm, "stake", 10 * SOL);
    let mut clock = svm.clock();
    clock.epoch = 2;
    svm.set_clock(&clock);
    assert_eq!(history(&svm), [[1, MAINNET + 10 * SOL, 0, 0], [0, MAINNET, 10 * SOL, 0]]);
    assert_eq!(withdraw(&mut svm, stake, 1), failed(InstructionError::InsufficientFunds));
    deactivate(&mut svm, stake);
    clock.epoch = 5;
    svm.set_clock(&clock);
    assert_eq!(history(&svm).len(), 5);
    withdraw(&mut svm, stake, 10 * SOL).unwrap();
    // A clock that is set back leaves the history as it is.
    svm.set_clock(&Clock { epoch: 1, ..clock });
    assert_eq!(history(&svm).len(), 5);
}

#[test]
fn later_epochs_continue_a_stake_history_that_was_set() {
    let mut svm = cluster();
    let mut known = StakeHistory::default();
    for epoch in 0..30 {
        known.add(epoch, StakeHistoryEntry::with_effective(1000 * SOL));
    }
    let mut clock = svm.clock();
    clock.slot = svm.epoch_schedule().get_first_slot_in_epoch(30);
    clock.epoch = 30;
    svm.set_clock(&clock);
    svm.set_stake_history(&known);
    assert_eq!(svm.stake_history(), known);
    delegated(&mut svm, "stake", 10 * SOL);
    svm.warp_to_epoch(32).unwrap();
    let entries = history(&svm);
    assert_eq!(entries[..2], [[31, MAINNET + 10 * SOL, 0, 0], [30, MAINNET, 10 * SOL, 0]]);
    assert_eq!((entries[2], entries.len()), ([29, 1000 * SOL, 0, 0], 32));
}
