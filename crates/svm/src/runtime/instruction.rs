//! Executes a single instruction outside of a transaction.

use std::collections::{BTreeMap, BTreeSet};

pub use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{native_loader, sysvar};

use crate::{
    chain::account::Account,
    programs::engine::EngineError,
    runtime::{
        context::{
            InvokeContext, Options, Scratch, environment::Environment, inspector::Inspector,
        },
        input::{Abi, Input},
        instruction_context::{InstructionAccount, InstructionContext},
        transaction_accounts::{ReturnData, TransactionAccount, TransactionAccounts},
    },
};

/// The result of an instruction.
#[derive(Debug)]
pub struct InstructionResult {
    /// The success or error.
    pub result: Result<(), InstructionError>,
    /// The compute units that were consumed.
    pub compute_units: u64,
    /// The log lines.
    pub logs: Vec<String>,
    /// The return data, if any was set.
    pub return_data: Option<ReturnData>,
    /// The accounts afterwards: those that were passed, in order, then the others that the instruction
    /// names. If the instruction failed, they are unchanged.
    pub accounts: Vec<(Pubkey, Account)>,
    /// Notes on likely causes of a failure, as sentences.
    pub notes: Vec<String>,
}

/// Processes an instruction.
///
/// ```
/// use selkie_svm::{
///     Environment, FeatureSet, Instruction, Loader, Options, Program, Pubkey, Purpose,
///     elf_environment, process_instruction,
/// };
/// use selkie_elf::{Executable, Functions};
/// use selkie_isa::Version;
///
/// // mov64 r0, 0; exit
/// let text = [0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];
/// let against = elf_environment(FeatureSet::mainnet(), Purpose::Execution);
/// let executable =
///     Executable::from_text(Version::V0, text, 0, Functions::default(), against.syscalls)?;
///
/// let id = Pubkey::new_from_array([7; 32]);
/// let mut environment = Environment::default();
/// environment.programs.insert(id, Program::new(executable, Loader::V3)?);
///
/// let instruction = Instruction { program_id: id, accounts: vec![], data: vec![] };
/// let result =
///     process_instruction(&instruction, &[], &environment, &Options::default(), None)?;
/// assert_eq!((result.result, result.compute_units), (Ok(()), 2));
/// assert_eq!(result.logs[2], format!("Program {id} success"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Accounts that it names but that are not passed are those that a cluster would have: the program, a
/// sysvar, or an empty account of the system program.
///
/// # Errors
/// If this host does not support the requested engine. A failure of the instruction is part of the
/// result instead.
pub fn process_instruction(
    instruction: &Instruction,
    accounts: &[(Pubkey, Account)],
    environment: &Environment,
    options: &Options,
    inspector: Option<&mut dyn Inspector>,
) -> Result<InstructionResult, EngineError> {
    options.engine.resolve()?;
    let before = with_missing(instruction, accounts, environment);
    let mut context = enter(instruction, before.clone(), environment, options);
    context.set_inspector(inspector.map(|inspector| inspector as &mut dyn Inspector));
    let precompile = environment.precompiles.get(&instruction.program_id, environment.features);
    let result = match precompile {
        Some(precompile) => context.verify(0, precompile.verify),
        None => context.process_top_level(),
    };
    let return_data = context.return_data;
    let after = |it: TransactionAccount| (it.key, it.account.into());
    Ok(InstructionResult {
        compute_units: options.budget.compute_unit_limit.saturating_sub(context.meter.remaining()),
        logs: context.logs.take_lines(),
        return_data: (!return_data.data.is_empty()).then_some(return_data),
        accounts: match result {
            Ok(()) => context.accounts.take().into_iter().map(after).collect(),
            Err(_) => before,
        },
        notes: context.notes,
        result,
    })
}

/// Creates a context with this instruction as the only top-level instruction.
pub(crate) fn enter<'e>(
    instruction: &Instruction,
    accounts: Vec<(Pubkey, Account)>,
    environment: &'e Environment,
    options: &Options,
) -> InvokeContext<'e> {
    let shared = accounts.into_iter().map(|(key, account)| (key, account.into()));
    let accounts = TransactionAccounts::new(shared);
    let instruction = compile(instruction, &accounts);
    let mut context = InvokeContext::new(accounts, environment, options, &mut Scratch::default());
    context.add_top_level([instruction]);
    context
}

/// Returns the input that [`process_instruction`] would pass to the program.
///
/// # Errors
/// [`InstructionError::MaxAccountsExceeded`] for more than 255 accounts.
pub fn instruction_input(
    instruction: &Instruction,
    accounts: &[(Pubkey, Account)],
    environment: &Environment,
    abi: Abi,
) -> Result<Input, InstructionError> {
    let accounts = with_missing(instruction, accounts, environment);
    let shared = accounts.into_iter().map(|(key, account)| (key, account.into()));
    let accounts = TransactionAccounts::new(shared);
    let instruction = compile(instruction, &accounts);
    Input::of(abi, &instruction, &accounts, environment.features)
}

/// Returns the accounts that were passed, each once, then the others that the instruction names.
pub(crate) fn with_missing(
    instruction: &Instruction,
    accounts: &[(Pubkey, Account)],
    environment: &Environment,
) -> Vec<(Pubkey, Account)> {
    let mut known = BTreeSet::new();
    let mut all = Vec::with_capacity(accounts.len());
    for (key, account) in accounts {
        if known.insert(*key) {
            all.push((*key, account.clone()));
        }
    }
    for AccountMeta { pubkey, .. } in &instruction.accounts {
        if known.insert(*pubkey) {
            all.push((*pubkey, default_account(pubkey, environment)));
        }
    }
    all
}

/// Returns the account that a cluster would have at an address whose account was not passed.
fn default_account(key: &Pubkey, environment: &Environment) -> Account {
    if let Some(program) = environment.programs.get(key) {
        let owner = program.loader().address();
        Account { lamports: 1, owner, executable: true, ..Account::default() }
    } else if let Some(data) = environment.sysvars.get(key) {
        Account { lamports: 1, data: data.to_vec(), owner: sysvar::ID, ..Account::default() }
    } else if environment.builtins.get(key).is_some() {
        let owner = native_loader::ID;
        Account { lamports: 1, owner, executable: true, ..Account::default() }
    } else {
        Account::default()
    }
}

/// Resolves an instruction's accounts. A duplicate has the privileges of all mentions.
///
/// Unlike those of a transaction, these accounts may be many, so a map finds them instead of a linear
/// search.
pub(crate) fn compile(
    instruction: &Instruction,
    accounts: &TransactionAccounts,
) -> InstructionContext<'static> {
    // An index beyond this range belongs to an instruction with too many accounts, which fails.
    let short = |index| u16::try_from(index).unwrap_or(u16::MAX);
    let account = |(index, account): (usize, &TransactionAccount)| {
        let index = short(index);
        let unused = InstructionAccount { index, first: 0, is_signer: false, is_writable: false };
        (account.key, unused)
    };
    let mut by_key: BTreeMap<_, _> = accounts.iter().enumerate().map(account).collect();
    for (position, meta) in instruction.accounts.iter().enumerate().rev() {
        if let Some(account) = by_key.get_mut(&meta.pubkey) {
            account.first = short(position);
            account.is_signer |= meta.is_signer;
            account.is_writable |= meta.is_writable;
        }
    }
    let resolve = |meta: &AccountMeta| {
        *by_key.get(&meta.pubkey).expect("`with_missing` added every account that is named")
    };
    InstructionContext {
        program_id: instruction.program_id,
        program_index: by_key.get(&instruction.program_id).map(|account| account.index),
        accounts: instruction.accounts.iter().map(resolve).collect(),
        data: instruction.data.clone().into(),
        stack_height: 1,
        caller: None,
        compute_units: 0,
    }
}
