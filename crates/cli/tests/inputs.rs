//! Files that are read: pipes and devices in their places do not block, and all of them are opened in
//! one place.

mod common;

use std::{fs, path::Path};

use common::repository;

/// The files with calls that open files by other means than `selkie_isa::input`, with the reason.
const OPENINGS: &[(&str, &str)] = &[
    ("crates/build/src/wrapper.rs", "copies of sources and a mark, which are written"),
    ("crates/client/src/cluster/lock.rs", "the lock, which is written"),
    ("crates/client/src/keys.rs", "a new key, which is written"),
    ("crates/isa/src/input.rs", "the place itself"),
    ("crates/selkie/src/recording.rs", "a replay that was written, to date it"),
    ("crates/client/src/store/folder.rs", "the cache's own folder, with checks of its own"),
];

/// What opens a file.
const CALLS: &[&str] =
    &["fs::read(", "fs::read_to_string(", "File::open(", "File::options()", "OpenOptions::new()"];

/// Lists the sources in a folder with such calls, outside of comments and tests.
fn find(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("the folder is readable") {
        let path = entry.expect("the folder is readable").path();
        if path.is_dir() {
            find(&path, found);
            continue;
        }
        if path.extension().is_none_or(|it| it != "rs") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("sources are text");
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        // These two read through the one place.
        let text = text.replace("ReplayFile::open(", "").replace("ProgramFile::open(", "");
        let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        if lines.any(|line| CALLS.iter().any(|call| line.contains(call))) {
            let path = path.strip_prefix(repository()).expect("it is in the repository");
            found.push(path.display().to_string().replace('\\', "/"));
        }
    }
}

#[test]
fn files_are_opened_in_one_place() {
    let mut found = Vec::new();
    for entry in fs::read_dir(repository().join("crates")).expect("the folder is readable") {
        let source = entry.expect("the folder is readable").path().join("src");
        if source.is_dir() && !source.ends_with("testdata/src") {
            find(&source, &mut found);
        }
    }
    for path in &found {
        assert!(
            OPENINGS.iter().any(|(known, _)| path.starts_with(known)),
            "{path} opens files: use `selkie_isa::input`, or give the reason in this test"
        );
    }
    for (known, _) in OPENINGS {
        assert!(
            found.iter().any(|path| path.starts_with(known)),
            "{known} opens no files any more"
        );
    }
}

#[cfg(unix)]
mod pipes {
    use std::{path::Path, process::Command};

    use super::common::{Output, folder, repository, selkie};

    /// Makes a named pipe without a writer: opening it blocks for ever.
    fn pipe(path: &Path) {
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("it is writable");
        let made = Command::new("mkfifo").arg(path).status().expect("there is the command");
        assert!(made.success());
    }

    fn prepared(name: &str) -> std::path::PathBuf {
        let folder = folder(&format!("inputs-{name}"));
        let hello = repository().join("examples/hello.s");
        let hello = hello.to_str().expect("the path is text");
        std::fs::create_dir_all(folder.join("recordings")).expect("the folder is writable");
        let output = selkie(&folder, &["run", hello, "--save-replay", "recordings/a.replay"]);
        assert_eq!(output.code, Some(0), "{output:?}");
        folder
    }

    #[track_caller]
    fn check(output: &Output, code: i32, text: &str) {
        assert_eq!(output.code, Some(code), "{output:?}");
        assert!(output.text().contains(text), "{output:?}");
    }

    #[test]
    fn pipes_among_built_programs_are_passed_over() {
        let folder = prepared("deploy");
        pipe(&folder.join("target/deploy/x.so"));
        std::os::unix::fs::symlink("/dev/zero", folder.join("target/deploy/y.so"))
            .expect("there are links");
        for command in ["profile", "coverage", "trace", "debug", "inspect"] {
            check(&selkie(&folder, &[command, "recordings/a.replay"]), 0, "");
        }
    }

    #[test]
    fn pipes_among_symbols_are_passed_over() {
        let folder = prepared("symbols");
        pipe(&folder.join("symbols/x.so.debug"));
        for symbols in ["symbols", "symbols/x.so.debug", "/dev/zero"] {
            let arguments = ["profile", "recordings/a.replay", "--symbols", symbols];
            check(&selkie(&folder, &arguments), 0, "compute units");
        }
    }

    #[test]
    fn pipes_among_recordings_are_refused() {
        let folder = prepared("recordings");
        pipe(&folder.join("recordings/b.replay"));
        for command in ["profile", "debug"] {
            check(&selkie(&folder, &[command, "recordings"]), 2, "not a regular file");
        }
    }

    #[test]
    fn pipes_beside_recordings_are_passed_over() {
        let folder = prepared("blobs");
        let name = "0".repeat(64);
        pipe(&folder.join(format!("recordings/blobs/{name}.bin")));
        check(&selkie(&folder, &["trace", "recordings/a.replay"]), 0, "");
    }

    #[test]
    fn pipes_in_a_corpus_are_refused() {
        let folder = prepared("corpus");
        pipe(&folder.join("corpus/x.case"));
        let hello = repository().join("examples/hello.s");
        let hello = hello.to_str().expect("the path is text");
        let arguments = ["fuzz", hello, "--runs", "1", "--corpus", "corpus"];
        check(&selkie(&folder, &arguments), 2, "not a regular file");
    }

    #[test]
    fn pipes_among_vectors_and_tables_are_refused() {
        let folder = folder("inputs-vectors");
        pipe(&folder.join("vectors/x.jsonl"));
        pipe(&folder.join("items/items/x.parquet"));
        #[cfg(feature = "conform")]
        check(&selkie(&folder, &["conform", "vectors"]), 1, "not a regular file");
        #[cfg(feature = "batch")]
        check(&selkie(&folder, &["batch", "run", "items", "--out", "out"]), 2, "");
    }

    #[test]
    fn what_is_named_may_be_a_pipe() {
        let hello = repository().join("examples/hello.s");
        let command = format!(
            "'{}' input /dev/stdin < /dev/null; cat '{}' > a.s; '{0}' run a.s",
            env!("CARGO_BIN_EXE_selkie"),
            hello.display()
        );
        let folder = folder("inputs-named");
        let output = Command::new("sh").args(["-c", &command]).current_dir(folder).output();
        assert!(output.expect("there is a shell").status.success());
    }
}
