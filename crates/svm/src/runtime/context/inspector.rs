//! The interface of tools that observe transactions: tracers, profilers, debuggers.

use selkie_vm::{Machine, MemoryMap};
use solana_instruction_error::InstructionError;

use crate::runtime::{context::InvokeContext, stop::Run};

/// What an inspector sees of a transaction. Each level includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Detail {
    /// The instructions of the transaction, at no cost.
    #[default]
    Calls,
    /// Each syscall, and each instruction of programs. They are run by the interpreter.
    Instructions,
    /// Each write to the memory of programs besides.
    Writes,
}

/// How a program goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// The instruction is executed.
    Execute,
    /// The inspector need not see instructions until this many compute units more are consumed:
    /// they are executed as fast as possible, and what they write is not logged. Programs invoked
    /// meanwhile ask for themselves.
    Skip(u64),
    /// The transaction ends here. What it results in is meaningless.
    Stop,
}

/// A syscall that a program calls.
#[derive(Clone, Copy, Debug)]
pub struct SyscallCall<'a> {
    /// The syscall's name.
    pub name: &'a str,
    /// The values of r1 to r5.
    pub arguments: [u64; 5],
    /// The compute units that remained before the call, the call instruction paid.
    pub units_before: u64,
}

/// Observes the instructions of a transaction.
pub trait Inspector {
    /// Returns what the inspector wants to see. It is asked once for each transaction.
    fn detail(&self) -> Detail {
        Detail::Calls
    }

    /// Called when an instruction of the transaction starts: the last one of
    /// [`InvokeContext::stack_instructions`].
    fn before(&mut self, context: &InvokeContext<'_>) {
        let _ = context;
    }

    /// Called when the program of the instruction has run, if it was started. `input` is the input region
    /// as it left it.
    fn run_end(&mut self, context: &InvokeContext<'_>, run: &Run, input: &[u8]) {
        let _ = (context, run, input);
    }

    /// Called when the instruction has ended, before it is popped from the stack.
    fn after(&mut self, context: &InvokeContext<'_>, result: &Result<(), InstructionError>) {
        let _ = (context, result);
    }

    /// Called before a program executes an instruction, which can be paid for but is not charged yet.
    /// May change registers and memory.
    ///
    /// With [`Detail::Writes`], the map's log holds what was written since the last call.
    fn instruction(&mut self, context: &InvokeContext<'_>, machine: &mut Machine<'_>) -> Next {
        let _ = (context, machine);
        Next::Execute
    }

    /// Called before a syscall. Machine code copies, fills and compares memory by itself: such calls
    /// are not reported among instructions that were skipped.
    fn syscall(&mut self, context: &InvokeContext<'_>, call: &SyscallCall<'_>) {
        let _ = (context, call);
    }

    /// Called after a syscall, with the compute units that remain. The result is the value of r0, or
    /// `None` if the syscall failed.
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
