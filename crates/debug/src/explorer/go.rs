//! Ways from one step to another.

use core::ops::ControlFlow;

use selkie::{Detail, InvokeContext, SyscallCall};
use selkie_isa::failure::Failure;
use selkie_replay::{Visitor, query};
use serde_json::Value;

use crate::{
    breakpoint::Place,
    session::{Direction, Granularity, Motion, Session, StartAt},
};

/// Goes from `step` where `to` says.
pub(super) fn go(session: &mut Session, params: &Value) -> Result<(), Failure> {
    let step = query::number(params, "step")?;
    session.go_to(step);
    let flag = |name: &str| params.get(name).and_then(Value::as_bool).unwrap_or(false);
    let direction = if flag("back") { Direction::Backward } else { Direction::Forward };
    let motion = match params.get("to").and_then(Value::as_str).unwrap_or_default() {
        "in" => Motion::In,
        "over" => Motion::Over,
        "out" => Motion::Out,
        "failure" => {
            session.step_into_libraries(false);
            session.begin(Some(StartAt::Failure));
            return Ok(());
        }
        "syscall" => {
            let found = syscall(session, step, direction);
            session.go_to(found.ok_or("there is no further syscall in this direction")?);
            return Ok(());
        }
        "place" => {
            let text = params.get("place").and_then(Value::as_str).unwrap_or_default().trim();
            let found = place(session, text).and_then(|it| session.find(&it, direction));
            let found = found.ok_or_else(|| {
                format!("no further step in this direction is at `{text}`: a place is FILE:LINE, a function or *SLOT")
            })?;
            session.go_to(found);
            return Ok(());
        }
        other => {
            return Err(format!(
                "`to` is `{other}`, but should be in, over, out, syscall, failure or place"
            )
            .into());
        }
    };
    let by = params.get("by").and_then(Value::as_str).unwrap_or("own");
    let (granularity, in_libraries) = match by {
        "own" => (Granularity::Line, false),
        "line" => (Granularity::Line, true),
        "instruction" => (Granularity::Instruction, false),
        other => {
            return Err(format!("`by` is `{other}`, but should be own, line or instruction").into());
        }
    };
    session.step_into_libraries(in_libraries);
    session.go(motion, direction, granularity);
    // Values that functions returned are not told here.
    session.take_output();
    Ok(())
}

/// Returns the place that a text names.
fn place(session: &Session, text: &str) -> Option<Place> {
    if let Some(slot) = text.strip_prefix('*') {
        let program = session.frames().first().map_or(0, |it| it.program);
        return Some(Place::Instruction(program, slot.parse().ok()?));
    }
    match text.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?))) {
        Some((file, line)) if !file.ends_with(':') => Some(Place::Line(file.to_owned(), line)),
        _ => Some(Place::Function(text.to_owned())).filter(|_| !text.is_empty()),
    }
}

/// Finds the first step after another one that calls a syscall, or the last one before it.
fn syscall(session: &Session, from: u64, direction: Direction) -> Option<u64> {
    let timeline = session.history().timeline();
    let is_forward = direction == Direction::Forward;
    if is_forward {
        let mut search = Syscalls { is_first: true, ..Syscalls::default() };
        timeline.visit_range(from.saturating_add(1)..timeline.steps(), &mut search);
        return search.found;
    }
    let mut window = 4096_u64;
    let mut end = from;
    while end > 0 {
        let start = end.saturating_sub(window);
        let mut search = Syscalls::default();
        timeline.visit_range(start..end, &mut search);
        // The call itself is executed behind the last step that is seen.
        if let Some(found) = search.found.filter(|it| *it < from) {
            return Some(found);
        }
        (end, window) = (start, window.saturating_mul(4));
    }
    None
}

#[derive(Default)]
struct Syscalls {
    is_first: bool,
    last: Option<u64>,
    found: Option<u64>,
}

impl Visitor for Syscalls {
    fn detail(&self) -> Detail {
        Detail::Instructions
    }

    fn step(&mut self, moment: &mut selkie_replay::ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        self.last = Some(moment.step);
        match self.is_first && self.found.is_some() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn syscall(&mut self, _: &InvokeContext<'_>, _: &SyscallCall<'_>) {
        if let Some(last) = self.last.filter(|_| !self.is_first || self.found.is_none()) {
            self.found = Some(last);
        }
    }
}
