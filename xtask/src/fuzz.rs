//! `cargo xtask fuzz`: runs every fuzz target for a while.
//!
//! It needs cargo-fuzz and a nightly Rust, so `cargo xtask ci` does not include it.

use std::{fs, process::Command};

use anyhow::{Context, Result, bail, ensure};

use crate::{repository, say};

/// Default running time of each target.
const SECONDS: u32 = 60;

/// Memory limit of each target.
const MEGABYTES_MAX: u32 = 2048;

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let seconds = match arguments {
        [] => SECONDS,
        [seconds] => seconds.parse().with_context(|| format!("`{seconds}` is no number"))?,
        _ => bail!("usage: cargo xtask fuzz [SECONDS]"),
    };
    for target in targets()? {
        say(&format!("\n== {target}, {seconds} s"));
        let status = Command::new("cargo")
            // The toolchain of this chore is not the one that fuzzing needs.
            .env_remove("RUSTUP_TOOLCHAIN")
            .args(["+nightly", "fuzz", "run", &target, "--"])
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-rss_limit_mb={MEGABYTES_MAX}"))
            .arg("-timeout=10")
            .current_dir(repository())
            .status()
            .context("cannot start cargo")?;
        ensure!(
            status.success(),
            "{target} failed\nhelp: without cargo-fuzz, `cargo install cargo-fuzz` and \
             `rustup toolchain install nightly`"
        );
    }
    Ok(())
}

/// Returns the names of the targets, those of their files.
fn targets() -> Result<Vec<String>> {
    let entries = fs::read_dir(repository().join("fuzz/fuzz_targets"))?;
    let names: Result<Vec<_>, _> = entries.map(|entry| entry.map(|it| it.path())).collect();
    let names = names?.into_iter().filter(|path| path.extension().is_some_and(|it| it == "rs"));
    let mut names: Vec<String> =
        names.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    Ok(names)
}
