//! Where the error was decided that a program returned.

use core::ops::ControlFlow;

use selkie::{
    ErrorTracer, Inspector as _, InstructionError, InvokeContext, MemoryMap, ReturnedError,
    SyscallCall,
};

use crate::{
    timeline::Timeline,
    visit::{ReachedStep, Visitor},
};

/// Shows the steps of a timeline to a tracer.
#[derive(Default)]
struct Traced(ErrorTracer);

impl Visitor for Traced {
    fn enter(&mut self, _: usize, context: &InvokeContext<'_>) {
        self.0.before(context);
    }

    fn leave(
        &mut self,
        _: usize,
        context: &InvokeContext<'_>,
        result: &Result<(), InstructionError>,
    ) {
        self.0.after(context, result);
    }

    fn step(&mut self, moment: &mut ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        // The tracer never skips or stops.
        let _ = self.0.instruction(moment.context, moment.machine);
        ControlFlow::Continue(())
    }

    fn syscall(&mut self, context: &InvokeContext<'_>, call: &SyscallCall<'_>) {
        self.0.syscall(context, call);
    }

    fn syscall_end(
        &mut self,
        context: &InvokeContext<'_>,
        call: &SyscallCall<'_>,
        memory: &mut MemoryMap<'_>,
        units_left: u64,
        result: Option<u64>,
    ) {
        self.0.syscall_end(context, call, memory, units_left, result);
    }
}

impl Timeline {
    /// Returns the first error that a program returned, to find the line that decided on it: see
    /// [`ReturnedError::locate`]. Its steps are those of the timeline. `None` if no program returned an
    /// error, or one was stopped before.
    #[must_use]
    pub fn returned_error(&self) -> Option<ReturnedError> {
        let mut traced = Traced::default();
        self.visit(&mut traced);
        traced.0.finish()
    }
}
