//! [`Expected`]: the recorded result of a case.

use core::fmt::Write as _;
use std::collections::BTreeSet;

use selkie_svm::{AccountChange, InnerInstruction, Processed};
use serde_json::{Value, json};
use solana_account::{AccountSharedData, ReadableAccount as _};
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use crate::{
    accounts::KeyedAccount,
    error::{ReplayError, malformed},
    json::{account_to_json, base64, read_account, to_base64, unhex},
};

/// The result of a transaction, as far as clusters agree on it.
#[derive(Clone, PartialEq, Debug)]
pub struct Expected {
    /// At which stage it ended: `executed`, `fees_only`, or the check that dropped it.
    pub stage: String,
    /// `Ok`, or the error as `{:?}` prints it.
    pub result: String,
    /// The same as serde writes it; null if that is not recorded.
    pub result_json: Value,
    /// The fee in lamports.
    pub fee: u64,
    /// The compute units that were consumed.
    pub compute_units: u64,
    /// The size of loaded accounts in bytes.
    pub loaded_bytes: Option<u32>,
    /// The data that were returned last, and by which program.
    pub return_data: Option<(Pubkey, Vec<u8>)>,
    /// The log.
    pub logs: Vec<String>,
    /// The inner instructions of each top-level instruction.
    pub inner: Vec<Vec<Inner>>,
    /// The accounts that changed, afterwards; deleted ones are empty.
    pub accounts: Vec<KeyedAccount>,
}

/// An inner instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inner {
    /// The index of the program among the transaction's accounts.
    pub program_index: u8,
    /// The indexes of the accounts.
    pub accounts: Vec<u8>,
    /// The instruction data.
    pub data: Vec<u8>,
    /// The stack height.
    pub stack_height: u8,
}

impl Inner {
    /// Returns what is recorded of an inner instruction.
    #[must_use]
    pub fn of(called: &InnerInstruction) -> Self {
        Self {
            program_index: called.program_index,
            accounts: called.accounts.clone(),
            data: called.data.clone(),
            stack_height: called.stack_height,
        }
    }
}

/// The compared fields besides accounts. Of dropped transactions only the first is compared.
const FIELDS: &[&str] =
    &["result_str", "fee", "cu", "loaded_accounts_data_size", "return_data", "logs", "inner"];

impl Expected {
    /// Returns what is recorded of a result; `Err` is that of a transaction that was dropped.
    #[must_use]
    pub fn of(ended: Result<&Processed, &TransactionError>) -> Self {
        let processed = match ended {
            Ok(processed) => processed,
            Err(error) => {
                let dropped = Processed { result: Err(error.clone()), ..Processed::default() };
                return Self { stage: drop_stage(error).to_owned(), ..Self::of(Ok(&dropped)) };
            }
        };
        let stage = if processed.is_executed { "executed" } else { "fees_only" };
        let (result, result_json) = result_texts(&processed.result);
        let inner = processed.inner_instructions.iter();
        let returned = processed.return_data.as_ref();
        Self {
            stage: stage.to_owned(),
            result,
            result_json,
            fee: processed.fee.total(),
            compute_units: processed.compute_units,
            loaded_bytes: Some(processed.loaded_bytes),
            return_data: returned.map(|it| (it.program_id, it.data.clone())),
            logs: processed.logs.clone(),
            inner: inner.map(|list| list.iter().map(Inner::of).collect()).collect(),
            accounts: changed_accounts(&processed.accounts),
        }
    }

    /// Compares a result with the recorded one. Returns a sentence for each difference.
    #[must_use]
    pub fn differences(&self, ended: Result<&Processed, &TransactionError>) -> Vec<String> {
        let (expected, found) = (self.to_json(), Self::of(ended));
        let found_json = found.to_json();
        let mut differences = Vec::new();
        for field in FIELDS.iter().take(if ended.is_err() { 1 } else { FIELDS.len() }) {
            let (expected, found) = (&expected[*field], &found_json[*field]);
            if expected != found {
                differences.push(format!("{field}: expected {expected}, found {found}"));
            }
        }
        let all = ended.map(|it| it.accounts.as_slice()).unwrap_or_default();
        for (key, account) in &self.accounts {
            let after = all.iter().find(|it| it.key == *key).and_then(AccountChange::after);
            if !is_same(account, after) {
                differences.push(format!("account {key}: expected {account:?}, found {after:?}"));
            }
        }
        let known: BTreeSet<&Pubkey> = self.accounts.iter().map(|(key, _)| key).collect();
        let others = found.accounts.iter().filter(|(key, _)| !known.contains(key));
        differences.extend(others.map(|(key, _)| format!("account {key}: changed")));
        differences
    }

    /// Renders the result as replay files have it.
    pub(crate) fn to_json(&self) -> Value {
        let inner = self.inner.iter().map(|called| {
            let called = called.iter().map(|it| {
                json!({
                    "program_idx": it.program_index,
                    "accounts": it.accounts,
                    "data": hex(&it.data),
                    "stack_height": it.stack_height,
                })
            });
            Value::Array(called.collect())
        });
        let post = self.accounts.iter().map(|(key, account)| account_to_json(key, account));
        json!({
            "stage": self.stage,
            "result": self.result_json,
            "result_str": self.result,
            "fee": self.fee,
            "cu": self.compute_units,
            "loaded_accounts_data_size": self.loaded_bytes,
            "return_data": self.return_data.as_ref().map(|(program, data)| json!({
                "program": program.to_string(),
                "data": to_base64(data),
            })),
            "logs": self.logs,
            "inner": inner.collect::<Vec<_>>(),
            "post": post.collect::<Vec<_>>(),
        })
    }

    /// Reads a result. `blob` returns account data that are referred to by name.
    pub(crate) fn read(
        value: &Value,
        blob: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Self, ReplayError> {
        let missing = |name: &str| malformed(format!("`expect` has no `{name}`"));
        let text = |name: &str| {
            let text = value[name].as_str().map(str::to_owned);
            text.ok_or_else(|| missing(name))
        };
        let number = |name: &str| value[name].as_u64().ok_or_else(|| missing(name));
        let list = |name: &str| value[name].as_array().ok_or_else(|| missing(name));
        let loaded = &value["loaded_accounts_data_size"];
        let logs = list("logs")?.iter().map(|line| line.as_str().map(str::to_owned));
        let inner = value["inner"].as_array().map(Vec::as_slice).unwrap_or_default();
        let inner: Option<Vec<Vec<Inner>>> = inner
            .iter()
            .map(|called| called.as_array()?.iter().map(read_inner).collect())
            .collect();
        Ok(Self {
            stage: text("stage")?,
            result: text("result_str")?,
            result_json: value["result"].clone(),
            fee: number("fee")?,
            compute_units: number("cu")?,
            loaded_bytes: loaded.as_u64().and_then(|it| u32::try_from(it).ok()),
            return_data: read_returned(&value["return_data"])?,
            logs: logs.collect::<Option<_>>().ok_or_else(|| missing("logs"))?,
            inner: inner.ok_or_else(|| malformed("`inner` is no list of inner instructions"))?,
            accounts: list("post")?
                .iter()
                .map(|it| read_account(it, blob))
                .collect::<Result<_, _>>()?,
        })
    }
}

fn read_returned(value: &Value) -> Result<Option<(Pubkey, Vec<u8>)>, ReplayError> {
    if value.is_null() {
        return Ok(None);
    }
    let program = value["program"].as_str().and_then(|text| text.parse().ok());
    let program = program.ok_or_else(|| malformed("`return_data` has no `program`"))?;
    let data = value["data"].as_str().unwrap_or_default();
    Ok(Some((program, base64(data)?)))
}

fn read_inner(value: &Value) -> Option<Inner> {
    let byte = |value: &Value| value.as_u64().and_then(|it| u8::try_from(it).ok());
    Some(Inner {
        program_index: byte(&value["program_idx"])?,
        accounts: value["accounts"].as_array()?.iter().map(byte).collect::<Option<_>>()?,
        data: unhex(value["data"].as_str()?)?,
        stack_height: byte(&value["stack_height"])?,
    })
}

/// Returns the accounts that differ from before, afterwards.
#[must_use]
pub fn changed_accounts(accounts: &[AccountChange]) -> Vec<KeyedAccount> {
    let changed = accounts.iter().filter(|it| it.before.as_ref() != it.after());
    changed.map(|it| (it.key, it.after().cloned().unwrap_or_default())).collect()
}

/// Renders a result: `Ok`, or the error as `{:?}` prints it; and as serde writes it.
#[must_use]
pub fn result_texts(result: &Result<(), TransactionError>) -> (String, Value) {
    match result {
        Ok(()) => ("Ok".to_owned(), json!("Ok")),
        Err(error) => (format!("{error:?}"), json!({ "Err": error })),
    }
}

fn is_same(expected: &AccountSharedData, found: Option<&AccountSharedData>) -> bool {
    match found {
        Some(found) => expected == found,
        None => expected.lamports() == 0,
    }
}

/// Returns the vectors' name of the check that drops transactions with an error.
fn drop_stage(error: &TransactionError) -> &'static str {
    use TransactionError as Error;
    match error {
        Error::SanitizeFailure
        | Error::UnsupportedVersion
        | Error::AddressLookupTableNotFound
        | Error::InvalidAddressLookupTableOwner
        | Error::InvalidAddressLookupTableData
        | Error::InvalidAddressLookupTableIndex => "sanitize",
        Error::SignatureFailure => "sigverify",
        Error::AccountLoadedTwice | Error::TooManyAccountLocks => "locks",
        Error::DuplicateInstruction(_)
        | Error::InstructionError(..)
        | Error::InvalidLoadedAccountsDataSizeLimit => "budget",
        Error::BlockhashNotFound => "age",
        Error::AlreadyProcessed => "status_cache",
        _ => "svm_rejected",
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
