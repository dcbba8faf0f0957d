//! Processing an instruction: it is checked and pushed, run, and popped.
//!
//! The order of the checks decides the error, so it is part of the protocol (agave: `invoke_context.rs`,
//! `transaction.rs` of `solana-transaction-context`).

use std::{borrow::Cow, sync::Arc};

use solana_account::{ReadableAccount, WritableAccount};
use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{native_loader, sysvar};

use crate::{
    chain::{
        account::{Loader, is_same},
        cost::{INSTRUCTION_DEPTH_MAX, INSTRUCTION_DEPTH_MAX_RAISED, INSTRUCTION_TRACE_MAX},
        features::{Feature, Ungated},
    },
    programs::program::{ProgramEntry, Running},
    runtime::{
        context::{InvokeContext, InvokeFrame, builtin::Builtin},
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
    /// Processes the top-level instructions, in order.
    ///
    /// # Errors
    /// The index of the first instruction that failed, with its error.
    pub(crate) fn process_all(&mut self) -> Result<(), (u8, InstructionError)> {
        for index in 0..self.top_level {
            let program_id = self.trace.get(index).map(|it| it.program_id).unwrap_or_default();
            let features = self.environment.features;
            let result = match self.environment.precompiles.get(&program_id, features) {
                Some(precompile) => self.verify(index, precompile.verify),
                None => self.process_top_level(),
            };
            result.map_err(|error| (u8::try_from(index).unwrap_or(u8::MAX), error))?;
        }
        Ok(())
    }

    /// Processes the next top-level instruction.
    pub(crate) fn process_top_level(&mut self) -> Result<(), InstructionError> {
        self.push(None)?;
        let result = self.run();
        let popped = self.pop();
        result.and(popped)
    }

    /// Verifies an instruction of a precompile: it writes no log and uses no compute units.
    pub(crate) fn verify(
        &mut self,
        index: usize,
        verify: crate::runtime::context::builtin::Verify,
    ) -> Result<(), InstructionError> {
        self.push(None)?;
        let own = self.trace.get(..self.top_level).unwrap_or_default();
        let all: Vec<&[u8]> = own.iter().map(|instruction| &*instruction.data).collect();
        let result = verify(all.get(index).copied().unwrap_or_default(), &all);
        let popped = self.pop();
        result.map_err(InstructionError::Custom).and(popped)
    }

    /// Processes an inner instruction of the current one, from [`InvokeContext::prepare_cpi`].
    pub(crate) fn process_inner(
        &mut self,
        instruction: InstructionContext<'e>,
    ) -> Result<(), InstructionError> {
        self.push(Some(instruction))?;
        let result = self.run();
        let popped = self.pop();
        result.and(popped)
    }

    /// Invokes another program from a builtin one, which signs for the addresses derived from its
    /// own address and these seeds.
    ///
    /// # Errors
    /// If seeds derive no address, if privileges would be escalated, or if the program fails.
    pub fn native_invoke(
        &mut self,
        instruction: &Instruction,
        signer_seeds: &[&[&[u8]]],
    ) -> Result<(), InstructionError> {
        let program_id = self.instruction().program_id;
        let mut signers = Vec::with_capacity(signer_seeds.len());
        for seeds in signer_seeds {
            let address = create_program_address(seeds, &program_id, &mut self.on_curve);
            // Agave converts the error's number as that of an instruction error.
            signers.push(address.map_err(|error| crate::chain::error::from_number(error as u64))?);
        }
        let Instruction { program_id, accounts, data } = instruction;
        let call = self.prepare_cpi(program_id, accounts, data.clone(), &signers)?;
        self.process_inner(call)
    }

    /// Resolves the accounts of an inner instruction, and checks its privileges against those of the
    /// current instruction. A duplicate account has the privileges of all mentions.
    pub(crate) fn prepare_cpi(
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
        let program_index = self.accounts.find(program_id);
        if program_index.is_none() && self.follows(Ungated::UnknownProgramFirst) {
            return Err(self.unknown_program(program_id));
        }
        share_privileges(&mut accounts);
        for (position, account) in accounts.iter().enumerate() {
            if usize::from(account.first) == position {
                self.check_privileges(*account, signers)?;
            }
        }
        let caller = self.instruction();
        if !program_index.is_some_and(|it| caller.accounts.iter().any(|found| found.index == it)) {
            return Err(self.unknown_program(program_id));
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

    #[cold]
    fn unknown_program(&mut self, program_id: &Pubkey) -> InstructionError {
        self.logs.line(format!("Unknown program {program_id}"));
        InstructionError::MissingAccount
    }

    /// Checks that an inner instruction's privileges for an account do not exceed those of its
    /// caller, which may sign for `signers` besides.
    fn check_privileges(
        &mut self,
        account: InstructionAccount,
        signers: &[Pubkey],
    ) -> Result<(), InstructionError> {
        let caller = self.instruction();
        let granted = caller.accounts.iter().find(|it| it.index == account.index);
        let granted = *granted.ok_or(InstructionError::MissingAccount)?;
        let key = self.accounts.get(usize::from(account.index))?.key;
        if account.is_writable && !granted.is_writable {
            self.logs.line(format!("{key}'s writable privilege escalated"));
            return Err(InstructionError::PrivilegeEscalation);
        }
        if account.is_signer && !granted.is_signer && !signers.contains(&key) {
            self.logs.line(format!("{key}'s signer privilege escalated"));
            return Err(InstructionError::PrivilegeEscalation);
        }
        Ok(())
    }

    /// Pushes an inner instruction, or else the next top-level one.
    pub(crate) fn push(
        &mut self,
        inner: Option<InstructionContext<'e>>,
    ) -> Result<(), InstructionError> {
        let is_inner = inner.is_some();
        let pushed = inner.as_ref().or_else(|| self.trace.get(self.top_level_started));
        let program_id = pushed.ok_or(InstructionError::UnsupportedProgramId)?.program_id;
        let runs = |frame: &InvokeFrame<'_>| {
            self.trace.get(frame.instruction).is_some_and(|it| it.program_id == program_id)
        };
        if self.stack.iter().any(runs) && !self.stack.last().is_some_and(runs) {
            return Err(InstructionError::ReentrancyNotAllowed);
        }
        if !self.stack.is_empty() && self.accounts.lamports_delta() != 0 {
            return Err(InstructionError::UnbalancedInstruction);
        }
        let inner_len = self.trace.len().saturating_sub(self.top_level);
        let is_too_long = if self.has(Feature::EarlyTraceOverflowDetection) {
            // Instructions of the transaction that have not started count as well.
            self.trace.len().saturating_add(usize::from(is_inner)) > INSTRUCTION_TRACE_MAX
        } else {
            self.top_level_started.saturating_add(inner_len) >= INSTRUCTION_TRACE_MAX
        };
        if is_too_long {
            return Err(InstructionError::MaxInstructionTraceLengthExceeded);
        }
        let index = if is_inner { self.trace.len() } else { self.top_level_started };
        match inner {
            Some(inner) => self.trace.push(inner),
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
        self.write_current_index()
    }

    /// Writes the index of the current top-level instruction to the end of the instructions sysvar.
    fn write_current_index(&mut self) -> Result<(), InstructionError> {
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
        if let Some(bytes) = account.data_as_mut_slice().get_mut(at..) {
            bytes.copy_from_slice(&index);
        }
        Ok(())
    }

    /// Runs the current instruction's program, and records the compute units it used.
    fn run(&mut self) -> Result<(), InstructionError> {
        let program_id = self.instruction().program_id;
        let builtin = self.find_builtin(&program_id)?;
        self.return_data = ReturnData { program_id, data: Vec::new() };
        self.logs.invoke(&program_id, self.stack_height());
        if let Some(inspector) = self.inspector.take() {
            inspector.before(self);
            self.inspector = Some(inspector);
        }
        let units_before = self.meter.remaining();
        let result = match builtin {
            Some(builtin) => builtin.process(self).map_err(Failure::from),
            None => self
                .find_program(&program_id)
                .map_err(Failure::from)
                .and_then(|program| run_program(self, program)),
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
        let compute_units = units_before.saturating_sub(self.meter.remaining());
        let index = self.frame().instruction;
        if let Some(instruction) = self.trace.get_mut(index) {
            instruction.compute_units = compute_units;
        }
        if let Some(inspector) = self.inspector.take() {
            inspector.after(self, &result);
            self.inspector = Some(inspector);
        }
        if builtin.is_some() && result.is_ok() && compute_units == 0 {
            return Err(InstructionError::BuiltinProgramsMustConsumeComputeUnits);
        }
        result
    }

    /// Returns the builtin program of the current instruction, or `None` if a loader owns its
    /// program.
    ///
    /// # Errors
    /// [`InstructionError::UnsupportedProgramId`] if it is neither.
    #[inline]
    fn find_builtin(
        &mut self,
        program_id: &Pubkey,
    ) -> Result<Option<&'e Builtin>, InstructionError> {
        let owner = self.program_owner(self.instruction());
        if owner == Some(native_loader::ID) {
            let builtin = self.environment.builtins.get(program_id);
            return builtin.ok_or(InstructionError::UnsupportedProgramId).map(Some);
        }
        // Without its feature, loader v4 runs no program, though accounts of its programs are loaded.
        // A program that a tool has put into the environment runs nevertheless.
        let is_runnable = owner.and_then(|owner| Loader::of(&owner)).is_some_and(|loader| {
            loader != Loader::V4
                || self.has(Feature::LoaderV4)
                || self.environment.programs.get(program_id).is_some()
        });
        if is_runnable {
            return Ok(None);
        }
        self.notes.push(format!("there is no program at {program_id}"));
        Err(InstructionError::UnsupportedProgramId)
    }

    /// Returns a loaded program: as the transaction has deployed it, as the program cache has it, or
    /// as the environment has it, in this order. This is the only place that looks up programs.
    ///
    /// # Errors
    /// [`InstructionError::UnsupportedProgramId`], with the reason in the log.
    #[inline]
    fn find_program(&mut self, program_id: &Pubkey) -> Result<Running<'e>, InstructionError> {
        let mut newest_first = self.modified_programs.iter().rev();
        let modified = newest_first.find(|(id, _)| is_same(id, program_id));
        let found = match modified {
            Some((_, ProgramEntry::Loaded(program))) => Ok(Running::Shared(Arc::clone(program))),
            Some(_) => Err("Program is not deployed"),
            None => match self.programs.get(program_id) {
                Some(ProgramEntry::Loaded(program)) => Ok(Running::Borrowed(program)),
                Some(_) if self.is_no_program_file(program_id) => Err("Program is not cached"),
                Some(_) => Err("Program is not deployed"),
                None => match self.environment.programs.get(program_id) {
                    Some(program) => Ok(Running::Borrowed(program)),
                    None => Err("Program is not cached"),
                },
            },
        };
        found.map_err(|line| {
            self.logs.line(line);
            InstructionError::UnsupportedProgramId
        })
    }

    /// Returns whether an account of loader v1 or v2 is not loaded because it does not begin as a file.
    #[cold]
    fn is_no_program_file(&self, program_id: &Pubkey) -> bool {
        let index = self.accounts.find(program_id);
        let found = index.and_then(|index| self.accounts.get(usize::from(index)).ok());
        self.follows(Ungated::OldLoaderProgramsAreElf)
            && found.is_some_and(|it| {
                let loader = Loader::of(it.account.owner());
                matches!(loader, Some(Loader::V1 | Loader::V2))
                    && !it.account.data().starts_with(b"\x7fELF")
            })
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
            InvokeContext::new(accounts, environment, &Options::default(), &mut Scratch::default());
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
            assert_eq!(context.process_inner(instruction(1)), Ok(()));
        }
        let expected = Err(InstructionError::MaxInstructionTraceLengthExceeded);
        assert_eq!(context.process_inner(instruction(1)), expected);
    }

    #[test]
    fn nested_instructions_start_in_balance() {
        let environment = environment();
        let program = key(1);
        let account = AccountSharedData::from(Account { owner: program, ..Account::default() });
        let accounts = TransactionAccounts::new([(program, account)]);
        let mut context = InvokeContext::new(
            accounts,
            &environment,
            &Options::default(),
            &mut Scratch::default(),
        );
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
