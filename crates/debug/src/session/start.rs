//! Where a session begins, and the frame that it is about: the user's own code.

use core::ops::ControlFlow;

use selkie_inspect::backtrace;
use serde::Deserialize;

use super::{Direction, Granularity, Model, Motion, Session, Stop};
use crate::{
    breakpoint::Place,
    history::{Event, EventKind},
    info::is_called,
    session::Frame,
};

/// Where a session begins.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "camelCase")]
pub enum StartAt {
    /// At the first line of the user's own.
    Start,
    /// After the last instruction.
    End,
    /// At the first trap or error: at the line that decided on it. After the last instruction if there
    /// was none.
    Failure,
}

impl Session {
    /// Begins at a place; if none is given, where the run failed, or at its start if it did not. Returns
    /// whether that is the start.
    pub fn begin(&mut self, place: Option<StartAt>) -> bool {
        let failure = self.failure();
        let is_start = matches!((place, failure), (Some(StartAt::Start), _) | (None, None));
        let (position, is_failure) = match (place, failure) {
            (Some(StartAt::Start), _) | (None, None) => (self.first_own(), false),
            (None | Some(StartAt::Failure), Some(failure)) => (failure, true),
            (Some(StartAt::End | StartAt::Failure), _) => (self.end(), false),
        };
        self.go_to(position);
        if self.is_at_end() {
            return is_start;
        }
        let failed = |it: &&Event| it.kind.is_failure() && it.position == position;
        let event = self.history.events().iter().find(failed).filter(|_| is_failure).cloned();
        self.stop = match event {
            Some(event) => {
                self.go_to_cause(&event);
                self.begun_at = Some(self.position..=event.position);
                Stop::Exception(event.kind.name(), self.model.shown(&event).into_owned())
            }
            None => Stop::Entry,
        };
        is_start
    }

    /// Returns the first moment at a line of the user's own that no macro has written, or else at one
    /// that a macro has written, or else the start.
    fn first_own(&self) -> u64 {
        if !self.programs().iter().any(|it| it.info.has_lines()) {
            return 0;
        }
        let (mut first, mut written) = (None, None);
        self.history.visit(0..self.end(), &mut |moment| {
            let spot = self.model.spot(moment);
            match spot.location.is_some() {
                true if spot.is_generated => written = written.or(Some(moment.position())),
                true => first = Some(moment.position()),
                false => {}
            }
            if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        first.or(written).unwrap_or(0)
    }

    /// Goes from the instruction with which a program failed to the line of the user's own at which that
    /// was decided: of a returned error, of a call that failed, of a panic.
    fn go_to_cause(&mut self, failure: &Event) {
        if self.model.steps_into_libraries {
            return;
        }
        if failure.kind == EventKind::Error
            && let Some(place) = self.history.error_place()
            && place.step <= failure.position
            && !place.is_computed
        {
            self.go_to(place.step);
            return self.go_to_own_call();
        }
        self.go_to_own_caller();
        self.go_to_own_call();
        let is_outside = self.now(|model, moment| {
            let has_lines =
                model.programs.get(moment.program()).is_some_and(|it| it.info.has_lines());
            has_lines && model.own_frame(&model.frames(moment)).is_none()
        });
        if failure.kind == EventKind::Error && is_outside == Some(true) {
            self.go(Motion::In, Direction::Backward, Granularity::Line);
            if self.stop == Stop::Entry {
                self.go_to(failure.position);
            }
        }
    }

    /// Goes from a function of a library that was not inlined to the call of it in an own line: there
    /// all values are known.
    fn go_to_own_call(&mut self) {
        let frames = self.frames();
        let Some(own) = self.model.own_frame(&frames).and_then(|it| frames.get(it)) else { return };
        let (place, pc) = (own.frame, own.pc);
        if frames.first().is_none_or(|it| it.frame == place) {
            return;
        }
        let mut call = None;
        self.history.visit(0..self.position, &mut |moment| {
            if moment.frame() == place && moment.pc() == pc {
                call = Some(moment.position());
            }
            ControlFlow::Continue(())
        });
        if let Some(call) = call {
            self.go_to(call);
        }
    }

    /// Goes from a program without own lines to the call of the one that invoked it and has some.
    fn go_to_own_caller(&mut self) {
        let frames = self.frames();
        let own = self.model.own_frame(&frames).and_then(|it| frames.get(it));
        let Some(instruction) = own.map(|it| it.frame.instruction as usize) else { return };
        let invocations = self.history.timeline().invocations();
        let mut inner = invocations.iter().filter(|it| it.caller == Some(instruction));
        let position = self.position;
        let called = inner.find(|it| it.steps.contains(&position)).and_then(|it| it.call);
        if let Some(call) = called {
            self.go_to(call.step);
        }
    }

    /// Returns the position of the first trap or error: where the run failed.
    #[must_use]
    pub fn failure(&self) -> Option<u64> {
        let failures = self.history.events().iter().filter(|it| it.kind.is_failure());
        // A caller fails after its callee.
        failures.map(|it| it.position).min()
    }

    /// Returns the index of the frame that the session is about: the first one of the user's own, unless
    /// it has come here by instructions, by a breakpoint in a library, or is to stop in libraries.
    #[must_use]
    pub fn selected_frame(&self) -> usize {
        if self.model.steps_into_libraries || self.is_by_instruction {
            return 0;
        }
        let frames = self.frames();
        let at_breakpoint = self.frame_at_breakpoint(&frames);
        at_breakpoint.or_else(|| self.model.own_frame(&frames)).unwrap_or(0)
    }

    /// Returns the frame that the breakpoint is about at which the session has stopped.
    fn frame_at_breakpoint(&self, frames: &[Frame]) -> Option<usize> {
        let Stop::Breakpoint(id) = self.stop else { return None };
        let breakpoint = self.model.breakpoints.iter().find(|it| it.id == id)?;
        let name = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
        match &breakpoint.place {
            Place::Instruction(..) => Some(0),
            Place::Function(function) => frames.iter().position(|it| is_called(&it.name, function)),
            Place::Line(path, _) => frames.iter().position(|frame| {
                frame.location.as_ref().is_some_and(|at| {
                    Some(at.line) == breakpoint.line && name(&at.file) == name(path)
                })
            }),
        }
    }
}

impl Model {
    /// Returns the index of the first frame of the user's own, outside of a panic that is on its way.
    pub(crate) fn own_frame(&self, frames: &[Frame]) -> Option<usize> {
        backtrace::place(frames.iter().map(|it| (Some(it.name.as_str()), it.is_own)))
    }
}
