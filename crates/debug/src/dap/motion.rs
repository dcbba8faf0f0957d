//! Requests that go to another moment.

use selkie_isa::failure::Failure;
use serde_json::{Value, json};

use super::{
    arguments::{self, Lines, Step, read},
    server::{Answer, Server},
};
use crate::{
    breakpoint::Place,
    history::{Event, EventKind},
    session::{Direction, Granularity, Motion, Stop},
};

impl Server {
    pub(super) fn resume(&mut self, _: &Value) -> Answer {
        self.go(Motion::Continue, Direction::Forward, &Step::default())?;
        Ok(json!({ "allThreadsContinued": true }))
    }

    pub(super) fn reverse_continue(&mut self, _: &Value) -> Answer {
        self.go(Motion::Continue, Direction::Backward, &Step::default())
    }

    pub(super) fn next(&mut self, arguments: &Value) -> Answer {
        self.go(Motion::Over, Direction::Forward, &read(arguments)?)
    }

    pub(super) fn step_in(&mut self, arguments: &Value) -> Answer {
        let step: Step = read(arguments)?;
        let Some(target) = step.target_id else {
            return self.go(Motion::In, Direction::Forward, &step);
        };
        let session = self.session()?;
        if !session.calls_ahead().iter().any(|(position, _)| *position == target) {
            return Err("the session has moved since the calls were listed".into());
        }
        session.go_to(target);
        self.stopped()?;
        Ok(Value::Null)
    }

    /// Lists the calls that the rest of the line makes. The number of each is its position.
    pub(super) fn step_in_targets(&mut self, _: &Value) -> Answer {
        let calls = self.session()?.calls_ahead();
        let target = |(position, name)| json!({ "id": position, "label": name });
        Ok(json!({ "targets": calls.into_iter().map(target).collect::<Vec<Value>>() }))
    }

    pub(super) fn step_out(&mut self, arguments: &Value) -> Answer {
        self.go(Motion::Out, Direction::Forward, &read(arguments)?)
    }

    pub(super) fn step_back(&mut self, arguments: &Value) -> Answer {
        self.go(Motion::Over, Direction::Backward, &read(arguments)?)
    }

    fn go(&mut self, motion: Motion, direction: Direction, step: &Step) -> Answer {
        let granularity = match step.granularity.as_deref() {
            Some("instruction") => Granularity::Instruction,
            _ => Granularity::Line,
        };
        let session = self.session()?;
        session.go(motion, direction, granularity);
        self.stopped()?;
        Ok(Value::Null)
    }

    /// There is nothing to interrupt: the session stands still between requests.
    pub(super) fn pause(&mut self, _: &Value) -> Answer {
        self.stopped()?;
        Ok(Value::Null)
    }

    /// Tells the editor where the session is, and what was logged on the way.
    pub(super) fn stopped(&mut self) -> Result<(), Failure> {
        self.handles.clear();
        self.show_logs()?;
        let session = self.session()?;
        let text = session.describe();
        let mut body = json!({
            "reason": reason(session.stop()),
            "threadId": 1,
            "allThreadsStopped": true,
            "description": text,
        });
        match session.stop().clone() {
            Stop::Breakpoint(id) | Stop::Watch { id, .. } => body["hitBreakpointIds"] = json!([id]),
            Stop::Exception(_, text) => body["text"] = text.into(),
            Stop::End => body["text"] = session.result().into(),
            Stop::Entry | Stop::Step => {}
        }
        self.event("stopped", body);
        Ok(())
    }

    /// Shows what programs and log points have logged since what was shown last.
    fn show_logs(&mut self) -> Result<(), Failure> {
        let from = self.shown;
        let session = self.session()?;
        let position = session.position();
        let is_new = |it: &&Event| it.position >= from && it.kind == EventKind::Log;
        let events = session.events().iter().filter(is_new);
        let lines: Vec<String> = events.map(|it| session.model.shown(it).into_owned()).collect();
        let points = session.take_output();
        let end = session.is_at_end().then(|| session.result().to_owned());
        lines.iter().for_each(|line| self.output("stdout", line));
        points.iter().for_each(|line| self.output("console", line));
        if let Some(result) = end.filter(|_| position > from) {
            self.output("console", &format!("the run has ended: {result}"));
        }
        self.shown = position;
        Ok(())
    }

    /// Finds the executions of a line before and after the present moment.
    pub(super) fn goto_targets(&mut self, arguments: &Value) -> Answer {
        let arguments: Lines = read(arguments)?;
        let line = self.to_line(arguments.line);
        let place = self.place(&arguments.source, line)?;
        let session = self.session()?;
        let found = [
            ("next time", session.find(&place, Direction::Forward)),
            ("last time", session.find(&place, Direction::Backward)),
        ];
        let mut targets = Vec::new();
        for (label, position) in found {
            let Some(position) = position else { continue };
            let (id, label) = (self.targets.len(), format!("{label}: step {position}"));
            targets.push(json!({ "id": id, "label": label, "line": arguments.line }));
            self.targets.push(position);
        }
        Ok(json!({ "targets": targets }))
    }

    pub(super) fn goto(&mut self, arguments: &Value) -> Answer {
        let step: Step = read(arguments)?;
        let index = step.target_id.and_then(|it| usize::try_from(it).ok());
        let position = index.and_then(|it| self.targets.get(it)).copied();
        let position = position.ok_or("there is no such target: ask for `gotoTargets` again")?;
        self.session()?.go_to(position);
        self.stopped()?;
        Ok(Value::Null)
    }

    /// Returns the place of a line of a source, which may be a listing.
    pub(super) fn place(&self, source: &arguments::Source, line: u32) -> Result<Place, Failure> {
        let listing = source.source_reference.and_then(|it| usize::try_from(it).ok());
        match (listing.and_then(|it| it.checked_sub(1)), &source.path) {
            (Some(program), _) => Ok(Place::Instruction(program, line.saturating_sub(1))),
            (None, Some(path)) => Ok(Place::Line(path.clone(), line)),
            (None, None) => Err("the source has neither a path nor a reference".into()),
        }
    }

    /// Returns a line of the editor's as one that is counted from 1.
    pub(super) fn to_line(&self, line: i64) -> u32 {
        let offset = i64::from(!self.client.lines_start_at_1);
        u32::try_from(line.saturating_add(offset)).unwrap_or(0)
    }

    /// Returns a line as the editor counts.
    pub(super) fn editor_line(&self, line: u32) -> u32 {
        line.saturating_sub(u32::from(!self.client.lines_start_at_1))
    }
}

fn reason(stop: &Stop) -> &'static str {
    match stop {
        Stop::Entry => "entry",
        Stop::Step => "step",
        Stop::Breakpoint(_) => "breakpoint",
        Stop::Watch { .. } => "data breakpoint",
        Stop::Exception(..) => "exception",
        Stop::End => "end of the run",
    }
}
