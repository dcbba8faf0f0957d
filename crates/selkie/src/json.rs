//! The JSON format of accounts that Solana's tools have.

use base64::{DecodeError, Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use solana_account::ReadableAccount;
use solana_pubkey::Pubkey;

/// Renders an account like `solana account --output json`.
#[must_use]
pub fn account_file(key: &Pubkey, account: &impl ReadableAccount) -> Value {
    json!({
        "pubkey": key.to_string(),
        "account": {
            "lamports": account.lamports(),
            "data": [BASE64_STANDARD.encode(account.data()), "base64"],
            "owner": account.owner().to_string(),
            "executable": account.executable(),
            "rentEpoch": account.rent_epoch(),
            "space": account.data().len(),
        }
    })
}

/// Decodes base64.
pub(crate) fn base64(text: &str) -> Result<Vec<u8>, DecodeError> {
    BASE64_STANDARD.decode(text)
}
