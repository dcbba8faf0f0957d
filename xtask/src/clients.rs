//! `cargo xtask clients`: Solana's clients, installed as users install them, against `selkie node`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{output, repository, say, solana_cli};

/// What is installed from PyPI.
const PYTHON: &[&str] = &["solana==0.41.0"];
/// The suites in JavaScript.
const SCRIPTS: &[&str] = &["web3.mjs", "deploy.mjs", "kit.mjs", "kit_flows.mjs", "anchor.mjs"];
const PYTHON_SCRIPT: &str = "solana_py.py";

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let with_cli = match arguments {
        [] => false,
        [flag] if flag == "--cli" => true,
        _ => bail!("usage: cargo xtask clients [--cli]"),
    };
    let program = build()?;
    test(&program)?;
    if with_cli { solana_cli::run(&program) } else { Ok(()) }
}

/// Runs all suites against the node of a program.
pub(crate) fn test(program: &Path) -> Result<()> {
    let folder = install()?;
    for script in SCRIPTS {
        say(script);
        check(Command::new("node").arg(script).env("SELKIE", program), &folder)?;
    }
    say(PYTHON_SCRIPT);
    check(Command::new("venv/bin/python").arg(PYTHON_SCRIPT).arg(program), &folder)
}

/// Returns whether the machine has what the clients run on.
pub(crate) fn are_installable() -> bool {
    ["node", "npm", "python3"].iter().all(|it| selkie_build::in_path(it).is_some())
}

/// Builds the program that is tested.
fn build() -> Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--package", "selkie-cli"]);
    succeed(cargo.current_dir(repository()))?;
    Ok(repository().join("target/release/selkie"))
}

/// Copies the suites to a folder below `target` and installs what they need there.
fn install() -> Result<PathBuf> {
    let folder = repository().join("target/clients");
    fs::create_dir_all(&folder)?;
    for entry in fs::read_dir(repository().join("tests/clients"))? {
        let path = entry?.path();
        let name = path.file_name().context("a file has a name")?;
        fs::copy(&path, folder.join(name))?;
    }
    output(Command::new("npm").args(["install", "--no-audit", "--no-fund"]).current_dir(&folder))?;
    if !folder.join("venv").exists() {
        output(Command::new("python3").args(["-m", "venv", "venv"]).current_dir(&folder))?;
    }
    let mut pip = Command::new("venv/bin/pip");
    output(pip.args(["install", "--quiet"]).args(PYTHON).current_dir(&folder))?;
    Ok(folder)
}

fn check(command: &mut Command, folder: &Path) -> Result<()> {
    succeed(command.current_dir(folder))
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}
