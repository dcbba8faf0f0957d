//! Items that are searches.

mod common;

use core::num::NonZeroUsize;

use arrow_array::RecordBatch;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use common::{digest, number, text};
use selkie::{Instruction, Pubkey, Signer as _, Svm, address, keypair};
use selkie_batch::{Base, FuzzFile, Item, Items, Kind, RunOptions, record, run};
use selkie_svm::Engine;

/// Traps if the data are a certain number.
const PROGRAM: &str = "
entrypoint:
    ldxdw r2, [r1 + 8]
    jlt r2, 8, fine
    ldxdw r3, [r1 + 16]
    lddw r4, 0x1122334455667788
    jne r3, r4, fine
    mov64 r0, 0
    div64 r3, r0
fine:
    mov64 r0, 0
    exit
";

fn program() -> Pubkey {
    address("program")
}

/// Returns a chain with the program, and a transaction that calls it.
fn chain() -> (Svm, Vec<u8>) {
    let output = selkie_asm::assemble(PROGRAM, &selkie_asm::Options::default());
    let elf = output.assembly.expect("it assembles").to_elf();
    let mut svm = Svm::new();
    svm.add_program(program(), elf.as_slice()).expect("it loads");
    let payer = keypair("payer");
    svm.airdrop(&payer.pubkey(), 1_000_000_000).expect("the balance fits");
    let call = Instruction { program_id: program(), accounts: vec![], data: vec![1, 2] };
    let signed = svm.sign(&[call], &[&payer]).expect("the payer signs");
    (svm, wincode::serialize(&signed).expect("transactions can be serialized"))
}

fn search() -> FuzzFile {
    let (_, wire) = chain();
    FuzzFile {
        seed_count: 2,
        calls: 4000,
        transactions: vec![BASE64_STANDARD.encode(wire)],
        ..FuzzFile::default()
    }
}

/// Runs these messages as items on the chain.
fn run_all(messages: &[Vec<u8>], options: &RunOptions) -> RecordBatch {
    let (svm, _) = chain();
    let mut base = Base::new();
    let env_ref = base.add(record::environment_file(svm.environment(), []).to_bytes());
    let accounts: Vec<_> = svm.written_accounts().map(|(key, it)| (key, it.clone())).collect();
    let mut items = Items::new();
    for message in messages {
        let accounts = accounts.iter().map(|it| record::item_account(it, &mut base)).collect();
        items.push(&Item { kind: Kind::Fuzz, env_ref, message, accounts, ..Item::default() });
    }
    run(&items.finish().expect("they fit"), &base, options).expect("the batch has all columns")
}

#[test]
fn searches_find_the_same_with_any_threads_and_engine() {
    let harmless = FuzzFile { fails_on: vec!["error:7".to_owned()], ..search() };
    let messages: Vec<_> = (0..20)
        .map(|number| match number {
            0 => search().to_bytes(),
            1 => FuzzFile { first_seed: 7, ..search() }.to_bytes(),
            _ => FuzzFile { first_seed: number, seed_count: 1, calls: 50, ..harmless.clone() }
                .to_bytes(),
        })
        .collect();
    let mut digests = Vec::new();
    for (threads, engine) in [(1, Engine::Jit), (3, Engine::Interpreter)] {
        let threads = NonZeroUsize::new(threads).expect("there are threads");
        let results = run_all(&messages, &RunOptions { threads, engine, ..RunOptions::default() });
        assert_eq!(text(&results, "status", 0), Some("Found"), "{:?}", text(&results, "error", 0));
        assert_eq!(text(&results, "status", 2), Some("Success"));
        assert!(number(&results, "compute_units", 2) > 0);
        let findings = text(&results, "findings", 0).expect("it found some");
        let findings: serde_json::Value = serde_json::from_str(findings).expect("it is JSON");
        assert_eq!(text(&results, "error", 0), None);
        assert_eq!(
            findings[0]["what"],
            format!("division by zero of {} at pc 7 in entrypoint", program())
        );
        assert_eq!(findings[0]["calls"][0]["action"], "instruction 0");
        assert_eq!(findings[0]["calls"][0]["data"], "8877665544332211");
        digests.push(digest(&results));
    }
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn a_search_counts_its_calls_and_branches() {
    let file = FuzzFile { calls: 100, fails_on: vec!["error:7".to_owned()], ..search() };
    let results = run_all(&[file.to_bytes()], &RunOptions::default());
    let effort = text(&results, "effort", 0).expect("it is counted");
    let effort: serde_json::Value = serde_json::from_str(effort).expect("it is JSON");
    assert_eq!(effort["seeds"], 2);
    assert_eq!(effort["givenUp"], 0);
    assert!(effort["calls"].as_u64() >= Some(200), "{effort}");
    assert!(effort["branches"].as_u64() >= Some(3), "{effort}");
}

#[test]
fn a_search_by_an_interface_finds_the_same() {
    let idl = serde_json::json!({
        "address": program().to_string(),
        "instructions": [{"name": "go", "discriminator": [], "accounts": [],
                          "args": [{"name": "number", "type": "u64"}]}],
    });
    let file = FuzzFile { idl: Some(idl), transactions: Vec::new(), ..search() };
    let results = run_all(&[file.to_bytes()], &RunOptions::default());
    assert_eq!(text(&results, "status", 0), Some("Found"));
}

#[test]
fn searches_that_are_too_long_or_make_no_sense_are_malformed() {
    let cases: [(FuzzFile, &str); 8] = [
        (FuzzFile { calls: 1 << 20, ..search() }, "2 searches of 1048576 calls"),
        (
            FuzzFile { seed_count: 257, ..search() },
            "`seedCount` is 257, but has to be from 1 to 256",
        ),
        (FuzzFile { first_seed: u64::MAX, ..search() }, "the last seed has more than 64 bits"),
        (FuzzFile { version: 2, ..search() }, "version 2, and only 1 is known"),
        (FuzzFile { transactions: vec![], ..search() }, "either `transactions` or an `idl`"),
        (FuzzFile { transactions: vec!["AAAA".into()], ..search() }, "transactions[0]: "),
        (FuzzFile { program: Some(address("x").to_string()), ..search() }, "call no program"),
        (FuzzFile { fails_on: vec!["panic".into()], ..search() }, "`failsOn`: expected `trap`"),
    ];
    let messages: Vec<_> = cases.iter().map(|(file, _)| file.to_bytes()).collect();
    let results = run_all(&messages, &RunOptions::default());
    for (row, (_, why)) in cases.iter().enumerate() {
        assert_eq!(text(&results, "status", row), Some("MalformedItem"), "{why}");
        let error = text(&results, "error", row).expect("it says what is wrong");
        assert!(error.contains(why), "{error}");
    }
    let results = run_all(&[b"{".to_vec()], &RunOptions::default());
    assert!(text(&results, "error", 0).is_some_and(|it| it.contains("`message` is not a search")));
}

#[test]
fn a_search_in_which_nothing_succeeds_is_malformed() {
    let (svm, _) = chain();
    let file = FuzzFile { program: Some(program().to_string()), ..search() };
    // Without the accounts of the chain there is no program.
    let mut base = Base::new();
    let env_ref = base.add(record::environment_file(svm.environment(), []).to_bytes());
    let mut items = Items::new();
    let message = &file.to_bytes();
    items.push(&Item { kind: Kind::Fuzz, env_ref, message, ..Item::default() });
    let items = items.finish().expect("it fits");
    let results = run(&items, &base, &RunOptions::default()).expect("the batch has all columns");
    assert_eq!(text(&results, "status", 0), Some("MalformedItem"));
    let error = text(&results, "error", 0).expect("it says what is wrong");
    assert!(error.contains("the search is given up: no action succeeded"), "{error}");
}
