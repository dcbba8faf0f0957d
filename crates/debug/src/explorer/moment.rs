//! The present moment: registers, frames, variables, regions, and what the step before wrote.

use core::ops::ControlFlow;

use selkie::Detail;
use selkie_isa::failure::Failure;
use selkie_replay::{Visitor, query};
use serde_json::{Value, json};

use super::{cut, index_or, number_or};
use crate::session::{Frame, Session, Shown, Stop};

/// The frames that are listed.
const FRAMES_MAX: usize = 256;
/// The variables of a frame, and the parts of a variable, that are listed.
const VARIABLES_MAX: usize = 200;
/// The writes of one step that are listed.
const WRITES_MAX: usize = 16;

/// Returns what there is at the present moment.
pub(super) fn here(session: &Session, params: &Value) -> Result<Value, Failure> {
    let (position, end) = (session.position(), session.end());
    let stop = match session.stop() {
        Stop::Exception(name, text) => Some(format!("{name}: {}", cut(text))),
        _ => None,
    };
    let mut answer =
        json!({ "end": end, "isEnd": session.is_at_end(), "step": position, "stop": stop });
    if session.is_at_end() {
        return Ok(answer);
    }
    let timeline = session.history().timeline();
    let mut look = Look { step: position, before: None, now: None };
    timeline.visit_range(position.saturating_sub(1)..position.saturating_add(1), &mut look);
    let Some(now) = look.now else { return Ok(answer) };
    let before = look.before.filter(|it| it.invocation == now.invocation);
    let frames = session.frames();
    let selected = index_or(params, "frame", session.selected_frame())?;
    let hexadecimal = |all: &[u64; 11]| all.map(|it| format!("{it:#x}"));
    let writes = now.writes.iter().take(WRITES_MAX);
    let writes = writes.map(|(vaddr, len)| json!({ "len": len, "vaddr": format!("{vaddr:#x}") }));
    let at = json!({
        "before": before.map(|it| hexadecimal(&it.registers)),
        "frames": frames.iter().take(FRAMES_MAX).map(frame).collect::<Vec<_>>(),
        "invocation": now.invocation,
        "pc": now.pc,
        "program": frames.first().map(|it| it.program),
        "regions": now.regions,
        "registers": hexadecimal(&now.registers),
        "selected": selected,
        "unitsLeft": now.units_left,
        "variables": variables(&session.locals(selected)),
        "writes": writes.collect::<Vec<_>>(),
    });
    if let (Some(answer), Value::Object(at)) = (answer.as_object_mut(), at) {
        answer.extend(at);
    }
    Ok(answer)
}

fn frame(it: &Frame) -> Value {
    json!({
        "column": it.location.as_ref().and_then(|at| at.column),
        "file": it.location.as_ref().map(|at| at.file.as_str()),
        "height": it.frame.height,
        "invocation": it.frame.instruction,
        "isInlined": it.is_inlined,
        "isOwn": it.is_own,
        "line": it.location.as_ref().map(|at| at.line),
        "name": cut(&it.name),
        "pc": it.pc,
        "place": it.place,
        "program": it.program,
    })
}

fn variables(all: &[Shown]) -> Vec<Value> {
    let shown = all.iter().take(VARIABLES_MAX).map(|it| {
        json!({
            "address": it.value.address().map(|at| format!("{at:#x}")),
            "isParameter": it.is_parameter,
            "name": cut(&it.name),
            "parts": it.children,
            "text": cut(&it.text),
            "type": cut(&it.type_name),
        })
    });
    shown.collect()
}

/// Returns the parts of a variable.
pub(super) fn variable(session: &mut Session, params: &Value) -> Result<Value, Failure> {
    session.go_to(query::number(params, "step")?);
    let frame = index_or(params, "frame", 0)?;
    let path = params.get("path").and_then(Value::as_array).ok_or("`path` is no list")?;
    let mut path = path.iter().map(Value::as_u64);
    let first = path.next().flatten().ok_or("`path` has no index")?;
    let missing = "there is no such variable here";
    let find = |all: Vec<Shown>, index: u64| {
        usize::try_from(index).ok().and_then(|index| all.into_iter().nth(index))
    };
    let mut found = find(session.locals(frame), first).ok_or(missing)?;
    for index in path {
        let index = index.ok_or("an index of `path` is no number")?;
        let parts = session.children(frame, &found.value, index, 1);
        found = parts.into_iter().next().ok_or(missing)?;
    }
    let start = number_or(params, "start", 0)?;
    let parts = session.children(frame, &found.value, start, VARIABLES_MAX as u64);
    Ok(json!({ "parts": variables(&parts), "start": start, "total": found.children }))
}

/// What is copied of a moment.
struct Copied {
    invocation: usize,
    pc: usize,
    registers: [u64; 11],
    units_left: u64,
    writes: Vec<(u64, u64)>,
    regions: Vec<Value>,
}

/// Looks at a step and at the one before it.
struct Look {
    step: u64,
    before: Option<Copied>,
    now: Option<Copied>,
}

impl Visitor for Look {
    fn detail(&self) -> Detail {
        Detail::Writes
    }

    fn step(&mut self, moment: &mut selkie_replay::ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        let is_now = moment.step == self.step;
        let writes = moment.machine.memory.writes_mut().map(core::mem::take).unwrap_or_default();
        let regions = moment.machine.memory.regions().iter().filter(|it| is_now && it.len() > 0);
        let regions = regions.map(|it| {
            json!({
                "gap": it.gap_bytes(),
                "isWritable": it.is_writable(),
                "len": it.len(),
                "name": selkie_replay::region_name(it.vaddr()),
                "vaddr": format!("{:#x}", it.vaddr()),
            })
        });
        let copied = Some(Copied {
            regions: regions.collect(),
            invocation: moment.invocation,
            pc: moment.pc(),
            registers: *moment.registers(),
            units_left: moment.units_left(),
            writes,
        });
        if is_now {
            self.now = copied;
            return ControlFlow::Break(());
        }
        self.before = copied;
        ControlFlow::Continue(())
    }
}
