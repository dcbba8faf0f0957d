//! The fourth step, *execute*: runs the instructions, then checks balances.

use std::collections::BTreeSet;

use smallvec::SmallVec;
use solana_account::ReadableAccount;
use solana_instruction::{AccountMeta, Instruction};
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar;
use solana_transaction_error::TransactionError;

use crate::{
    chain::rent::Before,
    pipeline::{
        check::Checked,
        limits,
        load::{Loaded, Rollback},
        outcome::{AccountChange, InnerInstruction, InnerInstructions, Processed},
        workspace::Workspace,
    },
    programs::{engine::Engine, transaction_programs::TransactionPrograms},
    runtime::{
        context::{InvokeContext, Options, environment::Environment, inspector::Inspector},
        instruction::compile,
        instruction_context::{InstructionAccounts, InstructionContext, push_account},
        instructions_sysvar::show_instructions,
        transaction_accounts::{TransactionAccount, TransactionAccounts},
    },
};

/// A transaction whose instructions were executed, or which only pays its fee.
#[derive(Debug)]
pub(crate) struct Executed {
    /// The result, in which no account is written yet.
    pub(crate) processed: Box<Processed>,
    /// The accounts as the instructions left them.
    pub(crate) accounts: Vec<TransactionAccount>,
    /// What is written if the transaction failed.
    pub(crate) rollback: Rollback,
}

/// Executes a transaction.
// Inlined, so that loaded accounts and programs are not moved.
#[inline(always)]
pub(crate) fn execute(
    checked: &Checked<'_>,
    loaded: Loaded,
    environment: &Environment,
    engine: Engine,
    inspector: Option<&mut dyn Inspector>,
    workspace: &mut Workspace,
) -> Executed {
    let Loaded { accounts, changes, programs, rollback, loaded_bytes, counted_bytes } = loaded;
    let mut processed = workspace.take_result();
    processed.fee = checked.budget.fee;
    processed.compute_unit_limit = checked.budget.compute.compute_unit_limit;
    processed.loaded_bytes = loaded_bytes;
    processed.accounts = changes;
    let accounts = match accounts {
        Ok(accounts) => {
            let options = Options { budget: checked.budget.compute, engine };
            let accounts = TransactionAccounts::untouched(accounts);
            let mut context =
                InvokeContext::new(accounts, environment, &options, &mut workspace.scratch);
            context.programs = &programs;
            context.set_inspector(inspector.map(|inspector| inspector as &mut dyn Inspector));
            add_top_level(&mut context, checked);
            let result = context.process_all();
            processed.result = result
                .map_err(|(index, error)| TransactionError::InstructionError(index, error))
                .and_then(|()| {
                    check_balances(checked, &processed.accounts, &context.accounts, environment)
                        .inspect_err(|error| {
                            let note = limits::of_balances(error, &context.accounts, environment);
                            context.notes.extend(note);
                        })
                });
            finish(&mut context, &mut processed, workspace)
        }
        Err(error) => {
            let limit = checked.budget.loaded_bytes_max;
            processed.notes.extend(limits::of_loading(&error, counted_bytes, limit));
            processed.result = Err(error);
            Vec::new()
        }
    };
    workspace.programs = programs;
    Executed { processed, accounts, rollback }
}

/// Executes instructions outside a transaction, one after the other, on accounts that they share.
/// Returns the result, and the accounts as the instructions left them.
///
/// Accounts that instructions name and that are not given are empty. No rule on minimum balances
/// applies, except that instructions create no lamports.
pub fn execute_instructions<'e>(
    instructions: &[Instruction],
    mut accounts: Vec<TransactionAccount>,
    programs: &'e TransactionPrograms,
    environment: &'e Environment,
    options: &Options,
    inspector: Option<&'e mut (dyn Inspector + 'e)>,
    workspace: &mut Workspace,
) -> (Box<Processed>, Vec<TransactionAccount>) {
    let mut processed = workspace.take_result();
    processed.compute_unit_limit = options.budget.compute_unit_limit;
    add_missing_accounts(&mut accounts, instructions);
    let accounts = TransactionAccounts::untouched(accounts);
    let compiled: Vec<_> = instructions.iter().map(|it| compile(it, &accounts)).collect();
    let mut context = InvokeContext::new(accounts, environment, options, &mut workspace.scratch);
    context.programs = programs;
    context.set_inspector(inspector);
    context.add_top_level(compiled);
    let result = context.process_all();
    processed.result =
        result.map_err(|(index, error)| TransactionError::InstructionError(index, error));
    let accounts = finish(&mut context, &mut processed, workspace);
    (processed, accounts)
}

/// Adds the accounts that instructions name and that are not given: empty ones, and the instructions
/// sysvar.
fn add_missing_accounts(accounts: &mut Vec<TransactionAccount>, instructions: &[Instruction]) {
    let mut known: BTreeSet<Pubkey> = accounts.iter().map(|account| account.key).collect();
    for key in instructions.iter().flat_map(|it| it.accounts.iter().map(|meta| meta.pubkey)) {
        if known.insert(key) {
            let account = (key == sysvar::instructions::ID)
                .then(|| show_instructions(instructions.iter().map(parts)))
                .flatten();
            let account = account.unwrap_or_default();
            accounts.push(TransactionAccount { key, account, is_touched: false });
        }
    }
}

fn parts(instruction: &Instruction) -> (Pubkey, Vec<AccountMeta>, &[u8]) {
    (instruction.program_id, instruction.accounts.clone(), &instruction.data)
}

/// Moves the results of a context into `processed`, its allocations into the workspace, and returns
/// the accounts.
fn finish(
    context: &mut InvokeContext<'_>,
    processed: &mut Processed,
    workspace: &mut Workspace,
) -> Vec<TransactionAccount> {
    use core::mem::take;
    processed.is_executed = true;
    take_inner_instructions(context, &mut processed.inner_instructions);
    let started = context.trace.iter().take(context.top_level_started);
    processed.instruction_compute_units.extend(started.map(|it| it.compute_units));
    processed.compute_units = processed.instruction_compute_units.iter().sum();
    processed.logs = context.logs.take_lines();
    processed.return_program = context.return_data.program_id;
    let has_returned = !context.return_data.data.is_empty();
    processed.return_data = has_returned.then(|| take(&mut context.return_data));
    processed.notes = take(&mut context.notes);
    processed.stopped = context.stopped.take();
    context.return_scratch(&mut workspace.scratch);
    context.accounts.take()
}

/// Checks that every writable account keeps its minimum balance, and that the sum of all balances
/// is unchanged.
fn check_balances(
    checked: &Checked<'_>,
    changes: &[AccountChange],
    accounts: &TransactionAccounts,
    environment: &Environment,
) -> Result<(), TransactionError> {
    let rent = environment.rent();
    let is_relaxed = environment.relaxes_min_balance();
    let (mut sum_before, mut sum_after) = (0_u128, 0_u128);
    for (index, (after, change)) in accounts.iter().zip(changes).enumerate() {
        if !change.is_writable {
            continue;
        }
        let before = change.before.as_ref();
        // The payer has paid its fee before the instructions were executed.
        let fee = if index == 0 { checked.budget.fee.total() } else { 0 };
        let lamports = before.map_or(0, |before| before.lamports().saturating_sub(fee));
        let before = before
            .map_or(Before::NOTHING, |before| Before::of(before, lamports, &rent, is_relaxed));
        if !(environment.empty_below_rent && after.account.data().is_empty()) {
            before.check(index, &after.key, &after.account, &rent, is_relaxed)?;
        }
        sum_before = sum_before.saturating_add(lamports.into());
        sum_after = sum_after.saturating_add(after.account.lamports().into());
    }
    if sum_before == sum_after { Ok(()) } else { Err(TransactionError::UnbalancedTransaction) }
}

/// Adds the transaction's top-level instructions to the trace.
fn add_top_level<'e>(context: &mut InvokeContext<'e>, checked: &'e Checked<'_>) {
    let transaction = checked.transaction;
    for instruction in transaction.instructions() {
        // The accounts are filled in below, in place: moving a list of them is expensive.
        context.trace.push(InstructionContext {
            program_id: transaction.program(instruction),
            program_index: Some(u16::from(instruction.program_id_index)),
            accounts: InstructionAccounts::new(),
            data: (&instruction.data).into(),
            stack_height: 1,
            caller: None,
            compute_units: 0,
        });
        let Some(added) = context.trace.last_mut() else { continue };
        added.accounts.reserve(instruction.accounts.len());
        for index in &instruction.accounts {
            let is_signer = usize::from(*index) < transaction.signers();
            let is_writable = checked.writable.contains(usize::from(*index));
            push_account(&mut added.accounts, u16::from(*index), is_signer, is_writable);
        }
    }
    context.top_level = context.trace.len();
}

/// Moves the inner instructions out of the trace, and sorts them by top-level instruction.
fn take_inner_instructions(context: &mut InvokeContext<'_>, inner: &mut InnerInstructions) {
    let top_level = context.top_level;
    inner.extend(core::iter::repeat_with(Vec::new).take(top_level));
    if context.trace.len() == top_level {
        return;
    }
    // The top-level instruction that each inner one belongs to.
    let mut roots: SmallVec<[usize; 16]> = SmallVec::new();
    for instruction in context.trace.drain(top_level..) {
        let caller = instruction.caller.unwrap_or_default();
        let root = match caller.checked_sub(top_level) {
            None => caller,
            Some(index) => roots.get(index).copied().unwrap_or_default(),
        };
        roots.push(root);
        let byte = |index: u16| u8::try_from(index).unwrap_or(u8::MAX);
        if let Some(list) = inner.get_mut(root) {
            list.push(InnerInstruction {
                program_index: byte(instruction.program_index.unwrap_or_default()),
                accounts: instruction.accounts.iter().map(|it| byte(it.index)).collect(),
                data: instruction.data.into_owned(),
                stack_height: u8::try_from(instruction.stack_height).unwrap_or(u8::MAX),
                compute_units: instruction.compute_units,
            });
        }
    }
}
