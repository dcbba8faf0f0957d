//! Messages of transactions, raw and parsed.

use serde_json::{Map, Value, json};
use solana_message::{
    VersionedMessage, compiled_instruction::CompiledInstruction, v1::TransactionConfig,
};
use solana_pubkey::Pubkey;

use crate::parsed::instructions;

/// The stack height of top-level instructions.
const TOP_LEVEL: u32 = 1;

/// Returns a message with indexes for addresses.
pub(crate) fn raw(message: &VersionedMessage) -> Value {
    let header = message.header();
    let instructions: Vec<Value> =
        message.instructions().iter().map(|it| instruction(it, Some(TOP_LEVEL))).collect();
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    put(
        "header",
        json!({
            "numReadonlySignedAccounts": header.num_readonly_signed_accounts,
            "numReadonlyUnsignedAccounts": header.num_readonly_unsigned_accounts,
            "numRequiredSignatures": header.num_required_signatures,
        }),
    );
    put("accountKeys", strings(message.static_account_keys()));
    put("recentBlockhash", json!(message.recent_blockhash().to_string()));
    put("instructions", json!(instructions));
    add_version_fields(message, &mut fields);
    Value::Object(fields)
}

/// Returns a message with names: its accounts, and instructions as far as they are known.
///
/// `keys` are all addresses, those loaded from lookup tables included.
pub(crate) fn parsed(message: &VersionedMessage, keys: &[Pubkey], writable: &[bool]) -> Value {
    let instructions: Vec<Value> = message
        .instructions()
        .iter()
        .map(|it| instructions::parse(it, keys, Some(TOP_LEVEL)))
        .collect();
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    put("accountKeys", accounts(message, keys, writable));
    put("recentBlockhash", json!(message.recent_blockhash().to_string()));
    put("instructions", json!(instructions));
    add_version_fields(message, &mut fields);
    Value::Object(fields)
}

/// Returns the accounts with their privileges.
pub(crate) fn accounts(message: &VersionedMessage, keys: &[Pubkey], writable: &[bool]) -> Value {
    let static_len = message.static_account_keys().len();
    let signers = usize::from(message.header().num_required_signatures);
    let account = |(index, key): (usize, &Pubkey)| {
        json!({
            "pubkey": key.to_string(),
            "signer": index < signers,
            "source": if index < static_len { "transaction" } else { "lookupTable" },
            "writable": writable.get(index).copied().unwrap_or_default(),
        })
    };
    keys.iter().enumerate().map(account).collect()
}

/// Returns an instruction with indexes for addresses.
pub(crate) fn instruction(instruction: &CompiledInstruction, stack_height: Option<u32>) -> Value {
    json!({
        "accounts": instruction.accounts,
        "data": bs58::encode(&instruction.data).into_string(),
        "programIdIndex": instruction.program_id_index,
        "stackHeight": stack_height,
    })
}

fn add_version_fields(message: &VersionedMessage, fields: &mut Map<String, Value>) {
    match message {
        VersionedMessage::Legacy(_) => {}
        VersionedMessage::V0(message) => {
            let lookup = |it: &solana_message::v0::MessageAddressTableLookup| {
                json!({
                    "accountKey": it.account_key.to_string(),
                    "readonlyIndexes": it.readonly_indexes,
                    "writableIndexes": it.writable_indexes,
                })
            };
            let lookups: Vec<Value> = message.address_table_lookups.iter().map(lookup).collect();
            fields.insert("addressTableLookups".to_owned(), json!(lookups));
        }
        VersionedMessage::V1(message) => {
            fields.insert("transactionConfig".to_owned(), config(&message.config));
        }
    }
}

fn config(config: &TransactionConfig) -> Value {
    json!({
        "computeUnitLimit": config.compute_unit_limit,
        "heapSize": config.heap_size,
        "loadedAccountsDataSizeLimit": config.loaded_accounts_data_size_limit,
        "priorityFee": config.priority_fee,
    })
}

pub(crate) fn strings(keys: &[Pubkey]) -> Value {
    keys.iter().map(|key| json!(key.to_string())).collect()
}
