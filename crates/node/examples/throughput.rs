//! Measures a node in the process: start, transfers per second, one after the other and in bulk.
//!
//! `cargo run --release -p selkie-node --example throughput [ledger]`

#![allow(clippy::print_stdout, reason = "it is what this is for")]
#![allow(clippy::disallowed_methods, reason = "it measures time")]

use std::{
    error::Error,
    fs::{self, File},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use selkie_node::{Node, Options, SendOptions};
use solana_account::Account;
use solana_commitment_config::CommitmentLevel;
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_message::{Message, VersionedMessage};
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use solana_transaction::versioned::VersionedTransaction;

const BULK: u64 = 100_000;
const SINGLE: u64 = 1000;
const WALLETS: u64 = 2000;

fn main() -> Result<(), Box<dyn Error>> {
    let ledger: Option<PathBuf> = std::env::args().nth(1).map(Into::into);
    let start = Instant::now();
    let node = Node::start(Options { ledger: ledger.clone(), ..Options::default() })?;
    println!("ready after {:?}, {} MB", start.elapsed(), resident_megabytes());
    let payer = Keypair::new_from_array([1; 32]);
    node.airdrop_and_wait(&payer.pubkey(), 1_000_000_000_000)?;
    single(&node, &payer)?;
    let wallets = wallets(&node)?;
    for round in 0..3 {
        bulk(&node, &wallets, round)?;
    }
    let stats = node.stats();
    println!("{stats:?}, {} MB", resident_megabytes());
    ledger.as_deref().map_or(Ok(()), restart)?;
    let start = Instant::now();
    node.stop()?;
    println!("stopped after {:?}", start.elapsed());
    Ok(())
}

/// Starts nodes from the ledger as a kill would leave it now: nothing has told the file of an end.
fn restart(ledger: &Path) -> Result<(), Box<dyn Error>> {
    let killed = ledger.with_extension("killed");
    fs::create_dir_all(&killed)?;
    for _ in 0..5 {
        let file = killed.join("ledger.redb");
        let bytes = fs::copy(ledger.join("ledger.redb"), &file)?;
        File::open(&file)?.sync_all()?;
        let start = Instant::now();
        let node = Node::start(Options { ledger: Some(killed.clone()), ..Options::default() })?;
        let count = node.view(CommitmentLevel::Finalized).transaction_count();
        let time = start.elapsed();
        println!("restarted after {time:?}, {} MB on disk, {count} transactions", bytes >> 20);
    }
    Ok(())
}

/// Creates wallets with lamports.
fn wallets(node: &Node) -> Result<Vec<Keypair>, Box<dyn Error>> {
    let wallet = |number: u64| {
        let mut seed = [5; 32];
        seed[..8].copy_from_slice(&number.to_le_bytes());
        Keypair::new_from_array(seed)
    };
    let wallets: Vec<Keypair> = (0..WALLETS).map(wallet).collect();
    let account = Account { lamports: 1_000_000_000_000_000, ..Account::default() };
    let accounts = wallets.iter().map(|it| (it.pubkey(), account.clone().into())).collect();
    node.set_accounts(accounts)?;
    Ok(wallets)
}

/// Sends transfers one after the other, each when the one before it has landed.
fn single(node: &Node, payer: &Keypair) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::new();
    for number in 0..SINGLE {
        let blockhash = node.view(CommitmentLevel::Processed).blockhash();
        let to = Pubkey::new_from_array([9; 32]);
        let transaction = transfer(payer, to, 1_000_000 + number, blockhash)?;
        let start = Instant::now();
        node.send_and_wait(transaction, &options(CommitmentLevel::Processed, false))?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let [median, high] = [times[times.len() / 2], times[times.len() * 99 / 100]];
    println!("one after the other: p50 {median:?}, p99 {high:?}");
    Ok(())
}

/// Signs and sends transfers between wallets without waiting, in two threads, and counts those that
/// land. In the last round they are simulated first.
fn bulk(node: &Node, wallets: &[Keypair], round: u64) -> Result<(), Box<dyn Error>> {
    let blockhash = node.view(CommitmentLevel::Processed).blockhash();
    let before = finalized(node);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for half in 0..2 {
            let first = 2_000_000 + round * BULK + half * (BULK / 2);
            scope.spawn(move || {
                for (lamports, index) in (first..first + BULK / 2).zip((0..wallets.len()).cycle()) {
                    let to = wallets[(index + 1) % wallets.len()].pubkey();
                    let transaction = transfer(&wallets[index], to, lamports, blockhash);
                    let transaction = transaction.expect("it has a signer");
                    let options = options(CommitmentLevel::Processed, round < 2);
                    while node.send(transaction.clone(), &options).is_err() {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            });
        }
        while finalized(node) < before + BULK {
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    let time = start.elapsed();
    let rate = BULK as f64 / time.as_secs_f64();
    println!("in bulk: {BULK} in {time:?}, {rate:.0}/s, {} MB", resident_megabytes());
    Ok(())
}

/// Returns the number of finalized transactions.
fn finalized(node: &Node) -> u64 {
    node.view(CommitmentLevel::Finalized).transaction_count()
}

fn options(preflight_commitment: CommitmentLevel, skip_preflight: bool) -> SendOptions {
    SendOptions { skip_preflight, preflight_commitment, ..SendOptions::default() }
}

fn transfer(
    from: &Keypair,
    to: Pubkey,
    lamports: u64,
    blockhash: solana_hash::Hash,
) -> Result<VersionedTransaction, Box<dyn Error>> {
    let accounts = vec![AccountMeta::new(from.pubkey(), true), AccountMeta::new(to, false)];
    let data = [&2_u32.to_le_bytes()[..], &lamports.to_le_bytes()].concat();
    let program_id = Pubkey::default();
    let transfer = Instruction { program_id, accounts, data };
    let message = Message::new_with_blockhash(&[transfer], Some(&from.pubkey()), &blockhash);
    Ok(VersionedTransaction::try_new(VersionedMessage::Legacy(message), &[from])?)
}

/// Returns the memory that the process uses; 0 where that is unknown.
fn resident_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|it| it.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1024
}
