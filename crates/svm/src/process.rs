//! A transaction, from its check to what it leaves behind.
//!
//! ```text
//! wire ─sanitize→ Transaction ─check→ Checked ─load→ Loaded ─execute→ Executed ─settle→ Processed
//! ```
//!
//! Nothing reaches back: loading is the only reader of accounts, and whoever called commits what
//! [`Processed::writes`] says. Simulating is the same without committing.

use solana_account::AccountSharedData;
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use crate::{
    account::AccountStore,
    budget::Fee,
    check::{check, verify_signatures},
    context::Inspector,
    engine::Engine,
    environment::Environment,
    execute::{Inner, OwnUnits, execute},
    load::{Loaded, load},
    program_cache::ProgramCache,
    recent::Recent,
    settle::settle,
    transaction::Transaction,
    transaction_accounts::ReturnData,
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
pub struct Bank<'a, S> {
    /// The accounts.
    pub accounts: &'a S,
    /// What the cluster gives to all.
    pub environment: &'a Environment,
    /// What happened of late.
    pub recent: &'a Recent,
    /// Programs that are ready.
    pub programs: &'a ProgramCache,
}

/// An account of a transaction, before and after.
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
        use solana_account::ReadableAccount;
        let after = self.write.as_ref().or(self.before.as_ref());
        after.filter(|account| account.lamports() > 0)
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
    pub units: u64,
    /// Compute units that it might have used.
    pub units_max: u64,
    /// Compute units of each of its own instructions that was started.
    pub instruction_units: OwnUnits,
    /// What its accounts count for together (SIMD-0186).
    pub loaded_bytes: u32,
    /// The log.
    pub logs: Vec<String>,
    /// What its instructions called, for each of its own.
    pub inner: Inner,
    /// What was returned last.
    pub return_data: Option<ReturnData>,
    /// Its accounts.
    pub accounts: Vec<AccountChange>,
    /// Sentences for people who wonder why.
    pub notes: Vec<String>,
}

impl Processed {
    /// What is to be written, by address.
    pub fn writes(&self) -> impl Iterator<Item = (&Pubkey, &AccountSharedData)> {
        self.accounts.iter().filter_map(|change| Some((&change.key, change.write.as_ref()?)))
    }
}

/// Processes a transaction.
///
/// # Errors
/// If it is dropped: it pays nothing and leaves no trace.
pub fn process<S: AccountStore>(
    transaction: &Transaction,
    bank: &Bank<'_, S>,
    options: &ProcessOptions,
    inspector: Option<&mut dyn Inspector>,
) -> Result<Processed, TransactionError> {
    let Bank { accounts, environment, recent, programs } = *bank;
    if options.verify_signatures {
        verify_signatures(transaction)?;
    }
    let checked = check(transaction, accounts, environment, recent)?;
    let mut loaded = load(checked, accounts, environment, programs)?;
    let executed = match &mut loaded.state {
        Ok(ready) => {
            let ready = core::mem::take(ready);
            let inspector = inspector.map(|inspector| inspector as &mut dyn Inspector);
            let Loaded { checked, changes, .. } = &loaded;
            Ok(execute(checked, ready, changes, environment, options.engine, inspector))
        }
        Err(error) => Err(error.clone()),
    };
    Ok(settle(loaded, executed))
}
