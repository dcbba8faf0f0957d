//! `cargo xtask instructions`: counts the instructions of Selkie's side of each row of a benchmark.
//!
//! Times differ from run to run and from machine to machine; counts hardly do, so they compare two
//! versions even on a busy machine. Valgrind's callgrind counts in [`COUNTED`] alone. Each row runs
//! twice, the second time with [`REPETITIONS`]; the difference leaves only those.
//!
//! `--check` compares counts with those that the repository keeps ([`guard`]): of what the tests have
//! compiled, so that CI has nothing more to compile, or of optimised builds.
//!
//! With `--arm64` the rows also run in an emulator of that processor, which counts the same: Arm64's
//! count, this machine's, and their ratio.

mod guard;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    output, ports, print, repository,
    steps::{built, cargo_command, lint_while_compiling},
    toolchains::provide,
};

/// The function in which both benchmarks run all measured work of Selkie.
const COUNTED: &str = "*time_selkie*";

/// Enough for differences between the warm-ups of two processes, whose machine code is hardened
/// differently, to vanish.
const REPETITIONS: u64 = 100;

const USAGE: &str = "\
usage: cargo xtask instructions bench|bench-svm [--engine jit|interpreter] [ROW...]
       cargo xtask instructions bench --arm64 [--engine jit|interpreter] [ROW...]
       cargo xtask instructions --check [--optimised|--all]
       cargo xtask instructions --accept [BENCHMARK [ROW...]]

--check   compare with testdata/instructions.tsv those rows that stand for the others: of the build
          that CI's tests use, of optimised builds, or all rows of all
--accept  write what a benchmark's rows, or all, execute today to that file

The build that CI's tests use is the benchmark `unoptimised`. Its counts need the environment that
.ci/run sets (CARGO_INCREMENTAL=0, CARGO_PROFILE_DEV_DEBUG=false).";

/// A benchmark as it is built.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    /// From the root of the repository.
    folder: &'static str,
    program: &'static str,
    build: Build,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Build {
    /// `--release`, in a workspace of its own.
    Own,
    /// As figures are measured, in the product's workspace.
    Figures,
    /// As the tests are: CI has compiled it. Counts follow the same changes, of more instructions.
    Tests,
}

const fn kind(
    name: &'static str,
    folder: &'static str,
    program: &'static str,
    build: Build,
) -> Kind {
    Kind { name, folder, program, build }
}

/// The benchmarks.
const BENCHMARKS: &[Kind] = &[
    kind("bench", "bench", "selkie-bench", Build::Own),
    kind("bench-svm", "bench-svm", "selkie-bench-svm", Build::Figures),
    kind("unoptimised", "bench-svm", "selkie-bench-svm", Build::Tests),
];

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let Some((name, arguments)) = arguments.split_first() else { bail!(USAGE) };
    match (name.as_str(), arguments) {
        ("--check", []) => return guard::check(guard::Extent::Tests),
        ("--check", [it]) if it == "--optimised" => return guard::check(guard::Extent::Optimised),
        ("--check", [it]) if it == "--all" => return guard::check(guard::Extent::All),
        ("--accept", rows) => return guard::accept(rows),
        _ => {}
    }
    let (arm64, arguments) = match arguments {
        [option, rest @ ..] if option == "--arm64" && name == "bench" => (true, rest),
        rest => (false, rest),
    };
    let (engine, rows) = match arguments {
        [option, engine, rows @ ..] if option == "--engine" => (engine.as_str(), rows),
        rows => ("jit", rows),
    };
    let benchmark = Benchmark::named(name, engine)?;
    let rows = benchmark.rows(rows)?;
    if !arm64 {
        for row in rows {
            print(&format!("{:>12}  {row}", benchmark.repetition(&row)?));
        }
        return Ok(());
    }
    let emulated = benchmark.for_arm64()?;
    for row in rows {
        let arm64 = repetition(|repetitions| emulated.count(&row, repetitions))?;
        let x64 = benchmark.repetition(&row)?;
        let hundredths = (arm64 * 100).checked_div(x64).unwrap_or_default();
        let ratio = format!("{}.{:02}", hundredths / 100, hundredths % 100);
        print(&format!("{arm64:>12} {x64:>12} {ratio:>6}  {row}"));
    }
    Ok(())
}

/// Returns the instructions of one repetition, from counts of some and of none.
fn repetition(count: impl Fn(u64) -> Result<u64>) -> Result<u64> {
    Ok(count(REPETITIONS)?.saturating_sub(count(0)?) / REPETITIONS)
}

/// The benchmark for Arm64, and the plugin with which an emulator counts.
struct Emulated {
    benchmark: Benchmark,
    plugin: PathBuf,
}

struct Benchmark {
    folder: PathBuf,
    name: &'static str,
    program: PathBuf,
    engine: String,
}

impl Benchmark {
    /// Builds a benchmark for this machine.
    fn named(name: &str, engine: &str) -> Result<Self> {
        let kind = BENCHMARKS.iter().find(|it| it.name == name).context(USAGE)?;
        let folder = repository().join(kind.folder);
        let program = match kind.build {
            Build::Own => return Self::build(&folder, kind.program, engine, None),
            Build::Figures => {
                let profile = ["build", "--profile", "lto", "--locked", "--package", kind.program];
                let mut cargo = cargo_command();
                cargo
                    .args(profile)
                    .args(["--bin", kind.program])
                    .env("CARGO_PROFILE_LTO_STRIP", "none");
                output(&mut cargo)?;
                repository().join("target/lto").join(kind.program)
            }
            Build::Tests => {
                // The compiler's linting driver optimises less.
                lint_while_compiling();
                built(kind.program)?
            }
        };
        Ok(Self { folder, name: kind.program, program, engine: engine.into() })
    }

    /// Builds a benchmark in a workspace of its own, for a target or for this machine.
    fn build(
        folder: &Path,
        program: &'static str,
        engine: &str,
        target: Option<&str>,
    ) -> Result<Self> {
        let mut command = cargo_command();
        let target_dir = ["build", "--release", "--locked", "--target-dir", "target"];
        command.args(target_dir).args(["--bin", program]);
        let mut built = folder.join("target");
        if let Some(target) = target {
            let linker = format!("CARGO_TARGET_{}_LINKER", target.replace('-', "_").to_uppercase());
            command.args(["--target", target]).env(linker, ports::LINKER);
            built.push(target);
        }
        output(command.current_dir(folder))?;
        let built = built.join("release").join(program);
        Ok(Self { folder: folder.to_owned(), name: program, program: built, engine: engine.into() })
    }

    /// Builds the benchmark for Arm64.
    fn for_arm64(&self) -> Result<Emulated> {
        let can = ports::is_emulated() && provide("gcc", "gcc");
        ensure!(can, "the emulator, or a compiler for this machine or for Arm64, is missing");
        let target = Some(ports::EMULATED);
        let benchmark = Self::build(&self.folder, self.name, &self.engine, target)?;
        let plugin = repository().join("target/qemu-count.so");
        let source = repository().join("xtask/qemu/count.c");
        let options = ["-O2", "-shared", "-fPIC", "-o"];
        output(Command::new("gcc").args(options).args([&plugin, &source]))?;
        Ok(Emulated { benchmark, plugin })
    }

    /// Returns the names of the picked rows, or of all.
    fn rows(&self, picked: &[String]) -> Result<Vec<String>> {
        let mut command = Command::new(&self.program);
        command.args(["--list", "--engine", &self.engine]).args(picked);
        let names = output(command.current_dir(&self.folder))?.stdout;
        Ok(String::from_utf8(names)?.lines().map(str::to_owned).collect())
    }

    /// Returns the instructions of one repetition of a row.
    fn repetition(&self, row: &str) -> Result<u64> {
        repetition(|repetitions| self.count(row, repetitions))
    }

    /// Counts the instructions of a row with so many repetitions, and of its warm-up.
    fn count(&self, row: &str, repetitions: u64) -> Result<u64> {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        command.arg(format!("--toggle-collect={COUNTED}")).arg(&self.program);
        command.args(["--engine", &self.engine, "--repeat", &repetitions.to_string(), row]);
        let output = output(command.current_dir(&self.folder))?;
        let report = String::from_utf8_lossy(&output.stderr);
        // `==123== Collected : 456`
        let count = report.lines().find_map(|line| line.split_once("Collected : "));
        count.and_then(|(_, count)| count.trim().parse().ok()).context("callgrind tells no count")
    }
}

impl Emulated {
    /// Counts the measured work of a row with so many repetitions.
    fn count(&self, row: &str, repetitions: u64) -> Result<u64> {
        let Benchmark { folder, program, engine, .. } = &self.benchmark;
        let mut command = Command::new("qemu-aarch64");
        command.args(["-L", ports::ROOT, "-plugin"]).args([&self.plugin, program]);
        command.args(["--engine", engine, "--repeat", &repetitions.to_string(), row]);
        let output = output(command.current_dir(folder))?;
        let report = String::from_utf8_lossy(&output.stderr);
        let count = report.lines().find_map(|line| line.strip_prefix("executed "));
        count.and_then(|count| count.trim().parse().ok()).context("the emulator tells no count")
    }
}
