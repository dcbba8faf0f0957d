//! Notes on the limits that made a transaction fail outside of its instructions: what was found, and
//! what the limit is.

use solana_account::ReadableAccount;
use solana_transaction_error::TransactionError;

use crate::{
    chain::sysvars::minimum_balance,
    runtime::{context::environment::Environment, transaction_accounts::TransactionAccounts},
};

/// Explains why the balances that a transaction left are not accepted.
#[cold]
pub(super) fn of_balances(
    error: &TransactionError,
    accounts: &TransactionAccounts,
    environment: &Environment,
) -> Option<String> {
    let TransactionError::InsufficientFundsForRent { account_index } = error else { return None };
    let found = accounts.get(usize::from(*account_index)).ok()?;
    let (lamports, len) = (found.account.lamports(), found.account.data().len());
    let least = minimum_balance(&environment.rent(), len);
    Some(format!(
        "account {} would have {lamports} lamports, and with {len} bytes of data it needs {least} or \
         none",
        found.key
    ))
}

/// Explains why accounts could not be loaded. `counted` are the bytes up to the account that exceeded
/// the limit.
#[cold]
pub(super) fn of_loading(error: &TransactionError, counted: u32, limit: u32) -> Option<String> {
    let is_it = *error == TransactionError::MaxLoadedAccountsDataSizeExceeded && counted > limit;
    is_it.then(|| {
        format!(
            "loading stopped at {counted} bytes of accounts and programs, and the transaction's limit is \
             {limit}"
        )
    })
}
