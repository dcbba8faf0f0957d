//! Measures a ledger on disk: what a block costs to write, and how long it takes to open the file as a
//! killed process leaves it.
//!
//! `cargo run --release -p selkie-ledger --example restart FOLDER [BLOCKS [TRANSACTIONS [ACCOUNTS]]]`:
//! so many blocks with so many transactions each, over so many accounts.

#![allow(clippy::print_stdout, reason = "it is what this is for")]
#![allow(clippy::disallowed_methods, reason = "it measures time")]

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use selkie_ledger::{Block, Commit, DiskStore, Header, Landed, Meta, Store};
use solana_account::{Account, AccountSharedData};
use solana_hash::Hash;
use solana_message::{Message, VersionedMessage, compiled_instruction::CompiledInstruction};
use solana_pubkey::Pubkey;
use solana_transaction::versioned::VersionedTransaction;

/// The length of every account's data, that of a token account.
const ACCOUNT_BYTES: usize = 165;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("name a folder")?);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |it| it.parse());
    let (blocks, transactions, accounts) = (number(2000)?, number(5)?, number(20_000)?);
    let (live, killed) = (folder.join("live"), folder.join("killed"));
    let mut store = DiskStore::open(&live)?;
    let all = (0..accounts).map(|number| (address(number), account(number))).collect();
    store.commit(&Commit { accounts: all, ..Commit::default() })?;
    let mut times = Vec::new();
    for slot in 1..=blocks {
        let commit = commit(slot, transactions, accounts);
        let start = Instant::now();
        store.commit(&commit)?;
        times.push(start.elapsed());
    }
    let size = store.size_bytes() >> 20;
    println!(
        "{blocks} blocks, {} transactions, {accounts} accounts: {size} MB",
        blocks * transactions
    );
    report("a block", &mut times);
    // The file as it is now is what a kill leaves: nothing has told it that the process ends.
    fs::create_dir_all(&killed)?;
    let file = killed.join("ledger.redb");
    let mut opens = Vec::new();
    let mut reads = Vec::new();
    for _ in 0..5 {
        fs::copy(live.join("ledger.redb"), &file)?;
        let (opened, read) = open(&killed)?;
        opens.push(opened);
        reads.push(read);
    }
    report("opening it after a kill", &mut opens);
    report("reading all of it", &mut reads);
    drop(store);
    let (opened, _) = open(&live)?;
    println!("opening it after a clean end: {opened:?}");
    Ok(())
}

/// Opens the ledger and reads all of it.
fn open(folder: &Path) -> Result<(Duration, Duration), Box<dyn Error>> {
    let start = Instant::now();
    let mut store = DiskStore::open(folder)?;
    let opened = start.elapsed();
    let mut count = 0;
    store.accounts(&mut |_, _| count += 1)?;
    store.blocks(&mut |block| count += block.transactions.len())?;
    Ok((opened, start.elapsed() - opened))
}

fn report(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let [median, high] = [times[times.len() / 2], times[times.len() * 99 / 100]];
    println!("{what}: p50 {median:?}, p99 {high:?}");
}

fn address(number: u64) -> Pubkey {
    let mut bytes = [7; 32];
    // Addresses are spread as real ones are.
    bytes[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    Pubkey::new_from_array(bytes)
}

fn account(lamports: u64) -> AccountSharedData {
    let data = vec![1; ACCOUNT_BYTES];
    Account { lamports: lamports + 1, data, owner: address(0), ..Account::default() }.into()
}

/// A block whose transactions write to two accounts each.
fn commit(slot: u64, transactions: u64, accounts: u64) -> Commit {
    let landed = |index: u64| {
        let number = slot * transactions + index;
        let (from, to) = (address(number % accounts), address(number * 7 % accounts));
        let message = Message {
            account_keys: vec![from, to],
            instructions: vec![CompiledInstruction::new_from_raw_parts(1, vec![2; 12], vec![0, 1])],
            ..Message::default()
        };
        let mut signature = [3; 64];
        signature[..8].copy_from_slice(&number.to_le_bytes());
        let message = VersionedMessage::Legacy(message);
        let transaction = VersionedTransaction { signatures: vec![signature.into()], message };
        let logs = vec!["Program 11111111111111111111111111111111 success".to_owned(); 2];
        let meta = Meta { logs, fee: 5000, ..Meta::default() };
        let (signature, index) = (signature.into(), u32::try_from(index).unwrap_or(0));
        Landed { slot, index, block_time: 0, signature, transaction, result: Ok(()), meta }
    };
    let landed: Vec<Landed> = (0..transactions).map(landed).collect();
    let keys = landed.iter().flat_map(|it| it.transaction.message.static_account_keys());
    let accounts = keys.map(|key| (*key, account(slot))).collect();
    let block = Block {
        slot,
        parent_slot: slot - 1,
        blockhash: Hash::default(),
        previous_blockhash: Hash::default(),
        block_time: 0,
        block_height: slot,
        transaction_count: slot * transactions,
        transactions: landed.into_iter().map(Arc::new).collect(),
        rewards: Vec::new(),
        reward_partitions: None,
        accounts: Vec::new(),
    };
    let header = Header { slot, blockhashes: vec![Hash::default(); 151], ..Header::default() };
    Commit { accounts, blocks: vec![Arc::new(block)], header, ..Commit::default() }
}
