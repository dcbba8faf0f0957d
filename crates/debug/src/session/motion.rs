//! Steps, forward and backward, by line or by instruction.

use core::{cmp::Ordering, ops::ControlFlow};
use std::sync::Arc;

use super::{Model, Session, Stop, spots::Spot, stops::WINDOW};
use crate::history::{FrameId, Moment};

/// The calls of a line that are listed.
const CALLS_MAX: usize = 100;

/// Where a step leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Motion {
    /// To the next line or instruction, also of a called function.
    In,
    /// To the next line or instruction, also of a called function, but of no invoked program.
    InProgram,
    /// To the next line or instruction of the same function, or of its caller.
    Over,
    /// To the caller.
    Out,
    /// To the next stop.
    Continue,
}

/// The direction in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// As the program runs.
    Forward,
    /// To what was before.
    Backward,
}

/// What a step is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Granularity {
    /// A line of the source; an instruction in programs without lines.
    #[default]
    Line,
    /// An instruction.
    Instruction,
}

/// The moment that a step begins at.
struct Origin {
    frame: FrameId,
    spot: Arc<Spot>,
    motion: Motion,
    granularity: Granularity,
}

impl Origin {
    fn nesting(&self, moment: &dyn Moment) -> Ordering {
        let frame = moment.frame();
        let nesting = frame.nesting().cmp(&self.frame.nesting());
        // Another instruction at the same height is not below this one.
        let is_other = frame.instruction != self.frame.instruction;
        match is_other && frame.height <= self.frame.height {
            true => Ordering::Less,
            false => nesting,
        }
    }

    /// Returns whether a step looks at a moment: whether it is in a function to stop in.
    fn looks_at(&self, moment: &dyn Moment, spot: &Spot) -> bool {
        let by_instruction = self.granularity == Granularity::Instruction;
        if !by_instruction && spot.location.is_none() {
            return false;
        }
        let nesting = self.nesting(moment);
        match self.motion {
            Motion::In | Motion::Continue => true,
            Motion::InProgram => nesting.is_lt() || moment.frame().height <= self.frame.height,
            Motion::Over => {
                nesting.is_lt()
                    || (nesting.is_eq() && (by_instruction || !spot.is_within(&self.spot)))
            }
            Motion::Out => {
                let is_in_scope = by_instruction || spot.is_in_scope_of(&self.spot);
                nesting.is_lt() || (nesting.is_eq() && !is_in_scope)
            }
        }
    }

    /// Returns whether the line is over at a moment.
    fn is_left_at(&self, model: &Model, moment: &dyn Moment) -> bool {
        let spot = model.spot(moment);
        let is_on_line = spot.is_same_line(&self.spot) || spot.is_within(&self.spot);
        let by_instruction = self.granularity == Granularity::Instruction;
        match self.nesting(moment) {
            Ordering::Less => true,
            Ordering::Equal => by_instruction || (spot.location.is_some() && !is_on_line),
            Ordering::Greater => false,
        }
    }

    /// Returns whether a step forward ends at a moment that it looks at.
    fn is_done(&self, moment: &dyn Moment, spot: &Spot) -> bool {
        match (self.granularity, self.motion) {
            (Granularity::Instruction, _) | (_, Motion::Out) => true,
            _ if spot.is_same_macro(&self.spot) => false,
            _ => moment.frame() != self.frame || !spot.is_same_line(&self.spot),
        }
    }
}

impl Session {
    /// Goes to another moment.
    pub fn go(&mut self, motion: Motion, direction: Direction, granularity: Granularity) -> &Stop {
        let (origin, begin) = (self.origin(motion, granularity), self.position);
        self.is_by_instruction = granularity == Granularity::Instruction;
        match (direction, motion) {
            (Direction::Forward, _) if self.is_at_end() => self.stop = Stop::End,
            (Direction::Forward, Motion::Continue) => self.run_forward(&mut |_, _| false),
            (Direction::Forward, _) => self.run_forward(&mut |model, moment| {
                let spot = model.spot(moment);
                origin.looks_at(moment, &spot) && origin.is_done(moment, &spot)
            }),
            (Direction::Backward, Motion::Continue) => self.run_backward(),
            (Direction::Backward, _) => self.step_backward(&origin),
        }
        if (direction, motion) == (Direction::Forward, Motion::Out) && self.stop == Stop::Step {
            let returned = self.returned(&origin, begin);
            self.output.extend(returned);
        }
        &self.stop
    }

    fn origin(&self, motion: Motion, granularity: Granularity) -> Origin {
        let here = self.now(|model, moment| {
            let has_lines =
                model.programs.get(moment.program()).is_some_and(|it| it.info.has_lines());
            (moment.frame(), model.spot(moment), has_lines)
        });
        // At the end all moments were before, in functions that have returned.
        let end = FrameId { instruction: u32::MAX, height: u32::MAX, depth: u32::MAX };
        let (frame, spot, has_lines) = here.unwrap_or((end, Arc::default(), true));
        let granularity = if has_lines { granularity } else { Granularity::Instruction };
        Origin { frame, spot, motion, granularity }
    }

    /// Returns a line with the value that a function has returned since a position, if the function has
    /// returned and has a value.
    fn returned(&self, origin: &Origin, begin: u64) -> Option<String> {
        let mut last = None;
        self.history.visit(begin..self.position, &mut |moment| {
            if moment.frame() == origin.frame {
                last = Some(moment.position());
            }
            ControlFlow::Continue(())
        });
        let is_left = self.now(|_, moment| origin.nesting(moment).is_lt());
        let last = last.filter(|_| is_left == Some(true))?;
        // A value that is larger than a register is where the function was told to write it.
        let mut told = None;
        self.history.visit(0..begin.saturating_add(1), &mut |moment| {
            let is_inside = moment.frame() == origin.frame;
            let first = || moment.activations().first().and_then(|it| it.registers[1]);
            told = if is_inside {
                told.or_else(first)
            } else {
                told.filter(|_| !origin.nesting(moment).is_lt())
            };
            ControlFlow::Continue(())
        });
        let mut shown = None;
        self.history.visit(last..last.saturating_add(1), &mut |moment| {
            shown = self.model.result_of(moment, told);
            ControlFlow::Break(())
        });
        shown
    }

    /// Returns the calls that the rest of the line makes, in order: where each begins, and the name of
    /// what is called.
    pub fn calls_ahead(&self) -> Vec<(u64, String)> {
        let origin = self.origin(Motion::Over, Granularity::Line);
        let next = self.position.saturating_add(1);
        let (mut calls, mut was_inside) = (Vec::new(), false);
        self.history.visit(next..self.history.end(), &mut |moment| {
            let is_inside = origin.nesting(moment).is_gt();
            if is_inside && !was_inside {
                calls.push((moment.position(), self.model.called(moment)));
            }
            was_inside = is_inside;
            match calls.len() < CALLS_MAX && !origin.is_left_at(&self.model, moment) {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        calls
    }

    /// Goes back to the start of the line before, or of this one if the position is within it.
    fn step_backward(&mut self, origin: &Origin) {
        let now = self.position;
        let mut window = WINDOW;
        loop {
            let start = now.saturating_sub(window);
            let mut line = LastLine::default();
            self.history.visit(start..now, &mut |moment| {
                line.add(origin, &self.model, moment);
                ControlFlow::Continue(())
            });
            match line.start {
                // The line may have begun before the window.
                Some((position, is_first)) if !is_first || start == 0 => {
                    (self.position, self.stop) = (position, Stop::Step);
                    return;
                }
                None if start == 0 => {
                    (self.position, self.stop) = (0, Stop::Entry);
                    return;
                }
                _ => window = window.saturating_mul(4),
            }
        }
    }
}

/// The last line among moments that are given in order.
#[derive(Default)]
struct LastLine {
    key: Option<(FrameId, Arc<Spot>)>,
    /// Where it begins, and whether that is the first moment that was looked at.
    start: Option<(u64, bool)>,
}

impl LastLine {
    fn add(&mut self, origin: &Origin, model: &Model, moment: &dyn Moment) {
        let spot = model.spot(moment);
        if !origin.looks_at(moment, &spot) {
            return;
        }
        let by_instruction = origin.granularity == Granularity::Instruction;
        let is_single = by_instruction || origin.motion == Motion::Out;
        let is_same = |(frame, last): &(FrameId, Arc<Spot>)| {
            !is_single
                && (*frame == moment.frame() && last.is_same_line(&spot)
                    || last.is_same_macro(&spot))
        };
        if !self.key.as_ref().is_some_and(is_same) {
            let is_first = self.key.is_none() && !is_single;
            self.start = Some((moment.position(), is_first));
            self.key = Some((moment.frame(), spot));
        }
    }
}
