//! `selkie test`.

mod failure;
mod watch;

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _, pipe},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
};

use anyhow::{Context as _, Result, anyhow};
use clap::{Args, ValueHint};
use selkie_replay::recordings::{Recordings, TEST, target_folders};
use selkie_report::test_results::{Harness, Outcome, TestResult, junit};
use serde_json::{Value, json};

use self::failure::Failure;
use crate::{
    command::build,
    files,
    recording::{self, VARIABLE},
    render::count,
    replays,
    ui::{Advise as _, BAD, DIM, GOOD, STRONG, Status, Ui},
};

/// Build the program, run the project's tests, and show where the program fails
///
/// What the tests send is recorded. Each test that failed is shown with the line of the program, the
/// accounts that changed, and the command that debugs the transaction.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie test                          builds the program, and runs `cargo test`
  selkie test deposit withdraw         the tests whose names contain one of these
  selkie test --watch                  again whenever a file changes
  selkie test --nextest                with cargo-nextest
  selkie test --junit report.xml       for GitLab, Jenkins and others
  selkie test -- npm test              any command: tests that use the library `selkie` are recorded
  selkie debug                         goes to the newest failure
  selkie debug --test deposit          to that of a test

The recordings are in target/selkie-recordings/test until the next run: for `selkie debug`, `trace`, `profile`
and `coverage`. A program that `cargo build-sbf` or `anchor build` has built is left as it is.")]
pub(crate) struct TestArgs {
    /// Run only tests whose names contain one of these
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,

    /// Run only the tests of this package of a workspace
    #[arg(short, long, value_name = "NAME", conflicts_with = "command")]
    package: Option<String>,

    /// Run the tests with cargo-nextest
    #[arg(long, conflicts_with = "command")]
    nextest: bool,

    /// Test the programs as they are, without building them
    #[arg(long)]
    no_build: bool,

    /// Run again whenever a file of the project changes
    #[arg(short, long)]
    watch: bool,

    /// Also write the results as JUnit's XML
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    junit: Option<PathBuf>,

    /// The command that runs the tests, instead of cargo
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "filters")]
    command: Vec<String>,
}

/// The tests that are shown with details; those after them are only listed.
const DETAILED_MAX: usize = 20;
/// The bytes of a line that the tests print; longer ones are read in parts.
const LINE_BYTES_MAX: u64 = 1 << 20;

pub(crate) fn run(ui: &mut Ui, args: &TestArgs) -> Result<Status> {
    if !args.watch {
        return run_once(ui, args);
    }
    let mut watcher = watch::Watcher::new(Path::new("."))?;
    loop {
        match run_once(ui, args) {
            Ok(_) => {}
            Err(error) => ui.error(&error),
        }
        ui.aside(&format!("{DIM}waiting for changes: Ctrl-C ends{DIM:#}\n"))?;
        let changed = watcher.wait()?;
        ui.aside(&format!("{DIM}{} changed{DIM:#}\n", changed.display()))?;
    }
}

fn run_once(ui: &mut Ui, args: &TestArgs) -> Result<Status> {
    if !args.no_build && !build::for_tests(ui, Path::new("."))? {
        if ui.json {
            ui.object(&json!({ "error": "the program was not built: `selkie build` says why" }))?;
        }
        return Ok(Status::Failure);
    }
    let target = target_folders().into_iter().next().unwrap_or_else(|| "target".into());
    let folder = recording::new_recordings(&target, TEST)?;
    let command = args.command()?;
    let (harness, status) = run_command(ui, &command, &folder)?;
    let report = Report::new(harness.results(), status, &folder, &command)?;
    if let Some(path) = &args.junit {
        files::write(path, report.junit())?;
    }
    if ui.json {
        ui.object(&report.json())?;
    } else {
        report.show(ui)?;
    }
    Ok(Status::of(report.is_success()))
}

impl TestArgs {
    /// Returns the command that runs the tests.
    fn command(&self) -> Result<Vec<String>> {
        if !self.command.is_empty() {
            return Ok(self.command.clone());
        }
        let here = std::env::current_dir().context("there is no current folder")?;
        let has = |name: &str| here.ancestors().any(|it| it.join(name).is_file());
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        if !has("Cargo.toml") && !self.nextest {
            if !has("package.json") {
                let why = anyhow!("there is no Cargo.toml, so it is not known what runs the tests");
                return Err(why).advise("name the command: selkie test -- COMMAND");
            }
            return Ok(words("npm test"));
        }
        let mut command = words(match self.nextest {
            true => "cargo nextest run --no-fail-fast",
            false => "cargo test --no-fail-fast",
        });
        if let Some(package) = &self.package {
            command.extend(["--package".to_owned(), package.clone()]);
        }
        // The harness takes several filters, and cargo one.
        match self.nextest {
            true => command.extend(self.filters.iter().cloned()),
            false if self.filters.is_empty() => {}
            false => {
                command.extend(["--".to_owned()].into_iter().chain(self.filters.iter().cloned()))
            }
        }
        Ok(command)
    }
}

/// Runs the tests, shows what they print but for the details of failures, and reads it.
fn run_command(ui: &mut Ui, command: &[String], folder: &Path) -> Result<(Harness, ExitStatus)> {
    let (program, arguments) = command.split_first().context("there is a command")?;
    // One pipe for both, so that lines keep their order.
    let (reader, writer) = pipe().context("cannot make a pipe")?;
    let mut child = Command::new(program);
    child.args(arguments).env(VARIABLE, folder).stdin(Stdio::null());
    child.stdout(writer.try_clone().context("cannot make a pipe")?).stderr(writer);
    let named = || format!("cannot run `{}`", command.join(" "));
    let mut running = child.spawn().with_context(named)?;
    // It holds the pipe's other end.
    drop(child);
    let mut harness = Harness::default();
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).with_context(named)? > 0 {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        if harness.line(text) && !ui.json {
            let shown = ui.line(text).into_owned();
            show_line(ui, &shown)?;
        }
        line.clear();
    }
    Ok((harness, running.wait().with_context(named)?))
}

/// Shows a line of the tests' output, with its outcome in colour.
fn show_line(ui: &mut Ui, line: &str) -> Result<()> {
    let style = [(" ... ok", GOOD), (" ... FAILED", BAD), (" ... ignored", DIM)];
    match style.iter().find_map(|(end, style)| Some((line.strip_suffix(end)?, end, style))) {
        Some((start, end, style)) => {
            let outcome = end.trim_start_matches(" ... ");
            writeln!(ui.out, "{start} ... {style}{outcome}{style:#}")?;
        }
        None => writeln!(ui.out, "{line}")?,
    }
    Ok(())
}

/// How the tests ended.
struct Report<'a> {
    results: Vec<TestResult>,
    failures: Vec<Failure>,
    status: ExitStatus,
    command: &'a [String],
    transactions: usize,
}

impl<'a> Report<'a> {
    fn new(
        mut results: Vec<TestResult>,
        status: ExitStatus,
        folder: &Path,
        command: &'a [String],
    ) -> Result<Self> {
        let empty = Recordings::default();
        let mut recordings = match replays::is_empty(folder)? {
            true => empty,
            false => Recordings::open(&[folder.to_owned()], None)?,
        };
        // What no known harness has reported.
        for (suite, name) in recordings.failed_tests() {
            let is_known = results.iter().any(|it| it.is_of(&suite, &name));
            if !is_known && !status.success() {
                results.push(TestResult {
                    suite,
                    name,
                    outcome: Outcome::Failed,
                    output: Vec::new(),
                });
            }
        }
        let failed = results.iter().filter(|it| it.outcome == Outcome::Failed);
        let failures = failed
            .enumerate()
            .map(|(index, it)| Failure::of(it, &mut recordings, index < DETAILED_MAX));
        let failures = failures.collect::<Result<Vec<_>>>()?;
        Ok(Self { results, failures, status, command, transactions: recordings.len() })
    }

    /// Renders the results as JUnit's XML.
    fn junit(&self) -> String {
        junit::document(&self.results, &|test| {
            let is_it = |it: &&Failure| it.suite == test.suite && it.name == test.name;
            self.failures.iter().find(is_it).map(|it| (it.summary(), it.details()))
        })
    }

    fn is_success(&self) -> bool {
        self.failures.is_empty() && self.status.success()
    }

    fn number_of(&self, outcome: Outcome) -> usize {
        self.results.iter().filter(|it| it.outcome == outcome).count()
    }

    fn show(&self, ui: &mut Ui) -> Result<()> {
        for failure in &self.failures {
            writeln!(ui.out)?;
            failure.show(ui)?;
        }
        writeln!(ui.out)?;
        let (passed, failed) = (self.number_of(Outcome::Passed), self.number_of(Outcome::Failed));
        let recorded = format!("{DIM}{} recorded{DIM:#}", count(self.transactions, "transaction"));
        if self.is_success() {
            writeln!(ui.out, "{GOOD}ok{GOOD:#} {STRONG}{passed} passed{STRONG:#}  {recorded}")?;
        } else if failed == 0 {
            let command = self.command.join(" ");
            writeln!(ui.out, "{BAD}failed{BAD:#} {STRONG}`{command}`: {}{STRONG:#}", self.status)?;
        } else {
            writeln!(
                ui.out,
                "{BAD}failed{BAD:#} {STRONG}{failed} failed, {passed} passed{STRONG:#}  {recorded}"
            )?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let tests = self.results.iter().map(TestResult::json);
        let failed = self.number_of(Outcome::Failed);
        let error = match (self.is_success(), failed) {
            (true, _) => Value::Null,
            (false, 0) => format!("`{}`: {}", self.command.join(" "), self.status).into(),
            (false, failed) => format!("{} failed", count(failed, "test")).into(),
        };
        json!({
            "success": self.is_success(),
            "error": error,
            "passed": self.number_of(Outcome::Passed),
            "failed": failed,
            "ignored": self.number_of(Outcome::Ignored),
            "transactions": self.transactions,
            "tests": tests.collect::<Vec<_>>(),
            "failures": self.failures.iter().map(Failure::json).collect::<Vec<_>>(),
        })
    }
}
