//! Processes an instruction: checked and entered, run, and left again.

use selkie_vm::Observer;
use solana_instruction_error::InstructionError;

use crate::{
    context::{Frame, InstructionContext, InvokeContext, ReturnData},
    cost::{INSTRUCTION_DEPTH_MAX, INSTRUCTION_TRACE_MAX},
    run::run_program,
};

impl InvokeContext<'_> {
    /// Processes an instruction. An error of the program goes before one of leaving it.
    pub(crate) fn process(
        &mut self,
        instruction: InstructionContext,
        observer: Option<&mut dyn Observer>,
    ) -> Result<(), InstructionError> {
        self.push(instruction)?;
        let result = self.run(observer);
        let left = self.pop();
        result.and(left)
    }

    fn push(&mut self, instruction: InstructionContext) -> Result<(), InstructionError> {
        let program_id = instruction.program_id;
        let runs = |frame: &Frame| {
            self.trace.get(frame.instruction).is_some_and(|it| it.program_id == program_id)
        };
        let is_nested = !self.stack.is_empty();
        if self.stack.iter().any(runs) && !self.stack.last().is_some_and(runs) {
            return Err(InstructionError::ReentrancyNotAllowed);
        }
        if is_nested && self.transaction.lamports_delta() != 0 {
            return Err(InstructionError::UnbalancedInstruction);
        }
        if self.trace.len() >= INSTRUCTION_TRACE_MAX {
            return Err(InstructionError::MaxInstructionTraceLengthExceeded);
        }
        if self.stack.len() >= INSTRUCTION_DEPTH_MAX {
            return Err(InstructionError::CallDepth);
        }
        let Some(program) = self.environment.programs.get(&program_id).cloned() else {
            self.notes.push(format!("there is no program at {program_id}"));
            return Err(InstructionError::UnsupportedProgramId);
        };
        self.stack.push(Frame { instruction: self.trace.len(), program, heap_used: 0 });
        self.trace.push(instruction);
        Ok(())
    }

    fn run(&mut self, observer: Option<&mut dyn Observer>) -> Result<(), InstructionError> {
        let program_id = self.instruction().program_id;
        self.transaction.return_data = ReturnData { program_id, data: Vec::new() };
        self.logs.invoke(&program_id, self.height());
        match run_program(self, observer) {
            Ok(()) => {
                self.logs.success(&program_id);
                Ok(())
            }
            Err(failure) => {
                self.logs.failed(&program_id, &failure.text);
                Err(failure.error)
            }
        }
    }

    fn pop(&mut self) -> Result<(), InstructionError> {
        self.stack.pop();
        if self.transaction.lamports_delta() == 0 {
            Ok(())
        } else {
            Err(InstructionError::UnbalancedInstruction)
        }
    }
}
