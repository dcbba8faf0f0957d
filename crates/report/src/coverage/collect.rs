//! Counts executed slots and jumps, while a transaction runs.

use core::ops::ControlFlow;
use std::collections::BTreeMap;

use selkie::{InstructionError, InvokeContext, Pubkey};
use selkie_isa::{Insn, Kind};
use selkie_replay::{ReachedStep, Visitor};

use crate::symbolize::{Programs, Version};

/// What an instruction does to the flow of control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flow {
    /// It has this many slots, and is followed by the next instruction, or calls a function.
    Straight(u32),
    /// A conditional jump.
    Branch,
    /// No instruction.
    None,
}

/// What was executed of a program.
#[derive(Debug)]
pub(crate) struct Executed {
    flow: Vec<Flow>,
    /// How often each slot was executed.
    pub(crate) hits: Vec<u64>,
    /// How often control came to a slot from another one than the one before.
    pub(crate) jumps: BTreeMap<(u32, u32), u64>,
    /// How often each slot was the first one of a call or a program.
    pub(crate) entries: BTreeMap<u32, u64>,
}

impl Executed {
    fn new(programs: &Programs, id: &Pubkey) -> Self {
        let executable = programs.get(id).map(|it| it.view.program.executable());
        let slots = executable.map_or(0, |it| it.text().len() / selkie_isa::layout::SLOT_BYTES);
        let flow = |pc| {
            let insn = executable.and_then(|it| Insn::decode(it.version(), it.text(), pc));
            match insn.map(|insn| (insn.op.kind(), insn.slots())) {
                Some((Kind::Branch(..), _)) => Flow::Branch,
                Some((_, slots)) => Flow::Straight(u32::try_from(slots).unwrap_or(1)),
                None => Flow::None,
            }
        };
        let mut all: Vec<Flow> = (0..slots).map(flow).collect();
        for pc in 0..slots {
            if all[pc] == Flow::Straight(2)
                && let Some(second) = all.get_mut(pc + 1)
            {
                *second = Flow::None;
            }
        }
        let (jumps, entries) = (BTreeMap::new(), BTreeMap::new());
        Self { flow: all, hits: vec![0; slots], jumps, entries }
    }

    /// Returns the slots that have instructions.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> {
        (0_u32..).zip(&self.flow).filter(|(_, flow)| **flow != Flow::None).map(|(pc, _)| pc)
    }

    /// Returns whether the instruction at a slot is a conditional jump.
    pub(crate) fn is_branch(&self, pc: u32) -> bool {
        self.flow.get(pc as usize) == Some(&Flow::Branch)
    }

    /// Returns the slot behind the instruction at a slot.
    pub(crate) fn next(&self, pc: u32) -> u32 {
        match self.flow.get(pc as usize) {
            Some(Flow::Straight(slots)) => pc.saturating_add(*slots),
            _ => pc.saturating_add(1),
        }
    }

    /// Counts the instruction at `pc`, which follows the one at `before` in the same function.
    #[inline]
    fn count(&mut self, before: Option<u32>, pc: u32) {
        if let Some(hits) = self.hits.get_mut(pc as usize) {
            *hits += 1;
        }
        match before {
            Some(before) if self.next(before) == pc => {}
            Some(before) => *self.jumps.entry((before, pc)).or_default() += 1,
            None => *self.entries.entry(pc).or_default() += 1,
        }
    }
}

/// An invocation in progress.
#[derive(Debug)]
struct Active {
    program: Version,
    last: Option<u32>,
    depth: usize,
}

/// Counts executed slots and jumps.
#[derive(Debug)]
pub(super) struct Collector<'a> {
    executed: &'a mut BTreeMap<Version, Executed>,
    programs: &'a Programs,
    active: Vec<Active>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        executed: &'a mut BTreeMap<Version, Executed>,
        programs: &'a Programs,
    ) -> Self {
        Self { executed, programs, active: Vec::new() }
    }
}

impl Visitor for Collector<'_> {
    fn enter(&mut self, _: usize, context: &InvokeContext<'_>) {
        let program = self.programs.version(&context.instruction().program_id);
        self.active.push(Active { program, last: None, depth: 0 });
    }

    fn leave(&mut self, _: usize, _: &InvokeContext<'_>, _: &Result<(), InstructionError>) {
        self.active.pop();
    }

    fn step(&mut self, moment: &mut ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        let Self { executed, programs, active } = self;
        let Some(active) = active.last_mut() else { return ControlFlow::Continue(()) };
        let program = active.program;
        let executed =
            executed.entry(program).or_insert_with(|| Executed::new(programs, &program.0));
        let pc = u32::try_from(moment.pc()).unwrap_or(u32::MAX);
        let depth = moment.call_depth();
        // A return goes on where the call was.
        let before = match depth.cmp(&active.depth) {
            core::cmp::Ordering::Less => pc.checked_sub(1),
            core::cmp::Ordering::Equal => active.last,
            core::cmp::Ordering::Greater => None,
        };
        executed.count(before, pc);
        (active.last, active.depth) = (Some(pc), depth);
        ControlFlow::Continue(())
    }
}
