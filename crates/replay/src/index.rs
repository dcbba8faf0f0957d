//! The index of a transaction: its invocations, and the compute units at some of its steps.

use core::ops::{ControlFlow, Range};

use selkie::{InstructionError, InvokeContext, Pubkey};

use crate::visit::{ReachedStep, Visitor};

/// How many steps there are from one mark to the next: as many are executed one by one, at most, to
/// reach a step.
const MARK_STEPS: u64 = 1024;

/// A step, with the compute units that remain before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Mark {
    /// The number of instructions executed before.
    pub step: u64,
    /// The compute units that remain.
    pub units_left: u64,
}

/// An invocation of a program: a top-level instruction, or an inner one (CPI).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invocation {
    /// The program.
    pub program: Pubkey,
    /// The index of the invocation that made this one; `None` for a top-level instruction.
    pub caller: Option<usize>,
    /// The index of the top-level instruction that it belongs to, among those that ran programs.
    pub instruction_index: usize,
    /// The stack height: 1 for a top-level instruction.
    pub stack_height: usize,
    /// The steps from its first instruction to its end, those of inner invocations included. Empty
    /// for a builtin program.
    pub steps: Range<u64>,
    /// The step of the caller's `call` of the syscall; `None` if no program made it.
    pub call: Option<Mark>,
    /// The compute units that it consumed, those of inner invocations included.
    pub compute_units: u64,
    /// How it ended.
    pub result: Result<(), InstructionError>,
}

/// The index of a transaction.
#[derive(Clone, Default, Debug)]
pub(crate) struct Index {
    /// The number of instructions that programs executed.
    pub(crate) steps: u64,
    pub(crate) marks: Vec<Mark>,
    pub(crate) invocations: Vec<Invocation>,
    /// The last step seen in each invocation in progress, and the last one of all.
    in_progress: Vec<Option<Mark>>,
    instructions: usize,
}

impl Index {
    /// Returns the last mark at or before a step.
    pub(crate) fn mark_before(&self, step: u64) -> Option<Mark> {
        let after = self.marks.partition_point(|mark| mark.step <= step);
        self.marks.get(after.checked_sub(1)?).copied()
    }

    /// Returns the innermost invocation that executes a step.
    pub(crate) fn invocation_at(&self, step: u64) -> Option<usize> {
        self.invocations.iter().rposition(|it| it.steps.contains(&step))
    }
}

impl Visitor for Index {
    fn enter(&mut self, _: usize, context: &InvokeContext<'_>) {
        let stack_height = context.stack_height();
        if stack_height == 1 {
            self.instructions += 1;
        }
        let mut open = self.invocations.iter().enumerate().rev();
        let caller = open.find(|(_, it)| it.stack_height + 1 == stack_height);
        self.invocations.push(Invocation {
            program: context.instruction().program_id,
            caller: caller.map(|(index, _)| index),
            instruction_index: self.instructions.saturating_sub(1),
            stack_height,
            steps: self.steps..self.steps,
            call: self.in_progress.last().copied().flatten(),
            compute_units: 0,
            result: Ok(()),
        });
        self.in_progress.push(None);
    }

    fn leave(
        &mut self,
        invocation: usize,
        context: &InvokeContext<'_>,
        result: &Result<(), InstructionError>,
    ) {
        self.in_progress.pop();
        if let Some(it) = self.invocations.get_mut(invocation) {
            it.steps.end = self.steps;
            it.compute_units = context.instruction().compute_units;
            it.result = result.clone();
        }
    }

    fn step(&mut self, moment: &mut ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        let mark = Mark { step: moment.step, units_left: moment.units_left() };
        if moment.step.is_multiple_of(MARK_STEPS) {
            self.marks.push(mark);
        }
        if let Some(last) = self.in_progress.last_mut() {
            *last = Some(mark);
        }
        self.steps = moment.step + 1;
        ControlFlow::Continue(())
    }
}
