//! A transaction, from its check to what it leaves behind.
//!
//! ```text
//! wire ─sanitize→ Transaction ─check→ Checked ─load→ Loaded ─execute→ accounts ─settle→ Processed
//! ```
//!
//! Nothing reaches back: loading is the only reader of accounts, and whoever called commits what
//! [`Processed::writes`] says. Simulating is the same without committing.

use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use crate::{
    chain::{
        account::AccountStore, blockhash_queue::BlockhashQueue, budget::Fee,
        transaction::Transaction,
    },
    pipeline::{
        check::{check, verify_signatures},
        execute::{InnerInstructions, TopLevelUnits, execute},
        load::{Loaded, load},
        settle::settle,
    },
    programs::{cache::ProgramCache, engine::Engine, transaction_programs::TransactionPrograms},
    runtime::{
        context::{Inspector, environment::Environment},
        stop::Stopped,
        transaction_accounts::ReturnData,
        workspace,
    },
};

/// How to process transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcessOptions {
    /// Whether signatures must be right.
    pub verify_signatures: bool,
    /// What runs programs.
    pub engine: Engine,
}

impl Default for ProcessOptions {
    fn default() -> Self {
        Self { verify_signatures: true, engine: Engine::default() }
    }
}

/// What a transaction is processed against.
#[derive(Debug)]
pub struct ChainState<'a, S> {
    /// The accounts.
    pub accounts: &'a S,
    /// What the cluster gives to all.
    pub environment: &'a Environment,
    /// What happened of late.
    pub blockhash_queue: &'a BlockhashQueue,
    /// Programs that are ready.
    pub programs: &'a ProgramCache,
}

/// An account of a transaction, before and after.
// The address comes first in memory: behind the padding of an account, the compiler would write both
// as one, and the processor wait for it.
#[repr(C)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountChange {
    /// Its address.
    pub key: Pubkey,
    /// What was found there.
    pub before: Option<AccountSharedData>,
    /// What is to be written there: nothing if it stays as it is. An account without lamports is
    /// deleted.
    pub write: Option<AccountSharedData>,
    /// Whether the transaction could write to it.
    pub is_writable: bool,
}

impl AccountChange {
    /// What is there afterwards.
    #[must_use]
    pub fn after(&self) -> Option<&AccountSharedData> {
        let after = self.write.as_ref().or(self.before.as_ref());
        after.filter(|account| account.lamports() > 0)
    }

    /// Where an account goes back to that was lent because it cannot be written to.
    #[inline]
    pub(crate) fn lender(
        &mut self,
        account: &AccountSharedData,
    ) -> Option<&mut Option<AccountSharedData>> {
        let is_lent = self.before.is_none() && !self.is_writable && account.lamports() > 0;
        is_lent.then_some(&mut self.before)
    }
}

/// What became of a transaction that has paid its fee.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Processed {
    /// Whether it succeeded.
    pub result: Result<(), TransactionError>,
    /// Whether its instructions were executed, at least in part; if not, it only paid.
    pub is_executed: bool,
    /// What it paid.
    pub fee: Fee,
    /// Compute units that it used.
    pub compute_units: u64,
    /// Compute units that it might have used.
    pub compute_unit_limit: u64,
    /// Compute units of each of its own instructions that was started.
    pub instruction_compute_units: TopLevelUnits,
    /// What its accounts count for together (SIMD-0186).
    pub loaded_bytes: u32,
    /// The log.
    pub logs: Vec<String>,
    /// What its instructions called, for each of its own.
    pub inner_instructions: InnerInstructions,
    /// What was returned last.
    pub return_data: Option<ReturnData>,
    /// Its accounts.
    pub accounts: Vec<AccountChange>,
    /// Sentences for people who wonder why.
    pub notes: Vec<String>,
    /// The program that was stopped first, if one was.
    pub stopped: Option<Box<Stopped>>,
}

impl Processed {
    /// What is to be written, by address.
    pub fn writes(&self) -> impl Iterator<Item = (&Pubkey, &AccountSharedData)> {
        self.accounts.iter().filter_map(|change| Some((&change.key, change.write.as_ref()?)))
    }
}

/// What is told of a transaction that did nothing.
impl Default for Processed {
    fn default() -> Self {
        Self {
            result: Ok(()),
            is_executed: false,
            fee: Fee::default(),
            compute_units: 0,
            compute_unit_limit: 0,
            instruction_compute_units: TopLevelUnits::new(),
            loaded_bytes: 0,
            logs: Vec::new(),
            inner_instructions: InnerInstructions::new(),
            return_data: None,
            accounts: Vec::new(),
            notes: Vec::new(),
            stopped: None,
        }
    }
}

impl Processed {
    /// Begins anew: there is room in what was there.
    pub(crate) fn clear(&mut self) {
        // All fields are named, so that none is forgotten.
        let Self {
            result,
            is_executed,
            fee,
            compute_units,
            compute_unit_limit,
            instruction_compute_units,
            loaded_bytes,
            logs,
            inner_instructions,
            return_data,
            accounts,
            notes,
            stopped,
        } = self;
        *result = Ok(());
        (*is_executed, *fee) = (false, Fee::default());
        (*compute_units, *compute_unit_limit, *loaded_bytes) = (0, 0, 0);
        workspace::keep_lines(logs);
        accounts.clear();
        instruction_compute_units.clear();
        inner_instructions.clear();
        *return_data = None;
        notes.clear();
        *stopped = None;
    }
}

/// Processes a transaction.
///
/// # Errors
/// If it is dropped: it pays nothing and leaves no trace.
pub fn process<S: AccountStore>(
    transaction: &Transaction,
    chain: &ChainState<'_, S>,
    options: &ProcessOptions,
    inspector: Option<&mut dyn Inspector>,
) -> Result<Processed, TransactionError> {
    let mut processed = Processed::default();
    process_into(&mut processed, transaction, chain, options, inspector)?;
    Ok(processed)
}

/// Processes a transaction as [`process`] does, and writes what becomes of it where it is to be, in
/// place of what was there: to move it, and to find room for it, takes a good part of what a short
/// transaction does.
///
/// # Errors
/// If it is dropped. What is written then is nothing to go by; it may be what was there before.
#[inline]
pub fn process_into<S: AccountStore>(
    processed: &mut Processed,
    transaction: &Transaction,
    chain: &ChainState<'_, S>,
    options: &ProcessOptions,
    inspector: Option<&mut dyn Inspector>,
) -> Result<(), TransactionError> {
    let mut programs = workspace::programs();
    let result = process_with(&mut programs, processed, transaction, chain, options, inspector);
    workspace::keep_programs(programs);
    result
}

/// The same with room for programs, which may keep them.
#[inline(always)]
pub(crate) fn process_with<S: AccountStore>(
    programs: &mut TransactionPrograms,
    processed: &mut Processed,
    transaction: &Transaction,
    chain: &ChainState<'_, S>,
    options: &ProcessOptions,
    inspector: Option<&mut dyn Inspector>,
) -> Result<(), TransactionError> {
    let ChainState { accounts, environment, blockhash_queue, programs: cache } = *chain;
    if options.verify_signatures {
        verify_signatures(transaction)?;
    }
    let checked = check(transaction, accounts, environment, blockhash_queue)?;
    processed.clear();
    processed.fee = checked.budget.fee;
    processed.compute_unit_limit = checked.budget.compute.compute_unit_limit;
    let Loaded { rollback, loaded_bytes, state } =
        load(&checked, accounts, environment, cache, &mut processed.accounts, programs)?;
    processed.loaded_bytes = loaded_bytes;
    let accounts = match state {
        Ok(accounts) => {
            let inspector = inspector.map(|inspector| inspector as &mut dyn Inspector);
            let engine = options.engine;
            execute(&checked, accounts, programs, environment, engine, inspector, processed)
        }
        Err(error) => {
            processed.result = Err(error);
            Vec::new()
        }
    };
    settle(rollback, accounts, processed);
    Ok(())
}
