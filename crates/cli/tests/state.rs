//! The file of a saved cluster, with several commands at once and through links.

mod common;

use std::{fs, thread};

use common::{folder, selkie};

#[track_caller]
fn balance(folder: &std::path::Path) -> String {
    let shown = selkie(folder, &["--json", "account", "show", "test:alice", "--state", "a.state"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    shown.json()["account"]["lamports"].to_string()
}

#[test]
fn commands_at_the_same_time_lose_no_update() {
    let folder = folder("state-at-once");
    thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                let arguments = ["airdrop", "1", "test:alice", "--state", "a.state"];
                let output = selkie(&folder, &arguments);
                assert_eq!(output.code, Some(0), "{output:?}");
            });
        }
    });
    assert_eq!(balance(&folder), "10000000000");
}

#[cfg(unix)]
#[test]
fn a_state_that_is_a_link_stays_one() {
    let folder = folder("state-link");
    fs::create_dir(folder.join("real")).expect("the folder is writable");
    // It leads to nothing at first.
    std::os::unix::fs::symlink("real/b.state", folder.join("a.state")).expect("there are links");
    for expected in ["1000000000", "2000000000"] {
        let airdrop = ["airdrop", "1", "test:alice", "--state", "a.state"];
        let output = selkie(&folder, &airdrop);
        assert_eq!(output.code, Some(0), "{output:?}");
        let kind = fs::symlink_metadata(folder.join("a.state")).expect("it is there").file_type();
        assert!(kind.is_symlink());
        assert!(folder.join("real/b.state").is_file());
        assert_eq!(balance(&folder), expected);
    }
}

#[test]
fn a_state_that_another_command_uses_is_not_changed() {
    let folder = folder("state-locked");
    let airdrop = ["airdrop", "1", "test:alice", "--state", "a.state"];
    assert_eq!(selkie(&folder, &airdrop).code, Some(0));
    let lock = fs::File::create(folder.join("a.state.lock")).expect("the folder is writable");
    lock.lock().expect("no other command runs");
    let output = selkie(&folder, &airdrop);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("another command uses"), "{output:?}");
    drop(lock);
    assert_eq!(balance(&folder), "1000000000");
}
