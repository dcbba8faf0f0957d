//! Items recorded from an in-process chain, executed as a batch.

use core::num::NonZeroUsize;

use arrow_array::{Array, BooleanArray, RecordBatch, StringArray, cast::AsArray, types::Int64Type};
use selkie::{Instruction, Keypair, Signer, Svm, keypair, programs, system, token};
use selkie_batch::{
    Base, BatchError, Digest, EnvironmentFile, Expectation, Item, ItemData, Items, Override,
    RunOptions, Sha256, record, run, schema, schema::column,
};
use selkie_svm::{Engine, Pubkey};
use solana_transaction::versioned::VersionedTransaction;

/// A transaction with the state before it and its result on the chain.
struct Recorded {
    wire: Vec<u8>,
    accounts: Vec<selkie::case::KeyedAccount>,
    status: &'static str,
    error: Option<String>,
    compute_units: u64,
}

/// Sends transactions to a chain and records each.
struct Recorder {
    svm: Svm,
    sent: Vec<Recorded>,
}

impl Recorder {
    fn new() -> Self {
        Self { svm: Svm::new(), sent: Vec::new() }
    }

    fn send(&mut self, instructions: &[Instruction], signers: &[&dyn Signer]) {
        let transaction = self.svm.sign(instructions, signers).expect("all signers are given");
        let accounts = record::accounts(&self.svm.case(&transaction));
        let wire = wire(&transaction);
        let receipt = self.svm.send(transaction).unwrap_or_else(|failed| failed.receipt);
        let error = receipt.result.as_ref().err();
        self.sent.push(Recorded {
            wire,
            accounts,
            status: if error.is_none() { "Success" } else { "Failed" },
            error: error.map(|it| serde_json::to_string(it).expect("errors are JSON")),
            compute_units: receipt.compute_units,
        });
    }

    /// Returns all transactions as a batch of items.
    fn items(&self, base: &mut Base) -> RecordBatch {
        let env_ref = self.environment(base);
        let mut items = Items::new();
        for sent in &self.sent {
            let accounts = sent.accounts.iter().map(|it| record::item_account(it, base));
            items.push(&Item {
                env_ref,
                message: &sent.wire,
                accounts: accounts.collect(),
                verify_signatures: true,
                expect: Some(Expectation {
                    status: Some(sent.status),
                    error: sent.error.as_deref(),
                    compute_units: Some(sent.compute_units),
                    effects_hash: None,
                }),
                ..Item::default()
            });
        }
        items.finish().expect("the items fit into a batch")
    }

    fn environment(&self, base: &mut Base) -> Sha256 {
        base.add(record::environment_file(self.svm.environment(), []).to_bytes())
    }
}

fn wire(transaction: &VersionedTransaction) -> Vec<u8> {
    wincode::serialize(transaction).expect("transactions can be serialized")
}

fn funded(svm: &mut Svm, name: &str) -> Keypair {
    let keypair = keypair(name);
    svm.airdrop(&keypair.pubkey(), 10_000_000_000).expect("the balance fits");
    keypair
}

/// Transfers, token life cycles with two token programs, CPIs three deep, and failures.
fn workload() -> Recorder {
    let mut recorder = Recorder::new();
    let alice = funded(&mut recorder.svm, "alice");
    let bob = keypair("bob").pubkey();
    for lamports in [1_000_000, 7, 0] {
        recorder.send(&[system::transfer(&alice.pubkey(), &bob, lamports)], &[&alice]);
    }
    recorder.send(&[system::transfer(&alice.pubkey(), &bob, u64::MAX)], &[&alice]);
    for program in [programs::TOKEN.id, programs::TOKEN_2022.id] {
        let mint = keypair(&format!("mint {program}")).pubkey();
        let set = recorder.svm.set_mint(mint, &program, &alice.pubkey(), 6);
        set.expect("a mint is no sysvar");
        let owners = [alice.pubkey(), bob];
        let accounts = owners.map(|owner| token::associated_address(&program, &owner, &mint));
        for owner in owners {
            let create = token::create_associated(&program, &alice.pubkey(), &owner, &mint);
            recorder.send(&[create], &[&alice]);
        }
        let key = alice.pubkey();
        recorder.send(&[token::mint_to(&program, &mint, &accounts[0], &key, 1000)], &[&alice]);
        for amount in [1, 999, 2] {
            let transfer = token::transfer(&program, &accounts[0], &accounts[1], &key, amount);
            recorder.send(&[transfer], &[&alice]);
        }
    }
    recorder
}

fn strings<'a>(results: &'a RecordBatch, name: &str) -> &'a StringArray {
    results.column_by_name(name).expect("the column exists").as_string()
}

fn matches(results: &RecordBatch) -> &BooleanArray {
    results.column_by_name(column::MATCHES).expect("the column exists").as_boolean()
}

fn digest(results: &RecordBatch) -> Digest {
    let mut digest = Digest::default();
    digest.add(results).expect("results have these columns");
    digest
}

#[test]
fn results_are_those_of_the_chain_with_any_threads_and_engine() {
    let recorder = workload();
    let mut base = Base::new();
    let items = recorder.items(&mut base);
    let mut digests = Vec::new();
    for (threads, engine) in
        [(1, Engine::Jit), (2, Engine::Jit), (5, Engine::Interpreter), (1, Engine::Interpreter)]
    {
        let threads = NonZeroUsize::new(threads).expect("there are threads");
        let options = RunOptions { threads, engine, ..RunOptions::default() };
        let results = run(&items, &base, &options).expect("the batch has all columns");
        assert_eq!(results.schema(), schema::results());
        for row in 0..results.num_rows() {
            let (status, error) = (strings(&results, column::STATUS), strings(&results, "error"));
            let shown = (status.value(row), error.is_valid(row).then(|| error.value(row)));
            assert!(matches(&results).value(row), "row {row}: {shown:?}");
        }
        digests.push(digest(&results));
    }
    assert_eq!(digests[0].items, recorder.sent.len() as u64);
    assert!(digests.iter().all(|it| *it == digests[0]), "{digests:?}");
    let failed = recorder.sent.iter().filter(|it| it.error.is_some()).count();
    assert_eq!(failed, 3, "a transfer of too much, and the last one of each token program");
}

#[test]
fn results_that_are_too_large_for_a_batch_are_an_error_and_fit_in_parts() {
    let recorder = workload();
    let mut base = Base::new();
    let items = recorder.items(&mut base);
    let options = RunOptions { keeps_logs: true, keeps_data: true, ..RunOptions::default() };
    let whole = digest(&run(&items, &base, &options).expect("it is small"));
    let options = RunOptions { kept_bytes_max: 2000, ..options };
    let Err(BatchError::TooLarge { rows }) = run(&items, &base, &options) else {
        panic!("more than 2,000 bytes are kept")
    };
    assert!((1..items.num_rows()).contains(&rows), "{rows}");
    let mut parts = digest(&run(&items.slice(0, rows), &base, &options).expect("they fit"));
    let options = RunOptions { kept_bytes_max: usize::MAX, ..options };
    let rest = items.slice(rows, items.num_rows() - rows);
    parts.merge(&digest(&run(&rest, &base, &options).expect("they fit")));
    assert_eq!(parts, whole);
}

#[test]
fn written_accounts_are_in_the_result() {
    let mut recorder = Recorder::new();
    let alice = funded(&mut recorder.svm, "alice");
    let bob = keypair("bob").pubkey();
    recorder.send(&[system::transfer(&alice.pubkey(), &bob, 5_000_000)], &[&alice]);
    let mut base = Base::new();
    let items = recorder.items(&mut base);
    let results = run(&items, &base, &RunOptions::default()).expect("the batch has all columns");
    let post = results.column_by_name(column::POST).expect("the column exists");
    let post = post.as_list::<i32>().value(0);
    let post = post.as_struct();
    let keys = post.column_by_name(column::PUBKEY).expect("the field exists").as_binary::<i32>();
    let lamports = post.column_by_name(column::LAMPORTS).expect("the field exists");
    let lamports = lamports.as_primitive::<Int64Type>();
    assert_eq!(keys.iter().flatten().collect::<Vec<_>>(), [alice.pubkey().as_ref(), bob.as_ref()]);
    assert_eq!(lamports.values(), &[10_000_000_000 - 5_000_000 - 5000, 5_000_000]);
}

/// Returns the results of one transfer, whose item `change` may change.
fn one(change: impl for<'a> FnOnce(&mut Item<'a>)) -> RecordBatch {
    let mut recorder = Recorder::new();
    let alice = funded(&mut recorder.svm, "alice");
    let transfer = system::transfer(&alice.pubkey(), &keypair("bob").pubkey(), 5_000_000);
    recorder.send(&[transfer], &[&alice]);
    let mut base = Base::new();
    let env_ref = recorder.environment(&mut base);
    let sent = &recorder.sent[0];
    let mut item = Item {
        env_ref,
        message: &sent.wire,
        accounts: sent.accounts.iter().map(|it| record::item_account(it, &mut base)).collect(),
        verify_signatures: true,
        ..Item::default()
    };
    change(&mut item);
    let mut items = Items::new();
    items.push(&item);
    let items = items.finish().expect("the item fits into a batch");
    run(&items, &base, &RunOptions::default()).expect("the batch has all columns")
}

fn status(results: &RecordBatch) -> (&str, Option<&str>) {
    let error = strings(results, column::ERROR);
    let error = error.is_valid(0).then(|| error.value(0));
    (strings(results, column::STATUS).value(0), error)
}

#[test]
fn overrides_change_the_accounts_before_the_transaction() {
    let poor = Override {
        pubkey: keypair("alice").pubkey(),
        lamports: Some(5_001_000),
        owner: None,
        bytes: None,
    };
    let results = one(|item| item.overrides.push(poor.clone()));
    let (status_, error) = status(&results);
    assert_eq!(status_, "Failed");
    assert_eq!(error, Some(r#"{"InstructionError":[0,{"Custom":1}]}"#));
    // A fee payer that is not a system account.
    let owned = Override { lamports: None, owner: Some(programs::TOKEN.id), ..poor };
    let results = one(|item| item.overrides.push(owned));
    assert_eq!(status(&results), ("Dropped", Some(r#""InvalidAccountForFee""#)));
}

/// Returns the results of the workload with this file in place of the token program's.
fn with_token_program(elf: Option<&[u8]>) -> RecordBatch {
    let mut base = Base::new();
    let items = workload().items(&mut base);
    if let Some(elf) = elf {
        base.replace_program(programs::TOKEN.id, elf.to_vec());
    }
    run(&items, &base, &RunOptions::default()).expect("the batch has all columns")
}

#[test]
fn a_replaced_program_changes_the_items_that_call_it_and_no_ids() {
    let before = with_token_program(None);
    let same = with_token_program(Some(programs::TOKEN.elf()));
    assert_eq!(digest(&same), digest(&before));
    let after = with_token_program(Some(programs::TOKEN_2022.elf()));
    let ids = |it: &RecordBatch| it.column_by_name(column::ITEM_ID).expect("it exists").clone();
    assert_eq!(&ids(&after), &ids(&before));
    let effects =
        |it: &RecordBatch| it.column_by_name(column::EFFECTS_HASH).expect("it exists").clone();
    let (before, after) = (effects(&before), effects(&after));
    let pairs = before.as_binary::<i32>().iter().zip(after.as_binary::<i32>());
    let changed: Vec<usize> =
        (0..).zip(pairs).filter(|(_, (a, b))| a != b).map(|it| it.0).collect();
    assert_eq!(changed, [4, 5, 6, 7, 8, 9], "two creations, a mint, three transfers");
}

#[test]
fn what_is_no_program_cannot_be_replaced_by_one() {
    let mut base = Base::new();
    let recorder = workload();
    let items = recorder.items(&mut base);
    base.replace_program(keypair("alice").pubkey(), programs::TOKEN.elf().to_vec());
    let results = run(&items, &base, &RunOptions::default()).expect("the batch has all columns");
    assert_eq!(malformed(&results), items.num_rows());
    let (_, error) = status(&results);
    assert!(error.is_some_and(|it| it.contains("is no program here")), "{error:?}");
}

#[test]
fn a_blockhash_is_checked_if_the_item_asks_for_it() {
    let results = one(|item| item.check_blockhash = true);
    assert_eq!(status(&results), ("Dropped", Some(r#""BlockhashNotFound""#)));
}

#[test]
fn invalid_items_have_a_row_that_says_what_is_wrong() {
    type Change = for<'a> fn(&mut Item<'a>);
    let cases: [(Change, &str); 4] = [
        (|item| item.env_ref = [7; 32], "there is no content with the hash 0707"),
        (|item| item.accounts.push(item.accounts[0].clone()), "occurs twice"),
        (|item| item.accounts[0].data = ItemData::Ref([9; 32]), "no content with the hash 0909"),
        (
            |item| {
                item.overrides.push(Override {
                    pubkey: item.accounts[0].pubkey,
                    lamports: None,
                    owner: None,
                    bytes: Some((Some(u64::MAX), b"x")),
                });
            },
            "longer than 10485760 bytes",
        ),
    ];
    for (change, text) in cases {
        let results = one(change);
        let (status, error) = status(&results);
        assert_eq!(status, "MalformedItem");
        assert!(error.is_some_and(|error| error.contains(text)), "{error:?}");
    }
}

#[test]
fn a_transaction_that_cannot_be_decoded_is_dropped() {
    let results = one(|item| item.message = b"no transaction");
    assert_eq!(status(&results), ("Dropped", Some(r#""SanitizeFailure""#)));
}

#[test]
fn the_id_of_an_item_is_the_same_for_data_in_the_row_and_by_hash() {
    let mut base = Base::new();
    let data = [1, 2, 3];
    let account = |data| selkie_batch::ItemAccount {
        pubkey: Pubkey::default(),
        lamports: 1,
        owner: Pubkey::default(),
        executable: false,
        data,
    };
    let item = |data| Item { accounts: vec![account(data)], ..Item::default() };
    let inline = item(ItemData::Inline(&data));
    assert_eq!(inline.id(), item(ItemData::Ref(base.add(data.to_vec()))).id());
    assert_ne!(inline.id(), item(ItemData::Inline(&data[..2])).id());
}

#[test]
fn an_environment_file_survives_its_text() {
    let svm = Svm::new();
    let file = record::environment_file(svm.environment(), [svm.latest_blockhash()]);
    assert_eq!(EnvironmentFile::parse(&file.to_bytes()), Ok(file));
}

fn malformed(results: &RecordBatch) -> usize {
    let statuses = results.column_by_name(column::STATUS).expect("it is a column of results");
    statuses.as_string::<i32>().iter().filter(|it| *it == Some("MalformedItem")).count()
}

#[test]
fn an_environment_that_is_added_later_is_found() {
    let recorder = workload();
    let items = recorder.items(&mut Base::new());
    let mut base = Base::new();
    let results = run(&items, &base, &RunOptions::default()).expect("the items are valid");
    assert_eq!(malformed(&results), items.num_rows());
    recorder.items(&mut base);
    let results = run(&items, &base, &RunOptions::default()).expect("the items are valid");
    assert_eq!(malformed(&results), 0);
}

#[test]
fn an_item_with_too_many_overrides_is_malformed() {
    let mut base = Base::new();
    let recorder = workload();
    let env_ref = recorder.environment(&mut base);
    let mut items = Items::new();
    for overrides in [1024_u64, 1025] {
        let pubkey = |number: u64| {
            let mut bytes = [7; 32];
            bytes[..8].copy_from_slice(&number.to_le_bytes());
            Pubkey::from(bytes)
        };
        let zero = |number| Override {
            pubkey: pubkey(number),
            lamports: Some(1),
            owner: None,
            bytes: Some((Some(3), b"end")),
        };
        items.push(&Item {
            env_ref,
            message: &recorder.sent[0].wire,
            overrides: (0..overrides).map(zero).collect(),
            ..Item::default()
        });
    }
    let items = items.finish().expect("the items fit into a batch");
    let results = run(&items, &base, &RunOptions::default()).expect("the items are valid");
    let errors = results.column_by_name(column::ERROR).expect("it is a column of results");
    assert_eq!(malformed(&results), 1);
    assert_eq!(
        errors.as_string::<i32>().value(1),
        "there are 1025 overrides, but an item may have up to 1024",
    );
}
