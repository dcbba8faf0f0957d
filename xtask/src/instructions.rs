//! `cargo xtask instructions`: counts the instructions of Selkie's side of each row of a benchmark.
//!
//! Times differ from run to run and from machine to machine; counts hardly do, so they compare two
//! versions even on a busy machine. Valgrind's callgrind counts in [`COUNTED`] alone. Each row runs
//! twice, the second time with [`REPETITIONS`]; the difference leaves only those.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{output, print, repository};

/// The function in which both benchmarks run all measured work of Selkie.
const COUNTED: &str = "*time_selkie*";

/// Enough for differences between the warm-ups of two processes, whose machine code is hardened
/// differently, to vanish.
const REPETITIONS: u64 = 100;

const USAGE: &str =
    "usage: cargo xtask instructions bench|bench-svm [--engine jit|interpreter] [ROW…]";

/// The benchmarks: folder, and name of the program.
const BENCHMARKS: &[(&str, &str)] = &[("bench", "selkie-bench"), ("bench-svm", "selkie-bench-svm")];

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let Some((name, arguments)) = arguments.split_first() else { bail!(USAGE) };
    let benchmark = BENCHMARKS.iter().find(|(folder, _)| folder == name);
    let (folder, program) = benchmark.context(USAGE)?;
    let (engine, rows) = match arguments {
        [option, engine, rows @ ..] if option == "--engine" => (engine.as_str(), rows),
        rows => ("jit", rows),
    };
    let folder = repository().join(folder);
    let benchmark = Benchmark::build(&folder, program, engine)?;
    for row in benchmark.rows(rows)? {
        let before = benchmark.count(&row, 0)?;
        let after = benchmark.count(&row, REPETITIONS)?;
        print(&format!("{:>12}  {row}", after.saturating_sub(before) / REPETITIONS));
    }
    Ok(())
}

struct Benchmark<'a> {
    folder: &'a Path,
    program: PathBuf,
    engine: &'a str,
}

impl<'a> Benchmark<'a> {
    fn build(folder: &'a Path, program: &str, engine: &'a str) -> Result<Self> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let arguments = ["build", "--release", "--locked", "--target-dir", "target", "--bin"];
        output(Command::new(cargo).args(arguments).arg(program).current_dir(folder))?;
        Ok(Self { folder, program: folder.join("target/release").join(program), engine })
    }

    /// Returns the names of the picked rows, or of all.
    fn rows(&self, picked: &[String]) -> Result<Vec<String>> {
        let mut command = Command::new(&self.program);
        command.args(["--list", "--engine", self.engine]).args(picked);
        let names = output(command.current_dir(self.folder))?.stdout;
        Ok(String::from_utf8(names)?.lines().map(str::to_owned).collect())
    }

    /// Counts the instructions of a row with so many repetitions, and of its warm-up.
    fn count(&self, row: &str, repetitions: u64) -> Result<u64> {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        command.arg(format!("--toggle-collect={COUNTED}")).arg(&self.program);
        command.args(["--engine", self.engine, "--repeat", &repetitions.to_string(), row]);
        let output = output(command.current_dir(self.folder))?;
        let report = String::from_utf8_lossy(&output.stderr);
        // `==123== Collected : 456`
        let count = report.lines().find_map(|line| line.split_once("Collected : "));
        count.and_then(|(_, count)| count.trim().parse().ok()).context("callgrind tells no count")
    }
}
