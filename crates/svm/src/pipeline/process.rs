//! A transaction, from its check to the accounts that it writes.
//!
//! ```text
//! Transaction ─ check → Checked ─ load → Loaded ─ execute → Executed ─ settle → Processed
//! ```
//!
//! Each step takes the value of the step before. `check` and `load` read accounts, each one once;
//! the steps behind them read none. A simulation is the same without a commit.

use solana_transaction_error::TransactionError;

use crate::{
    chain::{account::AccountStore, transaction::Transaction},
    pipeline::{
        chain_state::{ChainState, ProcessOptions},
        check::{check, verify_signatures},
        execute::execute,
        load::load,
        outcome::Processed,
        settle::settle,
        workspace::Workspace,
    },
    runtime::context::inspector::Inspector,
};

/// Processes a transaction.
///
/// # Errors
/// If the transaction is dropped: it pays no fee and writes no account.
#[inline]
pub fn process<S: AccountStore>(
    transaction: &Transaction,
    chain: &ChainState<'_, S>,
    options: &ProcessOptions,
    inspector: Option<&mut dyn Inspector>,
    workspace: &mut Workspace,
) -> Result<Box<Processed>, TransactionError> {
    if options.verify_signatures {
        verify_signatures(transaction)?;
    }
    process_verified(transaction, chain, options, inspector, workspace)
}

/// Processes a transaction whose signatures have been verified, or need not be.
///
/// # Errors
/// As [`process`].
#[inline]
pub(crate) fn process_verified<S: AccountStore>(
    transaction: &Transaction,
    chain: &ChainState<'_, S>,
    options: &ProcessOptions,
    inspector: Option<&mut dyn Inspector>,
    workspace: &mut Workspace,
) -> Result<Box<Processed>, TransactionError> {
    let ChainState { accounts, environment, blockhash_queue, .. } = *chain;
    let mut checked = check(transaction, accounts, environment, blockhash_queue)?;
    if let Some(budget) = options.budget {
        checked.budget.compute = budget;
    }
    let loaded = load(&checked, chain, workspace)?;
    let executed = execute(&checked, loaded, environment, options.engine, inspector, workspace);
    Ok(settle(executed, workspace))
}
