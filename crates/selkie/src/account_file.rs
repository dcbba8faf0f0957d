//! Accounts in the JSON format of `solana account --output json`.

use core::fmt;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

use selkie_isa::input;
use serde_json::Value;
use solana_account::Account;
use solana_pubkey::Pubkey;

use crate::{json, svm::Svm};

/// More values than any account has, even with parsed data (`jsonParsed`).
const VALUES_MAX: usize = 1 << 16;

/// An account that cannot be read or written.
#[non_exhaustive]
pub enum AccountFileError {
    /// The file cannot be read or written.
    File(PathBuf, io::Error),
    /// The JSON is not an account.
    Format(String),
    /// There is no account at this address.
    NoAccount(Pubkey),
}

impl fmt::Display for AccountFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => write!(f, "cannot use {}: {error}", path.display()),
            Self::Format(why) => write!(f, "not an account in JSON: {why}"),
            Self::NoAccount(key) => write!(f, "there is no account at {key}"),
        }
    }
}

impl core::error::Error for AccountFileError {}

impl Svm {
    /// Loads an account from a file written by `solana account --output json`; returns its address.
    ///
    /// # Errors
    /// If the file cannot be read or does not hold an account.
    pub fn load_account_file(
        &mut self,
        path: impl AsRef<Path>,
    ) -> Result<Pubkey, AccountFileError> {
        let path = path.as_ref();
        let bytes =
            input::named(path).map_err(|error| AccountFileError::File(path.to_owned(), error))?;
        let text =
            str::from_utf8(&bytes).map_err(|error| AccountFileError::Format(error.to_string()))?;
        self.load_account_json(text)
    }

    /// Loads an account from such JSON; returns its address.
    ///
    /// ```
    /// # use selkie::{address, Svm};
    /// let mut svm = Svm::new();
    /// svm.airdrop(&address("alice"), 5)?;
    /// let text = svm.account_json(&address("alice"))?;
    /// let mut other = Svm::new();
    /// assert_eq!(other.load_account_json(&text)?, address("alice"));
    /// assert_eq!(other.account(&address("alice")), svm.account(&address("alice")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the JSON is not an account.
    pub fn load_account_json(&mut self, text: &str) -> Result<Pubkey, AccountFileError> {
        let format = AccountFileError::Format;
        // A parsed value takes up to 100 times the memory of its text. An account has ten values,
        // some of them long.
        if text.bytes().filter(|byte| b",:[{".contains(byte)).count() > VALUES_MAX {
            return Err(format(format!("it has more than {VALUES_MAX} values")));
        }
        let value: Value = serde_json::from_str(text).map_err(|error| format(error.to_string()))?;
        let (key, account) = read(&value)?;
        let key = key.ok_or_else(|| format("`pubkey` is missing".to_owned()))?;
        self.set_account(key, account).map_err(|error| format(error.to_string()))?;
        Ok(key)
    }

    /// Returns an account as JSON.
    ///
    /// # Errors
    /// If there is no account at `key`.
    pub fn account_json(&self, key: &Pubkey) -> Result<String, AccountFileError> {
        let account = self.shared_account(key).ok_or(AccountFileError::NoAccount(*key))?;
        Ok(format!("{:#}\n", json::account_file(key, &account)))
    }

    /// Writes an account to a file as JSON.
    ///
    /// # Errors
    /// If there is no account at `key`, or if the file cannot be written.
    pub fn save_account_file(
        &self,
        key: &Pubkey,
        path: impl AsRef<Path>,
    ) -> Result<(), AccountFileError> {
        let (path, text) = (path.as_ref(), self.account_json(key)?);
        fs::write(path, text).map_err(|error| AccountFileError::File(path.to_owned(), error))
    }
}

/// Reads the output of `solana account --output json` or of RPC's `getAccountInfo`: the account
/// and, if given, its address.
fn read(value: &Value) -> Result<(Option<Pubkey>, Account), AccountFileError> {
    let bad = AccountFileError::Format;
    let key = value.get("pubkey").map(|_| key(value, "pubkey")).transpose()?;
    let account = value.get("account").or_else(|| value.pointer("/result/value")).unwrap_or(value);
    let data = match account.get("data") {
        Some(Value::Array(parts)) => {
            let part = |index: usize| parts.get(index).and_then(Value::as_str);
            match (part(0), part(1)) {
                (Some(text), Some("base64")) => {
                    json::base64(text).map_err(|error| bad(format!("bad base64: {error}")))?
                }
                (_, encoding) => {
                    return Err(bad(format!("`data` has encoding {encoding:?}, not base64")));
                }
            }
        }
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        _ => {
            let why = "`data` is not a pair of base64 text and \"base64\"";
            return Err(bad(why.to_owned()));
        }
    };
    let lamports = account.get("lamports").and_then(Value::as_u64);
    let executable = account.get("executable").and_then(Value::as_bool).unwrap_or(false);
    let read = Account {
        lamports: lamports.ok_or_else(|| bad("`lamports` is not a number".to_owned()))?,
        data,
        owner: self::key(account, "owner")?,
        executable,
        // JavaScript tools round numbers beyond the precision of a double.
        rent_epoch: account.get("rentEpoch").and_then(Value::as_u64).unwrap_or(u64::MAX),
    };
    Ok((key, read))
}

fn key(value: &Value, field: &str) -> Result<Pubkey, AccountFileError> {
    let text = value.get(field).and_then(Value::as_str);
    let key = text.and_then(|text| text.parse().ok());
    key.ok_or_else(|| AccountFileError::Format(format!("`{field}` is not an address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_with_too_many_values_is_rejected() {
        let mut svm = Svm::new();
        let text = format!("{{\"account\":[{}0]}}", "{\"\":0},".repeat(VALUES_MAX / 3 + 1));
        let error = svm.load_account_json(&text).unwrap_err();
        assert!(error.to_string().contains("more than 65536 values"), "{error}");
    }
}
