//! What a search has come to.

use core::time::Duration;
use std::{collections::BTreeSet, path::PathBuf};

use selkie::InstructionError;
use selkie_isa::plural::count;
use serde_json::{Value, json};

use crate::{
    call_error::{CallError, ErrorCount},
    explain::ErrorReport,
    finding::Finding,
    finding_test::FindingTest,
    search::{ActionCount, Progress, Report},
    target::Target,
};

/// The errors that recordings do not have which are shown.
const NEW_ERRORS_MAX: usize = 8;
/// The actions that never succeed whose errors a refusal tells.
const REFUSED_MAX: usize = 4;

/// The result of a search.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// What was found.
    pub report: &'a Report,
    /// The findings, the worst first, each with its test and its replay.
    pub findings: Vec<(&'a Finding, FindingTest, PathBuf)>,
    /// For each action that never succeeded what is known of its most frequent error.
    pub refused: Vec<Option<ErrorReport>>,
    /// The errors that no recording has, with their actions.
    pub new: Vec<(&'a str, &'a ErrorCount, ErrorReport)>,
    /// How long the search took.
    pub elapsed: Duration,
}

impl<'a> Outcome<'a> {
    /// Explains the errors of a search. `recorded` are the results of recorded transactions, if the search
    /// began with any.
    #[must_use]
    pub fn new(
        target: &Target,
        report: &'a Report,
        findings: Vec<(&'a Finding, FindingTest, PathBuf)>,
        recorded: Option<&BTreeSet<String>>,
        elapsed: Duration,
    ) -> Self {
        let actions = &report.progress.actions;
        let refused = actions.iter().map(|it| {
            let error = it.errors.first().filter(|_| it.successes == 0)?;
            Some(target.explain(error))
        });
        let mut new: Vec<(&str, &ErrorCount)> = Vec::new();
        for action in actions.iter().filter(|_| recorded.is_some()) {
            for error in action.errors.iter().filter(|it| is_new(&it.error, recorded)) {
                if new.iter().all(|(_, known)| known.error != error.error) {
                    new.push((&action.name, error));
                }
            }
        }
        new.sort_by_key(|(_, it)| core::cmp::Reverse(it.count));
        let new = new.into_iter().take(NEW_ERRORS_MAX);
        let new = new.map(|(action, error)| (action, error, target.explain(error)));
        Self { report, findings, refused: refused.collect(), new: new.collect(), elapsed }
    }

    /// Returns the outcome as JSON.
    #[must_use]
    pub fn as_json(&self) -> Value {
        let Progress { executions, coverage, corpus, actions, .. } = &self.report.progress;
        let actions = actions.iter().zip(&self.refused).map(|(it, refused)| {
            let errors = it.errors.iter().enumerate().map(|(index, error)| {
                let report = refused.as_ref().filter(|_| index == 0);
                error_json(error, report)
            });
            json!({
                "name": it.name,
                "calls": it.calls,
                "successes": it.successes,
                "errors": errors.collect::<Vec<_>>(),
            })
        });
        let findings = self.findings.iter().map(|(finding, test, replay)| {
            let Finding { name, kind, what, place, count, detail, text, .. } = finding;
            let case: Value = serde_json::from_str(text).unwrap_or_default();
            json!({
                "name": name,
                "kind": kind.name(),
                "what": what,
                "place": place,
                "count": count,
                "detail": detail,
                "case": case,
                "replay": replay.display().to_string(),
                "test": replay.with_extension("rs").display().to_string(),
                "test_command": test.command(),
            })
        });
        let new = self.new.iter().map(|(action, error, report)| {
            let mut json = error_json(error, Some(report));
            json["action"] = json!(action);
            json
        });
        let mut json = json!({
            "success": self.findings.is_empty(),
            "calls": executions,
            "calls_per_second": per_second(*executions, self.elapsed),
            "branches": coverage,
            "corpus": corpus,
            "actions": actions.collect::<Vec<_>>(),
            "findings": findings.collect::<Vec<_>>(),
            "new_errors": new.collect::<Vec<_>>(),
        });
        if let Some((first, _, replay)) = self.findings.first() {
            json["error"] = json!(format!("found {}", first.what));
            json["help"] = json!(format!("look into it: selkie debug {}", replay.display()));
        }
        json
    }
}

/// Returns whether no recorded transaction has failed with an error. Those of crashes are findings.
fn is_new(error: &CallError, recorded: Option<&BTreeSet<String>>) -> bool {
    let text = match error {
        CallError::Program(
            _,
            InstructionError::ProgramFailedToComplete
            | InstructionError::ComputationalBudgetExceeded,
        ) => return false,
        CallError::Program(_, error) => format!(", {error:?})"),
        CallError::Transaction(error) => format!("{error:?}"),
    };
    recorded.is_some_and(|it| it.iter().all(|result| !result.ends_with(&text)))
}

fn error_json(error: &ErrorCount, report: Option<&ErrorReport>) -> Value {
    let program = match &error.error {
        CallError::Program(id, _) => Some(id.to_string()),
        _ => None,
    };
    json!({
        "error": report.map_or_else(|| error.error.to_string(), |it| it.error.clone()),
        "program": program,
        "count": error.count,
        "place": report.and_then(|it| it.place.as_ref()),
        "notes": report.map(|it| &it.notes),
    })
}

/// Returns an error with the program that failed.
#[must_use]
pub fn with_program(report: &ErrorReport) -> String {
    match &report.program {
        Some(program) => format!("program {program}: {}", report.error),
        None => report.error.clone(),
    }
}

/// Says why a search was given up: the most frequent error of each action.
#[must_use]
pub fn refusal(target: &Target, actions: &[ActionCount]) -> String {
    let calls = actions.iter().fold(0_u64, |sum, it| sum.saturating_add(it.calls));
    let mut text = format!("no action succeeded in {}", count(calls, "call"));
    let mut failed = actions.iter().filter_map(|it| Some((it, it.errors.first()?)));
    for (ActionCount { name, calls, .. }, error) in failed.by_ref().take(REFUSED_MAX) {
        let report = target.explain(error);
        let times = error.count;
        text.push_str(&format!(
            "\n  `{name}` failed {times} of {}: {}",
            count(*calls, "time"),
            with_program(&report)
        ));
        for line in report.place.iter().map(|it| format!("--> {it}")) {
            text.push_str(&format!("\n    {line}"));
        }
        for note in &report.notes {
            text.push_str(&format!("\n    note: {note}"));
        }
    }
    match failed.count() {
        0 => text,
        more => format!("{text}\n  and {}", count(more, "more action")),
    }
}

/// Returns the line that is shown while a search runs.
#[must_use]
pub fn line(progress: &Progress, elapsed: Duration) -> String {
    let Progress { executions, coverage, corpus, findings, actions, .. } = progress;
    let working = actions.iter().filter(|it| it.successes > 0).count();
    let mut text = format!(
        "{} s  {executions} calls, {}/s  {coverage} branches  {corpus} cases  {working} of {} \
         actions succeed  {findings} found",
        elapsed.as_secs(),
        per_second(*executions, elapsed),
        actions.len(),
    );
    let failing = actions.iter().find(|it| it.successes == 0 && it.calls > 0);
    if let Some((action, error)) = failing.and_then(|it| Some((it, it.errors.first()?))) {
        text.push_str(&format!("  {}: {}", action.name, error.error));
    }
    text
}

/// Returns how many calls there were in a second.
#[must_use]
pub fn per_second(executions: u64, elapsed: Duration) -> u64 {
    let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    executions.saturating_mul(1000).checked_div(milliseconds).unwrap_or_default()
}
