//! Accounts and bytes as replay files write them.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

use crate::{
    accounts::KeyedAccount,
    error::{ReplayError, malformed},
};

/// Renders an account.
pub(crate) fn account_to_json(key: &Pubkey, account: &AccountSharedData) -> Value {
    json!({
        "k": key.to_string(),
        "l": account.lamports(),
        "o": account.owner().to_string(),
        "x": account.executable(),
        "r": account.rent_epoch().to_string(),
        "d": BASE64_STANDARD.encode(account.data()),
    })
}

/// Reads an account. `blob` returns data that are referred to by name.
pub(crate) fn read_account(
    value: &Value,
    blob: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> Result<KeyedAccount, ReplayError> {
    let text = value["d"].as_str().ok_or_else(|| malformed("`d` is not a string"))?;
    let data = match text.strip_prefix("blob:") {
        Some(name) => blob(name).ok_or_else(|| malformed(format!("unknown blob {name}")))?,
        None => base64(text)?,
    };
    let rent_epoch = match &value["r"] {
        Value::Null => Some(u64::MAX),
        given => given.as_str().and_then(|text| text.parse().ok()),
    };
    let account = Account {
        lamports: value["l"].as_u64().ok_or_else(|| malformed("`l` is not a number"))?,
        data,
        owner: key(value, "o")?,
        executable: value["x"].as_bool().ok_or_else(|| malformed("`x` is not a boolean"))?,
        rent_epoch: rent_epoch.ok_or_else(|| malformed("`r` is not a number in a string"))?,
    };
    Ok((key(value, "k")?, account.into()))
}

fn key(value: &Value, field: &str) -> Result<Pubkey, ReplayError> {
    let key = value[field].as_str().and_then(|text| text.parse().ok());
    key.ok_or_else(|| malformed(format!("`{field}` is not an address")))
}

pub(crate) fn base64(text: &str) -> Result<Vec<u8>, ReplayError> {
    BASE64_STANDARD.decode(text).map_err(|error| malformed(format!("bad base64: {error}")))
}

pub(crate) fn to_base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).and_then(|it| u8::try_from(it).ok())).collect();
    let (pairs, rest) = digits.as_ref()?.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}
