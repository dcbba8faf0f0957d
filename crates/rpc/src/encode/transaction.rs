//! Transactions in the encodings of clients.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_node::{Landed, writable};
use serde_json::{Value, json};
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_transaction::versioned::VersionedTransaction;

use crate::{
    config::TransactionEncoding,
    encode::{
        message,
        meta::{self, Inner},
    },
    error::RpcError,
};

/// The first byte of a versioned message has this bit.
const VERSION_BIT: u8 = 0x80;

/// Returns the memos of a transaction as `getSignaturesForAddress` shows them: `[length] text`,
/// separated by `; `. `None` if it has none.
pub(crate) fn memo(landed: &Landed) -> Option<String> {
    let message = &landed.transaction.message;
    let keys = message.static_account_keys();
    let is_memo = |index: u8| {
        keys.get(usize::from(index)).is_some_and(|it| selkie_layout::memo::ALL.contains(it))
    };
    let memos = message.instructions().iter().filter(|it| is_memo(it.program_id_index));
    let memos: Vec<String> = memos
        .map(|it| match core::str::from_utf8(&it.data) {
            Ok(text) => format!("[{}] {text}", it.data.len()),
            Err(_) => "(unprintable)".to_owned(),
        })
        .collect();
    (!memos.is_empty()).then(|| memos.join("; "))
}

/// Returns the transaction with `meta` and, if the client knows versions, `version`.
///
/// # Errors
/// If the client does not know the transaction's version.
pub(crate) fn encode_landed(
    landed: &Landed,
    encoding: TransactionEncoding,
    max_version: Option<u8>,
    rewards: bool,
) -> Result<Value, RpcError> {
    let version = version(&landed.transaction.message, max_version)?;
    let keys = landed.account_keys();
    let inner = match encoding {
        TransactionEncoding::JsonParsed => Inner::Parsed(&keys),
        _ => Inner::Raw,
    };
    let mut shown = json!({
        "meta": meta::encode(&landed.result, &landed.meta, inner, rewards),
        "transaction": encode(&landed.transaction, encoding, &keys),
    });
    add_version(&mut shown, version);
    Ok(shown)
}

/// Returns the transaction with its accounts and signatures alone.
///
/// # Errors
/// If the client does not know the transaction's version.
pub(crate) fn encode_accounts(
    landed: &Landed,
    max_version: Option<u8>,
    rewards: bool,
) -> Result<Value, RpcError> {
    let message = &landed.transaction.message;
    let version = version(message, max_version)?;
    let keys = landed.account_keys();
    let mut shown = json!({
        "meta": meta::simple(&landed.result, &landed.meta, rewards),
        "transaction": {
            "accountKeys": message::accounts(message, &keys, &writable(message, &keys)),
            "signatures": signatures(&landed.transaction),
        },
    });
    add_version(&mut shown, version);
    Ok(shown)
}

fn add_version(shown: &mut Value, version: Option<Value>) {
    if let (Some(version), Some(fields)) = (version, shown.as_object_mut()) {
        fields.insert("version".to_owned(), version);
    }
}

/// A version of transactions that the client does not know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnknownVersion(pub(crate) u8);

impl From<UnknownVersion> for RpcError {
    fn from(UnknownVersion(version): UnknownVersion) -> Self {
        Self::unsupported_version(version)
    }
}

/// Checks that the client knows the version of a transaction.
///
/// # Errors
/// If it does not.
pub(crate) fn check_version(
    landed: &Landed,
    max_version: Option<u8>,
) -> Result<(), UnknownVersion> {
    version(&landed.transaction.message, max_version).map(|_| ())
}

/// Returns the field `version`; `None` for clients that know legacy transactions alone.
fn version(message: &VersionedMessage, max: Option<u8>) -> Result<Option<Value>, UnknownVersion> {
    let number = match message {
        VersionedMessage::Legacy(_) => return Ok(max.map(|_| json!("legacy"))),
        VersionedMessage::V0(_) => 0,
        VersionedMessage::V1(_) => 1,
    };
    match max {
        Some(max) if number <= max => Ok(Some(json!(number))),
        _ => Err(UnknownVersion(number)),
    }
}

/// Returns a transaction in an encoding. `keys` are all addresses, loaded ones included.
fn encode(
    transaction: &VersionedTransaction,
    encoding: TransactionEncoding,
    keys: &[Pubkey],
) -> Value {
    let message = &transaction.message;
    match encoding {
        TransactionEncoding::Binary => json!(bs58::encode(wire(transaction)).into_string()),
        TransactionEncoding::Base58 => {
            json!([bs58::encode(wire(transaction)).into_string(), "base58"])
        }
        TransactionEncoding::Base64 => {
            json!([BASE64_STANDARD.encode(wire(transaction)), "base64"])
        }
        TransactionEncoding::Json => {
            json!({ "message": message::raw(message), "signatures": signatures(transaction) })
        }
        TransactionEncoding::JsonParsed => json!({
            "message": message::parsed(message, keys, &writable(message, keys)),
            "signatures": signatures(transaction),
        }),
    }
}

fn wire(transaction: &VersionedTransaction) -> Vec<u8> {
    wincode::serialize(transaction).unwrap_or_default()
}

fn signatures(transaction: &VersionedTransaction) -> Vec<String> {
    transaction.signatures.iter().map(ToString::to_string).collect()
}

/// Returns whether bytes are those of a transaction of version 1, which may be longer.
pub(crate) fn is_v1(wire: &[u8]) -> bool {
    wire.first() == Some(&(VERSION_BIT | 1))
}
