//! `cargo xtask fuzz`: runs every fuzz target for a while.
//!
//! It needs cargo-fuzz and a nightly Rust, and compiles all crates anew with them.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::{output, repository, say, toolchains::succeeds};

/// Default running time of each target.
const SECONDS: u32 = 60;

/// Memory limit of each target.
const MEGABYTES_MAX: u32 = 2048;

/// Runs the chore: every target, whether or not another one has failed.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let seconds = match arguments {
        [] => SECONDS,
        [seconds] => seconds.parse().with_context(|| format!("`{seconds}` is no number"))?,
        _ => bail!("usage: cargo xtask fuzz [SECONDS]"),
    };
    ensure!(
        install(),
        "fuzzing needs `rustup toolchain install nightly` and `cargo install --locked cargo-fuzz`"
    );
    let mut failed = Vec::new();
    for target in targets()? {
        say(&format!("\n== {target}, {seconds} s"));
        let status = nightly(&["fuzz", "run", &target, "--"])
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-rss_limit_mb={MEGABYTES_MAX}"))
            .arg("-timeout=10")
            .current_dir(repository())
            .status()
            .context("cannot start cargo")?;
        if !status.success() {
            failed.push(target);
        }
    }
    ensure!(
        failed.is_empty(),
        "failed: {}; `cargo +nightly fuzz run TARGET` runs one",
        failed.join(", ")
    );
    Ok(())
}

/// Installs a nightly Rust and cargo-fuzz, if they are missing. Returns whether both are there.
fn install() -> bool {
    let rust = ["toolchain", "install", "nightly", "--profile", "minimal", "--no-self-update"];
    let has_rust =
        succeeds(&mut nightly(&["--version"])) || succeeds(Command::new("rustup").args(rust));
    let has_fuzz = || succeeds(&mut nightly(&["fuzz", "--version"]));
    has_rust && (has_fuzz() || succeeds(&mut nightly(&["install", "--locked", "cargo-fuzz"])))
}

/// Returns cargo of the nightly Rust: this chore's own is not the one that fuzzing needs.
fn nightly(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.env_remove("RUSTUP_TOOLCHAIN").arg("+nightly").args(arguments);
    command
}

/// Returns the names of the targets, in order.
fn targets() -> Result<Vec<String>> {
    let listed = output(nightly(&["fuzz", "list"]).current_dir(repository()))?;
    Ok(String::from_utf8(listed.stdout)?.lines().map(str::to_owned).collect())
}
