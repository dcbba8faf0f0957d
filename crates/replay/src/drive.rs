//! Runs a transaction for a visitor, and skips the steps that it need not see.
//!
//! Compute units only ever decrease, by at least one for each instruction, so the units that remain
//! identify a step. The engine runs until as many remain as at the next waypoint, and counts nothing.

use core::ops::{ControlFlow, Range};

use selkie::{
    Detail, Inspector, InstructionError, InvokeContext, Machine, MemoryMap, Next, SyscallCall,
};

use crate::{
    edit::Edit,
    visit::{ReachedStep, Visitor},
};

/// Fewer compute units than this are not skipped: to start an engine takes as long.
const SKIP_UNITS_MIN: u64 = 64;

/// A step that the visitor wants to see.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Waypoint {
    pub(crate) step: u64,
    /// The compute units that remain before the step, if known.
    pub(crate) units_left: Option<u64>,
}

/// An inspector that calls a visitor at the waypoints, in order, and behind the last one at each step.
#[derive(Debug)]
pub(crate) struct Driver<'a, V> {
    pub(crate) visitor: &'a mut V,
    /// The waypoints still ahead, the next one last.
    waypoints: Vec<Waypoint>,
    /// The steps that the visitor sees; the visit ends behind them.
    pub(crate) range: Range<u64>,
    /// Edits by their steps.
    edits: &'a [(u64, Edit)],
    /// The number of the next step; unknown while steps are skipped.
    step: Option<u64>,
    /// The invocations that have begun, and the indexes of those in progress.
    invocations: usize,
    stack: Vec<usize>,
    is_stopped: bool,
    /// Whether the transaction went another way than when it was indexed.
    pub(crate) has_diverged: bool,
}

impl<'a, V: Visitor> Driver<'a, V> {
    /// `waypoints` are in ascending order; those with edits must be among them.
    pub(crate) fn new(
        visitor: &'a mut V,
        mut waypoints: Vec<Waypoint>,
        edits: &'a [(u64, Edit)],
    ) -> Self {
        waypoints.reverse();
        Self {
            visitor,
            waypoints,
            range: 0..u64::MAX,
            edits,
            step: Some(0),
            invocations: 0,
            stack: Vec::new(),
            is_stopped: false,
            has_diverged: false,
        }
    }

    /// Returns the number of the step, or how to get to the next waypoint.
    fn arrive(&mut self, units_left: u64) -> Result<u64, Next> {
        if let Some(step) = self.step {
            return Ok(step);
        }
        let next = self.waypoints.last().copied();
        let Some((step, target)) = next.and_then(|it| Some((it.step, it.units_left?))) else {
            return Err(self.diverge());
        };
        match units_left.checked_sub(target) {
            Some(0) => {
                self.step = Some(step);
                Ok(step)
            }
            Some(units) => Err(Next::Skip(units)),
            None => Err(self.diverge()),
        }
    }

    fn diverge(&mut self) -> Next {
        self.has_diverged = true;
        self.is_stopped = true;
        Next::Stop
    }

    /// Calls the visitor if it wants to see the step.
    fn visit(
        &mut self,
        step: u64,
        context: &InvokeContext<'_>,
        machine: &mut Machine<'_>,
    ) -> ControlFlow<()> {
        let is_wanted = match self.waypoints.last() {
            Some(next) if next.step == step => self.waypoints.pop().is_some(),
            Some(_) => false,
            None => true,
        };
        if !is_wanted {
            return ControlFlow::Continue(());
        }
        let first = self.edits.partition_point(|(at, _)| *at < step);
        for (_, edit) in self.edits.iter().skip(first).take_while(|(at, _)| *at == step) {
            edit.apply(machine);
        }
        if step < self.range.start {
            return ControlFlow::Continue(());
        }
        if step >= self.range.end {
            return ControlFlow::Break(());
        }
        let invocation = self.stack.last().copied().unwrap_or_default();
        self.visitor.step(&mut ReachedStep { step, invocation, machine, context })
    }
}

impl<V: Visitor> Inspector for Driver<'_, V> {
    fn detail(&self) -> Detail {
        self.visitor.detail()
    }

    fn before(&mut self, context: &InvokeContext<'_>) {
        let invocation = self.invocations;
        self.invocations += 1;
        self.stack.push(invocation);
        if !self.is_stopped {
            self.visitor.enter(invocation, context);
        }
    }

    fn after(&mut self, context: &InvokeContext<'_>, result: &Result<(), InstructionError>) {
        if let (Some(invocation), false) = (self.stack.pop(), self.is_stopped) {
            self.visitor.leave(invocation, context, result);
        }
    }

    fn instruction(&mut self, context: &InvokeContext<'_>, machine: &mut Machine<'_>) -> Next {
        if self.is_stopped {
            return Next::Stop;
        }
        let units_left = machine.meter.remaining();
        let step = match self.arrive(units_left) {
            Ok(step) => step,
            Err(next) => return next,
        };
        if self.visit(step, context, machine).is_break() {
            self.is_stopped = true;
            return Next::Stop;
        }
        let target = self.waypoints.last().and_then(|next| next.units_left);
        let units = target.and_then(|target| units_left.checked_sub(target));
        match units.filter(|units| *units >= SKIP_UNITS_MIN) {
            Some(units) => {
                self.step = None;
                Next::Skip(units)
            }
            None => {
                self.step = Some(step + 1);
                Next::Execute
            }
        }
    }

    fn syscall(&mut self, context: &InvokeContext<'_>, call: &SyscallCall<'_>) {
        if !self.is_stopped {
            self.visitor.syscall(context, call);
        }
    }

    fn syscall_end(
        &mut self,
        context: &InvokeContext<'_>,
        call: &SyscallCall<'_>,
        memory: &mut MemoryMap<'_>,
        units_left: u64,
        result: Option<u64>,
    ) {
        if !self.is_stopped {
            self.visitor.syscall_end(context, call, memory, units_left, result);
        }
    }
}
