//! `selkie fuzz` finds planted bugs from nothing, from an example, from an interface and from replays.

mod common;

#[cfg(target_os = "linux")]
use std::process::{Command, Stdio};
use std::{fs, path::Path};

use common::{folder, selkie};

/// Traps if the data, which follow those of one account, are a certain number.
const PROGRAM: &str = "
.globl entrypoint
entrypoint:
    ldxdw r2, [r1 + 0]
    jeq r2, 0, bare
    ja fine
bare:
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

/// Searches with `arguments`, and returns the findings.
fn found(folder: &Path, arguments: &[&str]) -> Vec<serde_json::Value> {
    let all = ["fuzz", "--json", "--runs", "60000", "--findings-max", "1"];
    let all = [&all, arguments].concat();
    let output = selkie(folder, &all);
    let report = output.json();
    let findings = report["findings"].as_array().cloned().unwrap_or_default();
    assert_eq!(output.code, Some(i32::from(!findings.is_empty())), "{output:#?}");
    assert_eq!(report["success"], findings.is_empty());
    findings
}

#[test]
fn a_planted_bug_is_found_in_every_way() {
    let folder = folder("fuzz");
    fs::write(folder.join("bug.s"), PROGRAM).expect("the folder is writable");
    fs::write(folder.join("call.json"), r#"{"data": [1, 2]}"#).expect("the folder is writable");
    let idl = r#"{"instructions": [{"name": "go", "discriminator": [],
        "accounts": [], "args": [{"name": "number", "type": "u64"}]}]}"#;
    fs::write(folder.join("idl.json"), idl).expect("the folder is writable");
    let run = ["run", "bug.s", "--input", "call.json", "--save-replay", "call.replay"];
    assert_eq!(selkie(&folder, &run).code, Some(0));
    for arguments in [
        &["bug.s"][..],
        &["bug.s", "--input", "call.json"],
        &["bug.s", "--idl", "idl.json"],
        &["--replay", "call.replay"],
    ] {
        let findings = found(&folder, arguments);
        let [finding] = &findings[..] else { panic!("{arguments:?}: {findings:?}") };
        let what = finding["what"].as_str().expect("it is text");
        assert_eq!(what, "division by zero at bug.s:14 in entrypoint", "{arguments:?}");
        assert_eq!((&finding["kind"], &finding["count"]), (&"trap".into(), &1.into()));
        assert_eq!(finding["place"], "bug.s:14:5 in entrypoint");
        assert_eq!(finding["case"]["calls"][0]["data"], "8877665544332211");
        // The replay fails in the same way, and the test is there.
        let replay = finding["replay"].as_str().expect("it is a path");
        let trace = selkie(&folder, &["trace", replay]);
        assert!(trace.stdout.contains("failed"), "{trace:#?}");
        let test = finding["test"].as_str().expect("it is a path");
        let test = fs::read_to_string(folder.join(test)).expect("it was written");
        assert!(test.contains("#[test]") && test.contains("receipt.crash(), None"), "{test}");
    }
}

/// The test of a finding, of which only the name is not the same in each run.
const TEST: &str = "\
//! Found by `selkie fuzz`: division by zero at src/bug.s:14 in entrypoint.
//!
//! Runs the calls that led there, on the accounts before the first of them.

use selkie::{Sequence, built};

#[test]
fn NAME() {
    let mut calls = Sequence::parse(include_str!(\"NAME.replay\")).unwrap();
    let program = \"8mTauyRAFNN1cqbZzDbzBHwRzUbVCtD1a9q7DQ7HNaff\".parse().unwrap();
    calls.svm.add_program(program, built(\"bug\")).unwrap();
    for receipt in calls.run() {
        assert_eq!(receipt.crash(), None, \"{receipt}\");
    }
}
";

#[test]
fn a_finding_becomes_a_test_of_its_project() {
    let folder = folder("fuzz-project");
    fs::create_dir_all(folder.join("src")).expect("the folder is writable");
    fs::write(folder.join("src/bug.s"), PROGRAM).expect("the folder is writable");
    fs::write(folder.join("call.json"), r#"{"data": [1, 2]}"#).expect("the folder is writable");
    let search = ["fuzz", "src/bug.s", "--runs", "60000", "--findings-max", "1"];
    let output = selkie(&folder, &search);
    assert!(output.stdout.contains("division by zero at src/bug.s:14 in entrypoint, 1 time;"));
    assert!(output.stdout.contains("note: there is no Cargo.toml here"), "{output:#?}");
    let manifest = "[package]\nname = \"bug\"\n\n[dev-dependencies]\nselkie = \"1\"\n";
    fs::write(folder.join("Cargo.toml"), manifest).expect("the folder is writable");
    let output = selkie(&folder, &search);
    assert!(!output.stdout.contains("note:"), "{output:#?}");
    let command = output.stdout.lines().find_map(|it| it.strip_prefix("keep it as a test: "));
    let command = command.expect("it is shown").to_owned();
    let name = command.rsplit(' ').next().expect("it has words");
    let expected = format!(
        "mkdir tests && cp target/selkie-findings/{name}.r* tests/ && cargo test --test {name}"
    );
    assert_eq!(command, expected);
    let source = folder.join(format!("target/selkie-findings/{name}.rs"));
    let source = fs::read_to_string(source).expect("it was written");
    assert_eq!(source, TEST.replace("NAME", name));
    assert!(folder.join(format!("target/selkie-findings/{name}.replay")).is_file());
}

/// Returns the error 7 if the instruction has three bytes of data.
const RETURNS_7: &str = "
    .globl entrypoint
    entrypoint:
        ldxdw r2, [r1 + 8]
        mov64 r0, 0
        jne r2, 3, done
        mov64 r0, 7
    done:
        exit";

#[test]
fn errors_that_no_recording_has_are_noted() {
    let folder = folder("fuzz-errors");
    fs::write(folder.join("error.s"), RETURNS_7).expect("the folder is writable");
    fs::write(folder.join("call.json"), r#"{"data": [1, 2]}"#).expect("the folder is writable");
    fs::write(folder.join("bad.json"), r#"{"data": [1, 2, 3]}"#).expect("the folder is writable");
    for (input, expected) in [("call", 0), ("bad", 1)] {
        let (input, replay) = (format!("{input}.json"), format!("{input}.replay"));
        let run = ["run", "error.s", "--input", &input, "--save-replay", &replay];
        assert_eq!(selkie(&folder, &run).code, Some(expected));
    }
    let search = |replays: &[&str]| {
        let arguments = [&["fuzz", "--json", "--runs", "3000"], replays].concat();
        let output = selkie(&folder, &arguments);
        assert_eq!(output.code, Some(0), "errors are no findings: {output:#?}");
        output.json()
    };
    let report = search(&["--replay", "call.replay"]);
    let [new] = &report["new_errors"].as_array().expect("it is a list")[..] else {
        panic!("{report}")
    };
    assert_eq!(new["error"], "custom program error: 0x7");
    assert!(new["count"].as_u64() > Some(0), "{new}");
    let report = search(&["--replay", "call.replay", "--replay", "bad.replay"]);
    assert_eq!(report["new_errors"], serde_json::json!([]));
}

#[test]
fn a_search_is_repeated_by_its_seed_and_goes_on_with_its_corpus() {
    let folder = folder("fuzz-corpus");
    fs::write(folder.join("bug.s"), PROGRAM).expect("the folder is writable");
    let search = |corpus: &str, runs: &str| {
        let arguments =
            ["fuzz", "bug.s", "--json", "--seed", "5", "--runs", runs, "--corpus", corpus];
        let mut report = selkie(&folder, &arguments).json();
        report.as_object_mut().expect("it is an object").remove("calls_per_second");
        report
    };
    let [first, second] = ["one", "two"].map(|corpus| search(corpus, "500"));
    assert_eq!(first, second);
    let files = |corpus: &str| fs::read_dir(folder.join(corpus)).expect("it is there").count();
    assert_eq!(files("one"), files("two"));
    search("one", "60000");
    assert!(files("one") >= files("two"));
}

#[test]
fn other_kinds_of_findings_are_asked_for() {
    let folder = folder("fuzz-kinds");
    fs::write(folder.join("error.s"), RETURNS_7).expect("the folder is writable");
    assert_eq!(found(&folder, &["error.s"]).len(), 0);
    let findings = found(&folder, &["error.s", "--fails-on", "error:7"]);
    assert_eq!(findings[0]["what"], "custom error 7");
    let refused = selkie(&folder, &["fuzz", "error.s", "--fails-on", "error:x"]);
    assert_eq!(refused.code, Some(2), "{refused:#?}");
}

#[test]
fn a_search_in_which_nothing_succeeds_is_refused() {
    let folder = folder("fuzz-nothing");
    let program = ".globl entrypoint\nentrypoint:\n    mov64 r0, 1\n    exit\n";
    fs::write(folder.join("never.s"), program).expect("the folder is writable");
    let refused = selkie(&folder, &["fuzz", "never.s", "--runs", "10000"]);
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    assert!(refused.stderr.contains("no action succeeded in 4"), "{refused:#?}");
    assert!(
        refused.stderr.contains("custom program error: 0x1\n    --> never.s:3:5"),
        "{refused:#?}"
    );
    assert!(refused.stderr.contains("--input FILE"), "{refused:#?}");
    assert_eq!(selkie(&folder, &["fuzz"]).code, Some(2));
}

/// Waits until a process handles SIGINT.
#[cfg(target_os = "linux")]
fn wait_until_handled(process: u32) {
    let mask = || {
        let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t"));
        u64::from_str_radix(caught.expect("Linux lists them"), 16).expect("it is a number")
    };
    while mask() & 0b10 == 0 {
        std::thread::yield_now();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_interrupted_search_writes_its_corpus() {
    let folder = folder("fuzz-interrupted");
    fs::write(folder.join("fine.s"), PROGRAM.replace("div64 r3, r0", "mov64 r3, r0")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_selkie"));
    command.args(["fuzz", "fine.s", "--corpus", "corpus", "--seconds", "600", "--json"]);
    let search = command.current_dir(&folder).stdout(Stdio::piped()).spawn().unwrap();
    wait_until_handled(search.id());
    let interrupt = Command::new("kill").args(["-INT", &search.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let output = search.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["success"], true);
    assert!(fs::read_dir(folder.join("corpus")).unwrap().count() > 0);
}
