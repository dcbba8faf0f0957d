//! Transactions as RPC servers return them, with the accounts before them.
//!
//! ```text
//! {"transactions": [result of getTransaction, or of getBlock; encoding base64]…,
//!  "accounts": [{"pubkey": ADDRESS, "account": as of getAccountInfo, encoding base64}…]}
//! ```
//!
//! A file may also be the answer of a server as it is (`{"result": …}`); then it has no accounts but those
//! that every chain has. Servers do not say what accounts were before a transaction: the author of the
//! file has to know it. A result that differs shows where that fails.

use selkie_isa::failure::{Context as _, Failure, OrFailure as _};
use std::path::Path;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie::{Account, Pubkey, Svm, VersionedTransaction};
use serde::Deserialize;
use serde_json::Value;

use super::{Importer, Result, read};
use crate::item::Expectation;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    transactions: Option<Vec<Value>>,
    #[serde(default)]
    accounts: Vec<AccountEntry>,
    result: Option<Value>,
}

#[derive(Deserialize)]
struct AccountEntry {
    pubkey: String,
    account: AccountValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AccountValue {
    lamports: u64,
    owner: String,
    #[serde(default)]
    executable: bool,
    data: (String, String),
}

/// A transaction with its result.
#[derive(Deserialize)]
struct Sent {
    transaction: (String, String),
    meta: Option<Meta>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    err: Option<Value>,
    compute_units_consumed: Option<u64>,
}

/// Adds the transactions of a file.
pub(super) fn add(path: &Path, importer: &mut Importer) -> Result<()> {
    let file: File = serde_json::from_slice(&read(path)?).or_failure()?;
    let mut svm = Svm::new().with_blockhash_checks(false);
    for AccountEntry { pubkey, account } in &file.accounts {
        let key = pubkey.parse().with_context(|| format!("account {pubkey}"))?;
        let account = stored(account).with_context(|| format!("account {pubkey}"))?;
        // Sysvars are those of the chain.
        let _ = svm.set_account(key, account);
    }
    let given = file.transactions.unwrap_or_default();
    for value in given.into_iter().chain(file.result) {
        // A block has a list of them.
        let list = value.get("transactions").and_then(Value::as_array).cloned();
        for value in list.unwrap_or_else(|| vec![value]) {
            add_sent(path, importer, &svm, value)?;
        }
    }
    Ok(())
}

fn stored(value: &AccountValue) -> Result<Account> {
    Ok(Account {
        lamports: value.lamports,
        data: decode(&value.data)?,
        owner: value.owner.parse::<Pubkey>().context("owner")?,
        executable: value.executable,
        rent_epoch: u64::MAX,
    })
}

fn decode((text, encoding): &(String, String)) -> Result<Vec<u8>> {
    match encoding.as_str() {
        "base64" => BASE64_STANDARD.decode(text).context("it is not base64"),
        other => Err(Failure::new(format!("the encoding is {other}")))
            .advise("ask the server for base64"),
    }
}

fn add_sent(path: &Path, importer: &mut Importer, svm: &Svm, value: Value) -> Result<()> {
    let sent: Sent = match serde_json::from_value(value) {
        Ok(sent) => sent,
        Err(error) => {
            importer.skip(path, format!("not a transaction in base64: {error}"));
            return Ok(());
        }
    };
    let Some(meta) = sent.meta else {
        importer.skip(path, "it has no `meta`".to_owned());
        return Ok(());
    };
    let transaction: VersionedTransaction =
        wincode::deserialize_exact(&decode(&sent.transaction)?).context("transaction")?;
    let error = meta.err.as_ref().map(Value::to_string);
    let expect = Some(Expectation {
        status: Some(if error.is_some() { "Failed" } else { "Success" }),
        error: error.as_deref(),
        compute_units: meta.compute_units_consumed,
        effects_hash: None,
    });
    importer.push(&svm.case(&transaction), expect)?;
    Ok(())
}
