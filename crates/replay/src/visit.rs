//! The interface of tools that look at every step of a transaction.

use core::ops::ControlFlow;

use selkie::{Detail, InstructionError, InvokeContext, Machine, MemoryMap, Pubkey, SyscallCall};

/// A step: an instruction that a program is about to execute.
#[derive(Debug)]
pub struct ReachedStep<'a, 'm, 'e> {
    /// The number of instructions that were executed before it, in the whole transaction.
    pub step: u64,
    /// The index of the invocation that executes it: in [`Timeline::invocations`](crate::Timeline::invocations).
    pub invocation: usize,
    /// The machine of that invocation.
    pub machine: &'a mut Machine<'m>,
    /// The transaction: its accounts, logs and the instructions in progress.
    pub context: &'a InvokeContext<'e>,
}

impl ReachedStep<'_, '_, '_> {
    /// Returns the slot of the instruction.
    #[must_use]
    pub fn pc(&self) -> usize {
        self.machine.pc()
    }

    /// Returns r0 to r10.
    #[must_use]
    pub fn registers(&self) -> &[u64; 11] {
        self.machine.registers()
    }

    /// Returns how many calls of functions within the program have not returned.
    #[must_use]
    pub fn call_depth(&self) -> usize {
        self.machine.call_depth()
    }

    /// Returns the stack height of the invocation: 1 for a top-level instruction.
    #[must_use]
    pub fn stack_height(&self) -> usize {
        self.context.stack_height()
    }

    /// Returns the program.
    #[must_use]
    pub fn program(&self) -> Pubkey {
        self.context.instruction().program_id
    }

    /// Returns the compute units that remain before the instruction.
    #[must_use]
    pub fn units_left(&self) -> u64 {
        self.machine.meter.remaining()
    }

    /// Returns `len` bytes of the program's memory; `None` if it may not read them.
    #[must_use]
    pub fn read(&self, vaddr: u64, len: u64) -> Option<&[u8]> {
        self.machine.memory.slice(vaddr, len).ok()
    }
}

/// A tool that looks at a transaction step by step.
pub trait Visitor {
    /// Returns what it wants to see.
    fn detail(&self) -> Detail {
        Detail::Instructions
    }

    /// Called when an invocation begins; it is the current one of the context.
    fn enter(&mut self, invocation: usize, context: &InvokeContext<'_>) {
        let _ = (invocation, context);
    }

    /// Called when an invocation has ended.
    fn leave(
        &mut self,
        invocation: usize,
        context: &InvokeContext<'_>,
        result: &Result<(), InstructionError>,
    ) {
        let _ = (invocation, context, result);
    }

    /// Called before an instruction is executed. `Break` ends the visit.
    fn step(&mut self, moment: &mut ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        let _ = moment;
        ControlFlow::Continue(())
    }

    /// Called before a syscall.
    fn syscall(&mut self, context: &InvokeContext<'_>, call: &SyscallCall<'_>) {
        let _ = (context, call);
    }

    /// Called after a syscall: see [`Inspector::syscall_end`](selkie::Inspector::syscall_end).
    fn syscall_end(
        &mut self,
        context: &InvokeContext<'_>,
        call: &SyscallCall<'_>,
        memory: &mut MemoryMap<'_>,
        units_left: u64,
        result: Option<u64>,
    ) {
        let _ = (context, call, memory, units_left, result);
    }
}
