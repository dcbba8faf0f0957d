//! All tests of the workspace: each program of tests in turn, and how long each test took.
//!
//! The harness tells when a test ends, not when it began. But it starts tests in the order in which it lists
//! them, each when one before it ends, so that the beginnings follow from the ends.

use std::{
    collections::VecDeque,
    fmt::Write as _,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::setting::Setting;
use crate::{
    output, print, say,
    steps::{compiler, succeed},
};

/// How many of the longest tests are listed.
const LONGEST: usize = 10;

/// A program of tests.
struct Binary {
    path: PathBuf,
    /// The folder of its package, in which it runs.
    folder: PathBuf,
    /// `PACKAGE::TARGET`.
    name: String,
}

/// Runs all tests, or those of the crates that have changed, to the end, and lists the longest.
pub(super) fn test(setting: &Setting) -> Result<()> {
    let (mut times, mut programs, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for binary in compile()?.iter().filter(|it| setting.has(&it.folder)) {
        let start = Instant::now();
        let is_ok = run(binary, setting, &mut times).with_context(|| binary.name.clone())?;
        programs.push((start.elapsed(), binary.name.clone()));
        if !is_ok {
            failed.push(binary.name.clone());
        }
    }
    let start = Instant::now();
    if succeed(compiler().args(["test", "--workspace", "--locked", "--doc", "--quiet"])).is_err() {
        failed.push("examples in documentation".to_owned());
    }
    programs.push((start.elapsed(), "examples in documentation".to_owned()));
    say(&format!("{} tests; the longest:{}", times.len(), longest(&mut times)));
    say(&format!("the longest programs of tests:{}", longest(&mut programs)));
    match failed.as_slice() {
        [] => Ok(()),
        names => bail!("tests have failed in {}", names.join(", ")),
    }
}

fn longest(times: &mut [(Duration, String)]) -> String {
    times.sort_by_key(|it| std::cmp::Reverse(it.0));
    times.iter().take(LONGEST).fold(String::new(), |mut text, (time, name)| {
        let _ = write!(text, "\n{:7.1} s  {name}", time.as_secs_f64());
        text
    })
}

/// Compiles the programs of tests, and names them.
fn compile() -> Result<Vec<Binary>> {
    let mut cargo = compiler();
    cargo.args(["test", "--workspace", "--locked", "--no-run", "--quiet"]);
    cargo.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let printed = cargo.output().context("cannot start cargo")?;
    ensure!(printed.status.success(), "the tests do not compile");
    let lines = printed.stdout.split(|it| *it == b'\n').filter(|it| !it.is_empty());
    let messages = lines.map(serde_json::from_slice).collect::<Result<Vec<Value>, _>>()?;
    let binary = |message: &Value| {
        let path = message["executable"].as_str()?;
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
        let package = folder.file_name()?.to_string_lossy().into_owned();
        let name = format!("{package}::{}", message["target"]["name"].as_str()?);
        let is_test = message["profile"]["test"] == true;
        is_test.then(|| Binary { path: path.into(), folder: folder.to_owned(), name })
    };
    let mut binaries: Vec<Binary> = messages.iter().filter_map(binary).collect();
    binaries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(binaries)
}

/// Runs a program of tests, and adds what each test took. Returns whether all succeeded.
fn run(binary: &Binary, setting: &Setting, times: &mut Vec<(Duration, String)>) -> Result<bool> {
    let mut command = Command::new(&binary.path);
    command.current_dir(&binary.folder);
    // As cargo sets it.
    command.env("CARGO_MANIFEST_DIR", &binary.folder);
    let listed = output(command.args(["--list", "--format", "terse"]))?.stdout;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let listed = listed.lines().filter_map(|it| it.strip_suffix(": test"));
    let threads = thread::available_parallelism()?.get();
    let mut command = Command::new(&binary.path);
    command.current_dir(&binary.folder).env("CARGO_MANIFEST_DIR", &binary.folder);
    if setting.with_compilers {
        command.env("SELKIE_REQUIRE_TOOLCHAINS", "1");
    }
    command.arg(format!("--test-threads={threads}")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut clock = Clock::new(listed.map(str::to_owned).collect(), threads);
    let start = Instant::now();
    let mut child = command.spawn().context("cannot start it")?;
    let mut errors = child.stderr.take().context("it has standard error")?;
    let errors = thread::spawn(move || {
        let mut text = Vec::new();
        let _ = errors.read_to_end(&mut text);
        text
    });
    let mut printed = String::new();
    for line in BufReader::new(child.stdout.take().context("it has standard output")?).split(b'\n')
    {
        let line = String::from_utf8_lossy(&line?).into_owned();
        if let Some(name) = ended(&line)
            && let Some(time) = clock.ended(name, start.elapsed())
        {
            times.push((time, format!("{}::{name}", binary.name)));
        }
        printed += &line;
        printed.push('\n');
    }
    let errors = errors.join().unwrap_or_default();
    let is_ok = child.wait()?.success();
    if !is_ok {
        print(&printed);
        say(&String::from_utf8_lossy(&errors));
    }
    let result = printed.lines().rev().find(|it| it.starts_with("test result"));
    say(&format!(
        "{:6.1} s  {}: {}",
        start.elapsed().as_secs_f64(),
        binary.name,
        result.unwrap_or("no result")
    ));
    Ok(is_ok)
}

/// The name of the test that a line of the harness reports as ended: `test NAME ... ok`.
fn ended(line: &str) -> Option<&str> {
    let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let is_result = ["ok", "FAILED", "ignored"].iter().any(|it| result.starts_with(it));
    is_result.then(|| name.split(" - ").next().unwrap_or(name))
}

/// When tests began, from when others ended.
struct Clock {
    waiting: VecDeque<String>,
    running: Vec<(String, Duration)>,
}

impl Clock {
    fn new(listed: VecDeque<String>, threads: usize) -> Self {
        let mut clock = Self { waiting: listed, running: Vec::new() };
        (0..threads).for_each(|_| clock.begin(Duration::ZERO));
        clock
    }

    fn begin(&mut self, now: Duration) {
        self.running.extend(self.waiting.pop_front().map(|name| (name, now)));
    }

    /// Returns how long a test took that has just ended; `None` if it did not run.
    fn ended(&mut self, name: &str, now: Duration) -> Option<Duration> {
        let Some(index) = self.running.iter().position(|it| it.0 == name) else {
            // It was ignored, before its turn.
            self.waiting.retain(|it| it != name);
            return None;
        };
        let (_, begun) = self.running.swap_remove(index);
        self.begin(now);
        Some(now.saturating_sub(begun))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_recognized() {
        assert_eq!(ended("test a::b ... ok"), Some("a::b"));
        assert_eq!(ended("test a - should panic ... ok"), Some("a"));
        assert_eq!(ended("test a ... ignored, no compiler"), Some("a"));
        assert_eq!(ended("test result: ok. 4 passed"), None);
    }

    #[test]
    fn a_test_begins_when_one_before_it_ends() {
        let seconds = Duration::from_secs;
        let listed = ["a", "b", "c", "d"].map(str::to_owned);
        let mut clock = Clock::new(listed.into(), 2);
        assert_eq!(clock.ended("b", seconds(2)), Some(seconds(2)));
        assert_eq!(clock.ended("c", seconds(5)), Some(seconds(3)));
        assert_eq!(clock.ended("a", seconds(9)), Some(seconds(9)));
        assert_eq!(clock.ended("d", seconds(9)), Some(seconds(4)));
    }
}
