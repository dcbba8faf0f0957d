//! Snapshots: accounts by their addresses, in JSON, as `surfnet_exportSnapshot` and Anchor write them.

use std::{collections::BTreeMap, path::Path};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie::{Account, AccountSharedData, Pubkey};
use selkie_isa::{
    failure::{Context as _, OrFailure as _, Result},
    input,
};
use serde::Deserialize;

/// An account. Its `rentEpoch` is not read: accounts here are exempt from rent.
#[derive(Deserialize)]
struct Row {
    lamports: u64,
    owner: String,
    #[serde(default)]
    executable: bool,
    data: String,
}

/// Reads the accounts of a snapshot. Those that are `null` are left to be fetched.
///
/// # Errors
/// If the file cannot be read, is no snapshot, or an account of it has an address or data that are none.
pub fn read(path: &Path) -> Result<Vec<(Pubkey, AccountSharedData)>> {
    let shown = path.display();
    let text = input::read(path, input::FILE_BYTES_MAX)
        .with_context(|| format!("cannot read the snapshot {shown}"))?;
    let rows: BTreeMap<String, Option<Row>> = serde_json::from_slice(&text)
        .with_context(|| format!("{shown} is no snapshot"))
        .advise("`surfnet_exportSnapshot` and Anchor write snapshots")?;
    let accounts = rows.into_iter().filter_map(|(key, row)| {
        let read = account(&key, row?);
        Some(read.with_context(|| format!("{shown}: {key}")))
    });
    accounts.collect()
}

fn account(key: &str, row: Row) -> Result<(Pubkey, AccountSharedData)> {
    let Row { lamports, owner, executable, data } = row;
    let data = BASE64_STANDARD.decode(&data).or_failure()?;
    let owner = address(&owner)?;
    let account = Account { lamports, data, owner, executable, ..Account::default() };
    Ok((address(key)?, account.into()))
}

fn address(text: &str) -> Result<Pubkey> {
    text.parse().with_context(|| format!("not an address: {text}"))
}
