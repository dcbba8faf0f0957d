//! Steps of chores: commands under headings.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use anyhow::{Context, Result, ensure};

use crate::{repository, say};

/// Runs a step under a heading, and prints how long it took.
pub(crate) fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    say(&format!("\n== {name}"));
    let start = Instant::now();
    work().with_context(|| format!("{name} failed"))?;
    say(&format!("== {name}: ok, {:.0} s", start.elapsed().as_secs_f64()));
    Ok(())
}

/// What [`skip`] has noted.
static SKIPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Notes that a check, or a part of it, cannot run here, and succeeds.
pub(crate) fn skip(reason: &str) -> Result<()> {
    say(&format!("skipped: {reason}"));
    SKIPPED.lock().unwrap_or_else(PoisonError::into_inner).push(reason.to_owned());
    Ok(())
}

/// Returns why something was skipped since the last call.
pub(crate) fn skipped() -> Vec<String> {
    std::mem::take(&mut *SKIPPED.lock().unwrap_or_else(PoisonError::into_inner))
}

pub(crate) fn cargo(arguments: &[&str]) -> Result<()> {
    succeed(cargo_command().args(arguments))
}

/// Returns a program of the workspace, or an example of it (`examples/NAME`), which is built if needed.
///
/// What is built is the same as for `cargo test --workspace`. `cargo run --package` would choose other
/// features for dependencies, and compile them again.
pub(crate) fn built(name: &str) -> Result<PathBuf> {
    succeed(compiler().args([
        "build",
        "--workspace",
        "--bins",
        "--examples",
        "--quiet",
        "--locked",
    ]))?;
    let this = env::current_exe()?;
    let folder = this.parent().unwrap_or(Path::new(""));
    Ok(folder.join(format!("{name}{}", env::consts::EXE_SUFFIX)))
}

/// Whether [`compiler`] lints.
static LINTS: AtomicBool = AtomicBool::new(false);

/// Makes [`compiler`] lint what it compiles of the workspace from now on.
pub(crate) fn lint_while_compiling() {
    LINTS.store(true, Ordering::Relaxed);
}

/// Returns cargo for building the workspace. All of a run have to agree on whether they lint: what was
/// compiled without that is compiled again with it.
pub(crate) fn compiler() -> Command {
    let mut command = cargo_command();
    if LINTS.load(Ordering::Relaxed) {
        linting(&mut command);
    }
    command
}

/// Makes cargo lint the crates of a workspace while it compiles them, with warnings as errors. To check
/// them apart from that takes minutes, since all that they depend on is checked first.
pub(crate) fn linting(command: &mut Command) -> &mut Command {
    command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    // As `cargo clippy` passes options.
    command.env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__")
}

pub(crate) fn cargo_command() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(repository());
    command
}

pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}
