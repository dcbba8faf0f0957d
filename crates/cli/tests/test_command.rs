//! `selkie test` with the tests of this very file: it runs them again, recorded.

mod common;

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use common::{folder, repository, selkie, selkie_with};
use selkie::{Account, AccountMeta, Check, Instruction, Svm, address};

/// The program that the tests within run, if they are to run.
const PROGRAM: &str = "SELKIE_TEST_PROGRAM";

/// Splits a pool by the program of the variable, which fails for large ones.
fn split(total: u64, check: Check) {
    let Some(file) = env::var_os(PROGRAM) else { return };
    let (program, pool) = (address("payout"), address("pool"));
    let mut svm = Svm::new();
    svm.add_program(program, PathBuf::from(file)).expect("it was built");
    let data = [total.to_le_bytes(), [0; 8], [0; 8]].concat();
    let account = Account { lamports: 1_000_000, data, owner: program, ..Account::default() };
    let accounts = vec![AccountMeta::new(pool, false)];
    let instruction = Instruction::new_with_bytes(program, &5000_u16.to_le_bytes(), accounts);
    svm.process_instruction(&instruction, &[(pool, account)]).assert(check);
}

#[test]
fn inner_small_pool() {
    split(100, Check::success());
}

#[test]
fn inner_large_pool_is_refused() {
    split(1_000_000, Check::custom(1));
}

#[test]
fn inner_large_pool() {
    split(100, Check::success());
    split(1_000_000, Check::success());
}

/// Returns a folder with a program that was built there.
fn built(name: &str) -> PathBuf {
    let folder = folder(name);
    fs::create_dir(folder.join("target")).expect("the folder is new");
    // It is no project, which `selkie test` would build.
    fs::create_dir(folder.join("program")).expect("the folder is new");
    let source = folder.join("program/payout.s");
    fs::copy(repository().join("examples/payout.s"), source).expect("it is there");
    for arguments in [
        &["build", "program/payout.s", "--strip", "-o", "payout.so"][..],
        &["build", "program/payout.s", "--debug", "-o", "payout.so.debug"],
    ] {
        let output = selkie(&folder, arguments);
        assert_eq!(output.code, Some(0), "{output:?}");
    }
    folder
}

/// Returns the arguments that run the tests within.
fn arguments<'a>(executable: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["test"][..], more, &["--", executable, "inner_", "--test-threads=1"]].concat()
}

#[test]
fn a_failed_test_is_shown_with_the_line_of_the_program() {
    let folder = built("test-command");
    let executable = env::current_exe().expect("it runs");
    let executable = executable.to_str().expect("it is UTF-8");
    // The command that is started has the variable of this process's child.
    let run = |more: &[&str]| {
        let variable = format!("{PROGRAM}={}", folder.join("payout.so").display());
        let words = arguments(executable, more);
        let (before, command) = words.split_at(words.len() - 3);
        selkie(&folder, &[before, &["env", &variable], command].concat())
    };
    let output = run(&["--junit", "report.xml"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    let text = output.text();
    for part in [
        "test inner_small_pool ... ok\n",
        "test inner_large_pool ... FAILED\n",
        "FAILED inner_large_pool",
        "panicked at crates/cli/tests/test_command.rs:",
        "result: expected success, found InstructionError(0, Custom(1))",
        "transaction 2 of 2 failed: ",
        "--> program/payout.s:47:5 in entrypoint\n",
        ">   47 │     mov64 r0, 1\n",
        "debug it: selkie debug --test inner_large_pool\n",
        "failed 1 failed, 2 passed  4 transactions recorded\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("FAILED inner_large_pool_is_refused"), "{text}");

    // The command that was printed, though the other test's transaction failed as well.
    let debug = selkie(&folder, &["debug", "--test", "inner_large_pool", "-x", "bt"]);
    assert!(debug.stdout.contains("payout.s:47:5"), "{debug:?}");
    let newest = selkie(&folder, &["debug", "-x", "bt"]);
    assert!(newest.stdout.contains("payout.s:47:5"), "{newest:?}");
    let listed = selkie(&folder, &["debug", "--list"]).text();
    let rows: Vec<Vec<&str>> =
        listed.lines().map(|line| line.split_whitespace().take(3).collect()).collect();
    let expected = [
        ["0", "inner_large_pool", "#1"],
        ["1", "inner_large_pool", "#2"],
        ["2", "inner_large_pool_is_refused", "#1"],
        ["3", "inner_small_pool", "#1"],
    ];
    assert_eq!(rows, expected, "{listed}");

    let report = fs::read_to_string(folder.join("report.xml")).expect("it was written");
    assert!(report.contains("tests=\"3\" failures=\"1\" skipped=\"0\""), "{report}");
    assert!(report.contains("<failure message=\"1 expectation does not hold\">"), "{report}");

    let json = run(&["--json"]).json();
    assert_eq!((&json["failed"], &json["passed"]), (&1.into(), &2.into()));
    let transaction = &json["failures"][0]["transaction"];
    assert_eq!(transaction["place"]["line"], 47);
    assert_eq!(transaction["number"], 2);
    assert_eq!(transaction["debug"], "selkie debug --test inner_large_pool");
}

#[test]
fn what_cannot_be_run_is_told() {
    let folder = folder("test-command-fails");
    fs::create_dir(folder.join("target")).expect("the folder is new");
    let output = selkie(&folder, &["test", "--", "false"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.text().contains("failed `false`: exit status: 1"), "{output:?}");
    let output = selkie(&folder, &["test", "--", "no-such-program"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.text().contains("cannot run `no-such-program`"), "{output:?}");
    let target = folder.join("target");
    let output = selkie_with(Path::new("/"), &["debug"], &[("CARGO_TARGET_DIR", &target)]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.text().contains("no test has failed: nothing is in "), "{output:?}");
}

#[test]
fn watching_runs_again_when_a_file_changes() {
    let folder = folder("test-command-watch");
    fs::create_dir_all(folder.join("target")).expect("the folder is new");
    fs::create_dir_all(folder.join("src")).expect("the folder is new");
    fs::write(folder.join("src/a.txt"), "1").expect("it can be written");
    let mut running = Command::new(env!("CARGO_BIN_EXE_selkie"))
        .args(["test", "--watch", "--", "cat", "src/a.txt"])
        .current_dir(&folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let errors = running.stderr.take().expect("it is piped");
    let mut lines = BufReader::new(errors).lines();
    let mut wait_for = |part: &str| {
        let found = lines.by_ref().map_while(Result::ok).any(|line| line.contains(part));
        assert!(found, "no line with {part}");
    };
    wait_for("waiting for changes");
    write(&folder, "target/ignored", "x");
    write(&folder, "src/a.txt", "2");
    wait_for("src/a.txt changed");
    wait_for("waiting for changes");
    running.kill().expect("it runs");
    let output = running.wait_with_output().expect("it ended");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.matches("0 passed").count(), 2, "{text}");
}

fn write(folder: &Path, file: &str, text: &str) {
    fs::write(folder.join(file), text).expect("it can be written");
}
