//! Replays find debug information that lies beside the program that they are of.

mod common;

use std::{fs, path::Path};

use common::{folder, repository, selkie};

/// Builds a program without symbols, and its debug information beside it.
fn build(folder: &Path, base: &str) {
    let source = repository().join("examples/hello.s");
    fs::copy(source, folder.join("hello.s")).expect("the source is there");
    let (program, debug) = (format!("{base}.so"), format!("{base}.so.debug"));
    for arguments in [
        &["build", "hello.s", "--strip", "-o", &program][..],
        &["build", "hello.s", "--debug", "-o", "whole.so"],
    ] {
        let output = selkie(folder, arguments);
        assert_eq!(output.code, Some(0), "{output:?}");
    }
    fs::rename(folder.join("whole.so"), folder.join(debug)).expect("the folder is writable");
}

#[track_caller]
fn check(folder: &Path, replay: &str) {
    let output = selkie(folder, &["coverage", replay]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(!output.text().contains("no lines are known"), "{output:?}");
    assert!(output.stdout.contains("hello.s"), "{output:?}");
    let output = selkie(folder, &["debug", replay, "-x", "info programs"]);
    assert!(output.stdout.contains("(with lines)"), "{output:?}");
}

#[test]
fn coverage_has_the_lines_of_debug_information_beside_the_program() {
    let folder = folder("replays-beside");
    fs::create_dir(folder.join("out")).expect("the folder is writable");
    build(&folder, "out/hello");
    let output = selkie(&folder, &["run", "out/hello.so", "--save-replay", "a.replay"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    check(&folder, "a.replay");
}

#[test]
fn coverage_has_the_lines_of_debug_information_beside_the_replay() {
    let folder = folder("replays-moved");
    build(&folder, "hello");
    let output = selkie(&folder, &["run", "hello.so", "--save-replay", "a.replay"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    // On another machine, the recorded path leads nowhere.
    let replay = fs::read_to_string(folder.join("a.replay")).expect("it was written");
    let (_, fixture) = replay.split_once('\n').expect("it has two lines");
    fs::write(folder.join("a.replay"), fixture).expect("the folder is writable");
    check(&folder, "a.replay");
}
