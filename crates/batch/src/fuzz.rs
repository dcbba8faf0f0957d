//! Items of kind `fuzz`: a search for inputs that make programs fail, with each seed of a range.
//!
//! A search is what `selkie fuzz` does with one thread and a number of calls, so it can be repeated
//! exactly. Both engines count branches alike, so the results do not depend on the engine either.

use core::ops::ControlFlow;

use selkie::{Case, Svm};
use selkie_explore::{ExploreError, Finding, Options, Progress, Target, explore_watched};
use serde::Serialize;
use sha2::{Digest as _, Sha256 as Hasher};

use crate::{
    Sha256, effects,
    error::Malformed,
    fuzz_file::FuzzFile,
    item::Item,
    options::RunOptions,
    outcome::{Ended, Executed, Logs, Status},
};

/// Runs the searches of an item.
pub(crate) fn run(item: &Item<'_>, case: &Case, options: &RunOptions) -> Result<Ended, Malformed> {
    let file = FuzzFile::parse(item.message)?;
    let seeds = file.seeds()?;
    let svm = Svm::of_case(case).with_engine(options.engine);
    let (target, cases) = file.target(&svm)?;
    let mut searched = Searched::default();
    for seed in seeds {
        let runs = Some(file.calls);
        let search = Options { seed, runs, seeds: cases.clone(), ..Options::default() };
        searched.search(&target, &search);
    }
    match searched.hopeless {
        Some(error) if searched.effort.given_up == file.seed_count => {
            Err(Malformed::from(format!("the search is given up: {error}")))
        }
        _ => Ok(searched.ended(options.keeps_logs)),
    }
}

/// What the searches of an item found.
#[derive(Default)]
struct Searched {
    effort: Effort,
    compute_units: u64,
    findings: Vec<Found>,
    /// Why one of them was given up.
    hopeless: Option<ExploreError>,
}

/// What the searches took: the column `effort`.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Effort {
    seeds: u64,
    /// How many of them were given up since no call succeeded.
    given_up: u64,
    calls: u64,
    /// The most branches that a search has reached, and the most cases that it kept.
    branches: usize,
    cases: usize,
}

/// A finding: an element of the column `findings`.
#[derive(Serialize)]
struct Found {
    seed: u64,
    what: String,
    calls: Vec<FoundCall>,
}

/// A call of a finding, as in the text of a case.
#[derive(Serialize)]
struct FoundCall {
    action: String,
    data: String,
}

impl Searched {
    fn search(&mut self, target: &Target, options: &Options) {
        let mut progress = Progress::default();
        let report = explore_watched(target, options, &mut |it| {
            progress.clone_from(it);
            ControlFlow::Continue(())
        });
        let Self { effort, compute_units, findings, hopeless } = self;
        effort.seeds = effort.seeds.saturating_add(1);
        effort.calls = effort.calls.saturating_add(progress.executions);
        effort.branches = effort.branches.max(progress.coverage);
        effort.cases = effort.cases.max(progress.corpus);
        *compute_units = compute_units.saturating_add(progress.compute_units);
        match report {
            Ok(report) => {
                let names = target.action_names();
                for finding in report.findings {
                    if findings.iter().all(|it| it.what != finding.what) {
                        findings.push(Found::new(options.seed, finding, &names));
                    }
                }
            }
            Err(error) => {
                effort.given_up = effort.given_up.saturating_add(1);
                *hopeless = Some(error);
            }
        }
    }

    fn ended(self, keeps_logs: bool) -> Ended {
        let effort = serde_json::to_string(&self.effort).expect("numbers are JSON");
        let findings = (!self.findings.is_empty())
            .then(|| serde_json::to_string(&self.findings).expect("strings are JSON"));
        let status = if findings.is_some() { Status::Found } else { Status::Success };
        let found = findings.as_deref().unwrap_or_default();
        let effects_hash = hash(found, &effort, self.compute_units);
        let executed = Executed {
            compute_units: self.compute_units,
            fee: 0,
            return_data: None,
            effort: Some(effort),
            logs: Logs::of(&mut Vec::new(), keeps_logs),
        };
        Ended {
            status,
            error: None,
            findings,
            error_index: None,
            executed: Some(executed),
            post: Vec::new(),
            effects_hash,
        }
    }
}

fn hash(findings: &str, effort: &str, compute_units: u64) -> Sha256 {
    let mut hasher = Hasher::new_with_prefix(b"selkie fuzz 1");
    effects::text(&mut hasher, findings);
    hasher.update(compute_units.to_le_bytes());
    hasher.update(effort);
    hasher.finalize().into()
}

impl Found {
    fn new(seed: u64, finding: Finding, names: &[&str]) -> Self {
        let calls = finding.case.calls.into_iter().map(|call| FoundCall {
            action: names.get(call.action).copied().unwrap_or_default().to_owned(),
            data: hex::encode(call.data),
        });
        Self { seed, what: finding.what, calls: calls.collect() }
    }
}
