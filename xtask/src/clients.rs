//! `cargo xtask clients`: Solana's clients, installed as users install them, against `selkie node`.
//!
//! CI runs [`SHORT`]. The other suites install more than a hundred packages, build an Anchor program, or
//! compile hundreds of crates.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{anchor_cli, output, repository, say, solana_cli};

/// Suites that share a folder, and what they need.
struct Group {
    /// The folder, below `tests/clients` and `target/clients`. Its `package.json` says what is installed from npm.
    folder: &'static str,
    /// What is installed from PyPI.
    python: &'static [&'static str],
    /// The files of the suites; their names are those of the suites.
    files: &'static [&'static str],
}

/// What CI runs.
const SHORT: Group = Group {
    folder: "",
    python: &["solana==0.41.0"],
    files: &["web3.mjs", "deploy.mjs", "kit.mjs", "kit_flows.mjs", "anchor.mjs", "solana_py.py"],
};
/// Clients that need other versions of the same packages, and an Anchor program.
const MORE: Group = Group {
    folder: "more",
    python: &["anchorpy==0.21.0"],
    files: &["umi.mjs", "gill.mjs", "kit_programs.mjs", "anchor_core.mjs", "anchorpy_tally.py"],
};
/// Suites that call [`TALLY`].
const WITH_TALLY: &[&str] = &["anchor_core", "anchorpy_tally"];
const TALLY: &str = "examples/anchor/tally";
/// The suite of agave's clients in Rust, which is a workspace of its own.
const RUST: &str = "rust";
const CLI: &str = "solana_cli";
const ANCHOR: &str = "anchor_cli";

const USAGE: &str = "usage: cargo xtask clients [--selkie FILE] [--all | --cli | SUITE...]";

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (program, arguments) = match arguments {
        [flag, file, rest @ ..] if flag == "--selkie" => (fs::canonicalize(file)?, rest),
        _ => (build()?, arguments),
    };
    let wanted = wanted(arguments)?;
    let is_wanted = |suite: &str| wanted.contains(&suite);
    for group in [&SHORT, &MORE] {
        let files: Vec<&str> =
            group.files.iter().copied().filter(|it| is_wanted(name(it))).collect();
        test_files(group, &files, &program)?;
    }
    if is_wanted(RUST) {
        test_rust(&program)?;
    }
    if is_wanted(CLI) {
        solana_cli::run(&program)?;
    }
    if is_wanted(ANCHOR) { anchor_cli::run(&program) } else { Ok(()) }
}

/// Runs the short suites against the node of a program.
pub(crate) fn test(program: &Path) -> Result<()> {
    test_files(&SHORT, SHORT.files, program)
}

/// Returns whether the machine has what the clients run on.
pub(crate) fn are_installable() -> bool {
    ["node", "npm", "python3"].iter().all(|it| selkie_build::in_path(it).is_some())
}

/// The names of the suites that are asked for.
fn wanted(arguments: &[String]) -> Result<Vec<&str>> {
    let names = |group: &Group| group.files.iter().copied().map(name);
    let short: Vec<&str> = names(&SHORT).collect();
    let all = [&short[..], &names(&MORE).collect::<Vec<_>>(), &[RUST, CLI, ANCHOR]].concat();
    match arguments {
        [] => Ok(short),
        [flag] if flag == "--all" => Ok(all),
        [flag] if flag == "--cli" => Ok([&short[..], &[CLI]].concat()),
        suites => {
            if let Some(unknown) = suites.iter().find(|it| !all.contains(&it.as_str())) {
                bail!("there is no suite {unknown}, but {}\n{USAGE}", all.join(", "));
            }
            Ok(suites.iter().map(String::as_str).collect())
        }
    }
}

fn name(file: &'static str) -> &'static str {
    file.split_once('.').expect("a suite has an extension").0
}

/// Builds the program that is tested.
fn build() -> Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--package", "selkie-cli"]);
    succeed(cargo.current_dir(repository()))?;
    Ok(repository().join("target/release/selkie"))
}

/// Runs suites of a group, after installing what they need.
fn test_files(group: &Group, files: &[&str], program: &Path) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let folder = copy(group)?;
    if files.iter().any(|file| is_javascript(file)) {
        output(
            Command::new("npm").args(["install", "--no-audit", "--no-fund"]).current_dir(&folder),
        )?;
    }
    if !files.iter().all(|file| is_javascript(file)) {
        install_python(group, &folder)?;
    }
    let tally = repository().join(TALLY);
    if files.iter().any(|file| WITH_TALLY.iter().any(|suite| file.starts_with(suite))) {
        say("building the Anchor program tally and its IDL");
        output(Command::new(program).args(["build", "--idl"]).current_dir(&tally))?;
    }
    for file in files {
        say(file);
        let language = if is_javascript(file) { "node" } else { "venv/bin/python" };
        let mut suite = Command::new(language);
        suite.arg(file).env("SELKIE", program).env("TALLY", tally.join("target"));
        succeed(suite.current_dir(&folder))?;
    }
    Ok(())
}

fn is_javascript(file: &str) -> bool {
    file.ends_with(".mjs")
}

/// Copies the files of a group to a folder below `target`, and those of the first group, which others import.
fn copy(group: &Group) -> Result<PathBuf> {
    let (from, to) = (repository().join("tests/clients"), repository().join("target/clients"));
    for folder in [SHORT.folder, group.folder] {
        fs::create_dir_all(to.join(folder))?;
        for entry in fs::read_dir(from.join(folder))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::copy(entry.path(), to.join(folder).join(entry.file_name()))?;
            }
        }
    }
    Ok(to.join(group.folder))
}

fn install_python(group: &Group, folder: &Path) -> Result<()> {
    if !folder.join("venv").exists() {
        output(Command::new("python3").args(["-m", "venv", "venv"]).current_dir(folder))?;
    }
    let mut pip = Command::new("venv/bin/pip");
    output(pip.args(["install", "--quiet"]).args(group.python).current_dir(folder)).map(drop)
}

/// Compiles agave's clients in Rust, which takes some minutes, and runs them.
fn test_rust(program: &Path) -> Result<()> {
    say("agave's clients in Rust");
    let mut cargo = Command::new("cargo");
    // They declare the compiler that agave is built with, and need an older one.
    cargo.args(["run", "--quiet", "--locked", "--ignore-rust-version", "--"]).arg(program);
    cargo.env("CARGO_TARGET_DIR", repository().join("target/clients/target"));
    succeed(cargo.current_dir(repository().join("tests/clients/rust")))
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}
