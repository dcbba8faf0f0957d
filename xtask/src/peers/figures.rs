//! `cargo xtask peers --figures` and `--benches`: what the tests of a suite, and the peer's benchmarks,
//! take on the peer and here.
//!
//! For tests, each side is compiled from nothing, with its dependencies downloaded before. The sides take
//! turns, so that other work on the machine meets both.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{
    suite::{Package, Part, Side, Suite},
    timed::{Took, timed},
};
use crate::print;

const SIDES: [Side; 2] = [Side::Peer, Side::Selkie];

/// How often each side runs.
const TURNS: usize = 5;

/// Measures a suite whose programs are built from a folder, without some of its tests.
pub(super) type Measure = fn(&Suite, &Path, &[&str]) -> Result<()>;

/// Prints what the tests of a suite take.
pub(super) fn tests(suite: &Suite, checkout: &Path, left_out: &[&str]) -> Result<()> {
    let [peer, selkie] = SIDES.map(|side| Tests::compile(suite, side, checkout, left_out));
    let mut sides = [peer?, selkie?];
    for _ in 0..TURNS {
        sides.iter_mut().try_for_each(Tests::run)?;
    }
    print(&format!(
        "\n{}\n\n| on | crates | compiled | CPU time of that | tests that pass | run, median |\n\
         |---|---|---|---|---|---|",
        suite.name()
    ));
    for Tests { side, package, compiled, passed, runs } in &mut sides {
        print(&format!(
            "| {} | {} | {:.0?} | {:.0?} | {passed} | {:.1?} |",
            side.name(),
            package.crates()?,
            compiled.wall,
            compiled.cpu,
            median(runs)
        ));
    }
    Ok(())
}

/// The tests on one side.
struct Tests {
    side: Side,
    package: Package,
    compiled: Took,
    passed: usize,
    runs: Vec<Duration>,
}

impl Tests {
    fn compile(suite: &Suite, side: Side, checkout: &Path, left_out: &[&str]) -> Result<Self> {
        let package = suite.package_of(side, Part::Tests, checkout, left_out)?;
        package.fetch_anew()?;
        let ((), compiled) = timed(|| package.compile())?;
        Ok(Self { side, package, compiled, passed: 0, runs: Vec::new() })
    }

    fn run(&mut self) -> Result<()> {
        let (outcome, took) = timed(|| self.package.test())?;
        self.passed = outcome.passed.len();
        self.runs.push(took.wall);
        Ok(())
    }
}

/// Prints the medians of criterion's medians, if the peer has benchmarks.
pub(super) fn benches(suite: &Suite, checkout: &Path, _: &[&str]) -> Result<()> {
    if !suite.has_benches()? {
        return Ok(());
    }
    let [peer, selkie] = SIDES.map(|side| suite.package_of(side, Part::Benches, checkout, &[]));
    let sides = [peer?, selkie?];
    let mut medians: BTreeMap<String, [Vec<Duration>; 2]> = BTreeMap::new();
    for _ in 0..TURNS {
        for (side, package) in sides.iter().enumerate() {
            for (name, median) in estimates(&package.bench()?)? {
                medians.entry(name).or_default()[side].push(median);
            }
        }
    }
    print(&format!(
        "\n{}\n\n| benchmark | peer | selkie | times as fast |\n|---|---|---|---|",
        suite.name()
    ));
    for (name, sides) in &mut medians {
        let [peer, selkie] = sides.each_mut().map(|it| median(it));
        let ratio = peer.as_secs_f64() / selkie.as_secs_f64();
        print(&format!("| {name} | {peer:.2?} | {selkie:.2?} | {ratio:.2} |"));
    }
    Ok(())
}

/// Reads the name and the median of each benchmark in the folder that criterion writes.
fn estimates(folder: &Path) -> Result<Vec<(String, Duration)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.join("estimates.json").exists() && path.ends_with("new") {
            let read = |name: &str| -> Result<Value> {
                Ok(serde_json::from_str(&fs::read_to_string(path.join(name))?)?)
            };
            let name = read("benchmark.json")?["full_id"].as_str().map(str::to_owned);
            let median = read("estimates.json")?["median"]["point_estimate"].as_f64();
            let median = median.context("criterion's file has no median")?;
            let name = name.context("criterion's file has no name")?;
            found.push((name, Duration::from_secs_f64(median / 1e9)));
        } else if path.is_dir() {
            found.extend(estimates(&path)?);
        }
    }
    Ok(found)
}

fn median(durations: &mut [Duration]) -> Duration {
    durations.sort_unstable();
    durations.get(durations.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_one_in_the_middle() {
        let mut durations = [5, 1, 3].map(Duration::from_secs);
        assert_eq!(median(&mut durations), Duration::from_secs(3));
    }
}
