//! The two JSON formats of accounts: that of Solana's tools, and that of fixtures.

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

/// Renders an account in the format of fixtures.
pub(crate) fn case_account(key: &Pubkey, account: &AccountSharedData) -> Value {
    json!({
        "k": key.to_string(),
        "l": account.lamports(),
        "o": account.owner().to_string(),
        "x": account.executable(),
        "r": account.rent_epoch().to_string(),
        "d": BASE64_STANDARD.encode(account.data()),
    })
}

/// Reads an account in the format of fixtures. `blob` returns data that are referred to by name.
pub(crate) fn read_case_account(
    value: &Value,
    blob: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> Result<(Pubkey, AccountSharedData), String> {
    let text = value.get("d").and_then(Value::as_str).ok_or("`d` is not a string")?;
    let data = match text.strip_prefix("blob:") {
        Some(name) => blob(name).ok_or_else(|| format!("unknown blob {name}"))?,
        None => base64(text)?,
    };
    let rent_epoch = value.get("r").and_then(Value::as_str).and_then(|text| text.parse().ok());
    let account = Account {
        lamports: value.get("l").and_then(Value::as_u64).ok_or("`l` is not a number")?,
        data,
        owner: key(value, "o")?,
        executable: value.get("x").and_then(Value::as_bool).ok_or("`x` is not a boolean")?,
        rent_epoch: rent_epoch.ok_or("`r` is not a number in a string")?,
    };
    Ok((key(value, "k")?, account.into()))
}

pub(crate) fn base64(text: &str) -> Result<Vec<u8>, String> {
    BASE64_STANDARD.decode(text).map_err(|error| format!("bad base64: {error}"))
}

pub(crate) fn to_base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

fn key(value: &Value, field: &str) -> Result<Pubkey, String> {
    let text = value.get(field).and_then(Value::as_str);
    let key = text.and_then(|text| text.parse().ok());
    key.ok_or_else(|| format!("`{field}` is not an address"))
}
