//! `selkie conform` as its user sees it: what passes, and above all what must not.

mod common;

use std::{fs, path::Path, slice};

use common::{Output, folder, selkie};

/// A program that ends with 3.
const VECTOR: &str = r#"{"name":"three","kind":"exec","sbpf_version":0,"text":"b7000000030000009500000000000000","entry_pc":0,"functions":[],"budget":10,"regions":[],"expect":{"ok":3},"insn_count":2}"#;

fn conform(folder: &Path, more: &[&str]) -> Output {
    selkie(folder, &[&["conform", "."], more].concat())
}

fn totals(output: &Output) -> (i64, i64, i64) {
    let report = output.json();
    let total = |name: &str| report[name].as_i64().expect("totals are numbers");
    (total("passed"), total("failed"), total("skipped"))
}

/// The vector with a part replaced.
fn with(from: &str, to: &str) -> String {
    assert!(VECTOR.contains(from), "{from}");
    VECTOR.replacen(from, to, 1)
}

fn check(name: &str, vectors: &str, passed: i64, failed: i64) -> Output {
    let folder = folder(name);
    fs::write(folder.join("vectors.jsonl"), vectors).expect("the folder is writable");
    let output = conform(&folder, &["--json"]);
    assert_eq!(totals(&output), (passed, failed, 0), "{output:#?}");
    assert_eq!(output.code, Some(i32::from(failed > 0)));
    let text = conform(&folder, &[]);
    assert_eq!(text.code, output.code);
    text
}

#[test]
fn a_right_vector_passes() {
    let output = check("conform-right", VECTOR, 1, 0);
    assert!(output.stdout.ends_with("1 passed, 0 failed, 0 skipped\n"), "{output:#?}");
}

/// What the library writes for other clients is judged here by other code.
#[test]
fn fixtures_of_the_library_pass() {
    use selkie::{
        Instruction, Signer, Svm, address,
        fixture::{InstructionFixture, TransactionFixture},
        ids, keypair, system,
    };

    let payer = keypair("payer");
    let mut svm = Svm::new();
    svm.airdrop(&payer.pubkey(), 1_000_000_000).expect("the faucet is full");
    let folder = folder("conform-library");
    let write = |name: &str, file: Vec<u8>| {
        fs::write(folder.join(name), file).expect("the folder is writable");
    };
    for (name, lamports) in [("right", 1_000_000), ("too-much", 1 << 60)] {
        let transfer = system::transfer(&payer.pubkey(), &address("bob"), lamports);
        let transaction = svm.sign(slice::from_ref(&transfer), &[&payer]).expect("the payer signs");
        let fixture = TransactionFixture::record(&svm, &transaction).expect("it is legacy");
        write(&format!("{name}.txn.fix"), fixture.to_bytes());
        let rich = svm.account(&payer.pubkey()).expect("it is there");
        let fixture = InstructionFixture::record(&svm, &transfer, &[(payer.pubkey(), rich)]);
        write(&format!("{name}.instr.fix"), fixture.to_bytes());
    }
    // A heap of one byte, for which the transaction is dropped.
    let heap = Instruction {
        program_id: ids::compute_budget::ID,
        accounts: vec![],
        data: vec![1, 1, 0, 0, 0],
    };
    let transaction = svm.sign(&[heap], &[&payer]).expect("the payer signs");
    let fixture = TransactionFixture::record(&svm, &transaction).expect("it is legacy");
    write("dropped.txn.fix", fixture.to_bytes());
    let output = conform(&folder, &["--json"]);
    assert_eq!(totals(&output), (5, 0, 0), "{output:#?}");
}

#[test]
fn every_corruption_fails() {
    for (index, (from, to)) in [
        (r#""ok":3"#, r#""ok":4"#),
        (r#""insn_count":2"#, r#""insn_count":3"#),
        (r#""budget":10"#, r#""budget":1"#),
        ("b700000003", "b700000002"),
        ("9500000000000000", ""),
        (r#"{"ok":3}"#, r#"{"err":"DivideByZero"}"#),
        (r#""text":"b7"#, r#""text":"zz"#),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("conform-corrupt-{index}");
        let output = check(&name, &with(from, to), 0, 1);
        assert!(output.stdout.contains("three") || output.stdout.contains("line 1"), "{output:#?}");
    }
}

#[test]
fn a_wrong_expectation_is_shown() {
    let output = check("conform-shown", &with(r#""ok":3"#, r#""ok":4"#), 0, 1);
    assert!(output.stdout.contains("three") && output.stdout.contains("expected"), "{output:#?}");
}

#[test]
fn a_line_that_is_no_json_fails() {
    check("conform-no-json", &format!("{}\n{{\"name\": ", VECTOR), 1, 1);
}

#[test]
fn a_truncated_archive_fails() {
    let folder = folder("conform-truncated");
    // The header of a Zstandard frame, and nothing behind it.
    fs::write(folder.join("vectors.jsonl.zst"), [0x28, 0xb5, 0x2f, 0xfd, 0x24, 0x40])
        .expect("the folder is writable");
    let output = conform(&folder, &["--json"]);
    assert_eq!((output.code, totals(&output)), (Some(1), (0, 1, 0)), "{output:#?}");
}

#[test]
fn nothing_to_run_is_a_failure() {
    let output = conform(&folder("conform-empty"), &["--json"]);
    assert_ne!(output.code, Some(0), "{output:#?}");
}

#[test]
fn an_unknown_kind_is_skipped_with_the_reason() {
    let folder = folder("conform-unknown");
    fs::write(folder.join("vectors.jsonl"), r#"{"name":"x","kind":"dream"}"#)
        .expect("the folder is writable");
    let output = conform(&folder, &["--json"]);
    assert_eq!(totals(&output), (0, 0, 1), "{output:#?}");
    assert!(output.stdout.contains("dream"), "{output:#?}");
}
