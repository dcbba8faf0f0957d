//! `selkie send` and `selkie keygen`: files, folders and permissions, which documents cannot show.

mod common;

use std::{fs, path::Path};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use common::{Output, folder, selkie};

fn check(folder: &Path, line: &str) -> Output {
    let output = run(folder, line);
    assert_eq!(output.code, Some(0), "{line}: {}", output.text());
    output
}

fn run(folder: &Path, line: &str) -> Output {
    selkie(folder, &line.split_whitespace().collect::<Vec<_>>())
}

#[cfg(unix)]
#[test]
fn a_new_key_file_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder("send-key-mode");
    check(&folder, "keygen new alice.json");
    let mode = fs::metadata(folder.join("alice.json")).expect("it was written").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[test]
fn keygen_does_not_overwrite_a_key() {
    let folder = folder("send-key-overwrite");
    check(&folder, "keygen new alice.json");
    let read = || fs::read(folder.join("alice.json")).expect("it was written");
    let before = read();
    assert_eq!(run(&folder, "keygen new alice.json").code, Some(2));
    assert_eq!(read(), before);
}

#[test]
fn names_of_key_files_work_from_any_folder() {
    let folder = folder("send-names");
    fs::create_dir_all(folder.join("cluster/keys")).expect("the folder is writable");
    check(&folder, "keygen new cluster/keys/alice.json");
    let address = check(&folder, "keygen pubkey cluster/keys/alice.json").stdout;
    let named = "airdrop 1 alice --name alice=cluster/keys/alice.json --state cluster/my.state";
    check(&folder, named);
    let found = check(&folder.join("cluster"), "keygen pubkey alice --state my.state").stdout;
    assert_eq!(found, address);
    // Its key signs, too.
    let inside = folder.join("cluster");
    check(&inside, "send -P memo -a alice:s -d str:hi --payer alice --state my.state");
}

#[test]
fn signed_transactions_are_sent_from_files() {
    let folder = folder("send-files");
    check(&folder, "airdrop 5 payer --payer test:payer");
    let signed = "send -P system -a payer:ws test:bob:w -d u32:2,u64:2000000 --payer test:payer";
    let text = check(&folder, &format!("{signed} --sign-only")).stdout;
    fs::write(folder.join("transaction.txt"), &text).expect("the folder is writable");
    let bytes = BASE64_STANDARD.decode(text.trim()).expect("it is base64");
    fs::write(folder.join("transaction.bin"), bytes).expect("the folder is writable");
    for name in ["transaction.txt", "transaction.bin"] {
        let report = check(&folder, &format!("--json send {name} --simulate")).json();
        assert_eq!(report["changed"][1]["after"]["account"]["lamports"], 2_000_000, "{name}");
    }
    check(&folder, "send transaction.bin");
    let shown = check(&folder, "--json account show test:bob").json();
    assert_eq!(shown["account"]["lamports"], 2_000_000);
}

#[test]
fn a_simulation_does_not_change_the_state_file() {
    let folder = folder("send-simulate");
    check(&folder, "airdrop 5 payer --payer test:payer");
    let read = || fs::read(folder.join("selkie.state")).expect("it was written");
    let before = read();
    check(&folder, "send -P memo -d str:hi --payer test:payer --simulate");
    assert_eq!(read(), before);
}

#[test]
fn malformed_name_files_are_rejected() {
    let folder = folder("send-broken-names");
    check(&folder, "airdrop 5 test:bob");
    for text in ["", "[1]", "{\"a\": 1}", "{"] {
        fs::write(folder.join("selkie.state.names.json"), text).expect("the folder is writable");
        let output = run(&folder, "account show test:bob");
        assert_eq!(output.code, Some(2), "{text}");
        assert!(output.stderr.contains("names.json"), "{output:#?}");
    }
}

/// Deploys a program that reads what is not there.
fn deploy_failing(name: &str) -> std::path::PathBuf {
    let folder = folder(name);
    fs::write(folder.join("fails.s"), "entrypoint:\n  mov64 r0, 7\n  ldxdw r1, [r0+0]\n  exit\n")
        .expect("the folder is writable");
    check(&folder, "build fails.s --debug");
    check(&folder, "deploy fails.so --payer test:payer");
    folder
}

#[test]
fn what_fails_is_named_and_kept_for_the_debugger() {
    let folder = deploy_failing("send-fails");
    let sent = run(&folder, "send -P fails --payer test:payer");
    assert_eq!(sent.code, Some(1), "{}", sent.text());
    let place = "\n  --> fails.s:3:3 in entrypoint, pc 1\n  signature ";
    assert!(sent.stdout.contains(place), "{}", sent.text());
    let (_, command) = sent.stdout.rsplit_once("debug it: selkie ").expect("it names the command");
    let debugged = check(&folder, &format!("{} -x bt", command.trim()));
    assert!(debugged.stdout.contains("fails.s:3:3"), "{}", debugged.text());
}

#[test]
fn what_is_sent_can_be_saved_as_a_replay() {
    let folder = deploy_failing("send-replay");
    let memo = "send -P memo -d str:hi --payer test:payer --save-replay";
    check(&folder, &format!("{memo} sent.replay"));
    check(&folder, &format!("{memo} simulated.replay --simulate"));
    for replay in ["sent.replay", "simulated.replay"] {
        let traced = check(&folder, &format!("trace {replay}"));
        assert!(traced.stdout.contains("\nsuccess  "), "{}", traced.text());
    }
}
