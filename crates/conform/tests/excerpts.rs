//! Excerpts of vector sets, and checks that each of their expectations is compared.

use std::{fs, path::Path, sync::Arc};

use selkie_conform::{
    BadVector, Context, KINDS, Missing, Options, Verdict, context::Elfs, run, vector::sha256,
    vm_syscall,
};
use serde_json::{Value, json};

fn lines(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Judges a vector as a line of a file in a folder.
fn judge(folder: &Path, line: &Value) -> Result<Verdict, BadVector> {
    let context = Context::new(&folder.join("vectors.jsonl"), Arc::default()).unwrap();
    let kind = KINDS.iter().find(|kind| (kind.matches)(line)).unwrap();
    (kind.judge)(line, &context)
}

fn judge_syscall(line: &Value) -> Result<Verdict, BadVector> {
    assert!(vm_syscall::matches(line));
    judge(Path::new(""), line)
}

/// Asserts that the vector passes, and that each change of its expectation makes it fail.
fn check_expectations_count(
    line: &Value,
    changes: &[(&str, Value)],
    judge: impl Fn(&Value) -> Result<Verdict, BadVector>,
) {
    assert_eq!(judge(line), Ok(Verdict::Passed), "{line}");
    for (field, wrong) in changes {
        let mut line = line.clone();
        line["exp"][*field] = wrong.clone();
        assert!(matches!(judge(&line), Ok(Verdict::Failed(_))), "{field}: {line}");
    }
}

#[test]
fn syscall_vectors_pass() {
    for line in lines("vm_syscall.jsonl") {
        assert_eq!(judge_syscall(&line), Ok(Verdict::Passed), "{line}");
    }
}

#[test]
fn every_expectation_of_a_syscall_is_compared() {
    let lines = lines("vm_syscall.jsonl");
    let line = lines.iter().find(|line| {
        let has_memory = line["rodata"].is_string() || line["syscall"] == "sol_memcpy_";
        has_memory && line["profile"] == "mainnet" && line["exp"]["err"] == 0
    });
    let wrong = [
        ("err", json!(1)),
        ("kind", json!(3)),
        ("r0", json!("5")),
        ("cu_left", json!(1)),
        ("heap", json!("1")),
        ("stack", json!("1")),
        ("rodata", json!("1")),
        ("input", json!([])),
        ("input", json!([[0, true, 56, "1"]])),
    ];
    check_expectations_count(line.unwrap(), &wrong, judge_syscall);
}

#[test]
fn unsupported_syscalls_are_skipped_with_a_reason() {
    let mut line = lines("vm_syscall.jsonl")[0].clone();
    line["syscall"] = json!("sol_unknown");
    let reason = "syscall sol_unknown is not supported yet".to_owned();
    assert_eq!(judge_syscall(&line), Ok(Verdict::Skipped(reason)));
}

#[test]
fn accounts_of_a_syscall_vector_affect_its_result() {
    let lines = lines("vm_syscall.jsonl");
    let line = lines.iter().find(|line| line["profile"] == "mainnet" && line["exp"]["err"] == 0);
    let mut line = line.unwrap().clone();
    let key = "21".repeat(32);
    line["metas"] = json!([[key, true, true]]);
    line["accounts"] = json!([{"key": key, "lamports": 5, "data": "00", "owner": key}]);
    let Ok(Verdict::Failed(differences)) = judge_syscall(&line) else { panic!("must fail") };
    assert_eq!(differences.len(), 1);
    assert_eq!(differences[0].field, "input");
}

#[test]
fn transaction_vectors_pass() {
    for line in lines("svm.jsonl") {
        assert_eq!(judge(Path::new(""), &line), Ok(Verdict::Passed), "{}", line["id"]);
    }
}

#[test]
fn every_expectation_of_a_transaction_is_compared() {
    let lines = lines("svm.jsonl");
    let find = |id: &str| lines.iter().find(|line| line["id"] == id).unwrap();
    let returned = json!({"program": "11111111111111111111111111111111", "data": "AA=="});
    for (id, field, wrong) in [
        ("access_v0/write_owned", "result_str", json!("InstructionError(0, MissingAccount)")),
        ("access_v0/write_owned", "cu", json!(1)),
        ("access_v0/write_owned", "logs", json!([])),
        ("access_v0/write_owned", "post", json!([])),
        ("access_v0/write_owned", "fee", json!(1)),
        ("access_v0/return_data_1024", "return_data", returned),
        ("access_v0/return_data_1024", "return_data", Value::Null),
        ("access_v0/lamports_move_balanced", "post", json!([])),
        ("access_v3/write_then_fail_rolls_back", "result_str", json!("Ok")),
    ] {
        let mut line = find(id).clone();
        line["expect"][field] = wrong;
        let verdict = judge(Path::new(""), &line);
        assert!(matches!(verdict, Ok(Verdict::Failed(_))), "{id} {field}: {verdict:?}");
    }
}

#[test]
fn the_stage_of_a_dropped_transaction_is_compared() {
    let lines = lines("svm.jsonl");
    for stage in ["sanitize", "budget", "svm_rejected", "fees_only"] {
        let mut line = lines[0].clone();
        line["expect"]["stage"] = json!(stage);
        let verdict = judge(Path::new(""), &line);
        assert!(matches!(verdict, Ok(Verdict::Failed(_))), "{stage}: {verdict:?}");
    }
    // The blockhash of the transaction is not in this queue.
    let mut line = lines[0].clone();
    line["blockhash_queue"] = json!(["11111111111111111111111111111112"]);
    line["expect"] = json!({
        "stage": "age", "result_str": "BlockhashNotFound", "fee": 0, "cu": 0, "logs": [],
        "post": [], "return_data": null,
    });
    assert_eq!(judge(Path::new(""), &line), Ok(Verdict::Passed));
}

#[test]
fn vectors_with_unknown_features_are_skipped() {
    let mut line = lines("svm.jsonl")[0].clone();
    let key = "11111111111111111111111111111112";
    line["features"] = json!({"base": "mainnet-2026-09-27", "on": [key], "off": []});
    let reason = format!("feature {key} cannot be switched");
    assert_eq!(judge(Path::new(""), &line), Ok(Verdict::Skipped(reason)));
    line["features"] = json!("yesterday's");
    assert!(judge(Path::new(""), &line).is_err());
}

#[test]
fn a_blob_must_have_the_sha256_in_its_name() {
    let name = format!("selkie-blobs-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).unwrap();
    let (right, wrong) = (sha256(b"file"), sha256(b"other"));
    for sha in [&right, &wrong] {
        fs::write(folder.join(format!("{sha}.bin")), b"file").unwrap();
    }
    let elfs = Arc::new(Elfs::new(Some(folder.clone())));
    let context = Context::new(&folder.join("vectors.jsonl"), elfs).unwrap();
    let blobs = [right, wrong, sha256(b"")].map(|sha| context.blob(&sha));
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(blobs[0].as_deref().unwrap(), b"file");
    assert!(matches!(blobs[1], Err(Missing::OtherHash(_))));
    assert!(matches!(blobs[2], Err(Missing::Both(_))));
}

/// Encodes a protobuf message with one field of bytes.
fn message(field: u8, content: &[u8]) -> Vec<u8> {
    let len = u16::try_from(content.len()).unwrap();
    let low = u8::try_from(len & 0x7f).unwrap() | 0x80;
    [&[field << 3 | 2, low, u8::try_from(len >> 7).unwrap()], content].concat()
}

#[test]
fn elf_fixtures_are_found_as_files_and_in_archives() {
    let name = format!("selkie-fixtures-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(folder.join("elf_loader/fixtures")).unwrap();
    let metadata = message(1, &message(1, b"sol_compat_elf_loader_v1"));
    let fixture = [metadata, message(2, &message(1, &message(1, &[0])))].concat();
    let line = |path: &str| {
        json!({
            "fixture": format!("elf_loader/fixtures/{path}.fix"), "profile": "mainnet",
            "deploy": true, "sha": "6e340b9cffb37a98", "exp": {"err": 21},
        })
    };
    fs::write(folder.join("elf_loader/fixtures/file.fix"), &fixture).unwrap();
    let mut archive =
        tar::Builder::new(fs::File::create(folder.join("any-elf_loader.tar")).unwrap());
    let mut header = tar::Header::new_ustar();
    header.set_size(fixture.len() as u64);
    archive.append_data(&mut header, "elf_loader/fixtures/packed.fix", fixture.as_slice()).unwrap();
    archive.into_inner().unwrap();

    for path in ["file", "packed"] {
        let wrong = [("err", json!(0)), ("err", json!(20))];
        check_expectations_count(&line(path), &wrong, |line| judge(&folder, line));
    }
    let missing = judge(&folder, &line("missing"));
    fs::write(folder.join("vectors.jsonl"), line("packed").to_string()).unwrap();
    let report = run(&[folder.join("vectors.jsonl")], &Options::default(), &|_| ());
    fs::remove_dir_all(&folder).unwrap();
    let reason = "fixture elf_loader/fixtures/missing.fix is missing beside the vectors";
    assert_eq!(missing, Ok(Verdict::Skipped(reason.to_owned())));
    assert_eq!(report.total().passed, 1);
}
