//! What clients do right after a confirmation: nonces, lookup tables; and what many do at once.

mod common;

use std::thread;

use common::{Cluster, SLOT, SOL, address, cluster, cluster_with, key, sign, transfer};
use selkie_node::{AddressQuery, Event, FetchError, Finality, HistoryLimit, Options, SendOptions};
use solana_commitment_config::CommitmentLevel::{Confirmed, Finalized, Processed};
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_message::{AddressLookupTableAccount, VersionedMessage, v0};
use solana_pubkey::Pubkey;
use solana_sdk_ids::{address_lookup_table, system_program, sysvar};
use solana_signer::Signer;
use solana_transaction::versioned::VersionedTransaction;

fn instruction(program_id: Pubkey, accounts: Vec<AccountMeta>, data: &[&[u8]]) -> Instruction {
    Instruction { program_id, accounts, data: data.concat() }
}

/// Creates a lookup table of `alice`. Returns its address, and the accounts of instructions for it.
fn create_table(cluster: &Cluster, alice: &Keypair) -> (Pubkey, Vec<AccountMeta>) {
    let slot = cluster.node.view(Finalized).slot();
    let seeds = [alice.pubkey().to_bytes().to_vec(), slot.to_le_bytes().to_vec()];
    let seeds: Vec<&[u8]> = seeds.iter().map(Vec::as_slice).collect();
    let (table, bump) = Pubkey::find_program_address(&seeds, &address_lookup_table::ID);
    let accounts = vec![
        AccountMeta::new(table, false),
        AccountMeta::new_readonly(alice.pubkey(), true),
        AccountMeta::new(alice.pubkey(), true),
        AccountMeta::new_readonly(system_program::ID, false),
    ];
    let create = [&[0, 0, 0, 0], &slot.to_le_bytes()[..], &[bump]];
    let create = instruction(address_lookup_table::ID, accounts.clone(), &create);
    cluster.run(&[create], &[alice]).unwrap();
    (table, accounts)
}

#[test]
fn a_lookup_table_works_in_the_block_after_its_extension() {
    let cluster = cluster();
    let alice = cluster.wallet(1);
    let id = address_lookup_table::ID;
    let (table, accounts) = create_table(&cluster, &alice);
    let to = address(2);
    let extend = [&[2, 0, 0, 0], &1_u64.to_le_bytes()[..], to.as_ref()];
    cluster.run(&[instruction(id, accounts, &extend)], &[&alice]).unwrap();
    let tables = [AddressLookupTableAccount { key: table, addresses: vec![to] }];
    let pay = [transfer(&alice.pubkey(), &to, SOL)];
    let message =
        v0::Message::try_compile(&alice.pubkey(), &pay, &tables, cluster.blockhash()).unwrap();
    let message = VersionedMessage::V0(message);
    let loaded = cluster.node.view(Finalized).loaded_addresses(&message);
    assert!(loaded.is_err(), "in the bank of the extension the address cannot be used");
    let transaction = VersionedTransaction::try_new(message, &[&alice]).unwrap();
    let landed = cluster.node.send_and_wait(transaction, &SendOptions::default()).unwrap();
    assert_eq!(landed.meta.loaded_addresses.writable, [to]);
    assert_eq!(landed.account_keys().last(), Some(&to));
    assert_eq!(cluster.balance(&to), SOL);
}

/// A table can be closed when the slot of its deactivation is no longer among the slot hashes.
#[test]
fn a_lookup_table_is_closed_when_enough_time_has_passed() {
    let cluster = cluster();
    let alice = cluster.wallet(1);
    let (table, mut accounts) = create_table(&cluster, &alice);
    accounts.pop();
    let id = address_lookup_table::ID;
    cluster.run(&[instruction(id, accounts[..2].to_vec(), &[&[3, 0, 0, 0]])], &[&alice]).unwrap();
    let close = instruction(id, accounts, &[&[4, 0, 0, 0]]);
    cluster.clock.advance(SLOT * 400);
    cluster.run(std::slice::from_ref(&close), &[&alice]).unwrap_err();
    // No block is made meanwhile.
    cluster.clock.advance(SLOT * 200);
    cluster.run(&[close], &[&alice]).unwrap();
    assert_eq!(cluster.balance(&table), 0);
}

#[test]
#[allow(deprecated, reason = "nonces look at the sysvar of recent blockhashes")]
fn a_nonce_advances_right_after_its_creation() {
    let cluster = cluster();
    let (alice, nonce) = (cluster.wallet(1), key(2));
    let (from, to) = (alice.pubkey(), nonce.pubkey());
    let (lamports, space) = (SOL.to_le_bytes(), 80_u64.to_le_bytes());
    let create = instruction(
        system_program::ID,
        vec![AccountMeta::new(from, true), AccountMeta::new(to, true)],
        &[&[0; 4], &lamports, &space, system_program::ID.as_ref()],
    );
    let accounts = vec![
        AccountMeta::new(to, false),
        AccountMeta::new_readonly(sysvar::recent_blockhashes::ID, false),
        AccountMeta::new_readonly(sysvar::rent::ID, false),
    ];
    let initialize = instruction(system_program::ID, accounts, &[&[6, 0, 0, 0], from.as_ref()]);
    cluster.run(&[create, initialize], &[&alice, &nonce]).unwrap();
    let accounts = vec![
        AccountMeta::new(to, false),
        AccountMeta::new_readonly(sysvar::recent_blockhashes::ID, false),
        AccountMeta::new_readonly(from, true),
    ];
    let advance = instruction(system_program::ID, accounts, &[&[4, 0, 0, 0]]);
    let durable = |cluster: &common::Cluster| {
        let data = cluster.node.view(Finalized).data(&to);
        solana_hash::Hash::new_from_array(data[40..72].try_into().unwrap())
    };
    for _ in 0..3 {
        let instructions = [advance.clone(), transfer(&from, &address(9), 1_000_000)];
        let transaction = sign(durable(&cluster), &instructions, &[&alice]);
        cluster.node.send_and_wait(transaction, &SendOptions::default()).unwrap();
    }
    assert_eq!(cluster.balance(&address(9)), 3_000_000);
}

#[test]
fn a_trace_shows_calls_units_and_changes() {
    let cluster = cluster();
    let alice = cluster.wallet(1);
    let (associated, token) = (selkie_programs::ASSOCIATED_TOKEN.id, selkie_programs::TOKEN.id);
    let mint: Pubkey = "So11111111111111111111111111111111111111112".parse().unwrap();
    let seeds = [alice.pubkey().to_bytes(), token.to_bytes(), mint.to_bytes()];
    let seeds: Vec<&[u8]> = seeds.iter().map(|it| &it[..]).collect();
    let account = Pubkey::find_program_address(&seeds, &associated).0;
    let accounts = vec![
        AccountMeta::new(alice.pubkey(), true),
        AccountMeta::new(account, false),
        AccountMeta::new_readonly(alice.pubkey(), false),
        AccountMeta::new_readonly(mint, false),
        AccountMeta::new_readonly(system_program::ID, false),
        AccountMeta::new_readonly(token, false),
    ];
    let landed = cluster.run(&[instruction(associated, accounts, &[])], &[&alice]).unwrap();
    let trace = cluster.node.trace(&landed.signature).unwrap();
    let [top] = trace.frames.as_slice() else { panic!("{trace:?}") };
    assert_eq!((top.program, top.compute_units), (associated, trace.compute_units));
    let inner: Vec<_> = top.inner.iter().map(|frame| frame.program).collect();
    assert_eq!(inner, [token, system_program::ID, token, token]);
    let units: u64 = top.inner.iter().map(|frame| frame.compute_units).sum();
    assert_eq!(top.self_compute_units + units, top.compute_units);
    assert!(top.inner.iter().all(|frame| frame.logs.len() >= 2 && frame.compute_units > 0));
    assert!(trace.logs.is_empty());
    let [diff] = trace.account_diffs.as_slice() else { panic!("{:?}", trace.account_diffs) };
    assert_eq!(trace.accounts[usize::from(diff.account_index)], account);
    assert_eq!((diff.bytes_before, diff.bytes_after, diff.owner_after), (0, 165, token));
    assert_eq!(diff.ranges[0].after[..32], mint.to_bytes());
    let [balance] = landed.meta.post_token_balances.as_slice() else { panic!("{landed:?}") };
    assert_eq!((balance.mint, balance.owner, balance.decimals), (mint, alice.pubkey(), 9));
}

#[test]
fn many_senders_share_a_node() {
    const SENDERS: u8 = 4;
    const EACH: u64 = 50;
    let cluster = cluster();
    let wallets: Vec<_> = (1..=SENDERS).map(|number| cluster.wallet(number)).collect();
    let blockhash = cluster.blockhash();
    let mut events = cluster.node.subscribe();
    thread::scope(|scope| {
        for wallet in &wallets {
            let node = cluster.node.clone();
            scope.spawn(move || {
                for number in 1..=EACH {
                    let pay = [transfer(&wallet.pubkey(), &address(99), 1_000_000 + number)];
                    let transaction = sign(blockhash, &pay, &[wallet]);
                    node.send_and_wait(transaction, &SendOptions::default()).unwrap();
                }
            });
        }
    });
    let sent = u64::from(SENDERS) * EACH;
    let each = EACH * 1_000_000 + EACH * (EACH + 1) / 2;
    assert_eq!(cluster.balance(&address(99)), each * u64::from(SENDERS));
    let mut landed = [0, 0, 0];
    while let Ok(event) = events.try_recv() {
        let Event::Block { commitment, block } = event else { continue };
        landed[commitment as usize] += block.transactions.len() as u64;
    }
    assert_eq!(landed, [sent; 3]);
    let query = AddressQuery { before: None, until: None, limit: 1000, commitment: Confirmed };
    let all = cluster.node.signatures_for_address(&address(99), &query).unwrap();
    assert_eq!(all.len() as u64, sent);
    let (before, until) = (Some(all[10].signature), Some(all[20].signature));
    let page = AddressQuery { before, until, ..query };
    let page = cluster.node.signatures_for_address(&address(99), &page).unwrap();
    assert_eq!(page, all[11..20]);
    let unknown = AddressQuery { before: Some([1; 64].into()), ..query };
    assert!(cluster.node.signatures_for_address(&address(99), &unknown).is_err());
}

#[test]
fn a_transaction_waits_for_its_payer() {
    let cluster = cluster();
    let alice = key(1);
    let pay = [transfer(&alice.pubkey(), &address(2), SOL)];
    let transaction = sign(cluster.blockhash(), &pay, &[&alice]);
    let options = SendOptions { skip_preflight: true, ..SendOptions::default() };
    let signature = cluster.node.send(transaction.clone(), &options).unwrap();
    assert!(cluster.node.send(transaction, &SendOptions::default()).is_err());
    cluster.node.airdrop_and_wait(&alice.pubkey(), 10 * SOL).unwrap();
    cluster.node.airdrop_and_wait(&address(3), SOL).unwrap();
    assert!(cluster.node.statuses(&[signature])[0].is_some());
    assert_eq!(cluster.balance(&address(2)), SOL);
}

#[test]
fn a_slow_subscriber_is_told_what_it_missed() {
    use tokio::sync::broadcast::error::TryRecvError;
    let cluster = cluster_with(Options { events_max: 4, ..Options::default() });
    let mut events = cluster.node.subscribe();
    for _ in 0..10 {
        cluster.node.airdrop_and_wait(&address(3), SOL).unwrap();
    }
    assert!(matches!(events.try_recv(), Err(TryRecvError::Lagged(missed)) if missed > 10));
    assert!(events.try_recv().is_ok());
}

#[test]
fn the_history_is_bounded() {
    let options = Options { history: HistoryLimit::Transactions(20), ..Options::default() };
    let cluster = cluster_with(options);
    let first = cluster.node.airdrop_and_wait(&address(7), SOL).unwrap();
    for _ in 0..50 {
        cluster.node.airdrop_and_wait(&address(7), SOL).unwrap();
    }
    assert_eq!(cluster.node.stats().history, 20);
    assert_eq!(cluster.node.transaction(&first.signature), None);
    let error = cluster.node.block(first.slot).unwrap_err();
    let first = cluster.node.first_available_block();
    assert_eq!(error, selkie_node::NoBlock::CleanedUp { first });
}

#[test]
fn realistic_finality_takes_slots() {
    let options = Options { finality: Finality::Realistic, ..Options::default() };
    let cluster = cluster_with(options);
    let landed = cluster.node.airdrop_and_wait(&address(7), SOL).unwrap();
    assert_eq!(cluster.node.view(Processed).balance(&address(7)), SOL);
    assert_eq!(cluster.node.view(Confirmed).balance(&address(7)), 0);
    cluster.clock.advance(common::SLOT);
    assert_eq!(cluster.node.view(Confirmed).balance(&address(7)), SOL);
    assert_eq!(cluster.node.view(Finalized).balance(&address(7)), SOL);
    assert_eq!(cluster.node.commitment_of(landed.slot), Finalized);
}

#[test]
fn interval_blocks_come_by_themselves() {
    let options = Options {
        clock: std::sync::Arc::new(selkie_node::SystemClock),
        blocks: selkie_node::BlockMode::Interval,
        slot_milliseconds: 10,
        ..Options::default()
    };
    let node = selkie_node::Node::start(options).unwrap();
    let mut events = node.subscribe();
    let mut last = 0;
    for _ in 0..20 {
        let event = events.blocking_recv().unwrap();
        if let Event::Slot { slot, .. } = event {
            assert!(slot > last);
            last = slot;
        }
    }
    node.stop().unwrap();
    assert!(node.airdrop(&address(7), SOL, None).is_err());
}

#[test]
fn a_hundred_nodes_share_a_process() {
    let nodes: Vec<_> = (0..100).map(|_| cluster()).collect();
    for (number, cluster) in (1..).zip(&nodes) {
        cluster.node.airdrop_and_wait(&address(number), SOL).unwrap();
    }
    for (number, cluster) in (1..).zip(&nodes) {
        assert_eq!(cluster.balance(&address(number)), SOL);
        assert_eq!(cluster.balance(&address(number + 1)), 0);
    }
}

/// A cluster elsewhere that counts how often it is asked.
#[derive(Debug, Default)]
struct Elsewhere {
    accounts: std::collections::HashMap<Pubkey, solana_account::AccountSharedData>,
    asked: std::sync::Mutex<Vec<Pubkey>>,
}

impl selkie_node::Fetch for Elsewhere {
    fn fetch(
        &self,
        keys: &[Pubkey],
    ) -> Result<Vec<Option<solana_account::AccountSharedData>>, FetchError> {
        self.asked.lock().unwrap().extend(keys);
        Ok(keys.iter().map(|key| self.accounts.get(key).cloned()).collect())
    }
}

#[test]
fn missing_accounts_are_fetched_once() {
    use selkie_programs::{Deployed, MEMO, program_accounts};
    let (program, wallet, none) = (address(70), key(71), address(72));
    let slot = 300_000_000;
    let deployed = Deployed { loader: selkie_svm::Loader::V3, slot, authority: None };
    let rent = selkie_svm::sysvars::Rent::default();
    let mut elsewhere = Elsewhere::default();
    elsewhere.accounts.extend(program_accounts(&program, MEMO.elf(), &deployed, &rent));
    let account = solana_account::Account { lamports: 10 * SOL, ..Default::default() };
    elsewhere.accounts.insert(wallet.pubkey(), account.into());
    let elsewhere = std::sync::Arc::new(elsewhere);
    let cluster = cluster_with(Options { fetch: Some(elsewhere.clone()), ..Options::default() });
    for text in ["one", "two"] {
        let memo = instruction(program, vec![], &[text.as_bytes()]);
        let pay = transfer(&wallet.pubkey(), &none, SOL);
        let landed = cluster.run(&[memo, pay], &[&wallet]).unwrap();
        assert!(landed.meta.logs.iter().any(|line| line.contains(text)));
    }
    let mut asked = elsewhere.asked.lock().unwrap().clone();
    let all = asked.len();
    asked.sort();
    asked.dedup();
    assert_eq!((asked.len(), all), (4, 4), "two programs, a wallet, and one that is nowhere");
    assert_eq!(cluster.node.fetched_accounts().len(), 4);
    cluster.node.set_balance(wallet.pubkey(), 0).unwrap();
    cluster.node.fetch(&[wallet.pubkey()]).unwrap();
    assert_eq!(cluster.balance(&wallet.pubkey()), 0);
}

/// A cluster elsewhere that answers when all who ask have asked.
#[derive(Debug)]
struct Slow {
    barrier: std::sync::Barrier,
    account: solana_account::AccountSharedData,
}

impl selkie_node::Fetch for Slow {
    fn fetch(
        &self,
        keys: &[Pubkey],
    ) -> Result<Vec<Option<solana_account::AccountSharedData>>, FetchError> {
        self.barrier.wait();
        self.barrier.wait();
        Ok(keys.iter().map(|_| Some(self.account.clone())).collect())
    }
}

#[test]
fn a_late_answer_undoes_nothing() {
    let account = solana_account::Account { lamports: 10 * SOL, ..Default::default() };
    let barrier = std::sync::Barrier::new(3);
    let slow = std::sync::Arc::new(Slow { barrier, account: account.into() });
    let cluster = cluster_with(Options { fetch: Some(slow.clone()), ..Options::default() });
    let (paid, other) = (address(80), address(81));
    thread::scope(|scope| {
        let requests = [(); 2].map(|()| scope.spawn(|| cluster.node.fetch(&[paid, other])));
        slow.barrier.wait();
        assert!(cluster.node.fetched_accounts().is_empty());
        cluster.node.set_balance(paid, SOL).unwrap();
        slow.barrier.wait();
        requests.into_iter().for_each(|it| it.join().unwrap().unwrap());
    });
    assert_eq!(cluster.balance(&paid), SOL);
    assert_eq!(cluster.balance(&other), 10 * SOL);
    assert_eq!(cluster.node.fetched_accounts(), [paid, other]);
}
