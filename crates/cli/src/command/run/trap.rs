//! Shows the trap that stopped a program: location, registers, call stack and likely causes.

use std::io::Write as _;

use anyhow::Result;
use selkie::{ErrorPlace, ErrorTracer, TransactionError, TrapReport};
use selkie_inspect::SourceMap;
use selkie_svm::{Inspector, Run};
use selkie_vm::Trap;
use serde_json::{Value, json};

use crate::{
    command::run::Ran,
    program::ProgramFile,
    render::{frames_json, location_json},
    ui::{BAD, DIM, NOTE, STRONG, Ui},
};

/// Returns the report of a run's trap, if it ended with one.
fn report(run: &Run, file: &ProgramFile, map: &SourceMap, logs: &[String]) -> Option<TrapReport> {
    let stop = run.stop()?;
    let mut report = TrapReport::new(&stop, &file.elf, map, logs);
    if matches!(stop.trap, Trap::ExceededMaxInstructions) {
        report.notes.push("`--limit` sets the compute unit limit".to_owned());
    }
    Some(report)
}

/// Shows the trap of a run, if it ended with one.
pub(super) fn show(
    ui: &mut Ui,
    run: &Run,
    file: &ProgramFile,
    map: &SourceMap,
    logs: &[String],
) -> Result<()> {
    let Some(report) = report(run, file, map, logs) else { return Ok(()) };
    let TrapReport { message, instruction, registers, notes, .. } = &report;
    writeln!(ui.out, "{BAD}trap{BAD:#}{STRONG}: {message}{STRONG:#}")?;
    let place = format!("{}: {STRONG}{instruction}{STRONG:#}", report.place_line());
    show_place(ui, &place, &report.other_lines())?;
    for (index, registers) in registers.chunks(4).enumerate() {
        let cells = registers.iter().enumerate().map(|(offset, value)| {
            format!("{:>3} = {value:#018x}", format!("r{}", index * 4 + offset))
        });
        writeln!(ui.out, "  {DIM}{}{DIM:#}", cells.collect::<Vec<_>>().join("  "))?;
    }
    for note in notes {
        let note = ui.line(note);
        writeln!(ui.out, "{NOTE}note{NOTE:#}: {note}")?;
    }
    Ok(())
}

/// Shows a place, and the frames around it.
pub(super) fn show_place(ui: &mut Ui, place: &str, others: &[String]) -> Result<()> {
    writeln!(ui.out, "  {NOTE}-->{NOTE:#} {place}")?;
    for line in others {
        writeln!(ui.out, "  {line}")?;
    }
    Ok(())
}

/// Finds where a program decided on the error that it returned. `process` runs it once more.
pub(super) fn error_place(
    ran: &Ran,
    map: &SourceMap,
    process: impl FnOnce(&mut dyn Inspector) -> Result<(), TransactionError>,
) -> Option<ErrorPlace> {
    let returned = ran.run.as_ref().is_some_and(|run| run.result.is_ok());
    if ran.result.is_ok() || !returned || !map.has_lines() {
        return None;
    }
    let mut tracer = ErrorTracer::default();
    process(&mut tracer).ok()?;
    tracer.finish()?.locate(map)
}

/// Returns the place of a returned error as JSON.
pub(super) fn place_json(place: &ErrorPlace) -> Value {
    let own = place.backtrace.place();
    json!({
        "function": own.and_then(|it| it.function.as_ref()),
        "file": own.and_then(|it| it.location.as_ref()).map(|it| &it.file),
        "line": own.and_then(|it| it.location.as_ref()).map(|it| it.line),
        "column": own.and_then(|it| it.location.as_ref()).and_then(|it| it.column),
        "is_exact": place.is_exact,
        "frames": frames_json(&place.backtrace),
    })
}

/// Returns the trap of a run as JSON, if it ended with one.
pub(super) fn as_json(
    run: &Run,
    file: &ProgramFile,
    map: &SourceMap,
    logs: &[String],
) -> Option<Value> {
    let report = report(run, file, map, logs)?;
    let (access, vaddr, len) = match &**run.result.as_ref().err()? {
        Trap::AccessViolation { access, vaddr, len, .. }
        | Trap::StackAccessViolation { access, vaddr, len, .. } => {
            (Some(format!("{access:?}").to_lowercase()), Some(vaddr), Some(len))
        }
        _ => (None, None, None),
    };
    Some(json!({
        "message": report.message,
        "access": access,
        "vaddr": vaddr,
        "len": len,
        "location": location_json(&report.place),
        "instruction": report.instruction,
        "call_stack": report.callers.iter().map(location_json).collect::<Vec<_>>(),
        "frames": frames_json(&report.backtrace),
        "registers": report.registers,
        "notes": report.notes,
    }))
}
