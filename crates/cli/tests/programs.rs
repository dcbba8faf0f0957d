//! `selkie run` with programs of mainnet: exact compute units and account data.

mod common;

use common::{Output, fixture, repository, selkie};
use selkie_vm::MachineCode;
use serde_json::Value;

const SPL_TOKEN: &str = "7b44674b9704";
const P_TOKEN: &str = "53e587eee80c";
const TOKEN_2022: &str = "495e9d7680dd";
const MEMO_V1: &str = "67053ed6b0c4";
const MEMO_V4: &str = "0c92063c6838";

fn run(base: &str, input: &str, more: &[&str]) -> Output {
    let (program, input) = (fixture(base), format!("testdata/run/{input}.json"));
    selkie(&repository(), &[&["--json", "run", &program, "--input", &input], more].concat())
}

/// The data of an account, before or after.
fn data(account: &Value) -> Vec<u8> {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    let text = account["account"]["data"][0].as_str().expect("data is text");
    BASE64_STANDARD.decode(text).expect("data is in base 64")
}

fn amount(data: &[u8]) -> u64 {
    u64::from_le_bytes(data[64..72].try_into().expect("an amount has eight bytes"))
}

/// A transfer of 250000 of 1000000 to an account that has 5, by each engine of this host.
fn check_transfer(base: &str, input: &str, compute_units: u64) {
    check_transfer_by("interpreter", base, input, compute_units);
    if MachineCode::SUPPORTED {
        check_transfer_by("jit", base, input, compute_units);
    }
}

fn check_transfer_by(engine: &str, base: &str, input: &str, compute_units: u64) {
    let output = run(base, input, &["--engine", engine]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let report = output.json();
    assert_eq!(report["engine"], engine);
    assert_eq!(report["compute_units"], compute_units);
    assert_eq!(report["r0"], 0);
    let changed = report["changed"].as_array().expect("there are changes");
    let amounts = [(1_000_000, 750_000), (5, 250_005)];
    assert_eq!(changed.len(), amounts.len());
    for (change, (before, after)) in changed.iter().zip(amounts) {
        let (old, new) = (data(&change["before"]), data(&change["after"]));
        assert_eq!((amount(&old), amount(&new)), (before, after));
        // Nothing but the amount.
        assert_eq!((&old[..64], &old[72..]), (&new[..64], &new[72..]));
        assert_eq!(change["before"]["account"]["lamports"], change["after"]["account"]["lamports"]);
    }
    // One compute unit less is not enough.
    let limit = (compute_units - 1).to_string();
    let output = run(base, input, &["--engine", engine, "--limit", &limit]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    let report = output.json();
    assert_eq!(report["changed"], Value::Array(vec![]));
    assert_eq!(report["compute_units"].to_string(), limit);
}

#[test]
fn a_transfer_by_spl_token_has_exact_results() {
    check_transfer(SPL_TOKEN, "token-transfer", 4645);
}

#[test]
fn a_transfer_by_p_token_has_exact_results() {
    check_transfer(P_TOKEN, "token-transfer", 76);
}

#[test]
fn a_transfer_by_token_2022_has_exact_results() {
    check_transfer(TOKEN_2022, "token-2022-transfer", 1457);
}

#[test]
fn spl_token_rejects_a_transfer_of_more_than_the_balance() {
    let output = run(SPL_TOKEN, "token-transfer", &["--data", "u8:3,u64:1000001"]);
    assert_eq!(output.code, Some(1));
    let report = output.json();
    assert_eq!(report["error"], "custom program error: 0x1");
    assert_eq!(report["logs"][2], "Program log: Error: insufficient funds");
    assert_eq!(report["changed"], Value::Array(vec![]));
}

#[test]
fn memo_logs_its_instruction_data() {
    let report = run(MEMO_V4, "memo", &[]).json();
    assert_eq!(report["success"], true);
    assert_eq!(report["logs"][4], "Program log: Hello from Selkie");
    assert_eq!(report["compute_units"], 513);
    let output = run(MEMO_V4, "memo", &["--data", "0xff"]);
    assert_eq!(output.code, Some(1), "a memo must be text");
}

#[test]
fn memo_v1_runs_under_loader_v1() {
    let report = run(MEMO_V1, "memo", &["--loader", "v1"]).json();
    assert_eq!(report["success"], true, "{report}");
    let report = run(MEMO_V1, "memo", &["--loader", "v1", "--data", "0xff"]).json();
    assert_eq!(report["error"], "invalid instruction data");
}

#[test]
fn listings_of_programs_assemble_to_the_same_instructions() {
    let folder = common::folder("round-trip");
    for (base, arch) in [(P_TOKEN, "v0"), (MEMO_V1, "v0")] {
        let program = fixture(base);
        let first = selkie(&folder, &["disasm", &program]);
        assert_eq!(first.code, Some(0), "{}", first.stderr);
        std::fs::write(folder.join("again.s"), &first.stdout).expect("the folder is writable");
        let built = selkie(&folder, &["build", "again.s", "--arch", arch]);
        assert_eq!(built.code, Some(0), "{}", built.stderr);
        let bytes = |path: &str| {
            let listing = selkie(&folder, &["--json", "disasm", path]).json();
            let lines = listing["instructions"].as_array().expect("there are instructions").iter();
            lines.map(|line| line["bytes"].clone()).collect::<Vec<_>>()
        };
        let program = bytes(&program);
        assert!(program.len() > 100);
        assert_eq!(program, bytes("again.so"));
    }
}
