//! Runs the console blocks of `testdata/cli/*.md`, README.md and the pages [`PAGES`], and those of
//! docs/jit.md on processors for which the JIT emits the machine code shown there.
//!
//! A block ```` ```asm NAME ```` (or any other language with a name after it) is written to that
//! file first; where the name is a path (```` ```rs examples/a.rs ````), the block shows that file of the
//! repository. In a block ```` ```console ````, a line after `$ ` is a command, `selkie` or `cat`;
//! `? N` after it says that it exits with N instead of 0; the rest, until the next command, is
//! what it prints. `[..]` stands for anything in a line. A block ```` ```console arm64 ```` or
//! ```` ```console x86-64 ```` is run on that processor only. With `UPDATE=1`, what is printed is
//! written into the document.

mod common;

use std::{
    env,
    fmt::Write as _,
    fs::{self, File},
    path::Path,
};

use common::{copy, folder, repository, selkie, selkie_into};

/// The documents for users whose commands need no compiler.
const PAGES: &[&str] =
    &["README.md", "docs/index.md", "docs/debugging.md", "docs/tutorial-assembly.md"];

#[test]
fn console_blocks_show_what_the_commands_print() {
    let mut documents: Vec<_> = PAGES.iter().map(|it| repository().join(it)).collect();
    let entries = fs::read_dir(repository().join("testdata/cli")).expect("there are documents");
    documents.extend(entries.map(|entry| entry.expect("the folder is readable").path()));
    documents.retain(|path| path.extension().is_some_and(|it| it == "md"));
    documents.sort();
    assert!(documents.len() > 5, "documents are missing");
    let differing: Vec<String> = documents.iter().filter_map(|path| check(path).err()).collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn listings_in_the_jit_page_are_current() {
    if PROCESSOR == "arm64" || uses_pext() {
        check(&repository().join("docs/jit.md")).unwrap_or_else(|differing| panic!("{differing}"));
    }
}

/// The processor whose machine code is listed here, as blocks name it.
const PROCESSOR: &str = if cfg!(target_arch = "aarch64") { "arm64" } else { "x86-64" };

/// Whether the JIT uses `pext` for V0 on this processor, as in the listings of docs/jit.md. It does
/// not where `pext` is missing or slow.
fn uses_pext() -> bool {
    let folder = folder("documents-pext");
    fs::write(folder.join("load.s"), "ldxdw r0, [r1]\nexit\n").expect("the folder is writable");
    selkie(&folder, &["disasm", "load.s", "--arch", "v0", "--native"]).stdout.contains("pext")
}

/// Runs a document. The error shows the difference.
fn check(path: &Path) -> Result<(), String> {
    let name = path.strip_prefix(repository()).unwrap_or(path).display().to_string();
    let folder = folder(&format!("documents-{}", name.replace('/', "-")));
    copy(&repository().join("examples"), &folder.join("examples"));
    copy(&repository().join("testdata/link/objects"), &folder.join("objects"));
    fs::create_dir(folder.join("target")).expect("the folder is new");

    let document = fs::read_to_string(path).expect("the document is text");
    let found = run_document(&document, &folder);
    if same(&document, &found) {
        return Ok(());
    }
    if env::var_os("UPDATE").is_some() {
        fs::write(path, found).expect("the document is writable");
        return Ok(());
    }
    Err(format!(
        "{} differs from what the commands print; UPDATE=1 rewrites it\n{}",
        path.display(),
        difference(&document, &found)
    ))
}

/// Returns the document with the actual output of its commands.
fn run_document(document: &str, folder: &Path) -> String {
    let mut found = String::new();
    let mut lines = document.lines().peekable();
    while let Some(line) = lines.next() {
        found.push_str(line);
        found.push('\n');
        let Some(info) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let text: String = block.iter().map(|line| format!("{line}\n")).collect();
        if info == "console" || info.strip_prefix("console ") == Some(PROCESSOR) {
            found.push_str(&run_block(&block, folder));
        } else {
            match info.split_once(' ') {
                Some(("console", _)) => found.push_str(&text),
                Some((_, path)) if path.contains('/') => found.push_str(&shown_file(path)),
                Some((_, name)) => {
                    fs::write(folder.join(name), &text).expect("the folder is writable");
                    found.push_str(&text);
                }
                None => found.push_str(&text),
            }
        }
        found.push_str("```\n");
    }
    found
}

/// The file of the repository that a block shows.
fn shown_file(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn run_block(block: &[&str], folder: &Path) -> String {
    let mut found = String::new();
    for (index, line) in block.iter().enumerate().filter(|(_, line)| line.starts_with("$ ")) {
        if index > 0 {
            found.push('\n');
        }
        let (code, output) = run_command(&line[2..], folder);
        writeln!(found, "{line}").expect("writing to a string succeeds");
        if code != 0 {
            writeln!(found, "? {code}").expect("writing to a string succeeds");
        }
        found.push_str(&output);
    }
    found
}

/// Returns the exit code and the output.
fn run_command(command: &str, folder: &Path) -> (i32, String) {
    let words: Vec<&str> = command.split_whitespace().collect();
    let output = match words[..] {
        ["cat", name] => {
            return (0, fs::read_to_string(folder.join(name)).expect("the file was written"));
        }
        ["selkie", ref arguments @ ..] => {
            let path = folder.join("output");
            let out = File::create(&path).expect("the folder is writable");
            let code = selkie_into(folder, arguments, &out).expect("the command is built");
            let code = code.expect("the command is not killed");
            (code, fs::read_to_string(&path).expect("output is text"))
        }
        _ => panic!("documents may run `selkie` and `cat`, not `{command}`"),
    };
    let (code, text) = output;
    (code, text.lines().map(|line| format!("{}\n", line.trim_end())).collect())
}

/// Whether the document shows the output: line by line, ignoring blank lines.
fn same(document: &str, found: &str) -> bool {
    let mut said = document.lines().filter(|line| !line.is_empty());
    let mut found = found.lines().filter(|line| !line.is_empty());
    loop {
        match (said.next(), found.next()) {
            (None, None) => return true,
            (Some(said), Some(found)) if fits(said, found) => {}
            _ => return false,
        }
    }
}

/// Whether a line fits one with `[..]` in it.
fn fits(pattern: &str, line: &str) -> bool {
    match pattern.split_once("[..]") {
        None => pattern == line,
        Some((start, rest)) => line.strip_prefix(start).is_some_and(|line| {
            let ends = line.char_indices().map(|(at, _)| at).chain([line.len()]);
            ends.into_iter().any(|at| fits(rest, &line[at..]))
        }),
    }
}

/// The lines from the first one that differs.
fn difference(document: &str, found: &str) -> String {
    let said: Vec<&str> = document.lines().filter(|line| !line.is_empty()).collect();
    let found: Vec<&str> = found.lines().filter(|line| !line.is_empty()).collect();
    let same = said.iter().zip(&found).take_while(|(said, found)| fits(said, found)).count();
    let show = |lines: &[&str]| {
        let lines = lines.iter().skip(same).take(12);
        lines.map(|line| format!("    {line}\n")).collect::<String>()
    };
    format!("  said:\n{}  found:\n{}", show(&said), show(&found))
}

#[test]
fn a_difference_from_the_document_is_detected() {
    assert!(fits("a [..] c", "a b c") && !fits("a [..] c", "a b d"));
    assert!(same("a\n\nb", "a\nb") && !same("a\nb", "a") && !same("a", "b"));
    let folder = folder("documents-differ");
    let document = "```s e.s\nexit\n```\n```console\n$ selkie run e.s\nnothing\n```\n";
    let found = run_document(document, &folder);
    assert!(!same(document, &found) && found.contains("success  r0 = 0"), "{found}");
}
