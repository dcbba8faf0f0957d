//! Recording of a test suite: the test runs itself again, with the variable set.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use selkie::{Account, Replay, Signer as _, Svm, address, keypair, system};

const VARIABLE: &str = "SELKIE_RECORD";
/// Makes [`what_fails`] fail.
const FAILS: &str = "SELKIE_TEST_FAILS";

/// Sends a transaction and processes an instruction.
#[test]
fn what_is_recorded() {
    let payer = keypair("payer");
    let mut svm = Svm::new();
    svm.airdrop(&payer.pubkey(), 1_000_000_000).unwrap();
    let transfer = system::transfer(&payer.pubkey(), &address("bob"), 1_000_000);
    svm.send_instructions(&[transfer], &[&payer]).unwrap();
    let rich = Account { lamports: 10, data: vec![7; 2000], ..Account::default() };
    let instruction = system::transfer(&address("rich"), &address("bob"), 4);
    let _ = svm.process_instruction(&instruction, &[(address("rich"), rich)]);
}

/// Panics when asked to, in one of three ways.
#[test]
fn what_fails() {
    let Ok(how) = env::var(FAILS) else { return };
    let payer = keypair("payer");
    let mut svm = Svm::new();
    svm.airdrop(&payer.pubkey(), 1_000_000_000).unwrap();
    let transfer = |lamports| system::transfer(&payer.pubkey(), &address("bob"), lamports);
    svm.send_instructions(&[transfer(1_000_000)], &[&payer]).unwrap();
    let result = svm.send_instructions(&[transfer(5_000_000_000)], &[&payer]);
    match how.as_str() {
        "unwrap" => drop(result.unwrap()),
        "assert" => assert!(result.is_ok(), "it is not"),
        _ => {
            svm.send_instructions(&[transfer(7)], &[&payer]).unwrap();
            assert_eq!(svm.balance(&address("bob")), 1_000_008);
        }
    }
}

/// Runs a test of this file in a process of its own, and returns what it printed.
fn run(test: &str, variables: &[(&str, &str)]) -> String {
    let mut again = Command::new(env::current_exe().unwrap());
    again.args(["--exact", test]).env_remove(VARIABLE).envs(variables.iter().copied());
    String::from_utf8(again.output().unwrap().stdout).unwrap()
}

fn replays(folder: &Path) -> Vec<Replay> {
    let paths = files(folder, "replay");
    let parse = |path| Replay::parse(&fs::read_to_string(path).unwrap()).unwrap();
    paths.into_iter().map(parse).collect()
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|it| it == extension)).collect()
}

/// The replay that is named after `selkie debug`.
fn named_replay(text: &str) -> Option<PathBuf> {
    let (_, rest) = text.split_once("selkie debug ")?;
    Some(rest.lines().next()?.into())
}

#[test]
fn a_failing_test_names_the_transaction_that_it_fails_with() {
    for how in ["unwrap", "assert"] {
        let text = run("what_fails", &[(FAILS, how)]);
        let path = named_replay(&text).unwrap_or_else(|| panic!("{text}"));
        assert!(path.parent().unwrap().ends_with("selkie-replays"), "{}", path.display());
        let replay = Replay::parse(&fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!((replay.id(), replay.suite()), ("what_fails", Some("recording")), "{how}");
        assert_eq!(replay.recorded().result, "InstructionError(0, Custom(1))");
        assert_eq!(text.matches("selkie debug").count(), 1, "{text}");
    }
    // It did not fail with its last transaction, as far as that tells.
    assert_eq!(named_replay(&run("what_fails", &[(FAILS, "later")])), None);
}

#[test]
fn recordings_mark_tests_that_fail_with_their_transaction() {
    for (how, number) in [("unwrap", 2), ("assert", 2), ("later", 3)] {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recording-of-failures").join(how);
        let _ = fs::remove_dir_all(&folder);
        run("what_fails", &[(FAILS, how), (VARIABLE, folder.to_str().unwrap())]);
        let mut numbers: Vec<_> = replays(&folder).iter().map(|it| it.number()).collect();
        numbers.sort_unstable();
        let count = if how == "later" { 3 } else { 2 };
        assert_eq!(numbers, (1..=count).map(Some).collect::<Vec<_>>());
        let marks = files(&folder, "failed");
        let [mark] = marks.as_slice() else { panic!("{marks:?}") };
        let mark: serde_json::Value = serde_json::from_slice(&fs::read(mark).unwrap()).unwrap();
        assert_eq!((&mark["suite"], &mark["test"]), (&"recording".into(), &"what_fails".into()));
        let replay = folder.join(mark["replay"].as_str().unwrap());
        let replay = Replay::parse(&fs::read_to_string(replay).unwrap()).unwrap();
        assert_eq!(replay.number(), Some(number), "{how}");
    }
}

#[test]
fn a_test_suite_is_recorded_to_a_folder() {
    if env::var_os(VARIABLE).is_some() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recording");
    // It is not there when the test runs for the first time.
    let _ = fs::remove_dir_all(&folder);
    for _ in 0..2 {
        let text = run("what_is_recorded", &[(VARIABLE, folder.to_str().unwrap())]);
        assert!(text.contains("1 passed"), "{text}");
    }
    let replays = replays(&folder);
    assert_eq!(replays.len(), 2, "the same is recorded once");
    assert!(files(&folder, "failed").is_empty());
    for replay in replays {
        assert_eq!(replay.id(), "what_is_recorded");
        let blob = |name: &str| fs::read(folder.join(format!("blobs/{name}.bin"))).ok();
        Svm::replay_with(&replay, &blob).unwrap();
    }
}
