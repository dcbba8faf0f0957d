//! Restarts from a ledger, after a clean stop and after a kill.

mod common;

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use common::{SLOT, SOL, address, cluster_with, transfer};
use selkie_bank::LatticeHash;
use selkie_ledger::{DiskStore, Store as _};
use selkie_node::{HistoryLimit, Node, NodeError, Options, StoreError, View};
use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_commitment_config::CommitmentLevel::{Finalized, Processed};
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_signer::Signer;

/// The variable that makes the test binary a node to be killed: its folder.
const CHILD: &str = "SELKIE_TEST_LEDGER";
/// The variable that sets how often a node is killed.
const KILLS: &str = "SELKIE_TEST_KILLS";

/// A folder of its own for each test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("{name}-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn options(&self) -> Options {
        Options { ledger: Some(self.0.clone()), ..Options::default() }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Waits until a transaction is finalized, which means that it is on disk.
fn finalize(node: &Node, signature: Signature) {
    for _ in 0..10_000 {
        let status = node.statuses(&[signature]).remove(0);
        if status.is_some_and(|it| it.commitment == Finalized) {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("not finalized: {:?}", node.failure());
}

#[test]
fn a_restart_continues() {
    let folder = Folder::new("restart");
    let first = cluster_with(folder.options());
    let info = first.node.info().clone();
    assert_eq!(info.restored_slot, None);
    let alice = first.wallet(1);
    first.clock.advance(SLOT * 5);
    let landed = first.run(&[transfer(&alice.pubkey(), &address(2), SOL)], &[&alice]).unwrap();
    finalize(&first.node, landed.signature);
    let view = first.node.view(Finalized);
    let (slot, count, blockhash) = (view.slot(), view.transaction_count(), view.blockhash());
    let in_use = Node::start(folder.options()).unwrap_err();
    assert!(matches!(in_use, NodeError::Store(StoreError::InUse(_))), "{in_use}");
    first.node.stop().unwrap();

    let second = cluster_with(folder.options());
    assert_eq!(second.node.info().genesis_hash, info.genesis_hash);
    assert_eq!(second.node.info().restored_slot, Some(slot));
    second.clock.advance(SLOT * 5);
    let view = second.node.view(Finalized);
    assert!(view.slot() >= slot);
    assert_eq!(view.transaction_count(), count);
    assert!(view.is_blockhash_valid(&blockhash));
    assert_eq!(second.balance(&address(2)), SOL);
    assert_eq!(second.node.transaction(&landed.signature).unwrap(), landed);
    assert_eq!(second.node.block(landed.slot).unwrap().block_time, landed.block_time);
    let again = second.node.send(landed.transaction.clone(), &Default::default());
    let again = again.unwrap_err().to_string();
    assert!(again.contains("already been processed"), "{again}");
    second.run(&[transfer(&alice.pubkey(), &address(2), SOL)], &[&alice]).unwrap();
    assert_eq!(second.node.view(Processed).balance(&address(2)), 2 * SOL);
}

#[test]
fn a_ledger_that_was_emptied_is_told_from_a_new_one() {
    let folder = Folder::new("emptied");
    let found_empty = || {
        let cluster = cluster_with(folder.options());
        let info = cluster.node.info().clone();
        cluster.node.stop().unwrap();
        (info.restored_slot.is_some(), info.found_empty_ledger)
    };
    assert_eq!(found_empty(), (false, false));
    assert_eq!(found_empty(), (true, false));
    let file = folder.0.join("ledger.redb");
    fs::write(&file, b"").unwrap();
    assert_eq!(found_empty(), (false, true));
    // A file with tables that hold nothing.
    let mut store = DiskStore::open(&folder.0).unwrap();
    store.clear().unwrap();
    drop(store);
    assert_eq!(found_empty(), (false, true));
    let reset = cluster_with(Options { reset: true, ..folder.options() });
    assert!(!reset.node.info().found_empty_ledger);
}

#[test]
fn what_belongs_to_the_genesis_is_that_of_the_ledger() {
    let folder = Folder::new("genesis");
    let created = Options { slots_per_epoch: 64, faucet_lamports: 0, ..folder.options() };
    cluster_with(created).node.stop().unwrap();
    let restarted = cluster_with(folder.options());
    let info = restarted.node.info();
    assert_eq!((info.epoch_schedule.slots_per_epoch, info.faucet), (64, None));
    restarted.node.stop().unwrap();
}

#[test]
fn a_ledger_goes_on_in_a_later_slot_if_asked_to() {
    let folder = Folder::new("warp");
    let started_at = |first_slot| {
        let cluster = cluster_with(Options { first_slot, ..folder.options() });
        let view = cluster.node.view(Processed);
        let (slot, time) = (view.slot(), view.clock().unix_timestamp);
        cluster.node.stop().unwrap();
        (slot, time)
    };
    let (first, begun) = started_at(1);
    let (second, time) = started_at(100_000);
    assert!(first < 100_000 && second == 100_000, "{first} {second}");
    assert!(time - begun < 60, "the clock goes on as it did: {begun} {time}");
    let (third, _) = started_at(50);
    assert!(third >= 100_000, "slots do not go back: {third}");
}

/// Checks the lattice hash on disk, from which a restart continues.
fn check_lattice(folder: &Folder) {
    let mut store = DiskStore::open(&folder.0).unwrap();
    let mut sum = LatticeHash::default();
    store.accounts(&mut |key, account| sum.add(&key, &account)).unwrap();
    let header = store.header().unwrap().unwrap();
    assert_eq!(LatticeHash::from_bytes(&header.lattice), Some(sum));
}

#[test]
fn the_lattice_hash_on_disk_is_that_of_the_accounts() {
    let folder = Folder::new("lattice");
    for number in 1..4 {
        let cluster = cluster_with(folder.options());
        let alice = cluster.wallet(number);
        cluster.clock.advance(SLOT * 5);
        cluster.run(&[transfer(&alice.pubkey(), &address(9), SOL)], &[&alice]).unwrap();
        let id = cluster.node.snapshot().unwrap();
        cluster.node.airdrop_and_wait(&address(3), SOL).unwrap();
        if number == 3 {
            cluster.node.revert(id).unwrap();
        }
        cluster.node.stop().unwrap();
        drop(cluster);
        check_lattice(&folder);
    }
}

/// A cluster elsewhere where each address has an account.
#[derive(Debug)]
struct Elsewhere;

impl selkie_node::Fetch for Elsewhere {
    fn fetch(
        &self,
        keys: &[Pubkey],
    ) -> Result<Vec<Option<AccountSharedData>>, selkie_node::FetchError> {
        let account = Account { lamports: 7 * SOL, ..Account::default() };
        Ok(vec![Some(account.into()); keys.len()])
    }
}

#[test]
fn fetched_accounts_are_remembered_until_they_are_reverted() {
    let folder = Folder::new("fetched");
    let options = || Options { fetch: Some(Arc::new(Elsewhere)), ..folder.options() };
    let keys = [address(2), address(3), address(4)];
    let balances = |node: &Node| keys.map(|key| node.view(Processed).balance(&key));
    let first = cluster_with(options());
    first.node.fetch(&keys[..2]).unwrap();
    first.node.set_balance(keys[0], 0).unwrap();
    let id = first.node.snapshot().unwrap();
    first.node.fetch(&keys).unwrap();
    first.node.revert(id).unwrap();
    first.node.stop().unwrap();
    drop(first);

    let second = cluster_with(options());
    assert_eq!(second.node.fetched_accounts(), [keys[1]]);
    second.node.fetch(&keys).unwrap();
    assert_eq!(balances(&second.node), [0, 7 * SOL, 7 * SOL]);
    second.node.reset().unwrap();
    second.node.stop().unwrap();
    drop(second);

    let third = cluster_with(options());
    assert_eq!(third.node.fetched_accounts(), []);
    third.node.fetch(&keys).unwrap();
    assert_eq!(balances(&third.node), [7 * SOL; 3]);
}

#[test]
fn reverted_and_replaced_states_are_on_disk() {
    let folder = Folder::new("revert");
    let first = cluster_with(folder.options());
    let kept = first.node.airdrop_and_wait(&address(2), SOL).unwrap();
    let id = first.node.snapshot().unwrap();
    let gone = first.node.airdrop_and_wait(&address(3), SOL).unwrap();
    first.node.revert(id).unwrap();
    first.node.airdrop_and_wait(&address(4), SOL).unwrap();
    let mut dump = Vec::new();
    first.node.dump(&mut dump).unwrap();
    first.node.stop().unwrap();

    let second = cluster_with(folder.options());
    let balances = [2, 3, 4].map(|number| second.balance(&address(number)));
    assert_eq!(balances, [SOL, 0, SOL]);
    assert!(second.node.transaction(&kept.signature).is_some());
    assert!(second.node.transaction(&gone.signature).is_none());
    second.node.reset().unwrap();
    second.node.stop().unwrap();

    let third = cluster_with(folder.options());
    assert_eq!((third.balance(&address(2)), third.node.stats().history), (0, 0));
    third.node.load(&mut dump.as_slice()).unwrap();
    third.node.stop().unwrap();

    let fourth = cluster_with(folder.options());
    assert_eq!(fourth.balance(&address(4)), SOL);
    fourth.node.stop().unwrap();
    let fifth = cluster_with(Options { reset: true, ..folder.options() });
    assert_eq!(fifth.balance(&address(4)), 0);
}

#[test]
fn the_history_on_disk_is_bounded() {
    let folder = Folder::new("bounded");
    let history = HistoryLimit::Transactions(10);
    let first = cluster_with(Options { history, ..folder.options() });
    for _ in 0..30 {
        first.node.airdrop_and_wait(&address(2), SOL).unwrap();
    }
    first.node.stop().unwrap();
    let second = cluster_with(Options { history: HistoryLimit::All, ..folder.options() });
    assert_eq!(second.node.stats().history, 10);
    assert_eq!(second.balance(&address(2)), 30 * SOL);
}

/// Not a test by itself: run as a child of the next one, it airdrops until it is killed, and prints
/// each airdrop once it is finalized.
#[test]
fn child() {
    let Ok(folder) = std::env::var(CHILD) else { return };
    let options = Options { ledger: Some(folder.into()), ..Options::default() };
    let node = Node::start(Options { history: HistoryLimit::All, ..options }).unwrap();
    for number in 0..u64::MAX {
        let mut to = [200; 32];
        to[..8].copy_from_slice(&number.to_le_bytes());
        let to = Pubkey::new_from_array(to);
        let landed = node.airdrop_and_wait(&to, SOL).unwrap();
        finalize(&node, landed.signature);
        println!("finalized {to} {}", landed.signature);
    }
}

#[test]
fn what_was_finalized_survives_a_kill() {
    let kills = std::env::var(KILLS).ok().and_then(|it| it.parse().ok()).unwrap_or(4_u64);
    let folder = Folder::new("kill");
    let mut known: Vec<(Pubkey, Signature)> = Vec::new();
    for round in 0..kills + 50 {
        // On a busy machine the first lives may be too short for a single airdrop.
        if round >= kills && !known.is_empty() {
            break;
        }
        let more = if known.is_empty() { round * 200 } else { 0 };
        let lines = run_child(&folder.0, Duration::from_millis(150 + round * 37 % 200 + more));
        known.extend(lines.iter().filter_map(|line| {
            let (to, signature) = line.strip_prefix("finalized ")?.split_once(' ')?;
            Some((to.parse().ok()?, signature.parse().ok()?))
        }));
        let options = Options { history: HistoryLimit::All, ..folder.options() };
        let node = Node::start(options).unwrap();
        let view = node.view(Finalized);
        for (to, signature) in &known {
            assert!(view.balance(to) >= SOL, "round {round}: {to}");
            assert!(node.transaction(signature).is_some(), "round {round}: {signature}");
        }
        check_owners(&view);
        node.stop().unwrap();
    }
    assert!(!known.is_empty(), "nothing was finalized before the kills");
}

/// Checks that the index by owner agrees with the accounts.
fn check_owners(view: &View) {
    let mut by_owner: BTreeMap<Pubkey, Vec<Pubkey>> = BTreeMap::new();
    for (key, account) in view.accounts() {
        by_owner.entry(*account.owner()).or_default().push(key);
    }
    for (owner, keys) in by_owner {
        let found: Vec<Pubkey> =
            view.program_accounts(&owner).into_iter().map(|(key, _)| key).collect();
        assert_eq!(found, keys, "{owner}");
    }
}

/// Runs a node in another process and kills it after a while. Returns what it has printed.
fn run_child(folder: &Path, after: Duration) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(CHILD, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let stdout = child.stdout.take().unwrap();
    let reader = thread::spawn(move || {
        BufReader::new(stdout).lines().map_while(Result::ok).collect::<Vec<_>>()
    });
    thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

/// A store whose disk is full after some commits.
#[derive(Debug)]
struct FullDisk {
    store: selkie_ledger::DiskStore,
    left: usize,
}

impl selkie_ledger::Store for FullDisk {
    fn header(&mut self) -> Result<Option<selkie_ledger::Header>, StoreError> {
        self.store.header()
    }

    fn accounts(
        &mut self,
        each: &mut dyn FnMut(Pubkey, solana_account::AccountSharedData),
    ) -> Result<(), StoreError> {
        self.store.accounts(each)
    }

    fn blocks(&mut self, each: &mut dyn FnMut(selkie_node::Block)) -> Result<(), StoreError> {
        self.store.blocks(each)
    }

    fn fetched(&mut self) -> Result<Vec<Pubkey>, StoreError> {
        Ok(Vec::new())
    }

    fn commit(&mut self, commit: &selkie_ledger::Commit) -> Result<(), StoreError> {
        let full = StoreError::File("ledger".to_owned(), "no space left on device".to_owned());
        self.left = self.left.checked_sub(1).ok_or(full)?;
        self.store.commit(commit)
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        self.store.clear()
    }

    fn check(&mut self) -> Result<(), StoreError> {
        self.store.check()
    }

    fn compact(&mut self) -> Result<(), StoreError> {
        self.store.compact()
    }

    fn size_bytes(&self) -> u64 {
        self.store.size_bytes()
    }
}

#[test]
fn a_full_disk_stops_the_node_with_a_reason() {
    let folder = Folder::new("full");
    let store = selkie_ledger::DiskStore::open(&folder.0).unwrap();
    let store = Box::new(FullDisk { store, left: 3 });
    let node = Node::start_with_store(Options::default(), store).unwrap();
    let mut landed = Vec::new();
    let error = loop {
        match node.airdrop_and_wait(&address(2), SOL) {
            Ok(it) => landed.push(it.signature),
            Err(error) => break error.to_string(),
        }
    };
    assert!(node.failure().unwrap().contains("no space left"), "{error}");
    let error = node.airdrop(&address(2), SOL, None).unwrap_err();
    assert!(error.to_string().contains("no space left"), "{error}");
    assert!(matches!(node.set_balance(address(3), 1), Err(NodeError::Stopped)));
    let statuses = node.statuses(&landed);
    let is_final = |it: &&Option<selkie_node::Status>| {
        it.as_ref().is_some_and(|it| it.commitment == Finalized)
    };
    let finalized = statuses.iter().filter(is_final).count() as u64;
    node.stop().unwrap();
    let restarted = Node::start(folder.options()).unwrap();
    assert!(restarted.view(Finalized).balance(&address(2)) >= finalized * SOL);
}

#[test]
fn a_planned_feature_survives_a_restart() {
    let feature = selkie_svm::Feature::Blake3;
    let folder = Folder::new("feature");
    let first = cluster_with(folder.options());
    let slot = first.node.view(Processed).slot() + 10;
    first.node.set_feature(feature.address(), slot).unwrap();
    first.node.stop().unwrap();

    let second = cluster_with(folder.options());
    assert!(!second.node.view(Processed).features().has(feature));
    second.clock.advance(SLOT * 20);
    second.node.set_balance(address(1), SOL).unwrap();
    assert!(second.node.view(Processed).features().has(feature));
}
