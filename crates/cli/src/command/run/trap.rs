//! Shows the trap that stopped a program: location, registers, call stack and likely causes.

use std::io::Write as _;

use anyhow::Result;
use selkie::TrapReport;
use selkie_inspect::SourceMap;
use selkie_svm::Run;
use selkie_vm::Trap;
use serde_json::{Value, json};

use crate::{
    program::ProgramFile,
    render::location_json,
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
    let TrapReport { message, place, instruction, registers, notes, .. } = &report;
    writeln!(ui.out, "{BAD}trap{BAD:#}{STRONG}: {message}{STRONG:#}")?;
    let pc = place.pc;
    writeln!(ui.out, "  {NOTE}-->{NOTE:#} pc {pc}{place}: {STRONG}{instruction}{STRONG:#}")?;
    for caller in report.callers_shown() {
        writeln!(ui.out, "  {caller}")?;
    }
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

/// Returns the trap of a run as JSON, if it ended with one.
pub(super) fn as_json(
    run: &Run,
    file: &ProgramFile,
    map: &SourceMap,
    logs: &[String],
) -> Option<Value> {
    let report = report(run, file, map, logs)?;
    let (access, vaddr, len) = match run.result.as_ref().err()? {
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
        "registers": report.registers,
        "notes": report.notes,
    }))
}
