//! `cargo xtask peers`: the test suites of LiteSVM and Mollusk, run on the crates of `compat`.
//!
//! A suite is a row of `xtask/peers/suites.tsv`: a package of crates.io, whose tests are copied to
//! `target/peers`, into a package in which the peer's name stands for ours. Tests that fail, or cannot
//! be compiled, have a row in `xtask/peers/expected.tsv` with the reason. Any other failure is an error,
//! and so is a row whose test passes.
//!
//! Projects of others are rows of `xtask/peers/projects.tsv`: repositories at a commit, whose tests run after
//! `selkie switch --write`.

pub(crate) mod api;
#[cfg(test)]
mod dependencies;
mod figures;
mod manifest;
pub(crate) mod patch;
mod project;
mod signature;
mod source;
mod suite;
mod timed;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{checkouts, print, repository};
use project::Project;
use suite::{Outcome, Suite};

/// Runs the chore: all suites and projects, or those that are named. `--checkouts FOLDER` names a folder with
/// the peers' repositories, from which test programs are built; without it they are cloned. `--api`
/// checks the table of public items instead. `--figures` measures the suites on
/// the peers as well, and `--benches` the peers' benchmarks on both.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if arguments == ["--api"] {
        return api::check();
    }
    let (checkouts, arguments) = checkouts::option(arguments);
    let (measure, named): (Option<figures::Measure>, _) = match arguments {
        [flag, rest @ ..] if flag == "--figures" => (Some(figures::tests), rest),
        [flag, rest @ ..] if flag == "--benches" => (Some(figures::benches), rest),
        _ => (None, arguments),
    };
    let suites: Vec<Suite> = rows("xtask/peers/suites.tsv")?.into_iter().map(Suite::of).collect();
    let is_named = |name: &str| named.is_empty() || named.iter().any(|it| it == name);
    let chosen: Vec<&Suite> = suites.iter().filter(|it| is_named(&it.name())).collect();
    let projects = rows("xtask/peers/projects.tsv")?.into_iter().map(Project::of);
    let projects: Vec<Project> = projects.filter(|it| is_named(it.name())).collect();
    let usage = "usage: cargo xtask peers --api | [--checkouts FOLDER] [--figures | --benches] [PACKAGE-VERSION | PROJECT...]";
    ensure!(
        !chosen.is_empty() || !projects.is_empty(),
        "{usage}, of xtask/peers/suites.tsv and projects.tsv"
    );
    let expected = rows("xtask/peers/expected.tsv")?;
    if let Some(measure) = measure {
        return chosen.into_iter().try_for_each(|suite| {
            let checkout = checkout(suite, checkouts.as_deref())?;
            let expected = Expected::of(&suite.package, &suite.version, &expected);
            measure(suite, &checkout, &expected.left_out())
        });
    }
    run_all(&chosen, &projects, &expected, checkouts.as_deref())
}

/// Runs suites and projects, prints their rows, and compares them with what is expected.
fn run_all(
    suites: &[&Suite],
    projects: &[Project],
    rows: &[Vec<String>],
    checkouts: Option<&Path>,
) -> Result<()> {
    let mut surprises = Vec::new();
    let mut add = |name: &str, expected: &Expected, outcome: &Outcome| {
        print(&expected.line(name, outcome));
        surprises.extend(expected.surprises(name, outcome));
    };
    print(
        "| suite | passed | failed as expected | left out | compiled | run |\n|---|---|---|---|---|---|",
    );
    for suite in suites {
        let expected = Expected::of(&suite.package, &suite.version, rows);
        let checkout = checkout(suite, checkouts)?;
        add(&suite.name(), &expected, &suite.run(&checkout, &expected.left_out())?);
    }
    for project in projects {
        let expected = Expected::of(project.name(), &project.commit, rows);
        add(project.name(), &expected, &project.run(checkouts)?);
    }
    if surprises.is_empty() {
        return Ok(());
    }
    bail!(
        "the suites went otherwise than xtask/peers/expected.tsv says\n  {}",
        surprises.join("\n  ")
    )
}

/// The features with which the crates of `compat` are tested together.
pub(crate) const FEATURES: &str =
    "selkie-mollusk/inner-instructions,selkie-mollusk-bencher/cpi-compute-units";

/// The target folder of the suites, shared with the crates of `compat`.
pub(crate) fn target() -> PathBuf {
    repository().join("target/peers/cargo")
}

/// The rows of a table, without its heading.
fn rows(path: &str) -> Result<Vec<Vec<String>>> {
    let text = fs::read_to_string(repository().join(path)).context(path.to_owned())?;
    let lines = text.lines().skip(1).filter(|it| !it.is_empty());
    Ok(lines.map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

/// The folder of a peer's repository, if programs are built from it.
fn checkout(suite: &Suite, checkouts: Option<&Path>) -> Result<PathBuf> {
    if suite.programs.is_empty() {
        return Ok(PathBuf::new());
    }
    if let Some(checkouts) = checkouts {
        return Ok(checkouts.join(&suite.checkout));
    }
    let folder = repository().join("target/peers/checkouts").join(&suite.checkout);
    checkouts::clone(&suite.repository()?, &["--depth=1"], &folder)?;
    Ok(folder)
}

/// Whether a version is one of those that a word means: `all`, one version, or a range of minor versions
/// like `0.12..`, `..0.14` or `0.12..0.14`, which ends before the last one.
fn is_of(word: &str, version: &str) -> bool {
    let Some((first, end)) = word.split_once("..") else {
        return word == "all" || word == version;
    };
    let numbers = |it: &str| it.split('.').map(|it| it.parse().unwrap_or(0)).collect::<Vec<u32>>();
    let version = numbers(version);
    (first.is_empty() || numbers(first) <= version) && (end.is_empty() || version < numbers(end))
}

/// The rows of a suite: a test, or a file without `::`, and the reason.
struct Expected(Vec<(String, String)>);

impl Expected {
    fn of(name: &str, version: &str, rows: &[Vec<String>]) -> Self {
        let row = |row: &Vec<String>| {
            let [package, versions, test, reason] = row.as_slice() else { return None };
            let applies = versions.split(' ').any(|it| is_of(it, version));
            (*package == name && applies).then(|| (test.clone(), reason.clone()))
        };
        Self(rows.iter().filter_map(row).collect())
    }

    /// The files that are not compiled.
    fn left_out(&self) -> Vec<&str> {
        self.0.iter().map(|(test, _)| test.as_str()).filter(|it| !it.contains("::")).collect()
    }

    fn has(&self, test: &str) -> bool {
        self.0.iter().any(|(it, _)| it == test)
    }

    /// The row of the table that the chore prints.
    fn line(&self, name: &str, outcome: &Outcome) -> String {
        let (passed, failed) = (outcome.passed.len(), outcome.failed.len());
        let expected = outcome.failed.iter().filter(|it| self.has(it)).count();
        let note =
            if failed > expected { format!(", {} not", failed - expected) } else { String::new() };
        format!(
            "| {name} | {passed} | {expected}{note} | {} | {:.0?} | {:.1?} |",
            self.left_out().join(", "),
            outcome.compiled,
            outcome.run
        )
    }

    /// What went otherwise than expected.
    fn surprises(&self, name: &str, outcome: &Outcome) -> Vec<String> {
        let failed = outcome.failed.iter().filter(|it| !self.has(it));
        let passed = outcome.passed.iter().filter(|it| self.has(it));
        let names = [&outcome.failed, &outcome.passed, &outcome.ignored];
        let is_absent = |test: &&String| !names.iter().any(|it| it.contains(test));
        let listed = self.0.iter().map(|(test, _)| test).filter(|it| it.contains("::"));
        let findings = failed.map(|it| format!("{it} fails"));
        findings
            .chain(passed.map(|it| format!("{it} passes")))
            .chain(listed.filter(is_absent).map(|it| format!("{it} is expected, but not there")))
            .chain(outcome.aborted.iter().map(|it| format!("{it} ends before all of its tests")))
            .map(|it| format!("{name}: {it}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_apply_to_versions() {
        let rows = [["litesvm", "0.1.0", "a::b", "why"], ["litesvm", "all", "c", "why"]];
        let rows: Vec<_> = rows.iter().map(|row| row.map(str::to_owned).to_vec()).collect();
        let outcome = Outcome {
            passed: vec!["x::y".to_owned()],
            failed: vec!["a::b".to_owned()],
            ..Outcome::default()
        };
        let expected = Expected::of("litesvm", "0.1.0", &rows);
        assert_eq!(expected.left_out(), ["c"]);
        assert!(expected.surprises("litesvm-0.1.0", &outcome).is_empty());
        let expected = Expected::of("litesvm", "0.2.0", &rows);
        assert_eq!(expected.surprises("litesvm-0.2.0", &outcome), ["litesvm-0.2.0: a::b fails"]);
    }

    #[test]
    fn versions_may_be_ranges() {
        let of = |word| ["0.8.2", "0.12.0", "0.13.4", "0.14.0"].map(|it| is_of(word, it));
        assert_eq!(of("all"), [true; 4]);
        assert_eq!(of("0.12.0"), [false, true, false, false]);
        assert_eq!(of("0.12.."), [false, true, true, true]);
        assert_eq!(of("..0.14"), [true, true, true, false]);
        assert_eq!(of("0.12..0.13"), [false, true, false, false]);
    }

    #[test]
    fn rows_without_a_test_are_found() {
        let expected = Expected(vec![("a::b".to_owned(), "why".to_owned())]);
        let outcome = Outcome { aborted: vec!["c".to_owned()], ..Outcome::default() };
        let findings = [
            "litesvm-0.1.0: a::b is expected, but not there",
            "litesvm-0.1.0: c ends before all of its tests",
        ];
        assert_eq!(expected.surprises("litesvm-0.1.0", &outcome), findings);
    }
}
