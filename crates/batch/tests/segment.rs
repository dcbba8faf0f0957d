//! Items that are blocks.

mod common;

use core::num::NonZeroUsize;

use arrow_array::RecordBatch;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use common::{number, text};
use selkie::{Instruction, Keypair, Signer as _, Svm, keypair, programs, system, token};
use selkie_batch::{
    Base, Expectation, Item, Items, Kind, RunOptions, SegmentBlock, SegmentFile, record, run,
};
use selkie_svm::Engine;

/// A chain before the blocks, and one that makes them.
struct Recorder {
    before: Svm,
    svm: Svm,
    blocks: Vec<SegmentBlock>,
    compute_units: u64,
}

impl Recorder {
    fn new() -> Self {
        let mut svm = Svm::new();
        svm.airdrop(&keypair("alice").pubkey(), 10_000_000_000).expect("the balance fits");
        let mint = keypair("mint").pubkey();
        let alice = keypair("alice").pubkey();
        svm.set_mint(mint, &programs::TOKEN.id, &alice, 6).expect("a mint is no sysvar");
        Self { before: svm.clone(), svm, blocks: Vec::new(), compute_units: 0 }
    }

    /// Begins a block.
    fn begin(&mut self, slot: u64) {
        self.svm.warp_to_slot(slot).expect("it is later");
        self.blocks.push(SegmentBlock {
            slot,
            unix_timestamp: Some(self.svm.clock().unix_timestamp),
            ..SegmentBlock::default()
        });
    }

    fn send(&mut self, instructions: &[Instruction], signers: &[&Keypair]) {
        let signers: Vec<&dyn selkie::Signer> = signers.iter().map(|it| *it as _).collect();
        // The blockhash that the chain had before all blocks is recent in all of them.
        let transaction = self.before.sign(instructions, &signers).expect("all signers are given");
        let wire = wincode::serialize(&transaction).expect("transactions can be serialized");
        let block = self.blocks.last_mut().expect("a block was begun");
        block.transactions.push(BASE64_STANDARD.encode(wire));
        let receipt = self.svm.send(transaction).unwrap_or_else(|failed| failed.receipt);
        self.compute_units += receipt.compute_units;
    }
}

/// Three blocks: tokens are created, minted and moved, each in the block after.
fn blocks() -> Recorder {
    let mut recorder = Recorder::new();
    let (alice, bob) = (keypair("alice"), keypair("bob").pubkey());
    let (program, mint) = (programs::TOKEN.id, keypair("mint").pubkey());
    let accounts =
        [alice.pubkey(), bob].map(|owner| token::associated_address(&program, &owner, &mint));
    let key = alice.pubkey();
    recorder.begin(5);
    for owner in [key, bob] {
        let create = token::create_associated(&program, &key, &owner, &mint);
        recorder.send(&[create], &[&alice]);
    }
    recorder.begin(6);
    recorder.send(&[token::mint_to(&program, &mint, &accounts[0], &key, 1000)], &[&alice]);
    recorder.begin(9);
    for amount in [999, 2] {
        let transfer = token::transfer(&program, &accounts[0], &accounts[1], &key, amount);
        recorder.send(&[transfer], &[&alice]);
    }
    recorder.send(&[system::transfer(&key, &bob, 5_000_000)], &[&alice]);
    recorder
}

/// Runs an item with these blocks, which `change` may change, for each of the threads and more.
fn run_with(
    recorder: &Recorder,
    message: &[u8],
    options: &RunOptions,
    change: impl Fn(&mut Item<'_>),
) -> RecordBatch {
    let mut base = Base::new();
    let svm = &recorder.before;
    let environment = record::environment_file(svm.environment(), svm.recent_blockhashes());
    let env_ref = base.add(environment.to_bytes());
    let accounts: Vec<_> = svm.accounts().map(|(key, it)| (key, it.clone())).collect();
    let mut items = Items::new();
    let rows = options.threads.get();
    for _ in 0..if rows > 1 { 16 * rows } else { 1 } {
        let mut item = Item {
            kind: Kind::Segment,
            env_ref,
            message,
            accounts: accounts.iter().map(|it| record::item_account(it, &mut base)).collect(),
            verify_signatures: true,
            check_blockhash: true,
            ..Item::default()
        };
        change(&mut item);
        items.push(&item);
    }
    run(&items.finish().expect("they fit"), &base, options).expect("the batch has all columns")
}

fn run_blocks(recorder: &Recorder, blocks: Vec<SegmentBlock>) -> RecordBatch {
    let message = SegmentFile::new(blocks).to_bytes();
    run_with(recorder, &message, &RunOptions::default(), |_| ())
}

#[test]
fn each_block_sees_the_one_before_with_any_threads_and_engine() {
    let recorder = blocks();
    let message = SegmentFile::new(recorder.blocks.clone()).to_bytes();
    let mut hashes = Vec::new();
    for (threads, engine) in [(1, Engine::Jit), (3, Engine::Interpreter)] {
        let threads = NonZeroUsize::new(threads).expect("there are threads");
        let options = RunOptions { threads, engine, ..RunOptions::default() };
        let expect = Expectation {
            status: Some("Success"),
            compute_units: Some(recorder.compute_units),
            ..Expectation::default()
        };
        let results =
            run_with(&recorder, &message, &options, |item| item.expect = Some(expect.clone()));
        assert_eq!(text(&results, "error", 0), None);
        assert_eq!(text(&results, "status", 0), Some("Success"));
        assert!(common::matches(&results, 0), "{}", number(&results, "compute_units", 0));
        assert_eq!(number(&results, "fee", 0), 6 * 5000);
        let effort = r#"{"blocks":3,"transactions":6,"failed":1,"dropped":0}"#;
        assert_eq!(text(&results, "effort", 0), Some(effort));
        assert!(results.column_by_name("return_data").is_some_and(|it| it.is_null(0)));
        let hash = common::binary(&results, "effects_hash", 0).to_vec();
        let last = results.num_rows() - 1;
        assert_eq!(common::binary(&results, "effects_hash", last), hash);
        hashes.push(hash);
    }
    assert_eq!(hashes[0], hashes[1]);
}

#[test]
fn the_accounts_are_those_of_the_end_and_no_sysvars() {
    let recorder = blocks();
    let results = run_blocks(&recorder, recorder.blocks.clone());
    let post = common::post(&results, 0);
    let expected = |key| (key, recorder.svm.balance(&key));
    let bob = expected(keypair("bob").pubkey());
    assert!(post.contains(&bob), "{post:?}");
    assert!(post.contains(&expected(keypair("alice").pubkey())), "{post:?}");
    assert_eq!(post.len(), 5, "two users, a mint and two token accounts: {post:?}");
}

#[test]
fn fees_are_paid_to_the_collector() {
    let recorder = blocks();
    let collector = keypair("collector").pubkey();
    let mut blocks = recorder.blocks.clone();
    blocks.iter_mut().for_each(|it| it.collector = Some(collector.to_string()));
    // It has to hold the minimum balance, for which the fees of three blocks are too little.
    let message = SegmentFile::new(blocks).to_bytes();
    let results = run_with(&recorder, &message, &RunOptions::default(), |item| {
        item.overrides.push(selkie_batch::Override {
            pubkey: collector,
            lamports: Some(1_000_000),
            owner: None,
            bytes: None,
        });
    });
    assert!(common::post(&results, 0).contains(&(collector, 1_000_000 + 6 * 2500)));
}

#[test]
fn a_blockhash_of_a_block_is_recent_in_the_next_one() {
    let recorder = blocks();
    let blockhash = selkie::Hash::new_from_array([9; 32]);
    let mut later = Recorder::new();
    later.begin(5);
    later.blocks[0].blockhash = Some(blockhash.to_string());
    later.begin(6);
    let alice = keypair("alice");
    let transfer = system::transfer(&alice.pubkey(), &keypair("bob").pubkey(), 5_000_000);
    let message =
        selkie::Message::new_with_blockhash(&[transfer], Some(&alice.pubkey()), &blockhash);
    let transaction = selkie::Transaction::new(&[&alice], message, blockhash);
    let wire = wincode::serialize(&selkie::VersionedTransaction::from(transaction));
    later.blocks[1].transactions.push(BASE64_STANDARD.encode(wire.expect("it can be serialized")));
    let results = run_blocks(&recorder, later.blocks.clone());
    assert_eq!(text(&results, "status", 0), Some("Success"), "{:?}", text(&results, "error", 0));
    later.blocks[0].blockhash = None;
    let results = run_blocks(&recorder, later.blocks);
    assert_eq!(text(&results, "status", 0), Some("Dropped"));
    let error = text(&results, "error", 0);
    assert_eq!(error, Some(r#"block 1 (slot 6), transaction 0: "BlockhashNotFound""#));
}

#[test]
fn malformed_blocks_are_named() {
    let recorder = blocks();
    let changed = |change: fn(&mut Vec<SegmentBlock>)| {
        let mut blocks = recorder.blocks.clone();
        change(&mut blocks);
        blocks
    };
    let cases: [(Vec<SegmentBlock>, &str); 6] = [
        (changed(|it| it[1].slot = 5), "block 1 (slot 5): slot 5 is not after its parent's slot 5"),
        (
            changed(|it| it[2].transactions[1] = "AAAA".to_owned()),
            "block 2 (slot 9), transaction 1: ",
        ),
        (changed(|it| it[2].transactions[1] = "?".to_owned()), "transaction 1: no base64"),
        (changed(|it| it[0].blockhash = Some("x".to_owned())), "block 0 (slot 5): `x` is no "),
        (changed(|it| it[0].collector = Some("x".to_owned())), "block 0 (slot 5): `x` is no "),
        (Vec::new(), "from 1 to 4096 blocks"),
    ];
    for (blocks, why) in cases {
        let results = run_blocks(&recorder, blocks);
        assert_eq!(text(&results, "status", 0), Some("MalformedItem"), "{why}");
        let error = text(&results, "error", 0).expect("it says what is wrong");
        assert!(error.contains(why), "{error}");
    }
    let message = SegmentFile::new(recorder.blocks.clone()).to_bytes();
    let results = run_with(&recorder, &message, &RunOptions::default(), |item| {
        item.check_blockhash = false;
    });
    assert!(text(&results, "error", 0).is_some_and(|it| it.contains("set `check_blockhash`")));
}
