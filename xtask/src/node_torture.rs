//! `cargo xtask node-torture`: what a node must survive.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::{repository, say};

/// How often the node is killed unless something else is said.
const KILLS: u32 = 20;

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let kills = match arguments {
        [] => KILLS,
        [kills] => kills.parse().with_context(|| format!("`{kills}` is no number"))?,
        _ => bail!("usage: cargo xtask node-torture [KILLS]"),
    };
    let root = repository();
    let mut build = Command::new("cargo");
    build.args(["build", "--profile", "lto", "--locked", "--package", "selkie-cli"]);
    succeed(build.current_dir(root))?;
    let program = root.join("target/lto/selkie");
    for arguments in [vec!["--hostile".to_owned()], vec!["--kill".to_owned(), kills.to_string()]] {
        say(&format!("\n== {}", arguments.join(" ")));
        let mut bench = Command::new("cargo");
        bench.args(["run", "--quiet", "--release", "--locked", "--"]).args(arguments);
        succeed(bench.arg(&program).current_dir(root.join("bench-node")))?;
    }
    Ok(())
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}
