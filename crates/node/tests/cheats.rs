//! Cheatcodes: edits, time travel, block modes, snapshots, dumps.

mod common;

use std::collections::HashSet;

use common::{Cluster, SLOT, SOL, address, cluster, cluster_with, key, sign, transfer};
use selkie_bank::sysvars::read_stake_history;
use selkie_node::{
    BlockMode, Event, NodeError, Options, ScheduledEdit, SendOptions, TokenEdit, TokenIndex,
    Travel, View,
};
use selkie_programs::{MEMO, TOKEN};
use selkie_svm::Feature;
use solana_account::{Account, ReadableAccount};
use solana_commitment_config::CommitmentLevel::{Finalized, Processed};
use solana_instruction::{AccountMeta, Instruction};
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar;
use solana_signer::Signer;

fn memo(program: Pubkey, text: &str) -> Instruction {
    Instruction { program_id: program, accounts: Vec::new(), data: text.as_bytes().to_vec() }
}

#[test]
fn accounts_are_set_and_found_by_owner() {
    let cluster = cluster();
    let owner = address(50);
    let account = Account { lamports: SOL, data: vec![1, 2], owner, ..Account::default() };
    let slot = cluster.node.set_account(address(9), account).unwrap();
    let block = cluster.node.block(slot).unwrap();
    assert!(block.transactions.is_empty());
    assert!(block.accounts.iter().any(|(key, _)| *key == address(9)));
    let view = cluster.node.view(Finalized);
    let found = view.program_accounts(&owner);
    assert_eq!((found.len(), found[0].0, found[0].1.data()), (1, address(9), &[1, 2][..]));
    cluster.node.set_balance(address(9), 5).unwrap();
    assert_eq!(cluster.balance(&address(9)), 5);
    cluster.node.set_account(address(9), Account::default()).unwrap();
    assert!(cluster.node.view(Finalized).program_accounts(&owner).is_empty());
}

#[test]
fn token_accounts_are_set_and_indexed() {
    let cluster = cluster();
    let mint = address(60);
    let mut data = vec![0; 82];
    (data[44], data[45]) = (6, 1);
    let account = Account { lamports: SOL, data, owner: TOKEN.id, ..Account::default() };
    cluster.node.set_account(mint, account).unwrap();
    let edit = TokenEdit {
        amount: Some(77),
        delegate: Some(Some(address(62))),
        delegated_amount: Some(7),
        ..TokenEdit::new(address(61), mint)
    };
    let key = cluster.node.set_token_account(edit).unwrap();
    let view = cluster.node.view(Finalized);
    for (by, value) in [
        (TokenIndex::Owner, address(61)),
        (TokenIndex::Mint, mint),
        (TokenIndex::Delegate, address(62)),
    ] {
        let found = view.token_accounts(by, &value);
        assert_eq!((found.len(), found[0].0), (1, key), "{by:?}");
        assert_eq!(found[0].1.data()[64..72], 77_u64.to_le_bytes());
    }
    let error = cluster.node.set_token_account(TokenEdit::new(address(61), address(99)));
    assert!(matches!(error, Err(NodeError::Account(_))));
}

fn number_at(data: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(*data[offset..].first_chunk().unwrap())
}

#[test]
fn the_supply_of_a_mint_covers_token_accounts_that_are_set() {
    let cluster = cluster();
    let (mint, alice) = (address(60), cluster.wallet(1));
    let mut data = vec![0; 82];
    (data[44], data[45]) = (6, 1);
    let account = Account { lamports: SOL, data, owner: TOKEN.id, ..Account::default() };
    cluster.node.set_account(mint, account).unwrap();
    let set = |owner, amount| {
        let edit = TokenEdit { amount: Some(amount), ..TokenEdit::new(owner, mint) };
        cluster.node.set_token_account(edit)
    };
    let supply = || number_at(&cluster.node.view(Finalized).data(&mint), 36);
    let key = set(alice.pubkey(), 1000).unwrap();
    set(address(61), 500).unwrap();
    set(alice.pubkey(), 700).unwrap();
    assert_eq!(supply(), 1200);
    let accounts = vec![
        AccountMeta::new(key, false),
        AccountMeta::new(mint, false),
        AccountMeta::new_readonly(alice.pubkey(), true),
    ];
    let data = [&[8][..], &700_u64.to_le_bytes()].concat();
    let burn = Instruction { program_id: TOKEN.id, accounts, data };
    cluster.run(&[burn], &[&alice]).unwrap();
    assert_eq!(supply(), 500);
    let error = set(alice.pubkey(), u64::MAX).unwrap_err();
    assert!(error.to_string().contains("supply"), "{error}");
}

#[test]
fn native_token_accounts_wrap_lamports() {
    let cluster = cluster();
    let edit = |amount| TokenEdit {
        amount: Some(amount),
        ..TokenEdit::new(address(61), selkie_programs::token::NATIVE_MINT)
    };
    let key = cluster.node.set_token_account(edit(3 * SOL)).unwrap();
    let exempt = cluster.node.view(Processed).minimum_balance(165);
    let data = cluster.node.view(Processed).data(&key);
    assert_eq!((data[109], number_at(&data, 113), number_at(&data, 64)), (1, exempt, 3 * SOL));
    assert_eq!(cluster.balance(&key), exempt + 3 * SOL);
    // What was transferred to it, and is not wrapped yet, stays.
    cluster.node.set_balance(key, exempt + 3 * SOL + 5).unwrap();
    cluster.node.set_token_account(edit(SOL)).unwrap();
    assert_eq!(cluster.balance(&key), exempt + SOL + 5);
}

#[test]
fn token_accounts_that_no_program_makes_are_refused() {
    let cluster = cluster();
    let new = || TokenEdit::new(address(61), selkie_programs::token::NATIVE_MINT);
    let other = TokenEdit { program: Some(selkie_programs::TOKEN_2022.id), ..new() };
    let undelegated = TokenEdit { delegated_amount: Some(1), ..new() };
    for edit in [other, undelegated] {
        let error = cluster.node.set_token_account(edit);
        assert!(matches!(error, Err(NodeError::Account(_))), "{error:?}");
    }
    let edit = TokenEdit { delegate: Some(Some(address(62))), delegated_amount: Some(7), ..new() };
    let key = cluster.node.set_token_account(edit).unwrap();
    let delegated = || number_at(&cluster.node.view(Processed).data(&key), 121);
    assert_eq!(delegated(), 7);
    cluster.node.set_token_account(TokenEdit { delegate: Some(None), ..new() }).unwrap();
    assert_eq!(delegated(), 0, "without a delegate nothing is delegated");
    // Something else is at the address.
    let account = cluster.node.view(Processed).account(&key).unwrap();
    let data = vec![1; 165];
    cluster.node.set_account(key, Account { data, ..account.into() }).unwrap();
    let error = cluster.node.set_token_account(new());
    assert!(matches!(error, Err(NodeError::Account(_))), "{error:?}");
}

#[test]
fn data_that_are_longer_than_those_of_any_account_are_refused() {
    let cluster = cluster();
    let account = |bytes| Account { lamports: SOL, data: vec![0; bytes], ..Account::default() };
    cluster.node.set_account(address(9), account(10 << 20)).unwrap();
    let error = cluster.node.set_account(address(8), account((10 << 20) + 1)).unwrap_err();
    assert!(error.to_string().contains("10485760"), "{error}");
}

#[test]
fn an_edit_sees_the_transactions_that_waited() {
    let options = Options { blocks: BlockMode::Manual, ..Options::default() };
    let cluster = cluster_with(options);
    let (mint, alice) = (address(60), key(1));
    let mut data = vec![0; 82];
    (data[0], data[44], data[45]) = (1, 6, 1);
    data[4..36].copy_from_slice(alice.pubkey().as_ref());
    let account = Account { lamports: SOL, data, owner: TOKEN.id, ..Account::default() };
    cluster.node.set_account(mint, account).unwrap();
    cluster.node.set_balance(alice.pubkey(), SOL).unwrap();
    let set = |owner, amount| {
        let edit = TokenEdit { amount: Some(amount), ..TokenEdit::new(owner, mint) };
        cluster.node.set_token_account(edit).unwrap()
    };
    let account = set(alice.pubkey(), 10);
    let accounts = vec![
        AccountMeta::new(mint, false),
        AccountMeta::new(account, false),
        AccountMeta::new_readonly(alice.pubkey(), true),
    ];
    let data = [&[7][..], &5_u64.to_le_bytes()].concat();
    let mint_to = Instruction { program_id: TOKEN.id, accounts, data };
    let transaction = sign(cluster.blockhash(), &[mint_to], &[&alice]);
    cluster.node.send(transaction, &SendOptions::default()).unwrap();
    set(address(61), 100);
    let view = cluster.node.view(Processed);
    assert_eq!(number_at(&view.data(&mint), 36), 115);
    assert_eq!(number_at(&view.data(&account), 64), 15);
}

#[test]
fn a_program_that_was_set_runs_in_the_next_block() {
    let cluster = cluster();
    let alice = cluster.wallet(1);
    let id = address(70);
    cluster.node.set_program(id, MEMO.elf().to_vec(), Some(alice.pubkey())).unwrap();
    let landed = cluster.run(&[memo(id, "hello")], &[&alice]).unwrap();
    assert!(landed.meta.logs.iter().any(|line| line.contains("hello")), "{:?}", landed.meta.logs);
    let error = cluster.node.set_program(id, vec![1, 2, 3], None).unwrap_err();
    assert!(matches!(error, NodeError::Program(_)));
}

#[test]
fn slot_clock_and_block_time_travel_together() {
    let cluster = cluster();
    let before = cluster.node.view(Processed);
    let info = cluster.node.travel(Travel::Slot(before.slot() + 1000)).unwrap();
    assert_eq!(info.absolute_slot, before.slot() + 1000);
    let after = cluster.node.view(Processed);
    assert_eq!(after.clock().unix_timestamp, before.clock().unix_timestamp + 200);
    let year = after.clock().unix_timestamp + 365 * 86_400;
    cluster.node.travel(Travel::Timestamp(year)).unwrap();
    let later = cluster.node.view(Processed);
    assert_eq!(later.clock().unix_timestamp, year);
    assert_eq!(later.slot(), after.slot() + 365 * 86_400 * 1000 / 200);
    assert_eq!(later.clock().slot, later.slot());
    assert_eq!(later.epoch_info().epoch, later.clock().epoch);
    assert_eq!(cluster.node.block(later.slot()).unwrap().block_time, year);
    let info = cluster.node.travel(Travel::Epoch(later.epoch_info().epoch + 2)).unwrap();
    assert_eq!(info.slot_index, 0);
    let back = cluster.node.travel(Travel::Slot(5)).unwrap_err();
    assert!(matches!(back, NodeError::TimeGoesBack { to: 5, .. }));
    for far in [Travel::Slot(u64::MAX), Travel::Epoch(u64::MAX), Travel::Timestamp(i64::MAX)] {
        let far = cluster.node.travel(far).unwrap_err();
        assert!(matches!(far, NodeError::TooFar { .. } | NodeError::TimeGoesBack { .. }), "{far}");
    }
    cluster.node.airdrop_and_wait(&address(7), SOL).unwrap();
}

/// The epochs with an entry in the stake history.
fn epochs_in_history(view: &View) -> Vec<u64> {
    let history = read_stake_history(&view.data(&sysvar::stake_history::ID));
    history.iter().map(|item| item.epoch).collect()
}

#[test]
fn every_epoch_that_time_passes_has_its_entry_in_the_stake_history() {
    let options = Options { slots_per_epoch: 32, ..Options::default() };
    let cluster = cluster_with(options);
    cluster.node.travel(Travel::Epoch(5)).unwrap();
    assert!(epochs_in_history(&cluster.node.view(Processed)).into_iter().eq((0..5).rev()));
    // An idle node makes no blocks, and its epochs pass all the same.
    cluster.clock.advance(SLOT * 32 * 3);
    cluster.node.airdrop_and_wait(&address(7), SOL).unwrap();
    let view = cluster.node.view(Processed);
    assert_eq!(view.clock().epoch, 8);
    assert!(epochs_in_history(&view).into_iter().eq((0..8).rev()));
    let now = view.clock().unix_timestamp;
    cluster.node.travel(Travel::Timestamp(now + 1_000_000)).unwrap();
    let view = cluster.node.view(Processed);
    let epoch = view.clock().epoch;
    assert!(epochs_in_history(&view).into_iter().eq((epoch - 512..epoch).rev()));
}

#[test]
fn slots_that_time_passes_are_in_the_slot_hashes() {
    let cluster = cluster();
    let before = cluster.node.view(Processed).slot();
    cluster.node.travel(Travel::Slot(before + 2000)).unwrap();
    let data = cluster.node.view(Processed).data(&sysvar::slot_hashes::ID);
    let (numbers, _) = data.as_chunks::<8>();
    let newest = u64::from_le_bytes(numbers[1]);
    let oldest = u64::from_le_bytes(numbers[1 + 511 * 5]);
    assert_eq!((newest, oldest), (before + 1999, before + 2000 - 512));
}

/// The stake program refuses everything while rewards are distributed, which takes one block.
#[test]
fn rewards_are_over_after_time_has_passed_an_epoch() {
    let options = Options { slots_per_epoch: 32, ..Options::default() };
    let cluster = cluster_with(options);
    let is_active = || {
        let last = cluster.node.view(Processed).data(&sysvar::epoch_rewards::ID);
        last.get(80) == Some(&1)
    };
    cluster.node.pause_clock().unwrap();
    cluster.node.travel(Travel::Epoch(2)).unwrap();
    assert!(is_active(), "the first slot of an epoch");
    cluster.node.airdrop_and_wait(&address(7), SOL).unwrap();
    assert!(!is_active(), "also in blocks that come faster than slot times");
    cluster.node.resume_clock().unwrap();
    cluster.clock.advance(SLOT * 40);
    cluster.node.airdrop_and_wait(&address(7), SOL).unwrap();
    assert!(!is_active(), "the epoch began in a slot that passed");
}

#[test]
fn a_paused_clock_stands_still() {
    let cluster = cluster();
    cluster.node.pause_clock().unwrap();
    let before = cluster.node.view(Processed);
    cluster.clock.advance(SLOT * 100);
    assert_eq!(cluster.node.view(Processed).slot(), before.slot());
    cluster.node.airdrop_and_wait(&address(7), SOL).unwrap();
    let after = cluster.node.view(Processed);
    assert_eq!(after.slot(), before.slot() + 1);
    assert_eq!(after.clock().unix_timestamp, before.clock().unix_timestamp);
    cluster.node.resume_clock().unwrap();
    cluster.clock.advance(SLOT * 10);
    assert_eq!(cluster.node.view(Processed).slot(), after.slot() + 10);
}

#[test]
fn manual_blocks_take_what_waits() {
    let options = Options { blocks: BlockMode::Manual, ..Options::default() };
    let cluster = cluster_with(options);
    let signature = cluster.node.airdrop(&address(7), SOL, None).unwrap();
    assert_eq!(cluster.node.statuses(&[signature]), [None]);
    let before = cluster.node.view(Processed);
    let slot = cluster.node.mine(3).unwrap();
    assert_eq!(slot, before.slot() + 3);
    let after = cluster.node.view(Processed);
    assert_eq!(after.block_height(), before.block_height() + 3);
    let status = cluster.node.statuses(&[signature])[0].clone().unwrap();
    assert_eq!(status.slot, before.slot() + 1);
}

#[test]
fn a_snapshot_restores_everything() {
    let cluster = cluster();
    let alice = cluster.wallet(1);
    let before = cluster.node.view(Finalized);
    let history = cluster.node.stats().history;
    let mut events = cluster.node.subscribe();
    let id = cluster.node.snapshot().unwrap();
    let pay = [transfer(&alice.pubkey(), &address(2), SOL)];
    let transaction = sign(cluster.blockhash(), &pay, &[&alice]);
    let landed = cluster.node.send_and_wait(transaction.clone(), &SendOptions::default()).unwrap();
    let later = cluster.node.snapshot().unwrap();
    for _ in 0..40 {
        cluster.clock.advance(SLOT);
        cluster.node.airdrop_and_wait(&address(3), SOL).unwrap();
    }
    assert_eq!(cluster.node.revert(id).unwrap(), before.slot());
    let after = cluster.node.view(Finalized);
    assert_eq!((after.slot(), after.blockhash()), (before.slot(), before.blockhash()));
    assert_eq!(after.clock(), before.clock());
    assert_eq!((cluster.balance(&address(2)), cluster.balance(&address(3))), (0, 0));
    assert_eq!(cluster.balance(&alice.pubkey()), 10 * SOL);
    assert_eq!(cluster.node.transaction(&landed.signature), None);
    assert_eq!(cluster.node.stats().history, history);
    assert!(matches!(cluster.node.revert(later), Err(NodeError::NoSnapshot(_))));
    let mut reverted = false;
    while let Ok(event) = events.try_recv() {
        reverted |= matches!(event, Event::Reverted { slot } if slot == before.slot());
    }
    assert!(reverted);
    // The same transaction may land again.
    cluster.node.send_and_wait(transaction, &SendOptions::default()).unwrap();
    assert_eq!(cluster.balance(&address(2)), SOL);
    assert!(cluster.node.view(Finalized).program_accounts(&Pubkey::default()).len() > 2);
}

/// Everything about a cluster that a dump keeps.
fn content(cluster: &Cluster) -> (u64, Vec<(Pubkey, u64)>, HashSet<String>) {
    let view = cluster.node.view(Finalized);
    let accounts = view.accounts().into_iter().map(|(key, it)| (key, it.lamports())).collect();
    let sent = cluster.node.recent_transactions(1000).into_iter();
    (view.slot(), accounts, sent.map(|it| it.signature.to_string()).collect())
}

#[test]
fn a_dump_continues_elsewhere() {
    let first = cluster();
    let alice = first.wallet(1);
    first
        .run(&[memo(MEMO.id, "kept"), transfer(&alice.pubkey(), &address(2), SOL)], &[&alice])
        .unwrap();
    let mut dump = Vec::new();
    first.node.dump(&mut dump).unwrap();
    let second = cluster();
    second.node.airdrop_and_wait(&address(99), SOL).unwrap();
    second.node.load(&mut dump.as_slice()).unwrap();
    assert_eq!(content(&second), content(&first));
    let newest = second.node.recent_transactions(1)[0].clone();
    assert_eq!(newest.transaction.message.instructions()[0].data, b"kept");
    assert_eq!(second.balance(&address(99)), 0);
    second.run(&[transfer(&alice.pubkey(), &address(2), SOL)], &[&alice]).unwrap();
    assert_eq!(second.balance(&address(2)), 2 * SOL);
    let cut = &dump[..dump.len() - 20];
    assert!(matches!(second.node.load(&mut &cut[..]), Err(NodeError::Dump(_))));
    assert_eq!(second.balance(&address(2)), 2 * SOL);
}

#[test]
fn the_memory_of_edits_that_wait_is_bounded() {
    let cluster = cluster();
    let edit = |bytes| vec![ScheduledEdit::new(u64::MAX, address(9), bytes, Some)];
    cluster.node.schedule(edit(64 << 20)).unwrap();
    let error = cluster.node.schedule(edit(1)).unwrap_err();
    assert!(matches!(&error, NodeError::Account(text) if text.contains("67108864 bytes")));
    cluster.node.reset().unwrap();
    cluster.node.schedule(edit(1)).unwrap();
}

#[test]
fn a_reset_returns_to_the_genesis() {
    let cluster = cluster();
    let view = cluster.node.view(Finalized);
    cluster.wallet(1);
    cluster.node.reset().unwrap();
    let after = cluster.node.view(Finalized);
    assert_eq!((after.slot(), after.transaction_count()), (view.slot(), 0));
    assert_eq!(cluster.node.stats().history, 0);
    cluster.wallet(1);
}

#[test]
fn a_feature_becomes_active_at_a_slot() {
    let cluster = cluster();
    let feature = Feature::Blake3;
    assert!(!cluster.node.view(Processed).features().has(feature));
    let slot = cluster.node.view(Processed).slot() + 10;
    cluster.node.set_feature(feature.address(), slot).unwrap();
    cluster.clock.advance(SLOT * 4);
    assert!(!cluster.node.view(Processed).features().has(feature));
    cluster.clock.advance(SLOT * 10);
    // A look at the state does not wait long for the block that it asks for.
    while !cluster.node.view(Processed).features().has(feature) {}
}
