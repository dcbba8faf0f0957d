//! The first step where two runs part.

use core::{
    hash::{Hash as _, Hasher as _},
    ops::ControlFlow,
};
use std::hash::DefaultHasher;

use selkie_replay::{ReachedStep, Timeline, Visitor};
use serde_json::{Value, json};

/// Where two runs part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parting {
    /// The first step at which they differ: in program, slot, registers, or because one has ended.
    pub step: u64,
    /// The last step that they share, whose instruction they took from the same registers to
    /// different ones: it read different memory, or a syscall did.
    pub cause: Option<u64>,
    /// Whether each of the runs still executes instructions at the step.
    pub goes_on: [bool; 2],
}

impl Parting {
    /// Renders it as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({ "step": self.step, "cause": self.cause, "goes_on": self.goes_on })
    }
}

/// Returns where two runs part; `None` if all their steps are equal.
#[must_use]
pub fn parting(left: &Timeline, right: &Timeline) -> Option<Parting> {
    let mut digests = Digests(Vec::new());
    left.visit(&mut digests);
    let mut compare = Compare { expected: &digests.0, differs: None };
    right.visit(&mut compare);
    let shorter = left.steps().min(right.steps());
    let end = (left.steps() != right.steps()).then_some(shorter);
    let step = compare.differs.or(end)?;
    Some(Parting {
        step,
        cause: step.checked_sub(1),
        goes_on: [left, right].map(|timeline| step < timeline.steps()),
    })
}

/// A hash of what a step consists of.
fn digest(moment: &ReachedStep<'_, '_, '_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (moment.program(), moment.stack_height(), moment.pc(), moment.registers()).hash(&mut hasher);
    hasher.finish()
}

struct Digests(Vec<u64>);

impl Visitor for Digests {
    fn step(&mut self, moment: &mut ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        self.0.push(digest(moment));
        ControlFlow::Continue(())
    }
}

struct Compare<'a> {
    expected: &'a [u64],
    differs: Option<u64>,
}

impl Visitor for Compare<'_> {
    fn step(&mut self, moment: &mut ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        let index = usize::try_from(moment.step).unwrap_or(usize::MAX);
        match self.expected.get(index) {
            Some(expected) if *expected == digest(moment) => ControlFlow::Continue(()),
            Some(_) => {
                self.differs = Some(moment.step);
                ControlFlow::Break(())
            }
            None => ControlFlow::Break(()),
        }
    }
}
