//! The JSON format of accounts that Solana's tools have.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

/// Renders an account like `solana account --output json`.
#[must_use]
pub fn account_file(key: &Pubkey, account: &AccountSharedData) -> Value {
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

/// Reads the output of `solana account --output json` or of RPC's `getAccountInfo`: the account
/// and, if given, its address. `Err` says what is missing or wrong.
pub(crate) fn read_account_file(value: &Value) -> Result<(Option<Pubkey>, Account), String> {
    let key = value.get("pubkey").map(|_| key(value, "pubkey")).transpose()?;
    let account = value.get("account").or_else(|| value.pointer("/result/value")).unwrap_or(value);
    let data = match account.get("data") {
        Some(Value::Array(parts)) => {
            let part = |index: usize| parts.get(index).and_then(Value::as_str);
            match (part(0), part(1)) {
                (Some(text), Some("base64")) => base64(text)?,
                (_, encoding) => {
                    return Err(format!("`data` has encoding {encoding:?}, not base64"));
                }
            }
        }
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        _ => return Err("`data` is not a pair of base64 text and \"base64\"".to_owned()),
    };
    let lamports = account.get("lamports").and_then(Value::as_u64);
    let executable = account.get("executable").and_then(Value::as_bool).unwrap_or(false);
    let read = Account {
        lamports: lamports.ok_or("`lamports` is not a number")?,
        data,
        owner: self::key(account, "owner")?,
        executable,
        // JavaScript tools round numbers beyond the precision of a double.
        rent_epoch: account.get("rentEpoch").and_then(Value::as_u64).unwrap_or(u64::MAX),
    };
    Ok((key, read))
}

pub(crate) fn base64(text: &str) -> Result<Vec<u8>, String> {
    BASE64_STANDARD.decode(text).map_err(|error| format!("bad base64: {error}"))
}

fn key(value: &Value, field: &str) -> Result<Pubkey, String> {
    let text = value.get(field).and_then(Value::as_str);
    let key = text.and_then(|text| text.parse().ok());
    key.ok_or_else(|| format!("`{field}` is not an address"))
}
