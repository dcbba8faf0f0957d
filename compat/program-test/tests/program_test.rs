//! Transactions, accounts, time and rewards, as a test of `solana-program-test` sees them.

use selkie_convert::from_instruction;
use selkie_program_test::{
    BanksClientError, ProgramTest, ProgramTestBanksClientExt, ProgramTestContext, ProgramTestError,
    tokio,
};
use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_address::Address;
use solana_hash::Hash;
use solana_keypair::{Keypair, Signer};
use solana_message::{Instruction, Message, VersionedMessage};
use solana_sdk_ids::{bpf_loader, ed25519_program, stake, system_program, vote};
use solana_sysvar::{
    clock::Clock, epoch_rewards::EpochRewards, last_restart_slot::LastRestartSlot, rent::Rent,
};
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::{TransactionError, TransportError};

const SOL: u64 = 1_000_000_000;

fn signed(payer: &Keypair, instructions: &[Instruction], blockhash: Hash) -> VersionedTransaction {
    let message = Message::new_with_blockhash(instructions, Some(&payer.pubkey()), &blockhash);
    let transaction = VersionedTransaction::try_new(VersionedMessage::Legacy(message), &[payer]);
    transaction.expect("the payer signs")
}

fn transfer(context: &ProgramTestContext, to: &Address, lamports: u64) -> VersionedTransaction {
    let from = context.payer.pubkey();
    let instruction = from_instruction(selkie::system::transfer(&from, to, lamports));
    signed(&context.payer, &[instruction], context.last_blockhash)
}

#[tokio::test]
async fn a_test_begins_as_with_the_original() {
    let context = ProgramTest::default().start_with_context().await;
    let client = &context.banks_client;
    assert_eq!(client.get_balance(context.payer.pubkey()).await.unwrap(), 1_000_000 * SOL);
    assert_eq!(client.get_root_slot().await.unwrap(), 1);
    assert_eq!(client.get_rent().await.unwrap().minimum_balance(0), 890_880);
    let schedule = &context.genesis_config().epoch_schedule;
    assert_eq!((schedule.first_normal_epoch, schedule.first_normal_slot), (14, 524_256));
    assert!(context.is_active(&selkie::Feature::Sha512.address()));
    assert!(!context.is_active(&Address::new_unique()));
}

#[tokio::test]
async fn transfers_cost_their_fee_once() {
    let mut context = ProgramTest::default().start_with_context().await;
    let to = Address::new_unique();
    let transaction = transfer(&context, &to, SOL);
    let signature = transaction.signatures[0];
    let client = &mut context.banks_client;
    client.process_transaction(transaction.clone()).await.unwrap();
    // The same transaction ends as it did before; with its metadata it is refused.
    client.process_transaction(transaction.clone()).await.unwrap();
    let again = client.process_transaction_with_metadata(transaction).await.unwrap();
    assert_eq!((again.result, again.metadata), (Err(TransactionError::AlreadyProcessed), None));
    assert_eq!(client.get_balance(to).await.unwrap(), SOL);
    let paid = 1_000_000 * SOL - client.get_balance(context.payer.pubkey()).await.unwrap();
    assert_eq!(paid, SOL + 5000);
    let status = client.get_transaction_status(signature).await.unwrap().unwrap();
    assert_eq!((status.slot, status.err), (1, None));
    let last = context.last_blockhash;
    let next = client.get_new_latest_blockhash(&last).await.unwrap();
    assert_ne!(next, last);
    assert_eq!(client.get_latest_blockhash().await.unwrap(), next);
}

#[tokio::test]
async fn errors_are_those_of_the_transaction() {
    let mut context = ProgramTest::default().start_with_context().await;
    let transaction = transfer(&context, &Address::new_unique(), u64::MAX);
    let client = &context.banks_client;
    let error = client.process_transaction_with_preflight(transaction.clone()).await.unwrap_err();
    let BanksClientError::SimulationError { ref logs, units_consumed, .. } = error else {
        panic!("{error}")
    };
    assert!(logs.iter().any(|it| it.contains("insufficient lamports")), "{logs:?}");
    assert_eq!(units_consumed, 150);
    let simulated = error.unwrap();
    let error = client.process_transaction(transaction).await.unwrap_err();
    assert_eq!(error.unwrap(), simulated);
    assert!(
        matches!(TransportError::from(error), TransportError::TransactionError(it) if it == simulated)
    );
    let poor = Keypair::new();
    let refused = signed(&poor, &[], context.last_blockhash);
    let refused = client.process_transaction(refused).await.unwrap_err();
    assert_eq!(refused.unwrap(), TransactionError::AccountNotFound);
    let missing = client.get_account_data_with_borsh::<u64>(poor.pubkey()).await.unwrap_err();
    assert_eq!(missing.to_string(), "client error: Account not found");
    context.last_blockhash = Hash::new_from_array([1; 32]);
    let stale = transfer(&context, &poor.pubkey(), 1);
    let stale = context.banks_client.process_transaction(stale).await.unwrap_err();
    assert_eq!(stale.unwrap(), TransactionError::BlockhashNotFound);
}

#[tokio::test]
async fn programs_run_with_the_limits_of_the_test() {
    let (id, memo) = (Address::new_unique(), selkie::programs::MEMO.elf());
    let program = Account {
        lamports: SOL,
        data: memo.to_vec(),
        owner: bpf_loader::ID,
        executable: true,
        rent_epoch: 0,
    };
    let instruction = Instruction { program_id: id, accounts: vec![], data: b"memo".to_vec() };
    for limit in [None, Some(100)] {
        let mut test = ProgramTest::default();
        test.add_account(id, program.clone());
        limit.into_iter().for_each(|it| test.set_compute_max_units(it));
        let (client, payer, blockhash) = test.start().await;
        let transaction = signed(&payer, core::slice::from_ref(&instruction), blockhash);
        let simulated = client.simulate_transaction(transaction.clone()).await.unwrap();
        let details = simulated.simulation_details.unwrap();
        let done = client.process_transaction_with_metadata(transaction).await.unwrap();
        let metadata = done.metadata.unwrap();
        assert_eq!(
            (simulated.result, details.logs),
            (Some(done.result.clone()), metadata.log_messages)
        );
        assert_eq!(done.result.is_ok(), limit.is_none());
        assert_eq!(metadata.compute_units_consumed == 100, limit.is_some());
    }
    let mut test = ProgramTest::default();
    test.set_transaction_account_lock_limit(2);
    let (client, payer, blockhash) = test.start().await;
    let to = Address::new_unique();
    let three = from_instruction(selkie::system::transfer(&payer.pubkey(), &to, 1));
    let error = client.process_transaction(signed(&payer, &[three], blockhash)).await.unwrap_err();
    assert_eq!(error.unwrap(), TransactionError::TooManyAccountLocks);
}

#[test]
#[should_panic(expected = "`selkie build` builds a program there")]
fn a_missing_program_says_how_it_is_built() {
    let _ = ProgramTest::new("no_such_program", Address::new_unique(), None);
}

#[tokio::test]
async fn accounts_are_set_from_data_and_sysvars_by_their_types() {
    let (encoded, deactivated) = (Address::new_unique(), selkie::Feature::Secp256r1Precompile);
    let mut test = ProgramTest::default();
    test.add_account_with_base64_data(encoded, SOL, system_program::ID, "AQIDBA==");
    test.add_account_with_file_data(Address::new_unique(), SOL, system_program::ID, "Cargo.toml");
    test.deactivate_feature(deactivated.address());
    let mut context = test.start_with_context().await;
    assert!(!context.is_active(&deactivated.address()));
    let client = &context.banks_client;
    assert_eq!(client.get_account(encoded).await.unwrap().unwrap().data, [1, 2, 3, 4]);
    assert_eq!(client.get_account_data_with_borsh::<u32>(encoded).await.unwrap(), 0x0403_0201);
    assert!(client.get_account(ed25519_program::ID).await.unwrap().is_some());
    let mut clock: Clock = client.get_sysvar().await.unwrap();
    (clock.slot, clock.unix_timestamp) = (1000, 77);
    context.set_sysvar(&clock);
    assert_eq!(context.banks_client.get_sysvar::<Clock>().await.unwrap(), clock);
    let rent = Rent { lamports_per_byte: 1, ..Rent::default() };
    context.set_sysvar(&rent);
    assert_eq!(context.banks_client.get_rent().await.unwrap().minimum_balance(0), 128);
    // The chain is in slot 1 whatever the clock shows; its time stays.
    context.register_hard_fork(1);
    context.warp_to_slot(2).unwrap();
    let after: Clock = context.banks_client.get_sysvar().await.unwrap();
    assert_eq!((after.slot, after.unix_timestamp), (2, 77));
    let restart: LastRestartSlot = context.banks_client.get_sysvar().await.unwrap();
    assert_eq!(restart.last_restart_slot, 1);
}

#[tokio::test]
async fn warps_skip_slots_and_keep_blockhashes() {
    let mut context = ProgramTest::default().start_with_context().await;
    let (before, to) = (context.last_blockhash, Address::new_unique());
    assert_eq!(context.warp_to_slot(1), Err(ProgramTestError::InvalidWarpSlot));
    let slot = context.genesis_config().epoch_schedule.first_normal_slot + 5;
    context.warp_to_slot(slot).unwrap();
    assert_ne!(context.last_blockhash, before);
    let client = &context.banks_client;
    assert_eq!(client.get_root_slot().await.unwrap(), slot);
    assert_eq!(client.get_root_block_height().await.unwrap(), 3);
    let clock: Clock = client.get_sysvar().await.unwrap();
    assert_eq!((clock.slot, clock.epoch), (slot, 14));
    context.last_blockhash = before;
    let transaction = transfer(&context, &to, SOL);
    context.banks_client.process_transaction(transaction).await.unwrap();
}

/// Sets a vote account with a BLS key, and a stake that is delegated to it since epoch 0.
fn set_stake(context: &mut ProgramTestContext, lamports: u64) -> (Address, Address) {
    let (voter, staked) = (Address::new_unique(), Address::new_unique());
    let mut data = vec![0; 3762];
    data[0] = 3;
    data[68..100].copy_from_slice(voter.as_ref());
    data[144] = 1;
    let account = Account { lamports: 100 * SOL, data, owner: vote::ID, ..Account::default() };
    context.set_account(&voter, &account.into());
    let mut data = vec![0; 200];
    data[0] = 2;
    data[124..156].copy_from_slice(voter.as_ref());
    for (offset, number) in [(156, lamports), (164, 0), (172, u64::MAX)] {
        data[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
    }
    let lamports = lamports + Rent::default().minimum_balance(200);
    let account = Account { lamports, data, owner: stake::ID, ..Account::default() };
    context.set_account(&staked, &AccountSharedData::from(account));
    (voter, staked)
}

#[tokio::test]
async fn stakes_are_rewarded_in_the_second_block_of_an_epoch() {
    let mut context = ProgramTest::default().start_with_context().await;
    let (voter, staked) = set_stake(&mut context, 1000 * SOL);
    context.warp_to_epoch(14).unwrap();
    context.warp_forward_force_reward_interval_end().unwrap();
    let before = context.banks_client.get_account(staked).await.unwrap().unwrap();
    context.increment_vote_account_credits(&voter, 100);
    context.warp_to_epoch(15).unwrap();
    let rewards: EpochRewards = context.banks_client.get_sysvar().await.unwrap();
    assert!(rewards.active && rewards.total_rewards > 0, "{rewards:?}");
    assert_eq!(context.banks_client.get_balance(staked).await.unwrap(), before.lamports());
    context.warp_forward_force_reward_interval_end().unwrap();
    let paid: EpochRewards = context.banks_client.get_sysvar().await.unwrap();
    assert!(!paid.active, "{paid:?}");
    let earned = context.banks_client.get_balance(staked).await.unwrap() - before.lamports();
    // The only stake with credits receives all; the division by points leaves a few lamports.
    assert!(rewards.total_rewards - earned < 1000, "{earned} of {rewards:?}");
    assert_eq!(paid.distributed_rewards, earned);
}

#[tokio::test]
async fn a_warp_into_an_epoch_pays_its_rewards() {
    let mut context = ProgramTest::default().start_with_context().await;
    let (voter, staked) = set_stake(&mut context, 1000 * SOL);
    context.warp_to_epoch(14).unwrap();
    let before = context.banks_client.get_balance(staked).await.unwrap();
    context.increment_vote_account_credits(&voter, 1);
    let slot = context.banks_client.get_root_slot().await.unwrap();
    let slots = context.genesis_config().epoch_schedule.slots_per_epoch;
    context.warp_to_slot(slot + slots + 1).unwrap();
    let rewards: EpochRewards = context.banks_client.get_sysvar().await.unwrap();
    assert!(!rewards.active, "{rewards:?}");
    assert!(context.banks_client.get_balance(staked).await.unwrap() > before);
}
