//! `selkie conform`: which vectors pass, fail and are skipped, and how that is reported.

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
fn a_correct_vector_passes() {
    let output = check("conform-right", VECTOR, 1, 0);
    assert!(output.stdout.ends_with("1 passed, 0 failed, 0 skipped\n"), "{output:#?}");
}

/// The library writes fixtures for other clients; `conform` reads them with code of its own.
#[test]
fn fixtures_recorded_by_the_library_pass() {
    use selkie::{Instruction, Signer, Svm, address, ids, keypair, system};
    use selkie_case::firedancer::{instruction_fixture, transaction_fixture};

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
        let fixture = transaction_fixture(&svm.case(&transaction)).expect("it is legacy");
        write(&format!("{name}.txn.fix"), fixture.to_firedancer());
        let rich = svm.account(&payer.pubkey()).expect("it is there");
        let case = svm.instructions_case(slice::from_ref(&transfer), &[(payer.pubkey(), rich)]);
        let fixture = instruction_fixture(&case).expect("it is one instruction");
        write(&format!("{name}.instr.fix"), fixture.to_firedancer());
    }
    // A heap of one byte, for which the transaction is dropped.
    let heap = Instruction {
        program_id: ids::compute_budget::ID,
        accounts: vec![],
        data: vec![1, 1, 0, 0, 0],
    };
    let transaction = svm.sign(&[heap], &[&payer]).expect("the payer signs");
    let fixture = transaction_fixture(&svm.case(&transaction)).expect("it is legacy");
    write("dropped.txn.fix", fixture.to_firedancer());
    let output = conform(&folder, &["--json"]);
    assert_eq!(totals(&output), (5, 0, 0), "{output:#?}");
}

/// Files of agave 4.5 look like those of 4.4, which it ends otherwise than.
#[test]
fn fixtures_follow_the_rules_that_are_named() {
    use selkie::{Release, Rules, Signer, Svm, address, keypair, system};
    use selkie_case::firedancer::transaction_fixture;

    let stranger = keypair("stranger");
    let folder = folder("conform-rules");
    for release in [Release::V4_4, Release::V4_5] {
        let svm = Svm::new().with_rules(Rules { release, ..Rules::mainnet() });
        let transfer = system::transfer(&stranger.pubkey(), &address("bob"), 1);
        let transaction = svm.sign(&[transfer], &[&stranger]).expect("the payer signs");
        let fixture = transaction_fixture(&svm.case(&transaction)).expect("it is legacy");
        let file = folder.join(format!("{release}.fix"));
        fs::write(file, fixture.to_firedancer()).expect("the folder is writable");
        let line = svm.record("stranger", &transaction).to_string();
        fs::write(folder.join(format!("{release}.jsonl")), line).expect("the folder is writable");
    }
    let counts = |options: &[&str]| totals(&conform(&folder, &[&["--json"], options].concat()));
    // Both lines name their release, and both fixtures mean 4.4.
    assert_eq!(counts(&[]), (3, 1, 0));
    for rules in ["4.4", "4.5", "mainnet", "mainnet@2026-11-28"] {
        assert_eq!(counts(&["--rules", rules]), (2, 2, 0), "{rules}");
    }
    let output = conform(&folder, &["--rules", "4.6"]);
    assert!(output.stderr.contains("`4.6` names no rules"), "{output:#?}");
}

#[test]
fn a_corrupted_vector_fails() {
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
fn a_failure_names_the_vector_and_what_it_expected() {
    let output = check("conform-shown", &with(r#""ok":3"#, r#""ok":4"#), 0, 1);
    assert!(output.stdout.contains("three") && output.stdout.contains("expected"), "{output:#?}");
}

#[test]
fn a_line_of_malformed_json_fails() {
    check("conform-no-json", &format!("{}\n{{\"name\": ", VECTOR), 1, 1);
}

#[test]
fn a_truncated_archive_fails() {
    let folder = folder("conform-truncated");
    // The header of a Zstandard frame, and nothing after it.
    fs::write(folder.join("vectors.jsonl.zst"), [0x28, 0xb5, 0x2f, 0xfd, 0x24, 0x40])
        .expect("the folder is writable");
    let output = conform(&folder, &["--json"]);
    assert_eq!((output.code, totals(&output)), (Some(1), (0, 1, 0)), "{output:#?}");
}

#[test]
fn a_run_without_vectors_fails() {
    let folder = folder("conform-empty");
    assert_eq!(conform(&folder, &["--json"]).code, Some(2));
    fs::write(folder.join("some-blobs.tar"), archive("a.bin", b"a")).expect("it is writable");
    fs::write(folder.join("vectors.jsonl"), "\n").expect("it is writable");
    let output = conform(&folder, &[]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("there are no vectors in ."), "{output:#?}");
}

/// An archive with one file.
fn archive(path: &str, content: &[u8]) -> Vec<u8> {
    let mut header = [0; 512];
    header[..path.len()].copy_from_slice(path.as_bytes());
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    // The checksum counts its own field as spaces.
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum::<u32>() + 8 * u32::from(b' ');
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let padding = content.len().next_multiple_of(512) - content.len();
    [&header[..], content, &vec![0; padding + 1024]].concat()
}

#[test]
fn an_archive_without_vectors_is_reported() {
    let folder = folder("conform-archive");
    fs::write(folder.join("some-blobs.tar"), archive("a.bin", b"a")).expect("it is writable");
    fs::write(folder.join("vectors.jsonl"), VECTOR).expect("it is writable");
    let output = conform(&folder, &[]);
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert_eq!(
        lines,
        [
            "./some-blobs.tar  holds no vectors",
            "./vectors.jsonl  1 passed, 0 failed, 0 skipped",
            "1 passed, 0 failed, 0 skipped",
        ]
    );
}

/// `--elfs` does not change where the archive is looked for.
#[test]
fn account_data_is_read_from_an_archive_beside_the_vectors() {
    let folder = folder("conform-blobs");
    let path = common::repository().join("crates/conform/tests/data/svm.jsonl");
    let text = fs::read_to_string(path).expect("the excerpt is there");
    let line = text.lines().find(|line| line.contains("write_owned")).expect("it is in there");
    let mut line: serde_json::Value = serde_json::from_str(line).expect("it is JSON");
    // The clock, which the vector has in base64.
    let account = line["accounts"].as_array_mut().and_then(|all| all.first_mut());
    let data = &mut account.expect("there are accounts")["d"];
    assert_eq!(*data, "ZPCzGgAAAABwFLFqAAAAAA0EAAAAAAAADgQAAAAAAACAO7FqAAAAAA==");
    let clock = [
        0x64, 0xf0, 0xb3, 0x1a, 0, 0, 0, 0, 0x70, 0x14, 0xb1, 0x6a, 0, 0, 0, 0, 0x0d, 4, 0, 0, 0,
        0, 0, 0, 0x0e, 4, 0, 0, 0, 0, 0, 0, 0x80, 0x3b, 0xb1, 0x6a, 0, 0, 0, 0,
    ];
    let sha = selkie_conform::vector::sha256(&clock);
    *data = format!("blob:{sha}").into();
    fs::write(folder.join("vectors.jsonl"), line.to_string()).expect("it is writable");
    let blobs = archive(&format!("./{sha}.bin"), &clock);
    fs::write(folder.join("svm-blobs.tar"), blobs).expect("it is writable");
    fs::create_dir(folder.join("elfs")).expect("it is writable");
    for arguments in [&["vectors.jsonl"][..], &["vectors.jsonl", "--elfs", "elfs"]] {
        let arguments = [&["conform", "--json"], arguments].concat();
        let output = selkie(&folder, &arguments);
        assert_eq!(totals(&output), (1, 0, 0), "{output:#?}");
    }
    fs::remove_file(folder.join("svm-blobs.tar")).expect("it is there");
    let output = selkie(&folder, &["conform", "--json", "vectors.jsonl"]);
    assert_eq!(totals(&output), (0, 0, 1), "{output:#?}");
    assert!(output.stdout.contains("is in no archive *blobs.tar.zst beside"), "{output:#?}");
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
