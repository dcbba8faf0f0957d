//! `cargo xtask ci`, `cargo xtask nightly` and `cargo xtask test`: all checks that a change must pass.
//!
//! Each check is a row in [`rows`]. `ci` runs the daily ones, or with `--since` those that a change calls
//! for; `nightly` runs the others. Both end with a table of what each took.

mod binaries;
mod graph;
mod rows;
mod rust_versions;
mod setting;
mod vectors;
mod work;

use std::{
    env,
    fmt::Write as _,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

use self::{
    graph::Change,
    rows::{ROWS, Row, When},
    setting::Setting,
};
use crate::{
    fixtures, print, say,
    steps::{lint_while_compiling, skipped, step},
    toolchains,
};

/// What `.ci/run` sets: the seconds that it took to build the workspace, and with it this program.
const BUILT_IN: &str = "SELKIE_CI_BUILT_IN";

const USAGE: &str = "\
usage: cargo xtask ci [--list] [--since REVISION] [CHECK...]
       cargo xtask nightly [--list] [CHECK...]

ci       the checks that every change must pass, or those that are named
nightly  the other ones, which take hours: before a release
--since  only those daily checks that the changes since a revision of git call for, by the graph of crates
--list   print the checks, with what they protect and how long they take";

/// Runs the daily checks, or some of them.
pub(crate) fn ci(arguments: &[String]) -> Result<()> {
    run(When::Daily, arguments)
}

/// Runs the nightly checks, or some of them.
pub(crate) fn nightly(arguments: &[String]) -> Result<()> {
    run(When::Nightly, arguments)
}

/// Runs every test: those of cargo, and conformance vectors.
pub(crate) fn test(arguments: &[String]) -> Result<()> {
    let folders: Vec<PathBuf> = arguments.iter().map(PathBuf::from).collect();
    let vectors = vectors::folders(&folders)?;
    step("programs that tests need", || fixtures::run(&[]))?;
    step("tests", || binaries::test(&Setting::default()))?;
    step("conformance vectors", || vectors::run(&vectors, &[]))
}

/// Prints the table of conformance that the README shows, from a run of all vectors.
pub(crate) fn conformance(arguments: &[String]) -> Result<()> {
    let folders: Vec<PathBuf> = arguments.iter().map(PathBuf::from).collect();
    let vectors = vectors::folders(&folders)?;
    fixtures::run(&[])?;
    vectors::run(&vectors, &["--table"])
}

/// What the arguments ask for.
#[derive(Default)]
struct Asked {
    list: bool,
    since: Option<String>,
    names: Vec<String>,
}

impl Asked {
    fn parse(when: When, arguments: &[String]) -> Result<Self> {
        let mut asked = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--list" => asked.list = true,
                "--since" if when == When::Daily => match arguments.next() {
                    Some(revision) => asked.since = Some(revision.clone()),
                    None => bail!("--since needs a revision of git\n\n{USAGE}"),
                },
                option if option.starts_with('-') => bail!("unknown option {option}\n\n{USAGE}"),
                name if ROWS.iter().any(|it| it.name == name) => asked.names.push(name.to_owned()),
                name => {
                    let names: Vec<&str> = ROWS.iter().map(|it| it.name).collect();
                    bail!("no check is called {name}: there are {}\n\n{USAGE}", names.join(", "))
                }
            }
        }
        Ok(asked)
    }

    /// The rows that are asked for: those that are named, of any kind, or all of one kind.
    fn rows(&self, when: When) -> Vec<&'static Row> {
        let is_asked = |row: &&Row| match self.names.as_slice() {
            [] => row.when == when,
            names => names.iter().any(|it| it == row.name),
        };
        ROWS.iter().filter(is_asked).collect()
    }
}

fn run(when: When, arguments: &[String]) -> Result<()> {
    let asked = Asked::parse(when, arguments)?;
    let change = asked.since.as_deref().map(Change::since).transpose()?;
    let mut rows = asked.rows(when);
    if let Some(change) = &change {
        rows.retain(|row| change.calls_for(row));
    }
    if asked.list {
        print(&list(&rows));
        return Ok(());
    }
    let taken = run_rows(&rows, change.as_ref());
    if let Some(change) = &change {
        let nightly = ROWS.iter().filter(|it| it.when == When::Nightly && change.calls_for(it));
        let names: Vec<&str> = nightly.map(|it| it.name).collect();
        say(&format!("\nalso affected: cargo xtask nightly {}", names.join(" ")));
    }
    taken
}

/// Runs rows, and says what each took. Daily ones end with the first failure.
fn run_rows(rows: &[&Row], change: Option<&Change>) -> Result<()> {
    lint_while_compiling();
    let mut times = Vec::new();
    if let Some(seconds) = env::var(BUILT_IN).ok().and_then(|it| it.parse().ok()) {
        times.push(("first build", Duration::from_secs(seconds), String::new()));
    }
    let (mut with_compilers, start) = (false, Instant::now());
    step("compilers for C and Rust", || {
        with_compilers = toolchains::install();
        Ok(())
    })?;
    times.push(("compilers", start.elapsed(), String::new()));
    let setting = Setting { with_compilers, crates: change.map(|it| it.crates.clone()) };
    let mut failed = Vec::new();
    for row in rows {
        let start = Instant::now();
        let done = step(row.name, || (row.run)(&setting));
        let note = match (&done, skipped().as_slice()) {
            (Err(_), _) => "failed".to_owned(),
            (Ok(()), []) => String::new(),
            (Ok(()), reasons) => format!("skipped: {}", reasons.join("; ")),
        };
        times.push((row.name, start.elapsed(), note));
        if let Err(error) = done {
            say(&format!("error: {error:#}"));
            failed.push(row.name);
            if row.when == When::Daily {
                break;
            }
        }
    }
    say(&table(&times));
    match failed.as_slice() {
        [] => Ok(()),
        names => bail!("failed: {}; `cargo xtask ci CHECK` runs one alone", names.join(", ")),
    }
}

/// The table of times, with what has failed or was skipped.
fn table(times: &[(&str, Duration, String)]) -> String {
    let mut text = "\n".to_owned();
    for (name, time, note) in times {
        let line = format!("{:7.1} s  {name}  {note}", time.as_secs_f64());
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let all: Duration = times.iter().map(|it| it.1).sum();
    let _ = write!(text, "{:7.1} s  all", all.as_secs_f64());
    text
}

/// The rows as a table, with what they protect.
fn list(rows: &[&Row]) -> String {
    let mut text = "minutes  check, what it does, and what it protects\n".to_owned();
    for row in rows {
        let protects = match row.protects {
            [""] => "everything".to_owned(),
            folders => folders.join(" "),
        };
        let Row { name, command, minutes, .. } = row;
        let _ = writeln!(text, "{minutes:7.1}  {name}: {command}\n         {protects}");
    }
    let minutes: f32 = rows.iter().map(|it| it.minutes).sum();
    let _ = write!(text, "{minutes:7.1}  all");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(when: When, arguments: &str) -> Result<Asked> {
        let words: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        Asked::parse(when, &words)
    }

    #[test]
    fn names_of_checks_are_unique() {
        let mut names: Vec<&str> = ROWS.iter().map(|it| it.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ROWS.len());
    }

    #[test]
    fn rows_protect_what_is_there() {
        let gone = |it: &&&str| !crate::repository().join(it).exists();
        let stale: Vec<_> = ROWS.iter().flat_map(|it| it.protects).filter(gone).collect();
        assert!(stale.is_empty(), "no such folder or file: {stale:?}");
    }

    #[test]
    fn what_is_unknown_is_an_error_with_help() {
        for arguments in ["--sinse main", "--since", "clippy"] {
            let error = asked(When::Daily, arguments).err().map(|it| it.to_string());
            assert!(error.is_some_and(|it| it.contains("usage: cargo xtask ci")), "{arguments}");
        }
        assert!(asked(When::Nightly, "--since main").is_err());
    }

    #[test]
    fn rows_are_all_of_a_kind_or_those_that_are_named() {
        let names = |when, arguments: &str| -> Vec<&str> {
            asked(when, arguments).unwrap().rows(when).iter().map(|it| it.name).collect()
        };
        assert_eq!(names(When::Daily, "tidy gdb"), ["tidy", "gdb"]);
        assert!(names(When::Daily, "").contains(&"tests"));
        assert!(!names(When::Daily, "").contains(&"gdb"));
        assert!(names(When::Nightly, "").contains(&"gdb"));
    }

    #[test]
    fn the_daily_checks_fit_into_their_limit() {
        let minutes: f32 =
            ROWS.iter().filter(|it| it.when == When::Daily).map(|it| it.minutes).sum();
        assert!(minutes <= 30.0, "{minutes} minutes");
    }
}
