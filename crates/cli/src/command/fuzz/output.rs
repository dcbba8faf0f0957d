//! Shows what a search has come to.

use std::io::Write as _;

use anyhow::Result;
use selkie_explore::{
    ActionCount, ErrorReport, Finding, Outcome, Progress, per_second, with_program,
};
use selkie_isa::plural::count;

use crate::ui::{BAD, DIM, GOOD, NOTE, STRONG, Ui};

/// Shows the outcome of a search.
pub(super) fn show(ui: &mut Ui, outcome: &Outcome<'_>) -> Result<()> {
    let Progress { executions, coverage, corpus, actions, .. } = &outcome.report.progress;
    writeln!(
        ui.out,
        "{STRONG}{executions}{STRONG:#} calls in {:.1} s, {} per second; {coverage} branches, {corpus} cases",
        outcome.elapsed.as_secs_f64(),
        per_second(*executions, outcome.elapsed),
    )?;
    writeln!(ui.out, "\n{DIM}     calls  succeeded  action{DIM:#}")?;
    for (ActionCount { name, calls, successes, errors }, refused) in
        actions.iter().zip(&outcome.refused)
    {
        let style = if *successes == 0 && *calls > 0 { BAD } else { STRONG };
        writeln!(ui.out, "{calls:>10}  {successes:>9}  {style}{name}{style:#}")?;
        if let (Some(report), Some(error)) = (refused, errors.first()) {
            let times = count(error.count, "time");
            writeln!(ui.out, "{:23}failed {times}: {}", "", with_program(report))?;
            show_place(ui, 23, report)?;
        }
    }
    show_findings(ui, outcome)?;
    show_new_errors(ui, outcome)?;
    let Some((_, test, replay)) = outcome.findings.first() else {
        writeln!(ui.out, "\n{GOOD}nothing was found{GOOD:#}")?;
        return Ok(());
    };
    writeln!(ui.out, "\nlook into it:      selkie debug {}", replay.display())?;
    writeln!(ui.out, "keep it as a test: {}", test.command())?;
    if let Some(missing) = test.missing() {
        writeln!(ui.out, "{NOTE}note{NOTE:#}: {missing}")?;
    }
    Ok(())
}

fn show_new_errors(ui: &mut Ui, outcome: &Outcome<'_>) -> Result<()> {
    if outcome.new.is_empty() {
        return Ok(());
    }
    writeln!(
        ui.out,
        "\n{NOTE}note{NOTE:#}: these errors are no findings, but no recorded transaction has them:"
    )?;
    for (action, error, report) in &outcome.new {
        let times = count(error.count, "time");
        writeln!(ui.out, "  {times} by `{action}`: {}", with_program(report))?;
        show_place(ui, 4, report)?;
    }
    Ok(())
}

fn show_findings(ui: &mut Ui, outcome: &Outcome<'_>) -> Result<()> {
    for (number, (finding, _, replay)) in outcome.findings.iter().enumerate() {
        let Finding { what, place, count: times, detail, text, transactions, .. } = finding;
        let (times, calls) = (count(*times, "time"), count(transactions.len(), "call"));
        let number = number.saturating_add(1);
        writeln!(
            ui.out,
            "\n{BAD}found{BAD:#} {number}: {STRONG}{what}{STRONG:#}, {times}; the shortest way has {calls}"
        )?;
        // The explanation of a crash has the place, too.
        if let Some(place) = place.as_ref().filter(|it| !detail.contains(it.as_str())) {
            writeln!(ui.out, "  {NOTE}-->{NOTE:#} {place}")?;
        }
        for line in detail.lines() {
            writeln!(ui.out, "  {line}")?;
        }
        writeln!(ui.out, "  {DIM}{text}{DIM:#}")?;
        writeln!(ui.out, "  {}", replay.display())?;
    }
    Ok(())
}

fn show_place(ui: &mut Ui, indent: usize, report: &ErrorReport) -> Result<()> {
    if let Some(place) = &report.place {
        writeln!(ui.out, "{:indent$}{NOTE}-->{NOTE:#} {place}", "")?;
    }
    for note in &report.notes {
        writeln!(ui.out, "{:indent$}{NOTE}note{NOTE:#}: {note}", "")?;
    }
    Ok(())
}
