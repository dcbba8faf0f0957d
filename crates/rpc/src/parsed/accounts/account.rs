//! What is shown of an account, and how.

use serde_json::{Value, json};
use solana_pubkey::Pubkey;

use crate::token_amount::Scale;

/// An account to show.
#[derive(Debug)]
pub(crate) struct Account<'a> {
    /// Its address.
    pub(crate) key: &'a Pubkey,
    /// The program that owns it.
    pub(crate) owner: &'a Pubkey,
    /// Its data.
    pub(crate) data: &'a [u8],
    /// For a token account, how its mint's amounts are shown.
    pub(crate) scale: Option<&'a Scale>,
}

/// Returns an account of a kind, with its fields.
pub(super) fn typed(kind: &str, info: &Value) -> Value {
    json!({ "info": info, "type": kind })
}
