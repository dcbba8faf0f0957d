//! What there is to say of a run as a whole.

use core::ops::ControlFlow;

use serde_json::{Value, json};

use super::cut;
use crate::{
    history::{Event, FrameId},
    session::{Session, StartAt},
};

/// The events that are listed.
const EVENTS_MAX: usize = 5_000;
/// The invocations that are listed; a transaction may make thousands.
const INVOCATIONS_MAX: usize = 5_000;
/// Calls that take fewer steps than this part of the run are left out.
const CALL_PART: u64 = 1_500;
/// The calls that are listed.
const CALLS_MAX: usize = 4_000;

/// Returns steps, result, programs, invocations and events.
pub(super) fn overview(session: &mut Session) -> Value {
    let begin = |session: &mut Session, at| {
        session.begin(Some(at));
        session.position()
    };
    let first = begin(session, StartAt::Start);
    let cause = session.failure().map(|_| begin(session, StartAt::Failure));
    let timeline = session.history().timeline();
    let receipt = timeline.receipt();
    let programs = session.programs().iter().enumerate().map(|(index, it)| {
        json!({
            "address": it.file.address,
            "hasLines": it.info.has_lines(),
            "name": cut(&it.file.name),
            "slots": session.slots(index),
        })
    });
    let invocations = timeline.invocations().iter().take(INVOCATIONS_MAX).map(|it| {
        json!({
            "caller": it.caller,
            "end": it.steps.end,
            "error": it.result.as_ref().err().map(ToString::to_string),
            "height": it.stack_height,
            "instruction": it.instruction_index,
            "name": session.history().name_of(&it.program),
            "program": it.program.to_string(),
            "start": it.steps.start,
            "units": it.compute_units,
        })
    });
    let event =
        |it: &Event| json!({ "kind": it.kind.name(), "step": it.position, "text": cut(&it.text) });
    json!({
        "cause": cause,
        "differences": timeline.differences(),
        "events": session.history().events().iter().take(EVENTS_MAX).map(event).collect::<Vec<_>>(),
        "failure": session.failure(),
        "first": first,
        "invocations": invocations.collect::<Vec<_>>(),
        "limit": receipt.compute_unit_limit,
        "programs": programs.collect::<Vec<_>>(),
        "result": session.result(),
        "steps": session.end(),
        "units": receipt.compute_units,
    })
}

/// A call of a function, or an invocation: its steps, and the compute units left at its begin.
struct Call {
    frame: FrameId,
    level: usize,
    program: usize,
    pc: u32,
    step: u64,
    units_left: u64,
}

/// Returns the longest calls, those that contain others before these.
pub(super) fn calls(session: &Session) -> Value {
    let steps_min = session.end() / CALL_PART;
    let mut open: Vec<Call> = Vec::new();
    let mut done: Vec<Value> = Vec::new();
    let (mut last_units, mut is_first_of_all) = (0, true);
    let mut limit = 0;
    let name = |it: &Call| {
        let program = session.programs().get(it.program);
        program.map_or_else(String::new, |program| cut(&program.function_at(it.pc)))
    };
    let close = |call: &Call, step: u64, units: u64, done: &mut Vec<Value>, limit: u64| {
        if step.saturating_sub(call.step) < steps_min.max(1) || done.len() >= CALLS_MAX {
            return;
        }
        done.push(json!({
            "end": step,
            "level": call.level,
            "name": name(call),
            "program": call.program,
            "start": call.step,
            "unitsFrom": limit.saturating_sub(call.units_left),
            "unitsTo": limit.saturating_sub(units),
        }));
    };
    session.history().visit(0..session.end(), &mut |moment| {
        let (frame, units) = (moment.frame(), moment.units_left());
        if is_first_of_all {
            (limit, is_first_of_all) = (units, false);
        }
        let is_around = |it: &Call| {
            it.frame == frame
                || it.frame.nesting() < frame.nesting() && it.frame.height != frame.height
                || it.frame.nesting() < frame.nesting() && it.frame.instruction == frame.instruction
        };
        while open.last().is_some_and(|it| !is_around(it)) {
            if let Some(call) = open.pop() {
                close(&call, moment.position(), units, &mut done, limit);
            }
        }
        if open.last().is_none_or(|it| it.frame != frame) {
            let (program, pc, step) = (moment.program(), moment.pc(), moment.position());
            open.push(Call { frame, level: open.len(), program, pc, step, units_left: units });
        }
        last_units = units;
        ControlFlow::Continue(())
    });
    while let Some(call) = open.pop() {
        close(&call, session.end(), last_units.saturating_sub(1), &mut done, limit);
    }
    done.sort_by_key(|it| (it["start"].as_u64(), it["level"].as_u64()));
    json!({ "calls": done, "units": limit.saturating_sub(last_units.saturating_sub(1)), "limit": limit })
}
