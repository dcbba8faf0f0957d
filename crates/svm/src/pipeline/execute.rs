//! The fourth phase, *execute*: the instructions, one after the other, and what must hold when
//! they are done.

use std::collections::BTreeSet;

use smallvec::SmallVec;
use solana_account::ReadableAccount;
use solana_instruction::{AccountMeta, Instruction};
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar;
use solana_transaction_error::TransactionError;

use crate::{
    chain::{features::Feature, rent::Before},
    pipeline::{
        check::Checked,
        process::{AccountChange, Processed},
    },
    programs::{engine::Engine, transaction_programs::TransactionPrograms},
    runtime::{
        context::{Inspector, InvokeContext, Options, environment::Environment},
        instruction::compile,
        instruction_context::{InstructionAccount, InstructionAccounts, InstructionContext},
        instructions_sysvar::show_instructions,
        transaction_accounts::{TransactionAccount, TransactionAccounts},
        workspace,
    },
};

/// An instruction that another one called, for those who want to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InnerInstruction {
    /// The place of its program among the transaction's addresses.
    pub program_index: u8,
    /// The places of its accounts.
    pub accounts: Vec<u8>,
    /// Its data.
    pub data: Vec<u8>,
    /// How deep it was nested: 2 for those that the transaction's own call.
    pub stack_height: u8,
    /// Compute units that it used, those that it called included.
    pub compute_units: u64,
}

/// Compute units of each of a transaction's own instructions.
pub type TopLevelUnits = SmallVec<[u64; 4]>;

/// What each of a transaction's own instructions called.
pub type InnerInstructions = SmallVec<[Vec<InnerInstruction>; 2]>;

/// Executes a transaction: the accounts as its instructions left them. What else came of it is
/// written down.
pub(crate) fn execute<'e>(
    checked: &'e Checked<'_>,
    accounts: Vec<TransactionAccount>,
    programs: &'e TransactionPrograms,
    environment: &'e Environment,
    engine: Engine,
    inspector: Option<&'e mut (dyn Inspector + 'e)>,
    processed: &mut Processed,
) -> Vec<TransactionAccount> {
    let accounts = TransactionAccounts::untouched(accounts);
    let options = Options { budget: checked.budget.compute, engine };
    let mut context = InvokeContext::new(accounts, environment, &options);
    context.programs = programs;
    context.inspector = inspector;
    context.logs.in_place_of(core::mem::take(&mut processed.logs));
    add_own_instructions(&mut context, checked);
    let result = context.process_all();
    processed.result =
        result.map_err(|(index, error)| TransactionError::InstructionError(index, error)).and_then(
            |()| check_balances(checked, &processed.accounts, &context.accounts, environment),
        );
    finish(&mut context, processed)
}

/// Executes instructions outside of any transaction, one after the other, on accounts that they
/// share: the accounts as they left them. What else came of it is written down, in place of what was
/// there. Accounts that they name and that are not there are empty. Nobody asks what the accounts'
/// balances must be, but that instructions make no lamports.
pub fn execute_instructions<'e>(
    instructions: &[Instruction],
    mut accounts: Vec<TransactionAccount>,
    programs: &'e TransactionPrograms,
    environment: &'e Environment,
    options: &Options,
    inspector: Option<&'e mut (dyn Inspector + 'e)>,
    processed: &mut Processed,
) -> Vec<TransactionAccount> {
    processed.clear();
    processed.compute_unit_limit = options.budget.compute_unit_limit;
    let mut known: BTreeSet<Pubkey> = accounts.iter().map(|account| account.key).collect();
    for key in instructions.iter().flat_map(|it| it.accounts.iter().map(|meta| meta.pubkey)) {
        if known.insert(key) {
            let account = (key == sysvar::instructions::ID)
                .then(|| show_instructions(instructions.iter().map(shown)))
                .flatten();
            let account = account.unwrap_or_default();
            accounts.push(TransactionAccount { key, account, is_touched: false });
        }
    }
    let accounts = TransactionAccounts::untouched(accounts);
    let own: Vec<_> = instructions.iter().map(|it| compile(it, &accounts)).collect();
    let mut context = InvokeContext::new(accounts, environment, options);
    context.programs = programs;
    context.inspector = inspector;
    context.add_top_level(own);
    let result = context.process_all();
    processed.result =
        result.map_err(|(index, error)| TransactionError::InstructionError(index, error));
    finish(&mut context, processed)
}

fn shown(instruction: &Instruction) -> (Pubkey, Vec<AccountMeta>, &[u8]) {
    (instruction.program_id, instruction.accounts.clone(), &instruction.data)
}

/// Writes down what a context holds when its instructions are done; the accounts.
fn finish(context: &mut InvokeContext<'_>, processed: &mut Processed) -> Vec<TransactionAccount> {
    use core::mem::take;
    processed.is_executed = true;
    take_inner(context, &mut processed.inner_instructions);
    let own = context.trace.iter().take(context.top_level_started);
    processed.instruction_compute_units.extend(own.map(|instruction| instruction.compute_units));
    processed.compute_units = processed.instruction_compute_units.iter().sum();
    processed.logs = context.logs.take_lines();
    let has_returned = !context.return_data.data.is_empty();
    processed.return_data = has_returned.then(|| take(&mut context.return_data));
    processed.notes = take(&mut context.notes);
    processed.stopped = context.stopped.take();
    workspace::keep_trace(take(&mut context.trace), take(&mut context.stack));
    context.accounts.take()
}

/// Whether every account that may be written to has enough, and the sum of all is what it was.
fn check_balances(
    checked: &Checked<'_>,
    found: &[AccountChange],
    accounts: &TransactionAccounts,
    environment: &Environment,
) -> Result<(), TransactionError> {
    let rent = environment.rent();
    let is_relaxed = environment.features.has(Feature::RelaxMinBalanceCheck);
    let (mut sum_before, mut sum_after) = (0_u128, 0_u128);
    for (place, (after, before)) in accounts.iter().zip(found).enumerate() {
        // What cannot be written to is as it was.
        if !before.is_writable {
            continue;
        }
        let found = before.before.as_ref();
        // The payer has paid before anything was executed.
        let fee = if place == 0 { checked.budget.fee.total() } else { 0 };
        let lamports = found.map_or(0, |found| found.lamports().saturating_sub(fee));
        let before =
            found.map_or(Before::NOTHING, |found| Before::of(found, lamports, &rent, is_relaxed));
        before.check(place, &after.key, &after.account, &rent, is_relaxed)?;
        sum_before = sum_before.saturating_add(lamports.into());
        sum_after = sum_after.saturating_add(after.account.lamports().into());
    }
    if sum_before == sum_after { Ok(()) } else { Err(TransactionError::UnbalancedTransaction) }
}

/// The transaction's own instructions.
fn add_own_instructions<'e>(context: &mut InvokeContext<'e>, checked: &'e Checked<'_>) {
    let transaction = checked.transaction;
    for instruction in transaction.instructions() {
        // First without its accounts, since a list of those takes a while to be moved.
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
        let accounts = &mut added.accounts;
        accounts.reserve(instruction.accounts.len());
        for (place, index) in (0_u16..).zip(&instruction.accounts) {
            let index = u16::from(*index);
            let first = accounts.iter().find(|account| account.index == index);
            let first = first.map_or(place, |account| account.first);
            let is_signer = usize::from(index) < transaction.signers();
            let is_writable = checked.writable.has(usize::from(index));
            accounts.push(InstructionAccount { index, first, is_signer, is_writable });
        }
    }
    context.top_level = context.trace.len();
}

/// What each of the transaction's own instructions called, directly or not. What was called is
/// taken from the trace.
fn take_inner(context: &mut InvokeContext<'_>, inner: &mut InnerInstructions) {
    let own = context.top_level;
    inner.extend(core::iter::repeat_with(Vec::new).take(own));
    if context.trace.len() == own {
        return;
    }
    // For each call, which of the transaction's own instructions it belongs to.
    let mut roots: SmallVec<[usize; 16]> = SmallVec::new();
    for called in context.trace.drain(own..) {
        let caller = called.caller.unwrap_or_default();
        let root = match caller.checked_sub(own) {
            None => caller,
            Some(place) => roots.get(place).copied().unwrap_or_default(),
        };
        roots.push(root);
        let byte = |index: u16| u8::try_from(index).unwrap_or(u8::MAX);
        if let Some(list) = inner.get_mut(root) {
            list.push(InnerInstruction {
                program_index: byte(called.program_index.unwrap_or_default()),
                accounts: called.accounts.iter().map(|account| byte(account.index)).collect(),
                data: called.data.into_owned(),
                stack_height: u8::try_from(called.stack_height).unwrap_or(u8::MAX),
                compute_units: called.compute_units,
            });
        }
    }
}
