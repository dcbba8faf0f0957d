//! `cargo xtask gdb`: a stock gdb goes back in the failed transaction of `examples/rust/payout`.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, bail, ensure};

use crate::{output, repository, say, steps::built, toolchains::provide};

/// The gdb, which has to know RISC-V.
const GDB: &str = "gdb-multiarch";
/// What it is told.
const SCRIPT: &str = "tests/gdb/payout.gdb";
/// What it has to print, in this order.
const EXPECTED: &str = "tests/gdb/payout.txt";

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    ensure!(arguments.is_empty(), "usage: cargo xtask gdb");
    if !install() {
        bail!("{GDB} is not installed: Debian and Ubuntu have a package of that name");
    }
    let selkie = built("selkie")?;
    let folder = repository().join("target/gdb");
    fs::create_dir_all(&folder)?;
    record(&selkie, &folder)?;
    let mut gdb = Command::new(GDB);
    let server = format!("\"{}\" gdb-server call.replay --stdio --symbols .", selkie.display());
    gdb.args(["-nx", "-batch", "-ex"]).arg(format!("target remote | {server}"));
    gdb.arg("-x").arg(repository().join(SCRIPT)).current_dir(&folder);
    let found = output(&mut gdb)?;
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    let expected = fs::read_to_string(repository().join(EXPECTED)).context(EXPECTED)?;
    let missing = missing(&found, &expected);
    if let Some(line) = missing {
        say(&found);
        bail!("gdb has not printed `{line}`, after the lines before it in {EXPECTED}");
    }
    Ok(())
}

/// Builds the example, and records its failed transaction: `payout.so` and `call.replay` in the folder.
pub(crate) fn record(selkie: &Path, folder: &Path) -> Result<()> {
    let program = folder.join("payout.so");
    let example = repository().join("examples/rust/payout");
    let mut build = Command::new(selkie);
    build.args(["build", "--output"]).arg(&program).current_dir(&example);
    output(build.env("CARGO_TARGET_DIR", repository().join("target/projects")))?;
    let mut run = Command::new(selkie);
    run.arg("run").arg(&program).args(["--input", "input.json", "--save-replay"]);
    // It fails: that is what there is to look into.
    run.arg(folder.join("call.replay")).current_dir(&example).output()?;
    Ok(())
}

/// Installs the gdb if it is missing. Returns whether it is there.
pub(crate) fn install() -> bool {
    provide(GDB, GDB)
}

/// Returns the first expected line that no line of the output contains after those before it.
fn missing<'a>(found: &str, expected: &'a str) -> Option<&'a str> {
    let mut found = found.lines();
    expected.lines().find(|line| !found.by_ref().any(|it| it.contains(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_lines_are_found_in_order() {
        assert_eq!(missing("a 1\nb 2\nc 3", "a\nc"), None);
        assert_eq!(missing("a 1\nb 2\nc 3", "b\na"), Some("a"));
    }
}
