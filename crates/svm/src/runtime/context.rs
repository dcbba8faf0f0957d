//! The state that the instructions of a transaction share while they are executed.

pub mod builtin;
pub mod environment;
pub mod inspector;

use std::mem::{swap, take};

use selkie_vm::Meter;
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;

use crate::{
    chain::{
        cost::ComputeBudget,
        features::{Feature, Ungated},
    },
    programs::{
        engine::Engine,
        program::{Program, ProgramEntry, Running},
        transaction_programs::TransactionPrograms,
    },
    runtime::{
        buffers::BufferPool,
        context::{
            environment::Environment,
            inspector::{Detail, Inspector},
        },
        input::Layout,
        instruction_context::{InstructionAccount, InstructionContext},
        logs::{LogBuffers, Logs},
        on_curve::OnCurveCache,
        stop::Stopped,
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
    /// What the inspector wants to see.
    pub(crate) detail: Detail,
    /// Where the first program that trapped was.
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
        scratch: &mut Scratch,
    ) -> Self {
        let Scratch { trace, stack, logs, buffers, on_curve } = scratch;
        Self {
            environment,
            instructions_sysvar: accounts.find(&solana_sdk_ids::sysvar::instructions::ID),
            accounts,
            return_data: ReturnData::default(),
            logs: Logs::new(environment.log_bytes_max, take(logs)),
            meter: Meter::new(options.budget.compute_unit_limit),
            heap_bytes: options.budget.heap_bytes,
            engine: options.engine,
            trace: emptied(take(trace)),
            top_level: 0,
            top_level_started: 0,
            stack: emptied(take(stack)),
            programs: TransactionPrograms::NONE,
            modified_programs: Vec::new(),
            inspector: None,
            detail: Detail::Calls,
            stopped: None,
            notes: Vec::new(),
            buffers: take(buffers),
            on_curve: take(on_curve),
        }
    }

    /// Moves the context's allocations into `scratch`, for the next one. (By reference: a context is
    /// large, and to move it costs as much as a short instruction.)
    pub(crate) fn return_scratch(&mut self, scratch: &mut Scratch) {
        scratch.trace = emptied(take(&mut self.trace));
        scratch.stack = emptied(take(&mut self.stack));
        swap(&mut scratch.logs, self.logs.buffers());
        swap(&mut scratch.buffers, &mut self.buffers);
        swap(&mut scratch.on_curve, &mut self.on_curve);
    }

    /// Sets the inspector, and asks it what it wants to see.
    #[inline]
    pub(crate) fn set_inspector(&mut self, inspector: Option<&'e mut (dyn Inspector + 'e)>) {
        self.detail = inspector.as_ref().map_or(Detail::Calls, |inspector| inspector.detail());
        self.inspector = inspector;
    }

    /// Adds top-level instructions to the trace.
    pub(crate) fn add_top_level(
        &mut self,
        instructions: impl IntoIterator<Item = InstructionContext<'e>>,
    ) {
        self.trace.extend(instructions);
        self.top_level = self.trace.len();
    }

    /// Returns the environment: features, sysvars, builtin programs and fees.
    #[must_use]
    pub fn environment(&self) -> &'e Environment {
        self.environment
    }

    /// Returns whether a feature is active.
    #[must_use]
    pub fn has(&self, feature: Feature) -> bool {
        self.environment.features.has(feature)
    }

    /// Returns whether a change that came with a release of agave holds.
    #[must_use]
    pub fn follows(&self, change: Ungated) -> bool {
        self.environment.rules().has(change)
    }

    /// Returns the stack height of the current instruction: 1 for top-level instructions.
    #[must_use]
    pub fn stack_height(&self) -> usize {
        self.stack.len()
    }

    /// Returns the frame of the current instruction.
    ///
    /// # Panics
    /// If no instruction is in progress.
    pub(crate) fn frame(&self) -> &InvokeFrame<'e> {
        self.stack.last().expect("an instruction is in progress")
    }

    pub(crate) fn frame_mut(&mut self) -> &mut InvokeFrame<'e> {
        self.stack.last_mut().expect("an instruction is in progress")
    }

    /// Returns the current instruction.
    ///
    /// # Panics
    /// If no instruction is in progress.
    #[must_use]
    pub fn instruction(&self) -> &InstructionContext<'e> {
        let found = self.trace.get(self.frame().instruction);
        found.expect("frames point into the trace")
    }

    /// Returns where the current program sees its accounts in the input region, and the executable
    /// that runs; `None` for a builtin program.
    #[must_use]
    pub fn running(&self) -> Option<(&Layout, &Program)> {
        let frame = self.stack.last()?;
        Some((&frame.layout, frame.program.as_ref()?))
    }

    /// Returns the instructions that were started: top-level ones, then inner ones, each in order.
    pub fn trace(&self) -> impl Iterator<Item = &InstructionContext<'e>> {
        let (top_level, inner) = self.trace.split_at(self.top_level.min(self.trace.len()));
        top_level.iter().take(self.top_level_started).chain(inner)
    }

    /// Returns the instructions in progress, outermost first.
    pub fn stack_instructions(&self) -> impl Iterator<Item = &InstructionContext<'e>> {
        self.stack.iter().filter_map(|frame| self.trace.get(frame.instruction))
    }

    /// Returns the transaction's accounts.
    #[must_use]
    pub fn accounts(&self) -> &TransactionAccounts {
        &self.accounts
    }

    /// Returns an account of the current instruction, with the instruction's privileges for it.
    ///
    /// # Errors
    /// [`InstructionError::MissingAccount`] if it has fewer accounts.
    pub fn instruction_account(
        &self,
        index: usize,
    ) -> Result<InstructionAccount, InstructionError> {
        let account = self.instruction().accounts.get(index);
        account.copied().ok_or(InstructionError::MissingAccount)
    }

    /// Checks that the current instruction has at least `count` accounts.
    ///
    /// # Errors
    /// [`InstructionError::MissingAccount`] if it has fewer.
    pub fn check_accounts(&self, count: usize) -> Result<(), InstructionError> {
        if self.instruction().accounts.len() < count {
            return Err(InstructionError::MissingAccount);
        }
        Ok(())
    }

    /// Returns the address of an account of the current instruction.
    ///
    /// # Errors
    /// [`InstructionError::MissingAccount`] if it has fewer accounts.
    pub fn key(&self, index: usize) -> Result<Pubkey, InstructionError> {
        let account = self.instruction_account(index)?;
        Ok(self.accounts.get(usize::from(account.index))?.key)
    }

    /// Borrows an account of the current instruction, with the current program's privileges.
    ///
    /// # Errors
    /// [`InstructionError::MissingAccount`] if it has fewer accounts.
    pub fn borrow(&mut self, index: usize) -> Result<BorrowedAccount<'_>, InstructionError> {
        let account = self.instruction_account(index)?;
        let program = self.instruction().program_id;
        self.accounts.borrow(account, &program)
    }

    /// Returns whether the account at an address is a signer of the current instruction.
    #[must_use]
    pub fn has_signer(&self, key: &Pubkey) -> bool {
        self.instruction().accounts.iter().any(|account| {
            let found = self.accounts.get(usize::from(account.index));
            account.is_signer && found.is_ok_and(|found| found.key == *key)
        })
    }

    /// Consumes compute units.
    ///
    /// # Errors
    /// [`InstructionError::ComputationalBudgetExceeded`] if fewer remain; they are consumed then.
    pub fn consume(&mut self, compute_units: u64) -> Result<(), InstructionError> {
        self.meter.consume(compute_units).map_err(|_| InstructionError::ComputationalBudgetExceeded)
    }

    /// Returns the remaining compute units.
    #[must_use]
    pub fn units_left(&self) -> u64 {
        self.meter.remaining()
    }

    /// Appends a line to the log, without a prefix.
    pub fn log(&mut self, line: impl Into<String>) {
        self.logs.line(line);
    }

    /// Returns the log lines so far.
    #[must_use]
    pub fn log_lines(&self) -> &[String] {
        self.logs.lines()
    }

    /// Returns the return data that was set last.
    #[must_use]
    pub fn return_data(&self) -> &ReturnData {
        &self.return_data
    }

    /// Sets the return data of the current program.
    pub fn set_return_data(&mut self, data: Vec<u8>) {
        self.return_data = ReturnData { program_id: self.instruction().program_id, data };
    }

    /// Replaces a program for the rest of the transaction, after it was deployed or closed.
    pub fn set_program(&mut self, id: Pubkey, entry: ProgramEntry) {
        self.modified_programs.push((id, entry));
    }

    /// Returns the owner of an instruction's program account: a loader, or the native loader.
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
        let mut scratch = Scratch {
            trace: Vec::with_capacity(8),
            stack: Vec::with_capacity(8),
            ..Scratch::default()
        };
        let accounts = TransactionAccounts::new([]);
        let mut context =
            InvokeContext::new(accounts, &environment, &Options::default(), &mut scratch);
        context.return_scratch(&mut scratch);
        assert!(scratch.trace.capacity() >= 8 && scratch.stack.capacity() >= 8);
    }
}
