//! `cargo xtask scale`: the Python package in a clean environment, and one digest from all engines that
//! distribute batches, with processes killed in the middle.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{
    repository, say,
    steps::{built, cargo, step, succeed},
    wheel::{self, Venv},
};

/// What the tests of the package need besides it.
const TEST_PACKAGES: &[&str] = &["solders", "pyarrow", "pytest", "mypy"];
/// The engines, each with the extra of the package that installs it and with its runs.
const ENGINES: &[(&str, &[&str])] = &[
    ("arrow", &["loop", "command"]),
    ("spark", &["spark", "spark-kill"]),
    ("sail", &["sail"]),
    ("ray", &["ray"]),
];
/// How many items all engines run.
const ITEMS: &str = "200000";
/// How many items the tests run, and Spark in its short form.
const ITEMS_SHORT: &str = "20000";

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["--ci"] => short(),
        [] => long(ITEMS),
        [items] => long(items),
        _ => bail!("usage: cargo xtask scale [--ci | ITEMS]"),
    }
}

/// The tests of the package, and an executor of Spark that is killed.
fn short() -> Result<()> {
    if selkie_build::in_path("python3").is_none() {
        say("skipped: python3 is not installed");
        return Ok(());
    }
    let items = record(ITEMS_SHORT, built("examples/record_items")?)?;
    let wheel = tested(&items)?;
    if selkie_build::in_path("java").is_none() {
        say("Spark skipped: java is not installed");
        return Ok(());
    }
    step("Spark, with an executor killed", || engine(&wheel, &items, "spark", &["spark-kill"]))
}

/// Everything.
fn long(count: &str) -> Result<()> {
    let build = ["build", "--profile", "quick", "--locked", "--package"];
    let recorder = ["selkie-batch", "--example", "record_items"];
    step("command line", || {
        cargo(&[&build[..], &["selkie-cli"]].concat())?;
        cargo(&[&build[..], &recorder].concat())
    })?;
    let record = |count| record(count, repository().join("target/quick/examples/record_items"));
    let wheel = tested(&record(ITEMS_SHORT)?)?;
    let items = record(count)?;
    for (extra, runs) in ENGINES {
        step(extra, || engine(&wheel, &items, extra, runs))?;
    }
    Ok(())
}

/// Builds and lints the package, and tests it with items. Returns the wheel.
fn tested(items: &Path) -> Result<PathBuf> {
    let mut wheel = PathBuf::new();
    step("Python package", || {
        wheel = wheel::build(&repository().join("target/wheels"), true)?;
        Ok(())
    })?;
    step("Python package in a clean environment", || test(&wheel, items))?;
    Ok(wheel)
}

/// Records items with a program, in files of 500. Returns their folder.
fn record(count: &str, recorder: PathBuf) -> Result<PathBuf> {
    let folder = work().join(format!("items-{count}"));
    if !folder.join("contents/contents.parquet").exists() {
        step("items", || {
            let mut command = Command::new(recorder);
            succeed(command.current_dir(repository()).arg(&folder).args([count, "500"]))
        })?;
    }
    Ok(folder)
}

fn work() -> PathBuf {
    repository().join("target/python")
}

fn package() -> PathBuf {
    repository().join("bindings/python")
}

/// Installs the wheel in an environment that has nothing in it, and runs tests and type checks.
fn test(wheel: &Path, items: &Path) -> Result<()> {
    let venv = Venv::clean(&work().join("clean"))?;
    venv.install(TEST_PACKAGES)?;
    venv.install_wheel(wheel, "")?;
    let mut pytest = venv.command("python");
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]);
    succeed(pytest.current_dir(package()).env("SELKIE_ITEMS", items))?;
    succeed(venv.command("mypy").current_dir(package()))?;
    succeed(venv.command("mypy").args(["--strict", "tests"]).current_dir(package()))
}

/// Installs an engine with the wheel, and runs it.
fn engine(wheel: &Path, items: &Path, extra: &str, runs: &[&str]) -> Result<()> {
    let venv = Venv::at(&work().join(extra))?;
    venv.install_wheel(wheel, extra)?;
    let selkie = format!("target/quick/selkie{}", env::consts::EXE_SUFFIX);
    let mut python = venv.command("python");
    python.arg("scale/scale.py").arg(items).arg(work()).arg(repository().join(selkie));
    succeed(python.args(runs).current_dir(package()))
        .with_context(|| format!("items in {}", items.display()))
}
