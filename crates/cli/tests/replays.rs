//! Replays find debug information that lies beside the program that they are of.

mod common;

use std::{fs, path::Path};

use common::{folder, repository, selkie, selkie_with};

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

/// A folder of a program without symbols and its recording, whose debug information is elsewhere.
fn apart(name: &str, debug: &str) -> std::path::PathBuf {
    let root = folder(name);
    build(&root, "hello");
    let output = selkie(&root, &["run", "hello.so", "--save-replay", "a.replay"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let to = root.join(debug);
    fs::create_dir_all(to.parent().expect("it is in a folder")).expect("the folder is writable");
    fs::rename(root.join("hello.so.debug"), to).expect("the folder is writable");
    fs::remove_file(root.join("hello.so")).expect("the folder is writable");
    root
}

#[test]
fn debug_information_is_found_in_the_target_folder_from_a_folder_below() {
    // Under any name, since its code is that of the program.
    let root = apart("replays-below", "target/deploy/another.so.debug");
    let member = root.join("programs/hello");
    fs::create_dir_all(&member).expect("the folder is writable");
    check(&member, "../../a.replay");
}

#[test]
fn debug_information_is_found_in_a_target_folder_with_another_name() {
    let root = apart("replays-named", "out/deploy/hello.so.debug");
    let here = folder("replays-named-here");
    let replay = root.join("a.replay");
    let replay = replay.to_str().expect("the repository's path is text");
    let out = root.join("out");
    let variables = [("CARGO_TARGET_DIR", out.as_path())];
    let output = selkie_with(&here, &["coverage", replay], &variables);
    assert!(output.stdout.contains("hello.s"), "{output:?}");
    fs::create_dir(here.join(".cargo")).expect("the folder is writable");
    let config = format!("[build]\ntarget-dir = {out:?}\n");
    fs::write(here.join(".cargo/config.toml"), config).expect("the folder is writable");
    check(&here, replay);
}

#[test]
fn coverage_without_debug_information_is_an_error_that_tells_where_it_looked() {
    let root = apart("replays-without", "elsewhere/hello.so.debug");
    let output = selkie(&root, &["coverage", "a.replay"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    for part in ["no debug information was found of", "looked in ", "replays-without", "--symbols"]
    {
        assert!(output.stderr.contains(part), "{part}: {output:?}");
    }
    let output = selkie(&root, &["debug", "a.replay", "-x", "info programs"]);
    assert!(output.stderr.contains("no debug information was found of"), "{output:?}");
    let output = selkie(&root, &["coverage", "a.replay", "--symbols", "elsewhere"]);
    assert!(output.stdout.contains("hello.s"), "{output:?}");
}

/// A program that fails in a function, and an instruction for it.
fn failing(name: &str) -> std::path::PathBuf {
    let folder = folder(name);
    let source = "entrypoint:\n    call read\n    exit\nread:\n    mov64 r0, 7\n    ldxdw r1, [r0+0]\n    exit\n";
    fs::write(folder.join("fails.s"), source).expect("the folder is writable");
    let input = r#"{"instruction_data": [1], "accounts": []}"#;
    fs::write(folder.join("call.json"), input).expect("the folder is writable");
    folder
}

#[test]
fn a_program_with_its_input_stands_for_a_recording() {
    let folder = failing("replays-call");
    for (arguments, shown) in [
        (&["trace"][..], "--> fails.s:6:5 in read, pc 3"),
        (&["profile", "--by", "line"], "fails.s:6"),
        (&["coverage"], "fails.s"),
        (&["debug", "-x", "bt"], ">#0   read of fails at ./fails.s:6:5"),
        (&["inspect"], ""),
    ] {
        let call = [arguments, &["fails.s", "--input", "call.json"]].concat();
        let output = selkie(&folder, &call);
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{call:?}: {output:?}");
        assert!(output.stdout.contains(shown), "{call:?}: {output:?}");
    }
}

#[test]
fn a_program_without_lines_says_where_they_were_looked_for() {
    let folder = failing("replays-no-lines");
    for call in
        [&["build", "fails.s", "--strip"][..], &["run", "fails.so", "--save-replay", "call.replay"]]
    {
        selkie(&folder, call);
    }
    for command in ["trace", "profile"] {
        let output = selkie(&folder, &[command, "call.replay"]);
        assert_eq!(output.code, Some(0), "{output:?}");
        let warning = "warning: no debug information was found of fails: looked in ";
        assert!(output.stderr.starts_with(warning), "{command:?}: {output:?}");
    }
}

#[test]
fn what_is_no_replay_is_named() {
    let folder = failing("replays-others");
    assert_eq!(selkie(&folder, &["build", "fails.s", "-o", "fails"]).code, Some(0));
    for (file, why) in [
        ("fails", "error: fails is an ELF file, and no replay\nhelp: "),
        ("call.json", "error: call.json is the input of a program, and no replay\nhelp: "),
    ] {
        for command in ["trace", "profile", "coverage", "debug", "inspect"] {
            let output = selkie(&folder, &[command, file]);
            assert_eq!(output.code, Some(2), "{output:?}");
            assert!(output.stderr.starts_with(why), "{command} {file}: {output:?}");
        }
    }
}

#[test]
fn inspect_takes_folders() {
    let folder = failing("replays-folder");
    fs::create_dir(folder.join("all")).expect("the folder is writable");
    selkie(&folder, &["run", "fails.s", "--save-replay", "all/a.replay"]);
    let output = selkie(&folder, &["inspect", "all"]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{output:?}");
}

#[test]
fn debug_information_is_found_where_the_program_was_built() {
    let root = folder("replays-built");
    let caches = root.join("caches");
    let run = |folder: &Path, arguments: &[&str]| {
        let output = selkie_with(folder, arguments, &[("XDG_CACHE_HOME", &caches)]);
        assert_eq!(output.code, Some(0), "{output:?}");
        output
    };
    run(&root, &["new", "vault", "--library", &repository().display().to_string()]);
    run(&root.join("vault"), &["build", "--out-dir", "../built"]);
    // The program alone goes elsewhere, and only its code is left.
    fs::create_dir(root.join("here")).expect("the folder is writable");
    fs::copy(root.join("built/vault.so"), root.join("here/p.so")).expect("it was built");
    let input = root.join("vault/input.json").display().to_string();
    let here = root.join("here");
    run(&here, &["run", "p.so", "--input", &input, "--save-replay", "a.replay"]);
    fs::remove_file(here.join("p.so")).expect("it is there");
    let replay = fs::read_to_string(here.join("a.replay")).expect("it was written");
    let lines = replay.lines().filter(|it| !it.contains("symbols"));
    fs::write(here.join("a.replay"), lines.collect::<Vec<_>>().join("\n")).expect("it is writable");
    let covered = run(&here, &["coverage", "a.replay"]);
    assert!(covered.stdout.contains("vault.s"), "{covered:?}");
}

/// The recorded transaction is one that agave 4.4 and 4.5 end otherwise.
#[test]
fn replays_follow_the_rules_that_are_named() {
    let folder = folder("replays-rules");
    let vectors = repository().join("testdata/vectors/releases.jsonl");
    let vectors = fs::read_to_string(vectors).expect("it is there");
    let name = "an_absent_program_with_a_writable_account/4.4";
    let line = vectors.lines().find(|it| it.contains(name)).expect("it is in there");
    fs::write(folder.join("a.replay"), line).expect("the folder is writable");
    let ended = |options: &[&str]| {
        let output = selkie(&folder, &[&["trace", "a.replay"], options].concat());
        assert!(!output.stderr.contains("has no effect"), "{output:?}");
        let last = output.stdout.lines().find_map(|it| it.strip_prefix("failed "));
        last.expect("it fails").to_owned()
    };
    let (old, new) = (
        "unauthorized signer or writable account",
        "account required by the instruction is missing",
    );
    assert!(ended(&[]).contains(old) && ended(&["--rules", "4.4"]).contains(old));
    assert!(ended(&["--rules", "4.5"]).contains(new));
    let output = selkie(&folder, &["debug", "a.replay", "--rules", "4.5", "-x", "continue"]);
    assert!(output.stdout.contains(new), "{output:?}");
}
