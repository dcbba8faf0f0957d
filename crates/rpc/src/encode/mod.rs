//! Accounts, transactions and blocks as clients ask for them.
//!
//! Fields are in alphabetical order, as in agave's answers.

pub(crate) mod account;
pub(crate) mod block;
pub(crate) mod message;
pub(crate) mod meta;
pub(crate) mod transaction;

use serde_json::{Value, json};
use solana_transaction_error::TransactionError;

/// Returns the error of a transaction as JSON; null for a success.
pub(crate) fn error(result: &Result<(), TransactionError>) -> Value {
    match result {
        Ok(()) => Value::Null,
        Err(error) => json!(error),
    }
}

/// Returns a result as the field `status`, which clients no longer need.
pub(crate) fn status(result: &Result<(), TransactionError>) -> Value {
    match result {
        Ok(()) => json!({ "Ok": null }),
        Err(error) => json!({ "Err": error }),
    }
}
