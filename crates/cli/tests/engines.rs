//! `--engine` and listings of machine code. The output depends on whether the JIT supports the
//! host, so no document can show it.

mod common;

use std::fs;

use common::{Output, folder, repository, selkie};
use selkie_vm::MachineCode;

const HELLO: &str = "examples/hello.s";

fn run(arguments: &[&str]) -> Output {
    selkie(&repository(), &[&["run", HELLO, "--json"], arguments].concat())
}

fn disasm(arguments: &[&str]) -> Output {
    selkie(&repository(), &[&["disasm", HELLO], arguments].concat())
}

#[test]
fn the_report_names_the_engine_used() {
    assert_eq!(run(&[]).json()["engine"], "interpreter", "a short run of a new program");
    assert_eq!(run(&["--engine", "interpreter"]).json()["engine"], "interpreter");
    let output = run(&["--engine", "jit"]);
    if MachineCode::SUPPORTED {
        let report = output.json();
        assert_eq!((&report["engine"], &report["compute_units"]), (&"jit".into(), &105.into()));
        assert_eq!(report["notes"], serde_json::json!([]));
    } else {
        assert_eq!(output.code, Some(2), "{output:#?}");
        let help = output.json()["help"].to_string();
        assert!(help.contains("--engine interpreter"), "{help}");
    }
}

#[test]
fn a_limit_above_that_of_a_transaction_selects_the_jit() {
    let report = run(&["--limit", "1400001"]).json();
    let engine = if MachineCode::SUPPORTED { "jit" } else { "interpreter" };
    assert_eq!(report["engine"], engine);
    let notes = report["notes"].as_array().expect("there is a list of notes");
    assert_eq!(notes.len(), usize::from(!MachineCode::SUPPORTED), "{notes:?}");
}

#[test]
fn traces_are_written_by_the_interpreter() {
    if !MachineCode::SUPPORTED {
        return;
    }
    let trace = folder("engines-trace").join("trace.txt");
    let report = run(&["--engine", "jit", "--trace", trace.to_str().expect("text")]).json();
    assert_eq!(report["engine"], "interpreter");
    assert_eq!(report["notes"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!(fs::read_to_string(trace).expect("it was written").lines().count(), 6);
}

#[test]
fn native_listings_show_machine_code_where_the_jit_is_supported() {
    let output = disasm(&["--native"]);
    if !MachineCode::SUPPORTED {
        assert_eq!(output.code, Some(2), "{output:#?}");
        assert!(output.stderr.contains("the JIT has no back end"), "{output:#?}");
        assert!(output.stderr.contains("help: omit `--native`"), "{output:#?}");
        return;
    }
    for statement in ["lddw r1, data_0", "mov64 r2, 16", "syscall sol_log_", "exit"] {
        assert!(output.stdout.contains(statement), "{output:#?}");
    }
    let again = disasm(&["--native"]);
    assert_eq!(output.stdout, again.stdout, "seeds are fixed");
    let hardened = disasm(&["--native", "--hardening", "on"]);
    assert_eq!(hardened.code, Some(0), "{hardened:#?}");
    assert_eq!(hardened.stdout, disasm(&["--native", "--hardening", "on"]).stdout);
}

#[test]
fn every_instruction_has_machine_code() {
    if !MachineCode::SUPPORTED {
        return;
    }
    let listing = disasm(&["--native", "--json"]).json();
    let bytes = listing["native_bytes"].as_u64().expect("a number");
    for line in listing["instructions"].as_array().expect("a list") {
        let native = line["native"].as_array().expect("a list");
        assert!(bytes == 0 || !native.is_empty(), "{line}");
        for step in native {
            assert!(step["offset"].as_u64().expect("a number") < bytes, "{step}");
            assert_ne!(step["mnemonic"], "db", "{step}");
        }
    }
    let part = disasm(&["--native", "--json", "--range", "3"]).json();
    assert_eq!(part["instructions"][0], listing["instructions"][2]);
    assert_eq!((&part["instructions"][1], &part["shared"]), (&().into(), &().into()));
}
