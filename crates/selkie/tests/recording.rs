//! Recording of a test suite: the test runs itself again, with the variable set.

use std::{env, fs, path::Path, process::Command};

use selkie::{Account, Signer as _, Svm, address, fixture::Fixture, keypair, system};

const VARIABLE: &str = "SELKIE_RECORD";

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

#[test]
fn a_test_suite_is_recorded_to_a_folder() {
    if env::var_os(VARIABLE).is_some() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recording");
    // It is not there when the test runs for the first time.
    let _ = fs::remove_dir_all(&folder);
    for _ in 0..2 {
        let mut again = Command::new(env::current_exe().unwrap());
        again.args(["--exact", "what_is_recorded"]).env(VARIABLE, &folder);
        assert!(again.output().unwrap().status.success());
    }
    let replays: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "replay"))
        .collect();
    assert_eq!(replays.len(), 2, "the same is recorded once");
    for path in replays {
        let fixture = Fixture::parse(&fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(fixture.id(), "what_is_recorded");
        let blob = |name: &str| fs::read(folder.join(format!("blobs/{name}.bin"))).ok();
        fixture.replay_with(&blob).unwrap();
    }
}
