//! The files that `selkie deploy` creates, and its warnings about keys.

mod common;

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use common::{folder, repository, selkie_with};

fn deploy(folder: &Path, program: &str) -> common::Output {
    // The tests must not use the key of the user who runs them.
    selkie_with(folder, &["deploy", program], &[("HOME", folder)])
}

fn hello() -> String {
    let path = repository().join("examples/hello.s");
    fs::read_to_string(path).expect("the example is there")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let name = |it: std::io::Result<fs::DirEntry>| it.map(|it| it.file_name().into_string());
    let mut names: Vec<String> =
        entries.map(|it| name(it).expect("it is readable").expect("it is text")).collect();
    names.sort();
    names
}

#[test]
fn a_refused_deployment_creates_no_files() {
    let folder = folder("deploy-refused");
    fs::write(folder.join("notes.so"), "not a program").expect("the folder is writable");
    let refused = deploy(&folder, "notes.so");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert_eq!(names(&folder), ["notes.so"]);

    fs::write(folder.join("hello.s"), hello()).expect("the folder is writable");
    let arguments = ["deploy", "hello.s", "--state", "missing/selkie.state"];
    let refused = selkie_with(&folder, &arguments, &[("HOME", &folder)]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("missing/selkie.state"), "{refused:?}");
    assert_eq!(names(&folder), ["hello.s", "notes.so"]);
}

#[test]
fn a_key_that_git_does_not_ignore_causes_a_warning() {
    let folder = folder("deploy-git");
    fs::write(folder.join("hello.s"), hello()).expect("the folder is writable");
    let mut git = Command::new("git");
    git.arg("init").arg("--quiet").arg(&folder).stdout(Stdio::null());
    assert!(git.status().is_ok_and(|it| it.success()), "this test needs git");

    let deployed = deploy(&folder, "hello.s");
    assert_eq!(deployed.code, Some(0), "{deployed:?}");
    for key in ["hello-keypair.json", "selkie.state.payer.json"] {
        assert!(folder.join(key).is_file());
        let warning = format!("warning: {key} is a private key, and git does not ignore it");
        assert!(deployed.stderr.contains(&warning), "{deployed:?}");
    }
    assert!(deployed.stderr.contains("help: add this line to .gitignore: *-keypair.json"));

    let ignored = "*-keypair.json\n*.payer.json\n";
    fs::write(folder.join(".gitignore"), ignored).expect("the folder is writable");
    let again = deploy(&folder, "hello.s");
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.stdout.starts_with("upgraded"), "{again:?}");
    assert!(!again.stderr.contains("warning"), "{again:?}");
}
