//! What the instructions of a transaction share while they are executed.

pub mod builtin;
pub mod environment;

use selkie_vm::Meter;
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;

use crate::{
    chain::{cost::ComputeBudget, features::Feature},
    programs::{
        engine::{Engine, EngineError},
        program::{ProgramEntry, Running},
        transaction_programs::TransactionPrograms,
    },
    runtime::{
        buffers::BufferPool,
        context::environment::Environment,
        input::Layout,
        instruction_context::{InstructionAccount, InstructionContext},
        logs::{LogBuffers, Logs},
        on_curve::OnCurveCache,
        stop::{Run, Stopped},
        transaction_accounts::{BorrowedAccount, ReturnData, TransactionAccounts},
    },
};

/// How instructions are processed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// The compute unit limit and the heap size.
    pub budget: ComputeBudget,
    /// The engine that runs programs.
    pub engine: Engine,
}

/// Observes the instructions of a transaction.
pub trait Inspector {
    /// Called when an instruction starts: the last one of [`InvokeContext::stack_instructions`].
    fn before(&mut self, context: &InvokeContext<'_>) {
        let _ = context;
    }

    /// Called when the instruction has ended, before it is popped from the stack.
    fn after(&mut self, context: &InvokeContext<'_>, result: &Result<(), InstructionError>) {
        let _ = (context, result);
    }
}

/// The state that the instructions of a transaction share.
///
/// Builtin programs receive it: the current instruction, its accounts, the environment.
pub struct InvokeContext<'e> {
    pub(crate) environment: &'e Environment,
    pub(crate) accounts: TransactionAccounts,
    pub(crate) return_data: ReturnData,
    pub(crate) logs: Logs,
    pub(crate) meter: Meter,
    pub(crate) heap_bytes: u32,
    pub(crate) engine: Engine,
    /// Set if the requested engine cannot run a program. The result of the instruction is then
    /// meaningless.
    pub(crate) engine_error: Option<EngineError>,
    /// The top-level instructions, then the inner ones in the order of execution.
    pub(crate) trace: Vec<InstructionContext<'e>>,
    /// How many top-level instructions are in the trace.
    pub(crate) top_level: usize,
    /// How many top-level instructions were started.
    pub(crate) top_level_started: usize,
    /// The instructions in progress, outermost first.
    pub(crate) stack: Vec<InvokeFrame<'e>>,
    /// The programs of the transaction, as they were before it.
    pub(crate) programs: &'e TransactionPrograms,
    /// The programs that the transaction has deployed or closed, oldest first.
    pub(crate) modified_programs: Vec<(Pubkey, ProgramEntry)>,
    /// The index of the instructions sysvar among the accounts.
    pub(crate) instructions_sysvar: Option<u16>,
    pub(crate) inspector: Option<&'e mut (dyn Inspector + 'e)>,
    /// Whether `last_run` is recorded.
    pub(crate) keeps_runs: bool,
    /// How the last program's run ended.
    pub(crate) last_run: Option<Run>,
    /// Where the first program that trapped was, unless runs are recorded.
    pub(crate) stopped: Option<Box<Stopped>>,
    /// Explanations for people, beside the log.
    pub(crate) notes: Vec<String>,
    pub(crate) buffers: BufferPool,
    pub(crate) on_curve: OnCurveCache,
}

/// Allocations that an [`InvokeContext`] reuses from one transaction to the next. All are empty, or
/// clean.
#[derive(Default, Debug)]
pub(crate) struct Scratch {
    trace: Vec<InstructionContext<'static>>,
    stack: Vec<InvokeFrame<'static>>,
    pub(crate) logs: LogBuffers,
    buffers: BufferPool,
    on_curve: OnCurveCache,
}

impl core::fmt::Debug for InvokeContext<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("InvokeContext")
            .field("accounts", &self.accounts)
            .field("trace", &self.trace)
            .field("stack", &self.stack)
            .finish_non_exhaustive()
    }
}

/// An instruction in progress.
#[derive(Debug)]
pub(crate) struct InvokeFrame<'e> {
    /// The index of the instruction in the trace.
    pub(crate) instruction: usize,
    /// The program that runs, unless it is a builtin one.
    pub(crate) program: Option<Running<'e>>,
    /// Where the program sees its accounts in the input region.
    pub(crate) layout: Layout,
    /// Heap bytes that `sol_alloc_free_` has allocated.
    pub(crate) heap_used: u64,
}

impl<'e> InvokeContext<'e> {
    #[inline(always)]
    pub(crate) fn new(
        accounts: TransactionAccounts,
        environment: &'e Environment,
        options: &Options,
        scratch: Scratch,
    ) -> Self {
        let Scratch { trace, stack, logs, buffers, on_curve } = scratch;
        Self {
            environment,
            instructions_sysvar: accounts.find(&solana_sdk_ids::sysvar::instructions::ID),
            accounts,
            return_data: ReturnData::default(),
            logs: Logs::new(environment.log_bytes_max, logs),
            meter: Meter::new(options.budget.compute_unit_limit),
            heap_bytes: options.budget.heap_bytes,
            engine: options.engine,
            engine_error: None,
            trace: emptied(trace),
            top_level: 0,
            top_level_started: 0,
            stack: emptied(stack),
            programs: TransactionPrograms::NONE,
            modified_programs: Vec::new(),
            inspector: None,
            keeps_runs: false,
            last_run: None,
            stopped: None,
            notes: Vec::new(),
            buffers,
            on_curve,
        }
    }

    /// Takes the context's allocations, for the next one. (By reference: a context is large, and to
    /// move it costs as much as a short instruction.)
    pub(crate) fn take_scratch(&mut self) -> Scratch {
        use core::mem::take;
        Scratch {
            trace: emptied(take(&mut self.trace)),
            stack: emptied(take(&mut self.stack)),
            logs: self.logs.take_buffers(),
            buffers: take(&mut self.buffers),
            on_curve: take(&mut self.on_curve),
        }
    }

    /// Puts the transaction's own instructions in the trace.
    pub(crate) fn add_top_level(
        &mut self,
        instructions: impl IntoIterator<Item = InstructionContext<'e>>,
    ) {
        self.trace.extend(instructions);
        self.top_level = self.trace.len();
    }

    /// What a cluster gives to every instruction.
    #[must_use]
    pub fn environment(&self) -> &'e Environment {
        self.environment
    }

    /// Whether a feature is switched on.
    #[must_use]
    pub fn has(&self, feature: Feature) -> bool {
        self.environment.features.has(feature)
    }

    /// How deep the current instruction is nested: 1 for the outermost.
    #[must_use]
    pub fn stack_height(&self) -> usize {
        self.stack.len()
    }

    /// The current instruction's frame.
    ///
    /// # Panics
    /// Between instructions: programs and their syscalls run within one.
    pub(crate) fn frame(&self) -> &InvokeFrame<'e> {
        self.stack.last().expect("an instruction is in progress")
    }

    pub(crate) fn frame_mut(&mut self) -> &mut InvokeFrame<'e> {
        self.stack.last_mut().expect("an instruction is in progress")
    }

    /// The current instruction.
    ///
    /// # Panics
    /// Between instructions: whoever asks is processing one.
    #[must_use]
    pub fn instruction(&self) -> &InstructionContext<'e> {
        let found = self.trace.get(self.frame().instruction);
        found.expect("frames point into the trace")
    }

    /// The instructions that were started, in order: the transaction's own, then those that they
    /// called.
    pub fn trace(&self) -> impl Iterator<Item = &InstructionContext<'e>> {
        let (own, called) = self.trace.split_at(self.top_level.min(self.trace.len()));
        own.iter().take(self.top_level_started).chain(called)
    }

    /// The instructions that are not finished, outermost first.
    pub fn stack_instructions(&self) -> impl Iterator<Item = &InstructionContext<'e>> {
        self.stack.iter().filter_map(|frame| self.trace.get(frame.instruction))
    }

    /// The accounts of the transaction.
    #[must_use]
    pub fn accounts(&self) -> &TransactionAccounts {
        &self.accounts
    }

    /// How an account of the current instruction is named by it.
    ///
    /// # Errors
    /// [`InstructionError::MissingAccount`] if it has fewer accounts.
    pub fn instruction_account(
        &self,
        place: usize,
    ) -> Result<InstructionAccount, InstructionError> {
        let account = self.instruction().accounts.get(place);
        account.copied().ok_or(InstructionError::MissingAccount)
    }

    /// Whether the current instruction has so many accounts at least.
    ///
    /// # Errors
    /// [`InstructionError::MissingAccount`] if not.
    pub fn check_accounts(&self, count: usize) -> Result<(), InstructionError> {
        if self.instruction().accounts.len() < count {
            return Err(InstructionError::MissingAccount);
        }
        Ok(())
    }

    /// The address of an account of the current instruction.
    ///
    /// # Errors
    /// [`InstructionError::MissingAccount`] if it has fewer accounts.
    pub fn key(&self, place: usize) -> Result<Pubkey, InstructionError> {
        let account = self.instruction_account(place)?;
        Ok(self.accounts.get(usize::from(account.index))?.key)
    }

    /// An account of the current instruction, with the rights of the current program.
    ///
    /// # Errors
    /// [`InstructionError::MissingAccount`] if it has fewer accounts.
    pub fn borrow(&mut self, place: usize) -> Result<BorrowedAccount<'_>, InstructionError> {
        let account = self.instruction_account(place)?;
        let program = self.instruction().program_id;
        self.accounts.borrow(account, &program)
    }

    /// Whether an account of this address signed the current instruction.
    #[must_use]
    pub fn has_signer(&self, key: &Pubkey) -> bool {
        self.instruction().accounts.iter().any(|account| {
            let found = self.accounts.get(usize::from(account.index));
            account.is_signer && found.is_ok_and(|found| found.key == *key)
        })
    }

    /// Takes compute units.
    ///
    /// # Errors
    /// [`InstructionError::ComputationalBudgetExceeded`] if fewer are left, which are then gone.
    pub fn consume(&mut self, units: u64) -> Result<(), InstructionError> {
        self.meter.consume(units).map_err(|_| InstructionError::ComputationalBudgetExceeded)
    }

    /// Compute units that are left.
    #[must_use]
    pub fn units_left(&self) -> u64 {
        self.meter.remaining()
    }

    /// Adds a line to the log, as it stands.
    pub fn log(&mut self, line: impl Into<String>) {
        self.logs.line(line);
    }

    /// The log so far.
    #[must_use]
    pub fn log_lines(&self) -> &[String] {
        self.logs.lines()
    }

    /// What was returned last.
    #[must_use]
    pub fn return_data(&self) -> &ReturnData {
        &self.return_data
    }

    /// Sets what the current program returns.
    pub fn set_return_data(&mut self, data: Vec<u8>) {
        self.return_data = ReturnData { program_id: self.instruction().program_id, data };
    }

    /// From here on, a program of the transaction is this one: it was deployed, or closed.
    pub fn set_program(&mut self, id: Pubkey, entry: ProgramEntry) {
        self.modified_programs.push((id, entry));
    }

    /// The loader that owns a program, or the native loader: the owner of its account.
    pub(crate) fn program_owner(&self, instruction: &InstructionContext<'_>) -> Option<Pubkey> {
        use solana_account::ReadableAccount;
        if let Some(index) = instruction.program_index {
            let account = self.accounts.get(usize::from(index)).ok()?;
            return Some(*account.account.owner());
        }
        let id = &instruction.program_id;
        if let Some(program) = self.environment.programs.get(id) {
            return Some(program.loader().address());
        }
        let is_builtin = self.environment.builtins.get(id).is_some();
        is_builtin.then_some(solana_sdk_ids::native_loader::ID)
    }
}

/// Returns the same allocation for values of another lifetime: the standard library collects into
/// the vector that it takes the elements from, where the sizes agree.
fn emptied<A, B>(mut values: Vec<A>) -> Vec<B> {
    values.clear();
    values.into_iter().map(|_| unreachable!("the vector was cleared")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_returns_the_allocations_that_it_was_given() {
        let environment = Environment::default();
        let scratch = Scratch {
            trace: Vec::with_capacity(8),
            stack: Vec::with_capacity(8),
            ..Scratch::default()
        };
        let accounts = TransactionAccounts::new([]);
        let mut context = InvokeContext::new(accounts, &environment, &Options::default(), scratch);
        let scratch = context.take_scratch();
        assert!(scratch.trace.capacity() >= 8 && scratch.stack.capacity() >= 8);
    }
}
