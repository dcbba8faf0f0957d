//! Traces as text: the call tree, and every instruction with its registers.

use core::{
    fmt::{self, Write as _},
    ops::{ControlFlow, Range},
};
use std::io;

use selkie::{Pubkey, TrapReport};
use selkie_inspect::{Backtrace, Labels, instruction_text};
use selkie_replay::{Invocation, ReachedStep, Timeline, Visitor};
use serde_json::{Value, json};

use crate::symbolize::Programs;

/// The instructions of one call of [`register_records`]. Each takes about a kilobyte.
pub const RECORDS_MAX: usize = 100_000;

/// Which steps a trace has.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Filter {
    /// Only those of this program.
    pub program: Option<Pubkey>,
    /// Only those of the function with this name, inlined copies included.
    pub function: Option<String>,
    /// Only these steps.
    pub steps: Option<Range<u64>>,
}

/// A node of the call tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call<'a> {
    /// The invocation.
    pub invocation: &'a Invocation,
    /// Its compute units without those of inner invocations.
    pub own_units: u64,
}

/// Returns the invocations of a transaction with the compute units of their own.
#[must_use]
pub fn calls(timeline: &Timeline) -> Vec<Call<'_>> {
    let all = timeline.invocations();
    let mut own: Vec<u64> = all.iter().map(|it| it.compute_units).collect();
    for invocation in all {
        if let Some(caller) = invocation.caller {
            own[caller] = own[caller].saturating_sub(invocation.compute_units);
        }
    }
    let calls = all.iter().zip(own);
    calls.map(|(invocation, own_units)| Call { invocation, own_units }).collect()
}

/// Returns the place in the user's own code at which a transaction failed, as [`TrapReport::place_line`]
/// renders it, and the frames around it: of a trap, or where an error that a program returned was decided.
/// Empty if it succeeded, or if the program has no lines.
#[must_use]
pub fn failure_place(timeline: &Timeline, programs: &Programs) -> Vec<String> {
    let receipt = timeline.receipt();
    let place = if let Some(stopped) = &receipt.stopped {
        let view = programs.get(&stopped.program_id).map(|it| &it.view);
        let view = view.filter(|it| it.map.has_lines());
        let report =
            view.map(|it| TrapReport::new(&stopped.stop(), &it.elf, &it.map, &receipt.logs));
        report.map(|it| (it.place_line(), it.other_lines()))
    } else if receipt.failed_instruction.is_some() {
        let error = timeline.returned_error();
        let view = error.as_ref().and_then(|it| programs.get(&it.program_id)).map(|it| &it.view);
        let place = error.as_ref().zip(view).and_then(|(error, view)| error.locate(&view.map));
        place.map(|it| (it.place_line(), it.other_lines()))
    } else {
        None
    };
    place.into_iter().flat_map(|(place, others)| [place].into_iter().chain(others)).collect()
}

/// Returns the program that failed and the functions around that place, as [`failure_place`] finds it.
#[must_use]
pub fn failure_backtrace(timeline: &Timeline, programs: &Programs) -> Option<(Pubkey, Backtrace)> {
    let receipt = timeline.receipt();
    if let Some(stopped) = &receipt.stopped {
        let view = &programs.get(&stopped.program_id)?.view;
        let report = TrapReport::new(&stopped.stop(), &view.elf, &view.map, &receipt.logs);
        return Some((stopped.program_id, report.backtrace));
    }
    receipt.failed_instruction.as_ref()?;
    let error = timeline.returned_error()?;
    let place = error.locate(&programs.get(&error.program_id)?.view.map)?;
    Some((error.program_id, place.backtrace))
}

/// Renders a line for each invocation, indented by its stack height.
#[must_use]
pub fn call_tree(timeline: &Timeline, programs: &Programs) -> String {
    let mut text = String::new();
    for Call { invocation, own_units } in calls(timeline) {
        let indent = invocation.stack_height.saturating_sub(1) * 2;
        let (name, units) = (programs.name(&invocation.program), invocation.compute_units);
        let steps = invocation.steps.end - invocation.steps.start;
        let _ = write!(text, "{:indent$}{name}  {units}", "");
        if own_units != units {
            let _ = write!(text, ", {own_units} of its own");
        }
        if steps > 0 {
            let _ = write!(text, "  steps {}..{}", invocation.steps.start, invocation.steps.end);
        }
        if let Err(error) = &invocation.result {
            let _ = write!(text, "  {error}");
            let logs = &timeline.receipt().logs;
            if let Some(name) = programs.error_name(&invocation.program, error, logs) {
                let _ = write!(text, " {}", name.name);
            }
        }
        text.push('\n');
    }
    text
}

/// Renders the call tree as JSON.
#[must_use]
pub fn to_json(timeline: &Timeline, programs: &Programs) -> Value {
    let calls = calls(timeline).into_iter().map(|Call { invocation, own_units }| {
        let mut call = invocation.to_json();
        call["own_compute_units"] = own_units.into();
        call["name"] = programs.name(&invocation.program).into();
        call
    });
    let mut value = timeline.to_json();
    value["invocations"] = json!(calls.collect::<Vec<_>>());
    value
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = self.program.map(|it| format!("program {it}"));
        let function = self.function.as_ref().map(|it| format!("function {it}"));
        let steps = self.steps.as_ref().map(|it| format!("steps {}..{}", it.start, it.end));
        let parts: Vec<String> = [program, function, steps].into_iter().flatten().collect();
        f.write_str(&parts.join(", "))
    }
}

/// Writes a line for each instruction: step, registers before it, slot and text, in the layout of
/// agave's ledger tool. A heading precedes the instructions of each invocation.
///
/// # Errors
/// Those of the output.
pub fn registers(
    timeline: &Timeline,
    programs: &mut Programs,
    filter: &Filter,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    programs.add(timeline);
    let programs = &*programs;
    let mut last = None;
    steps(timeline, programs, filter, &mut |moment, text| {
        if last != Some(moment.invocation) {
            last = Some(moment.invocation);
            heading(out, timeline, programs, moment)?;
        }
        write_step(out, moment.step, moment.registers(), moment.pc(), text)
    })
}

/// Returns a record for each instruction: step, invocation, slot, the registers before it, and text.
///
/// # Errors
/// If there are more than [`RECORDS_MAX`].
pub fn register_records(
    timeline: &Timeline,
    programs: &mut Programs,
    filter: &Filter,
) -> io::Result<Vec<Value>> {
    programs.add(timeline);
    let mut records = Vec::new();
    steps(timeline, programs, filter, &mut |moment, text| {
        if records.len() == RECORDS_MAX {
            let why = format!("there are more than {RECORDS_MAX} instructions");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        let registers = moment.registers().map(|it| format!("{it:#x}"));
        records.push(json!({
            "step": moment.step,
            "invocation": moment.invocation,
            "pc": moment.pc(),
            "registers": registers,
            "text": text,
        }));
        Ok(())
    })?;
    Ok(records)
}

/// Calls `use_it` with each instruction and its text.
fn steps(
    timeline: &Timeline,
    programs: &Programs,
    filter: &Filter,
    use_it: UseStep<'_>,
) -> io::Result<()> {
    let labels = |id: &Pubkey| {
        let view = &programs.get(id)?.view;
        Some(Labels::new(&view.program, &view.graph))
    };
    let names = timeline.invocations().iter().map(|it| labels(&it.program)).collect();
    let slots = filter.function.as_ref().map(|name| function_slots(timeline, programs, name));
    let mut tracer = Tracer { programs, filter, slots, names, use_it, result: Ok(()) };
    match &filter.steps {
        Some(range) => timeline.visit_range(range.clone(), &mut tracer),
        None => timeline.visit(&mut tracer),
    }
    tracer.result
}

/// Writes the heading of the instructions of an invocation.
fn heading(
    out: &mut dyn io::Write,
    timeline: &Timeline,
    programs: &Programs,
    moment: &ReachedStep<'_, '_, '_>,
) -> io::Result<()> {
    let (number, height) = (moment.invocation, moment.stack_height());
    let name = programs.name(&moment.program());
    let invocation = timeline.invocations().get(number);
    let first = invocation.is_some_and(|it| it.steps.start == moment.step);
    let again = if first { "" } else { ", continued" };
    writeln!(out, "Invocation {number}: {name} [{height}]{again}")
}

/// Writes the line of a step: its number, the registers before it, the slot and the instruction.
///
/// # Errors
/// Those of the output.
pub fn write_step(
    out: &mut dyn io::Write,
    step: u64,
    registers: &[u64; 11],
    pc: usize,
    text: &str,
) -> io::Result<()> {
    write!(out, "{step:5} [")?;
    for (index, register) in registers.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        write!(out, "{separator}{register:016X}")?;
    }
    writeln!(out, "] {pc:5}: {text}")
}

/// Returns the slots of a function in each program.
fn function_slots(timeline: &Timeline, programs: &Programs, name: &str) -> Vec<(Pubkey, Vec<u32>)> {
    let mut found: Vec<(Pubkey, Vec<u32>)> = Vec::new();
    for invocation in timeline.invocations() {
        let id = invocation.program;
        let Some(symbols) = programs.get(&id).filter(|_| !found.iter().any(|it| it.0 == id)) else {
            continue;
        };
        let is_in = |pc: &u32| {
            let frames = symbols.view.map.frames_at(*pc);
            let outer = symbols.view.function_at(usize::try_from(*pc).unwrap_or(usize::MAX));
            frames.iter().any(|frame| frame.function.as_deref() == Some(name))
                || outer.is_some_and(|(_, it)| it == name)
        };
        let slots = symbols.view.graph.instructions.iter().map(|it| it.pc).filter(is_in);
        found.push((id, slots.collect()));
    }
    found
}

/// What is done with an instruction and its text.
type UseStep<'a> = &'a mut dyn FnMut(&ReachedStep<'_, '_, '_>, &str) -> io::Result<()>;

struct Tracer<'a> {
    programs: &'a Programs,
    filter: &'a Filter,
    slots: Option<Vec<(Pubkey, Vec<u32>)>>,
    names: Vec<Option<Labels<'a>>>,
    use_it: UseStep<'a>,
    result: io::Result<()>,
}

impl Tracer<'_> {
    fn is_wanted(&self, moment: &ReachedStep<'_, '_, '_>) -> bool {
        let program = moment.program();
        let pc = u32::try_from(moment.pc()).unwrap_or(u32::MAX);
        let is_in = |all: &Vec<(Pubkey, Vec<u32>)>| {
            all.iter().any(|(id, slots)| *id == program && slots.binary_search(&pc).is_ok())
        };
        self.filter.program.is_none_or(|wanted| wanted == program)
            && self.slots.as_ref().is_none_or(is_in)
    }

    fn line(&mut self, moment: &ReachedStep<'_, '_, '_>) -> io::Result<()> {
        let pc = moment.pc();
        let names = self.names.get(moment.invocation).and_then(Option::as_ref);
        let program = self.programs.get(&moment.program());
        let text = match (program, names) {
            (Some(program), Some(names)) => {
                instruction_text(program.view.program.executable(), names, pc)
            }
            _ => String::new(),
        };
        (self.use_it)(moment, &text)
    }
}

impl Visitor for Tracer<'_> {
    fn step(&mut self, moment: &mut ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        if self.is_wanted(moment) {
            self.result = self.line(moment);
        }
        match self.result {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}
