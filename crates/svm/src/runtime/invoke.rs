//! Processes instructions: checked and entered, run, and left again.
//!
//! Which check comes first decides the error that the world sees (agave: `invoke_context.rs`,
//! `transaction.rs` of `solana-transaction-context`).

use std::{borrow::Cow, sync::Arc};

use selkie_vm::Observer;
use solana_account::{ReadableAccount, WritableAccount};
use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{native_loader, sysvar};

use crate::{
    chain::{
        account::{Loader, is_same},
        cost::{INSTRUCTION_DEPTH_MAX, INSTRUCTION_DEPTH_MAX_RAISED, INSTRUCTION_TRACE_MAX},
        features::Feature,
    },
    programs::program::{ProgramEntry, Running},
    runtime::{
        context::{InvokeContext, InvokeFrame},
        input::Layout,
        instruction_context::{
            InstructionAccount, InstructionAccounts, InstructionContext, push_account,
            share_privileges,
        },
        run::{Failure, run_program},
        syscalls::pda::create_program_address,
        transaction_accounts::ReturnData,
    },
};

impl<'e> InvokeContext<'e> {
    /// Processes the transaction's own instructions, in order.
    ///
    /// # Errors
    /// The place of the first instruction that failed, and why.
    pub(crate) fn process_all(&mut self) -> Result<(), (u8, InstructionError)> {
        for index in 0..self.top_level {
            let program_id = self.trace.get(index).map(|it| it.program_id).unwrap_or_default();
            let features = self.environment.features;
            let result = match self.environment.precompiles.get(&program_id, features) {
                Some(precompile) => self.verify(index, precompile.verify),
                None => self.process_top_level(None),
            };
            result.map_err(|error| (u8::try_from(index).unwrap_or(u8::MAX), error))?;
        }
        Ok(())
    }

    /// Processes the next of the transaction's own instructions.
    pub(crate) fn process_top_level(
        &mut self,
        observer: Option<&mut dyn Observer>,
    ) -> Result<(), InstructionError> {
        self.push(None)?;
        let result = self.run(observer);
        let left = self.pop();
        result.and(left)
    }

    /// Verifies an instruction of a precompile: it has no log and costs nothing.
    pub(crate) fn verify(
        &mut self,
        index: usize,
        verify: crate::runtime::context::builtin::Verify,
    ) -> Result<(), InstructionError> {
        self.push(None)?;
        let own = self.trace.get(..self.top_level).unwrap_or_default();
        let all: Vec<&[u8]> = own.iter().map(|instruction| &*instruction.data).collect();
        let result = verify(all.get(index).copied().unwrap_or_default(), &all);
        let left = self.pop();
        result.map_err(InstructionError::Custom).and(left)
    }

    /// Processes an instruction that the current one calls. It was prepared by
    /// [`InvokeContext::prepare_call`].
    pub(crate) fn process_call(
        &mut self,
        instruction: InstructionContext<'e>,
    ) -> Result<(), InstructionError> {
        self.push(Some(instruction))?;
        let result = self.run(None);
        let left = self.pop();
        result.and(left)
    }

    /// Calls another program on behalf of a builtin one, which signs for the addresses that are
    /// derived from its own and these seeds.
    ///
    /// # Errors
    /// If a seed makes no address, if rights would be escalated, or what the program comes to.
    pub fn native_invoke(
        &mut self,
        instruction: &Instruction,
        signer_seeds: &[&[&[u8]]],
    ) -> Result<(), InstructionError> {
        let program_id = self.instruction().program_id;
        let mut signers = Vec::with_capacity(signer_seeds.len());
        for seeds in signer_seeds {
            let address = create_program_address(seeds, &program_id, &mut self.on_curve);
            // The validator takes the error's place in its list for an instruction error's number.
            signers.push(address.map_err(|error| crate::chain::error::from_number(error as u64))?);
        }
        let Instruction { program_id, accounts, data } = instruction;
        let call = self.prepare_call(program_id, accounts, data.clone(), &signers)?;
        self.process_call(call)
    }

    /// Checks a call's rights against those of the current instruction, and resolves its keys. An
    /// account that is named more than once has all rights that any mention has.
    pub(crate) fn prepare_call(
        &mut self,
        program_id: &Pubkey,
        metas: &[AccountMeta],
        data: Vec<u8>,
        signers: &[Pubkey],
    ) -> Result<InstructionContext<'e>, InstructionError> {
        let mut accounts = InstructionAccounts::with_capacity(metas.len());
        for meta in metas {
            let Some(index) = self.accounts.find(&meta.pubkey) else {
                self.logs
                    .line(format!("Instruction references an unknown account {}", meta.pubkey));
                return Err(InstructionError::MissingAccount);
            };
            push_account(&mut accounts, index, meta.is_signer, meta.is_writable);
        }
        share_privileges(&mut accounts);
        for (position, account) in accounts.iter().enumerate() {
            if usize::from(account.first) == position {
                self.check_privileges(*account, signers)?;
            }
        }
        let program_index = self.accounts.find(program_id);
        let caller = self.instruction();
        if !program_index.is_some_and(|it| caller.accounts.iter().any(|found| found.index == it)) {
            self.logs.line(format!("Unknown program {program_id}"));
            return Err(InstructionError::MissingAccount);
        }
        if !self.has(Feature::IgnoreExecutableFlag)
            && let Some(index) = program_index
            && !self.accounts.get(usize::from(index))?.account.executable()
        {
            self.logs.line(format!("Account {program_id} is not executable"));
            return Err(InstructionError::AccountNotExecutable);
        }
        Ok(InstructionContext {
            program_id: *program_id,
            program_index,
            accounts,
            data: Cow::Owned(data),
            stack_height: self.stack_height().saturating_add(1),
            caller: Some(self.frame().instruction),
            compute_units: 0,
        })
    }

    /// Checks that an inner instruction's privileges for an account do not exceed those of its
    /// caller, which may sign for `signers` besides.
    fn check_privileges(
        &mut self,
        account: InstructionAccount,
        signers: &[Pubkey],
    ) -> Result<(), InstructionError> {
        let caller = self.instruction();
        let of_caller = caller.accounts.iter().find(|it| it.index == account.index);
        let of_caller = *of_caller.ok_or(InstructionError::MissingAccount)?;
        let key = self.accounts.get(usize::from(account.index))?.key;
        if account.is_writable && !of_caller.is_writable {
            self.logs.line(format!("{key}'s writable privilege escalated"));
            return Err(InstructionError::PrivilegeEscalation);
        }
        if account.is_signer && !of_caller.is_signer && !signers.contains(&key) {
            self.logs.line(format!("{key}'s signer privilege escalated"));
            return Err(InstructionError::PrivilegeEscalation);
        }
        Ok(())
    }

    /// Enters an instruction: a call, or else the next of the transaction's own.
    pub(crate) fn push(
        &mut self,
        call: Option<InstructionContext<'e>>,
    ) -> Result<(), InstructionError> {
        let is_call = call.is_some();
        let entering = call.as_ref().or_else(|| self.trace.get(self.top_level_started));
        let program_id = entering.ok_or(InstructionError::UnsupportedProgramId)?.program_id;
        let runs = |frame: &InvokeFrame| {
            self.trace.get(frame.instruction).is_some_and(|it| it.program_id == program_id)
        };
        if self.stack.iter().any(runs) && !self.stack.last().is_some_and(runs) {
            return Err(InstructionError::ReentrancyNotAllowed);
        }
        if !self.stack.is_empty() && self.accounts.lamports_delta() != 0 {
            return Err(InstructionError::UnbalancedInstruction);
        }
        let called = self.trace.len().saturating_sub(self.top_level);
        if self.top_level_started.saturating_add(called) >= INSTRUCTION_TRACE_MAX {
            return Err(InstructionError::MaxInstructionTraceLengthExceeded);
        }
        let index = if is_call { self.trace.len() } else { self.top_level_started };
        match call {
            Some(call) => self.trace.push(call),
            None => self.top_level_started = self.top_level_started.saturating_add(1),
        }
        let raised = self.has(Feature::RaiseCpiNestingLimit);
        let depth_max = if raised { INSTRUCTION_DEPTH_MAX_RAISED } else { INSTRUCTION_DEPTH_MAX };
        if self.stack.len() >= depth_max {
            return Err(InstructionError::CallDepth);
        }
        self.stack.push(InvokeFrame {
            instruction: index,
            program: None,
            layout: Layout::default(),
            heap_used: 0,
        });
        self.tell_index()
    }

    /// Writes the place of the transaction's own instruction that runs to the end of the
    /// instructions sysvar.
    fn tell_index(&mut self) -> Result<(), InstructionError> {
        let Some(sysvar) = self.instructions_sysvar else { return Ok(()) };
        let index = self.top_level_started.saturating_sub(1);
        let index = u16::try_from(index).unwrap_or(u16::MAX).to_le_bytes();
        let account = self.accounts.raw_mut(usize::from(sysvar));
        let account = account.ok_or(InstructionError::MissingAccount)?;
        if *account.owner() != sysvar::ID {
            return Err(InstructionError::InvalidAccountOwner);
        }
        let len = account.data().len();
        let at = len.checked_sub(index.len()).ok_or(InstructionError::AccountDataTooSmall)?;
        if let Some(place) = account.data_as_mut_slice().get_mut(at..) {
            place.copy_from_slice(&index);
        }
        Ok(())
    }

    /// Runs the current instruction's program: a builtin one, or one of a loader.
    fn run(&mut self, observer: Option<&mut dyn Observer>) -> Result<(), InstructionError> {
        let program_id = self.instruction().program_id;
        let owner = self.program_owner(self.instruction());
        let builtin = match owner {
            Some(owner) if owner == native_loader::ID => {
                let builtin = self.environment.builtins.get(&program_id);
                Some(builtin.ok_or(InstructionError::UnsupportedProgramId)?)
            }
            // Without loader v4 nothing runs its programs, though their accounts are loaded. A tool
            // that was given one may.
            Some(owner)
                if Loader::of(&owner).is_some_and(|loader| {
                    loader != Loader::V4
                        || self.has(Feature::LoaderV4)
                        || self.environment.programs.get(&program_id).is_some()
                }) =>
            {
                None
            }
            _ => {
                self.notes.push(format!("there is no program at {program_id}"));
                return Err(InstructionError::UnsupportedProgramId);
            }
        };
        self.return_data = ReturnData { program_id, data: Vec::new() };
        self.logs.invoke(&program_id, self.stack_height());
        if let Some(inspector) = self.inspector.take() {
            inspector.before(self);
            self.inspector = Some(inspector);
        }
        let units_before = self.meter.remaining();
        let result = match builtin {
            Some(builtin) => builtin.process(self).map_err(Failure::from),
            None => self.run_loaded(&program_id, observer),
        };
        let result = match result {
            Ok(()) => {
                self.logs.success(&program_id);
                Ok(())
            }
            Err(failure) => {
                self.logs.failed(&program_id, &failure.text);
                Err(failure.error)
            }
        };
        let units = units_before.saturating_sub(self.meter.remaining());
        let index = self.frame().instruction;
        if let Some(instruction) = self.trace.get_mut(index) {
            instruction.compute_units = units;
        }
        if let Some(inspector) = self.inspector.take() {
            inspector.after(self, &result);
            self.inspector = Some(inspector);
        }
        if builtin.is_some() && result.is_ok() && units == 0 {
            return Err(InstructionError::BuiltinProgramsMustConsumeComputeUnits);
        }
        result
    }

    fn run_loaded(
        &mut self,
        program_id: &Pubkey,
        observer: Option<&mut dyn Observer>,
    ) -> Result<(), Failure> {
        let mut newest_first = self.modified_programs.iter().rev();
        let modified = newest_first.find(|(known, _)| is_same(known, program_id));
        let program = match modified {
            Some((_, ProgramEntry::Loaded(program))) => Some(Running::Shared(Arc::clone(program))),
            Some(_) => None,
            None => match self.programs.get(program_id) {
                Some(ProgramEntry::Loaded(program)) => Some(Running::Borrowed(program)),
                Some(_) => None,
                None => {
                    let Some(program) = self.environment.programs.get(program_id) else {
                        self.logs.line("Program is not cached");
                        return Err(InstructionError::UnsupportedProgramId.into());
                    };
                    Some(Running::Borrowed(program))
                }
            },
        };
        let Some(program) = program else {
            self.logs.line("Program is not deployed");
            return Err(InstructionError::UnsupportedProgramId.into());
        };
        run_program(self, program, observer)
    }

    pub(crate) fn pop(&mut self) -> Result<(), InstructionError> {
        self.stack.pop();
        if self.accounts.lamports_delta() == 0 {
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
    use solana_account::{Account, AccountSharedData};

    use super::*;
    use crate::runtime::context::Scratch;
    use crate::{
        chain::features::FeatureSet,
        programs::program::Program,
        runtime::{
            context::{Options, environment::Environment},
            transaction_accounts::TransactionAccounts,
        },
    };

    fn key(byte: u8) -> Pubkey {
        Pubkey::new_from_array([byte; 32])
    }

    fn environment() -> Environment {
        let exit = [0x95, 0, 0, 0, 0, 0, 0, 0];
        let functions = Functions::default();
        let executable =
            Executable::from_text(Version::V0, exit, 0, functions, Arc::default()).unwrap();
        let program = Arc::new(Program::new(executable, Loader::V3).unwrap());
        let mut environment = Environment::default();
        for byte in 0..20 {
            environment.programs.insert(key(byte), Arc::clone(&program));
        }
        environment
    }

    fn instruction(program: u8) -> InstructionContext<'static> {
        InstructionContext {
            program_id: key(program),
            program_index: None,
            accounts: InstructionAccounts::new(),
            data: vec![].into(),
            stack_height: 1,
            caller: None,
            compute_units: 0,
        }
    }

    fn context<'e>(environment: &'e Environment, first: u8) -> InvokeContext<'e> {
        let accounts = TransactionAccounts::new([]);
        let mut context =
            InvokeContext::new(accounts, environment, &Options::default(), Scratch::default());
        context.add_top_level([instruction(first)]);
        context
    }

    /// Enters programs one within the other; the last of them comes to `expected`.
    fn check(environment: &Environment, programs: &[u8], expected: Result<(), InstructionError>) {
        let mut context = context(environment, programs[0]);
        let mut result = context.push(None);
        for (place, program) in programs.iter().enumerate().skip(1) {
            assert_eq!(result, Ok(()), "{programs:?} before {place}");
            result = context.push(Some(instruction(*program)));
        }
        assert_eq!(result, expected, "{programs:?}");
    }

    #[test]
    fn programs_may_call_themselves_but_not_back() {
        let environment = environment();
        check(&environment, &[1, 1, 1], Ok(()));
        check(&environment, &[1, 2, 1], Err(InstructionError::ReentrancyNotAllowed));
        check(&environment, &[1, 2, 2, 1], Err(InstructionError::ReentrancyNotAllowed));
    }

    #[test]
    fn nesting_ends() {
        let mut environment = environment();
        check(&environment, &[1, 2, 3, 4, 5], Ok(()));
        check(&environment, &[1, 2, 3, 4, 5, 6], Err(InstructionError::CallDepth));
        environment.features = FeatureSet::mainnet().with(Feature::RaiseCpiNestingLimit);
        check(&environment, &[1, 2, 3, 4, 5, 6, 7, 8, 9], Ok(()));
        check(&environment, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], Err(InstructionError::CallDepth));
    }

    #[test]
    fn the_trace_ends() {
        let environment = environment();
        let mut context = context(&environment, 1);
        context.push(None).unwrap();
        for _ in 1..INSTRUCTION_TRACE_MAX {
            assert_eq!(context.process_call(instruction(1)), Ok(()));
        }
        let expected = Err(InstructionError::MaxInstructionTraceLengthExceeded);
        assert_eq!(context.process_call(instruction(1)), expected);
    }

    #[test]
    fn nested_instructions_start_in_balance() {
        let environment = environment();
        let program = key(1);
        let account = AccountSharedData::from(Account { owner: program, ..Account::default() });
        let accounts = TransactionAccounts::new([(program, account)]);
        let mut context =
            InvokeContext::new(accounts, &environment, &Options::default(), Scratch::default());
        context.add_top_level([instruction(1)]);
        context.push(None).unwrap();
        let account =
            InstructionAccount { index: 0, first: 0, is_signer: false, is_writable: true };
        context.accounts.borrow(account, &program).unwrap().set_lamports(1).unwrap();
        let unbalanced = Err(InstructionError::UnbalancedInstruction);
        assert_eq!(context.push(Some(instruction(2))), unbalanced);
        assert_eq!(context.pop(), unbalanced);
    }
}
