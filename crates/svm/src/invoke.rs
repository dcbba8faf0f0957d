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

    pub(crate) fn push(&mut self, instruction: InstructionContext) -> Result<(), InstructionError> {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use selkie_elf::{Executable, Functions};
    use selkie_isa::Version;
    use solana_pubkey::Pubkey;

    use super::*;
    use crate::{
        account::{Account, Loader},
        context::InstructionAccount,
        environment::Environment,
        instruction::Options,
        programs::Program,
    };

    fn environment() -> Environment {
        let exit = [0x95, 0, 0, 0, 0, 0, 0, 0];
        let functions = Functions::default();
        let executable =
            Executable::from_text(Version::V0, exit, 0, functions, Arc::default()).unwrap();
        let program = Arc::new(Program::new(executable, Loader::V3).unwrap());
        let mut environment = Environment::default();
        for byte in 0..9 {
            environment.programs.insert(Pubkey::new_from_array([byte; 32]), Arc::clone(&program));
        }
        environment
    }

    fn instruction(program: u8) -> InstructionContext {
        InstructionContext {
            program_id: Pubkey::new_from_array([program; 32]),
            accounts: vec![],
            data: vec![],
            height: 1,
            caller: None,
        }
    }

    /// Enters programs one within the other; the last of them comes to `expected`.
    fn check(programs: &[u8], expected: Result<(), InstructionError>) {
        let environment = environment();
        let mut context = InvokeContext::new(vec![], &environment, &Options::default());
        let (last, first) = programs.split_last().unwrap();
        for program in first {
            context.push(instruction(*program)).unwrap();
        }
        assert_eq!(context.push(instruction(*last)), expected, "{programs:?}");
    }

    #[test]
    fn programs_may_call_themselves_but_not_back() {
        check(&[1, 1, 1], Ok(()));
        check(&[1, 2, 1], Err(InstructionError::ReentrancyNotAllowed));
        check(&[1, 2, 2, 1], Err(InstructionError::ReentrancyNotAllowed));
    }

    #[test]
    fn nesting_ends() {
        check(&[1, 2, 3, 4, 5], Ok(()));
        check(&[1, 2, 3, 4, 5, 6], Err(InstructionError::CallDepth));
    }

    #[test]
    fn the_trace_ends() {
        let environment = environment();
        let mut context = InvokeContext::new(vec![], &environment, &Options::default());
        for _ in 0..INSTRUCTION_TRACE_MAX {
            assert_eq!(context.process(instruction(1), None), Ok(()));
        }
        let expected = Err(InstructionError::MaxInstructionTraceLengthExceeded);
        assert_eq!(context.process(instruction(1), None), expected);
    }

    #[test]
    fn nested_instructions_start_in_balance() {
        let environment = environment();
        let program = instruction(1).program_id;
        let accounts = vec![(program, Account { owner: program, ..Account::default() })];
        let mut context = InvokeContext::new(accounts, &environment, &Options::default());
        context.push(instruction(1)).unwrap();
        let account = InstructionAccount { index: 0, is_signer: false, is_writable: true };
        context.transaction.borrow(account, &program).set_lamports(1).unwrap();
        let unbalanced = Err(InstructionError::UnbalancedInstruction);
        assert_eq!(context.push(instruction(2)), unbalanced);
        assert_eq!(context.pop(), unbalanced);
    }
}
