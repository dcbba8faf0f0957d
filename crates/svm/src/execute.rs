//! The fourth phase, *execute*: the instructions, one after the other, and what must hold when
//! they are done.

use std::collections::BTreeSet;

use smallvec::SmallVec;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_instruction::{AccountMeta, Instruction};
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar;
use solana_transaction_error::TransactionError;

use crate::{
    check::Checked,
    context::{Inspector, InstructionContext, InvokeContext},
    engine::Engine,
    environment::Environment,
    features::Feature,
    instruction::{Options, compile},
    load::{Ready, show_instructions},
    process::AccountChange,
    rent::Before,
    transaction_accounts::{
        InstructionAccount, InstructionAccounts, ReturnData, TransactionAccount,
        TransactionAccounts,
    },
    workspace,
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
    pub height: u8,
    /// Compute units that it used, those that it called included.
    pub units: u64,
}

/// Compute units of each of a transaction's own instructions.
pub type OwnUnits = SmallVec<[u64; 4]>;

/// What each of a transaction's own instructions called.
pub type Inner = SmallVec<[Vec<InnerInstruction>; 2]>;

/// What execution came to.
#[derive(Debug)]
pub struct Executed {
    /// Whether everything succeeded, and held.
    pub result: Result<(), TransactionError>,
    /// The accounts as the instructions left them.
    pub accounts: Vec<TransactionAccount>,
    /// Compute units that were used.
    pub units: u64,
    /// Compute units of each of the transaction's own instructions that was started.
    pub instruction_units: OwnUnits,
    /// The log.
    pub logs: Vec<String>,
    /// What the transaction's own instructions called, for each of them.
    pub inner: Inner,
    /// What was returned last.
    pub return_data: Option<ReturnData>,
    /// Sentences for people who wonder why.
    pub notes: Vec<String>,
}

/// Executes a transaction.
pub fn execute<'e>(
    checked: &'e Checked<'_>,
    ready: Ready,
    found: &[AccountChange],
    environment: &'e Environment,
    engine: Engine,
    inspector: Option<&'e mut (dyn Inspector + 'e)>,
) -> Executed {
    let accounts = TransactionAccounts::untouched(ready.accounts);
    let options = Options { budget: checked.budget.compute, engine };
    let mut context = InvokeContext::new(accounts, environment, &options);
    context.programs = ready.programs;
    context.inspector = inspector;
    add_own_instructions(&mut context, checked);
    let result = context.process_all();
    let result = result
        .map_err(|(index, error)| TransactionError::InstructionError(index, error))
        .and_then(|()| check_balances(checked, found, &context.accounts, environment));
    executed(context, result)
}

/// Executes instructions outside of any transaction, one after the other, on accounts that they
/// share. Accounts that they name and that are not there are empty. Nobody asks what the
/// accounts' balances must be, but that instructions make no lamports.
pub fn execute_instructions<'e>(
    instructions: &[Instruction],
    ready: Ready,
    environment: &'e Environment,
    options: &Options,
    inspector: Option<&'e mut (dyn Inspector + 'e)>,
) -> Executed {
    let mut accounts = ready.accounts;
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
    context.programs = ready.programs;
    context.inspector = inspector;
    context.add_top_level(own);
    let result = context.process_all();
    let result = result.map_err(|(index, error)| TransactionError::InstructionError(index, error));
    executed(context, result)
}

fn shown(instruction: &Instruction) -> (Pubkey, Vec<AccountMeta>, &[u8]) {
    (instruction.program_id, instruction.accounts.clone(), &instruction.data)
}

/// What a context holds when its instructions are done.
fn executed(context: InvokeContext<'_>, result: Result<(), TransactionError>) -> Executed {
    let inner = inner(&context);
    let own = context.trace.iter().take(context.top_level_started);
    let instruction_units: OwnUnits = own.map(|instruction| instruction.units).collect();
    workspace::keep_trace(context.trace, context.stack);
    let return_data = context.return_data;
    Executed {
        result,
        accounts: context.accounts.into_accounts(),
        units: instruction_units.iter().sum(),
        instruction_units,
        logs: context.logs.into_lines(),
        inner,
        return_data: (!return_data.data.is_empty()).then_some(return_data),
        notes: context.notes,
    }
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
    let nothing = AccountSharedData::default();
    let (mut sum_before, mut sum_after) = (0_u128, 0_u128);
    for (place, (after, before)) in accounts.iter().zip(found).enumerate() {
        let before = before.before.as_ref().unwrap_or(&nothing);
        // The payer has paid before anything was executed.
        let fee = if place == 0 { checked.budget.fee.total() } else { 0 };
        let lamports = before.lamports().saturating_sub(fee);
        if checked.writable.has(place) {
            let before = Before::of(before, lamports, &rent, is_relaxed);
            before.check(place, &after.key, &after.account, &rent, is_relaxed)?;
        }
        sum_before = sum_before.saturating_add(lamports.into());
        sum_after = sum_after.saturating_add(after.account.lamports().into());
    }
    if sum_before == sum_after { Ok(()) } else { Err(TransactionError::UnbalancedTransaction) }
}

/// The transaction's own instructions.
fn add_own_instructions<'e>(context: &mut InvokeContext<'e>, checked: &'e Checked<'_>) {
    let transaction = checked.transaction;
    let own = transaction.instructions().iter();
    context.add_top_level(own.map(|instruction| {
        let mut accounts = InstructionAccounts::with_capacity(instruction.accounts.len());
        for (place, index) in (0_u16..).zip(&instruction.accounts) {
            let index = u16::from(*index);
            let first = accounts.iter().find(|account| account.index == index);
            let first = first.map_or(place, |account| account.first);
            let is_signer = usize::from(index) < transaction.signers();
            let is_writable = checked.writable.has(usize::from(index));
            accounts.push(InstructionAccount { index, first, is_signer, is_writable });
        }
        InstructionContext {
            program_id: transaction.program(instruction),
            program_index: Some(u16::from(instruction.program_id_index)),
            accounts,
            data: (&instruction.data).into(),
            height: 1,
            caller: None,
            units: 0,
        }
    }));
}

/// What each of the transaction's own instructions called, directly or not.
fn inner(context: &InvokeContext<'_>) -> Inner {
    let own = context.top_level;
    let mut inner = Inner::new();
    inner.resize_with(own, Vec::new);
    // For each call, which of the transaction's own instructions it belongs to.
    let mut roots: Vec<usize> = Vec::new();
    for called in context.trace.iter().skip(own) {
        let caller = called.caller.unwrap_or_default();
        let root = match caller.checked_sub(own) {
            None => caller,
            Some(place) => roots.get(place).copied().unwrap_or_default(),
        };
        roots.push(root);
        let byte = |index: u16| u8::try_from(index).unwrap_or(u8::MAX);
        let instruction = InnerInstruction {
            program_index: byte(called.program_index.unwrap_or_default()),
            accounts: called.accounts.iter().map(|account| byte(account.index)).collect(),
            data: called.data.to_vec(),
            height: u8::try_from(called.height).unwrap_or(u8::MAX),
            units: called.units,
        };
        if let Some(list) = inner.get_mut(root) {
            list.push(instruction);
        }
    }
    inner
}
