//! Reads what test harnesses print: libtest's by `cargo test`, and cargo-nextest.

use anstream::adapter::strip_str;
use serde_json::{Value, json};

/// The bytes that are kept of the outputs of tests that failed, line ends included.
const OUTPUT_BYTES_MAX: usize = 16 << 20;

/// How a test ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// It was not run.
    Ignored,
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Ignored => "ignored",
        }
    }

    /// Reads libtest's words.
    fn parse(text: &str) -> Option<Self> {
        match text.split([' ', ',']).next()? {
            "ok" => Some(Self::Passed),
            "FAILED" => Some(Self::Failed),
            "ignored" => Some(Self::Ignored),
            _ => None,
        }
    }
}

/// The result of a test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestResult {
    /// The name of the test's executable, without the hash that cargo adds.
    pub suite: String,
    /// The name.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What it printed, if it failed.
    pub output: Vec<String>,
}

impl TestResult {
    /// Returns whether it is of this test, where one suite may not be known.
    #[must_use]
    pub fn is_of(&self, suite: &str, name: &str) -> bool {
        self.name == name && (self.suite == suite || self.suite.is_empty() || suite.is_empty())
    }

    /// Returns the result as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({ "suite": self.suite, "name": self.name, "outcome": self.outcome.name() })
    }
}

/// The part of the output that is read.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Part {
    /// The tests, a line each.
    #[default]
    Tests,
    /// The details of failures.
    Failures,
    /// The output of the test with this index.
    Output(usize),
}

/// Reads the lines of a harness.
#[derive(Default, Debug)]
pub struct Harness {
    suite: String,
    results: Vec<TestResult>,
    part: Part,
    /// A test whose outcome comes in a line of its own, below what the test prints.
    running: Option<String>,
    /// The bytes that were kept of all outputs.
    kept: usize,
    /// Whether cargo-nextest runs the tests: it repeats results.
    is_nextest: bool,
}

impl Harness {
    /// Reads a line. Returns whether it is to be shown: details of failures are not.
    pub fn line(&mut self, line: &str) -> bool {
        let plain = strip_str(line).to_string();
        let text = plain.trim();
        if let Some(suite) = suite_of(text) {
            (self.suite, self.part) = (suite, Part::Tests);
            return true;
        }
        if let Some((outcome, suite, name)) = nextest(text) {
            self.is_nextest = true;
            (self.suite, self.part) = (suite, Part::Tests);
            let is_new = self.add(name, outcome);
            if outcome == Outcome::Failed {
                self.part = Part::Failures;
            }
            return is_new;
        }
        if text.starts_with("test result:") {
            self.part = Part::Tests;
            return !self.is_nextest;
        }
        if self.is_nextest && text.starts_with("stderr ───") {
            self.part = Part::Output(self.results.len().saturating_sub(1));
            return false;
        }
        // Nextest's own lines begin anew.
        if self.is_nextest && (text.starts_with("────") || text.starts_with("Summary [")) {
            self.part = Part::Tests;
            return true;
        }
        match self.part {
            Part::Tests if text == "failures:" => {
                self.part = Part::Failures;
                false
            }
            Part::Tests => {
                self.read_result(text);
                !text.starts_with("error: test failed, to rerun")
                    && !text.starts_with("error: test run failed")
                    && !is_listed_target(&plain)
            }
            Part::Failures | Part::Output(_) => {
                let name = text.strip_prefix("---- ").and_then(|it| {
                    it.strip_suffix(" stdout ----").or_else(|| it.strip_suffix(" stderr ----"))
                });
                if let Some(name) = name {
                    self.part = Part::Output(self.add_failed(name));
                } else if let Part::Output(index) = self.part {
                    if text == "failures:" {
                        self.part = Part::Failures;
                    } else {
                        self.keep(index, &plain);
                    }
                }
                false
            }
        }
    }

    /// Reads `test NAME ... OUTCOME`, also with output between.
    fn read_result(&mut self, text: &str) {
        if let Some(outcome) = Outcome::parse(text)
            && let Some(name) = self.running.take()
        {
            self.add(&name, outcome);
            return;
        }
        let Some((name, rest)) = text.strip_prefix("test ").and_then(|it| it.split_once(" ... "))
        else {
            return;
        };
        let name = name.strip_suffix(" - should panic").unwrap_or(name);
        match Outcome::parse(rest) {
            Some(outcome) => drop(self.add(name, outcome)),
            None => self.running = Some(name.to_owned()),
        }
    }

    /// Adds a result; returns whether it was not known.
    fn add(&mut self, name: &str, outcome: Outcome) -> bool {
        let (suite, name) = (self.suite.clone(), name.to_owned());
        let is_known = self.results.iter().any(|it| it.suite == suite && it.name == name);
        if !is_known {
            self.results.push(TestResult { suite, name, outcome, output: Vec::new() });
        }
        !is_known
    }

    /// Returns the index of a test that failed.
    fn add_failed(&mut self, name: &str) -> usize {
        self.add(name, Outcome::Failed);
        let found = self.results.iter().rposition(|it| it.suite == self.suite && it.name == name);
        found.unwrap_or_default()
    }

    fn keep(&mut self, index: usize, line: &str) {
        if let Some(test) = self.results.get_mut(index)
            && self.kept < OUTPUT_BYTES_MAX
        {
            // Nextest moves the output to the right.
            let line =
                if self.is_nextest { line.strip_prefix("    ").unwrap_or(line) } else { line };
            self.kept += line.len() + 1;
            test.output.push(line.to_owned());
        }
    }

    /// Returns the results, in their order.
    #[must_use]
    pub fn results(self) -> Vec<TestResult> {
        self.results
    }
}

/// Reads cargo's line before a suite: `Running tests/vault.rs (target/debug/deps/vault-0123456789abcdef)`,
/// `Doc-tests vault`.
fn suite_of(text: &str) -> Option<String> {
    if let Some(name) = text.strip_prefix("Doc-tests ") {
        return Some(format!("{name} (doc)"));
    }
    let (_, path) = text.strip_prefix("Running ")?.strip_suffix(')')?.rsplit_once('(')?;
    let file = path.rsplit(['/', '\\']).next()?;
    let stem = file.strip_suffix(".exe").unwrap_or(file);
    Some(stem.rsplit_once('-').map_or(stem, |(name, _)| name).to_owned())
}

/// Whether it is one of the lines by which cargo lists the targets whose tests failed.
fn is_listed_target(line: &str) -> bool {
    let is_heading = line.starts_with("error: ")
        && (line.ends_with(" target failed:") || line.ends_with(" targets failed:"));
    is_heading || line.starts_with("    `-")
}

/// Reads a result of nextest: `FAIL [   0.004s] (1/2) vault::tests a_deposit_moves_tokens`.
fn nextest(text: &str) -> Option<(Outcome, String, &str)> {
    let (status, rest) = text.split_once(" [")?;
    let outcome = match status {
        "PASS" | "LEAK" | "FLAKY" => Outcome::Passed,
        "FAIL" | "TIMEOUT" | "ABORT" => Outcome::Failed,
        _ if status.starts_with("SIG") => Outcome::Failed,
        _ => return None,
    };
    let (_, rest) = rest.split_once("s] ")?;
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(counted) => counted.split_once(") ")?.1,
        None => rest,
    };
    let (binary, name) = rest.trim_start().split_once(' ')?;
    let (package, target) = binary.split_once("::").unwrap_or((binary, ""));
    let target = target.rsplit('/').next().filter(|it| !it.is_empty());
    Some((outcome, target.map_or_else(|| package.replace('-', "_"), str::to_owned), name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<TestResult>, Vec<&str>) {
        let mut harness = Harness::default();
        let shown = text.lines().filter(|line| harness.line(line)).collect();
        (harness.results(), shown)
    }

    fn brief(results: &[TestResult]) -> Vec<(&str, &str, Outcome)> {
        results.iter().map(|it| (it.suite.as_str(), it.name.as_str(), it.outcome)).collect()
    }

    #[test]
    fn results_of_cargo_test_are_read() {
        let text = "\
   Compiling vault v0.1.0
     Running unittests src/lib.rs (target/debug/deps/vault-0123456789abcdef)

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/money.rs (target/debug/deps/money-fedcba9876543210)

running 3 tests
test deposits::a_deposit ... ok
test later ... ignored, takes long
test panics - should panic ... FAILED

failures:

---- panics stdout ----

thread 'panics' (7) panicked at tests/money.rs:3:5:
no
failures:
    panics

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `--test money`
   Doc-tests vault
test src/lib.rs - (line 1) ... ok
";
        let (results, shown) = read(text);
        let expected = [
            ("money", "deposits::a_deposit", Outcome::Passed),
            ("money", "later", Outcome::Ignored),
            ("money", "panics", Outcome::Failed),
            ("vault (doc)", "src/lib.rs - (line 1)", Outcome::Passed),
        ];
        assert_eq!(brief(&results), expected);
        assert_eq!(
            results[2].output[1..],
            ["thread 'panics' (7) panicked at tests/money.rs:3:5:", "no"]
        );
        assert!(shown.contains(&"test panics - should panic ... FAILED"));
        assert!(
            !shown.iter().any(|it| it.contains("panicked") || it.contains("to rerun")),
            "{shown:?}"
        );
    }

    #[test]
    fn an_outcome_below_the_output_of_a_test_is_read() {
        let (results, _) =
            read("test one ... printed by the test\nok\ntest two ... more\nFAILED\n");
        assert_eq!(brief(&results), [("", "one", Outcome::Passed), ("", "two", Outcome::Failed)]);
    }

    #[test]
    fn results_of_nextest_are_read() {
        let text = "\
    Starting 2 tests across 2 binaries
        PASS [   0.004s] (1/2) my-vault adds
        FAIL [   0.004s] (2/2) my-vault::money panics
  stdout ───

    running 1 test
    test panics ... FAILED

    failures:

    failures:
        panics

    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 1 filtered out; finished in 0.00s

  stderr ───

    thread 'panics' (7) panicked at tests/money.rs:3:5:
    no

────────────
     Summary [   0.005s] 2 tests run: 1 passed, 1 failed, 0 skipped
        FAIL [   0.004s] (2/2) my-vault::money panics
error: test run failed
";
        let (results, shown) = read(text);
        let expected =
            [("my_vault", "adds", Outcome::Passed), ("money", "panics", Outcome::Failed)];
        assert_eq!(brief(&results), expected);
        assert!(results[1].output.contains(&"no".to_owned()), "{results:?}");
        assert_eq!(shown.iter().filter(|it| it.contains("FAIL ")).count(), 1, "{shown:?}");
    }
}
