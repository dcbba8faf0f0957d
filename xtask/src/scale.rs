//! `cargo xtask scale`: the Python package in a clean environment, and one digest from all engines that
//! distribute batches, with processes killed in the middle. The short form, with `--ci`, only tests the
//! package, without a wheel and as the workspace's build has compiled it.

mod figures;

use std::{
    env,
    env::consts::{DLL_PREFIX, DLL_SUFFIX},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{
    repository,
    steps::{built, cargo, compiler, skip, step, succeed},
    venv::Venv,
    wheel,
};

/// What the tests of the package need besides it.
const TEST_PACKAGES: &[&str] = &["solders", "pyarrow", "pytest", "mypy"];
/// The engines, each with the extra of the package that installs it and with its runs.
const ENGINES: &[(&str, &[&str])] = &[
    ("arrow", &["loop", "command"]),
    ("spark", &["spark", "spark-kill", "spark-folder", "spark-folder-kill"]),
    ("sail", &["sail"]),
    ("ray", &["ray"]),
];
/// How many items all engines run.
const ITEMS: &str = "200000";
/// How many items the tests run.
const ITEMS_SHORT: &str = "20000";
/// How many items are in a file: so few that a process can be killed between two of them.
const ITEMS_PER_FILE: &str = "500";

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["--ci"] => short(),
        ["--figures"] => figures::run(ITEMS),
        ["--figures", items] => figures::run(items),
        [] => long(ITEMS),
        [items] => long(items),
        _ => bail!("usage: cargo xtask scale [--ci | [--figures] [ITEMS]]"),
    }
}

/// The tests of the package, as the workspace's build has compiled it.
fn short() -> Result<()> {
    if selkie_build::in_path("python3").is_none() {
        return skip("python3 is not installed");
    }
    let items = record(&built("examples/record_items")?, &[ITEMS_SHORT, ITEMS_PER_FILE])?;
    let venv = Venv::clean(&work().join("clean"))?;
    venv.install(TEST_PACKAGES)?;
    step("Python package", || test(&venv, &items, Some(&stage()?)))
}

/// Puts the package's modules and its library together, as a wheel has them. Returns their folder.
fn stage() -> Result<PathBuf> {
    succeed(compiler().args(["build", "--workspace", "--lib", "--quiet", "--locked"]))?;
    let library = format!("{DLL_PREFIX}_native{DLL_SUFFIX}");
    let library = built("selkie")?.with_file_name(library);
    let staged = work().join("staged");
    let folder = staged.join("selkie");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    for entry in fs::read_dir(package().join("python/selkie"))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), folder.join(entry.file_name()))?;
        }
    }
    fs::copy(&library, folder.join("_native.abi3.so"))
        .with_context(|| format!("cannot copy {}", library.display()))?;
    Ok(staged)
}

/// Everything.
fn long(count: &str) -> Result<()> {
    let recorder = build("release")?;
    let record = |count| record(&recorder, &[count, ITEMS_PER_FILE]);
    let wheel = tested(&record(ITEMS_SHORT)?)?;
    let items = record(count)?;
    for (extra, runs) in ENGINES {
        step(extra, || engine(&wheel, &items, extra, runs))?;
    }
    Ok(())
}

/// Returns the command that [`build`] has built with a profile.
fn command_line(profile: &str) -> PathBuf {
    repository().join(format!("target/{profile}/selkie{}", env::consts::EXE_SUFFIX))
}

/// Builds the package, and tests it with items in an environment that has nothing else in it. Returns the
/// wheel.
fn tested(items: &Path) -> Result<PathBuf> {
    let mut wheel = PathBuf::new();
    step("Python package", || {
        wheel = wheel::build(&repository().join("target/wheels"))?;
        Ok(())
    })?;
    step("Python package in a clean environment", || {
        let venv = Venv::clean(&work().join("clean"))?;
        venv.install(TEST_PACKAGES)?;
        venv.install_wheel(&wheel, "")?;
        test(&venv, items, None)
    })?;
    Ok(wheel)
}

/// Builds the command, and the program that records items. Returns the latter.
fn build(profile: &str) -> Result<PathBuf> {
    let build = ["build", "--profile", profile, "--locked", "--package"];
    step("command line", || {
        cargo(&[&build[..], &["selkie-cli"]].concat())?;
        cargo(&[&build[..], &["selkie-batch", "--example", "record_items"]].concat())
    })?;
    Ok(repository().join("target").join(profile).join("examples/record_items"))
}

/// Records items with a program, whose arguments are how many, how many in a file, and which. Returns their
/// folder.
fn record(recorder: &Path, arguments: &[&str]) -> Result<PathBuf> {
    let folder = work().join(format!("items-{}", arguments.join("-")));
    if !folder.join("contents/contents.parquet").exists() {
        step("items", || {
            let mut command = Command::new(recorder);
            succeed(command.current_dir(repository()).arg(&folder).args(arguments))
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

/// Runs tests and type checks in an environment, of the package in a folder, or of the one installed.
fn test(venv: &Venv, items: &Path, staged: Option<&Path>) -> Result<()> {
    let python = |name: &str, arguments: &[&str]| {
        let mut command = venv.command(name);
        command.args(arguments).current_dir(package()).env("SELKIE_ITEMS", items);
        if let Some(folder) = staged {
            command.env("PYTHONPATH", folder).env("MYPYPATH", package().join("python"));
        }
        succeed(&mut command)
    };
    python("python", &["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"])?;
    python("mypy", &[])?;
    python("mypy", &["--strict", "tests"])
}

/// Installs an engine with the wheel, and runs it.
fn engine(wheel: &Path, items: &Path, extra: &str, runs: &[&str]) -> Result<()> {
    let venv = Venv::at(&work().join(extra))?;
    venv.install_wheel(wheel, extra)?;
    let mut python = venv.command("python");
    python.arg("scale/scale.py").arg(items).arg(work()).arg(command_line("release"));
    succeed(python.args(runs).current_dir(package()))
        .with_context(|| format!("items in {}", items.display()))
}
