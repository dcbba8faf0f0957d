//! The inspector that every transaction of the library has.

use selkie_svm::{
    Detail, Inspector, InvokeContext, Machine, MemoryMap, Next, Processed, Run, SyscallCall,
};
use solana_instruction_error::InstructionError;

use crate::{
    debug_port::Debugger,
    receipt::{FailedInstruction, accounts},
    registers::{RegisterFiles, Traces},
};

/// Records which instruction failed first, and forwards all events to another inspector.
pub(crate) struct FailureRecorder<'a> {
    failed_instruction: Option<FailedInstruction>,
    next: Option<&'a mut dyn Inspector>,
    /// How many top-level instructions have started.
    started: usize,
    /// The registers before each step, if they are to be written.
    traces: Option<Box<Traces>>,
    /// The debuggers that programs wait for.
    debugger: Option<Box<Debugger>>,
}

impl<'a> FailureRecorder<'a> {
    pub(crate) fn new(next: Option<&'a mut dyn Inspector>) -> Self {
        Self { failed_instruction: None, next, started: 0, traces: None, debugger: None }
    }

    /// Records what files are to have, and serves the debuggers.
    #[cold]
    pub(crate) fn trace(&mut self, files: &RegisterFiles, debugger: Option<Box<Debugger>>) {
        self.traces = files.has_folder().then(Box::default);
        self.debugger = debugger;
    }

    fn sees_instructions(&self) -> bool {
        self.traces.is_some() || self.debugger.is_some()
    }

    /// Returns the registers before each step, if they are to be written.
    pub(crate) fn traces(&self) -> Option<&Traces> {
        self.traces.as_deref()
    }

    /// Returns the instruction that made the transaction fail; `None` if the transaction succeeded,
    /// since a builtin program may go on after an instruction it invoked has failed.
    pub(crate) fn failed_instruction(self, processed: &Processed) -> Option<FailedInstruction> {
        self.failed_instruction.filter(|_| processed.result.is_err())
    }
}

impl Inspector for FailureRecorder<'_> {
    fn detail(&self) -> Detail {
        let detail = self.next.as_ref().map_or(Detail::Calls, |next| next.detail());
        if self.sees_instructions() { detail.max(Detail::Instructions) } else { detail }
    }

    fn before(&mut self, context: &InvokeContext<'_>) {
        if context.stack_height() == 1 {
            self.started = self.started.saturating_add(1);
        }
        if let Some(traces) = &mut self.traces {
            traces.enter(context);
        }
        if let Some(debugger) = &mut self.debugger {
            debugger.enter();
        }
        if let Some(next) = &mut self.next {
            next.before(context);
        }
    }

    fn run_end(&mut self, context: &InvokeContext<'_>, run: &Run, input: &[u8]) {
        if let Some(next) = &mut self.next {
            next.run_end(context, run, input);
        }
    }

    fn after(&mut self, context: &InvokeContext<'_>, result: &Result<(), InstructionError>) {
        if let (Err(error), None) = (result, &self.failed_instruction) {
            self.failed_instruction = Some(FailedInstruction {
                instruction_index: self.started.saturating_sub(1),
                stack_height: context.stack_height(),
                program_id: context.instruction().program_id,
                error: error.clone(),
                accounts: accounts(context),
            });
        }
        if let Some(traces) = &mut self.traces {
            traces.leave();
        }
        if let Some(debugger) = &mut self.debugger {
            debugger.leave(result);
        }
        if let Some(next) = &mut self.next {
            next.after(context, result);
        }
    }

    fn instruction(&mut self, context: &InvokeContext<'_>, machine: &mut Machine<'_>) -> Next {
        if let Some(traces) = &mut self.traces {
            traces.step(machine);
        }
        if let Some(debugger) = &mut self.debugger {
            debugger.step(context, machine);
        }
        match self.next.as_mut().map(|next| next.instruction(context, machine)) {
            // What need not be seen is seen, since it is written or debugged.
            Some(Next::Skip(_)) if self.sees_instructions() => Next::Execute,
            next => next.unwrap_or(Next::Execute),
        }
    }

    fn syscall(&mut self, context: &InvokeContext<'_>, call: &SyscallCall<'_>) {
        if let Some(next) = &mut self.next {
            next.syscall(context, call);
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
        if let Some(next) = &mut self.next {
            next.syscall_end(context, call, memory, units_left, result);
        }
    }
}
