//! Steps of chores: commands under headings.

use std::{env, process::Command, time::Instant};

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

pub(crate) fn cargo(arguments: &[&str]) -> Result<()> {
    succeed(cargo_command().args(arguments))
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
