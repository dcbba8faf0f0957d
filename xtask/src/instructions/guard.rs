//! The counts of `testdata/instructions.tsv`, above which a change is not accepted unnoticed.

use std::{collections::BTreeMap, fmt::Write as _, fs};

use anyhow::{Context as _, Result, bail, ensure};

use super::{BENCHMARKS, Benchmark, Build};
use crate::{fixtures, print, repository, say, steps::skip, toolchains::provide};

/// The counts: benchmark, row, and instructions of one repetition.
const FILE: &str = "testdata/instructions.tsv";

const HEADING: &str = "\
# Instructions of one repetition of each row of the benchmarks, Selkie's side, machine code, x86-64.
# `cargo xtask instructions --accept [BENCHMARK [ROW...]]` writes them. Columns: benchmark; row; instructions.
# `unoptimised` is bench-svm as the tests are built, which CI counts.
";

/// How many hundredths more are no finding: counts differ a little from process to process, since machine
/// code is hardened at random.
const TOLERANCE: u64 = 2;

/// How often a row is counted that has more, for its least count: a no-op of the hardening can be in a loop, where it
/// costs an instruction per iteration.
const ATTEMPTS: usize = 3;

/// Which rows are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Those that stand for the others, as the tests are built.
    Tests,
    /// Those that stand for the others, optimised.
    Optimised,
    All,
}

/// The rows that stand for the others. They take seconds each in valgrind.
const SHORT: &[(&str, &str)] = &[
    ("unoptimised", "no-op program"),
    ("unoptimised", "system transfer"),
    ("unoptimised", "sign, send, check, read"),
    ("unoptimised", "p-token transfer"),
    ("unoptimised", "spl-token 3.5.0 transfer"),
    ("unoptimised", "associated-token create"),
    ("bench", "V3 leaf_call"),
    ("bench", "V3 mem_mixed"),
    ("bench", "invocation mov64, exit"),
    ("bench", "transfer p-token"),
    ("bench", "transfer spl_token 3.5.0"),
    ("bench", "load p-token"),
    ("bench", "verify p-token"),
    ("bench", "compile+run p-token"),
    ("bench-svm", "no-op program"),
    ("bench-svm", "system transfer"),
    ("bench-svm", "p-token transfer"),
    ("bench-svm", "spl-token 3.5.0 transfer"),
    ("bench-svm", "associated-token create"),
];

type Counts = BTreeMap<(String, String), u64>;

/// Compares rows with their counts in the repository.
pub(super) fn check(extent: Extent) -> Result<()> {
    if !provide("valgrind", "valgrind") {
        return skip("valgrind is not installed");
    }
    fixtures::run(&[])?;
    let kept = read()?;
    let mut findings = Vec::new();
    for kind in BENCHMARKS {
        let is_meant =
            extent == Extent::All || (extent == Extent::Tests) == (kind.build == Build::Tests);
        if !is_meant {
            continue;
        }
        let (name, benchmark) = (kind.name, Benchmark::named(kind.name, "jit")?);
        for row in benchmark.rows(&[])? {
            if !is_counted(name, &row, extent == Extent::All) {
                continue;
            }
            let kept = kept.get(&(name.to_owned(), row.clone())).copied();
            let mut count = benchmark.repetition(&row)?;
            for _ in 1..ATTEMPTS {
                if kept.is_some_and(|kept| is_more(kept, count)) {
                    count = count.min(benchmark.repetition(&row)?);
                }
            }
            ensure!(count > 0, "{name}, {row}: nothing was counted");
            say(&format!("{count:>12}  {row}"));
            findings.extend(finding(name, &row, kept, count));
        }
    }
    match findings.as_slice() {
        [] => Ok(()),
        findings => bail!("{}", findings.join("\n")),
    }
}

/// Whether a row's count is kept: of the build that the tests use, only those that stand for the others.
fn is_counted(benchmark: &str, row: &str, all: bool) -> bool {
    SHORT.contains(&(benchmark, row)) || (all && benchmark != "unoptimised")
}

/// Whether a count is above the one that is kept by more than the hardening explains.
fn is_more(kept: u64, count: u64) -> bool {
    count.saturating_mul(100) > kept.saturating_mul(100 + TOLERANCE)
}

/// What is wrong with a row's count, and what to do.
fn finding(benchmark: &str, row: &str, kept: Option<u64>, count: u64) -> Option<String> {
    let accept = format!("`cargo xtask instructions --accept {benchmark} \"{row}\"` accepts it");
    let Some(kept) = kept else {
        return Some(format!("{benchmark}, {row}: not in {FILE}: {count} instructions. {accept}."));
    };
    let more = (count.saturating_sub(kept) as f64 / kept.max(1) as f64) * 100.0;
    is_more(kept, count).then(|| {
        format!(
            "{benchmark}, {row}: {count} instructions, {more:.1} % more than the {kept} of {FILE}. Find the change \
             that costs them, by `cargo xtask instructions {benchmark} \"{row}\"` before and after it; if they buy \
             something, {accept}."
        )
    })
}

/// Writes what rows execute today: those that are named, or all.
pub(super) fn accept(arguments: &[String]) -> Result<()> {
    ensure!(provide("valgrind", "valgrind"), "valgrind is not installed");
    fixtures::run(&[])?;
    let (wanted, named) = match arguments {
        [] => (None, arguments),
        [wanted, named @ ..] => (Some(wanted), named),
    };
    let mut counts = if wanted.is_none() { Counts::new() } else { read()? };
    let mut found = 0;
    for kind in BENCHMARKS.iter().filter(|it| wanted.is_none_or(|wanted| it.name == wanted)) {
        let (name, benchmark) = (kind.name, Benchmark::named(kind.name, "jit")?);
        for row in benchmark.rows(&[])? {
            if !is_counted(name, &row, true) || !(named.is_empty() || named.contains(&row)) {
                continue;
            }
            let count = benchmark.repetition(&row)?;
            ensure!(count > 0, "{name}, {row}: nothing was counted");
            print(&format!("{count:>12}  {row}"));
            counts.insert((name.to_owned(), row), count);
            found += 1;
        }
    }
    ensure!(found > 0, "there is no such row or benchmark: {}", arguments.join(" "));
    let lines = counts.iter().fold(HEADING.to_owned(), |mut text, ((benchmark, row), count)| {
        let _ = writeln!(text, "{benchmark}\t{row}\t{count}");
        text
    });
    fs::write(repository().join(FILE), lines).with_context(|| format!("cannot write {FILE}"))
}

fn read() -> Result<Counts> {
    parse(&fs::read_to_string(repository().join(FILE)).context(FILE)?)
}

fn parse(text: &str) -> Result<Counts> {
    let lines = text.lines().filter(|it| !it.starts_with('#'));
    let row = |line: &str| {
        let [benchmark, row, count] = line.split('\t').collect::<Vec<_>>()[..] else {
            bail!("{FILE}: not three columns: {line}");
        };
        Ok(((benchmark.to_owned(), row.to_owned()), count.parse().context(line.to_owned())?))
    };
    lines.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_hundredths_more_are_accepted() {
        assert_eq!(finding("bench-svm", "transfer", Some(1000), 1020), None);
        assert_eq!(finding("bench-svm", "transfer", Some(1000), 500), None);
        let found = finding("bench-svm", "transfer", Some(1000), 1021).unwrap();
        let parts = ["transfer: 1021", "2.1 %", "the 1000 of", "--accept bench-svm \"transfer\""];
        assert!(parts.iter().all(|it| found.contains(it)), "{found}");
        assert!(
            finding("bench", "new", None, 1)
                .is_some_and(|it| it.contains("--accept bench \"new\""))
        );
    }

    #[test]
    fn rows_that_stand_for_others_are_kept() {
        let kept = read().unwrap();
        for (benchmark, row) in SHORT {
            assert!(kept.contains_key(&((*benchmark).to_owned(), (*row).to_owned())), "{row}");
        }
    }
}
