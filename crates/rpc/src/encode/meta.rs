//! What happened to a transaction: the field `meta`, and the value of a simulation.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_node::{InnerInstructions, LoadedAddresses, Meta, ReturnData, TokenBalance};
use serde_json::{Map, Value, json};
use solana_message::compiled_instruction::CompiledInstruction;
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use crate::{
    encode::{self, message},
    parsed::instructions,
    token_amount::{Scale, token_amount},
};

/// How inner instructions are shown.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inner<'a> {
    /// With indexes for addresses.
    Raw,
    /// With names, given all addresses.
    Parsed(&'a [Pubkey]),
}

/// Returns the field `meta` of a transaction in a block.
pub(crate) fn encode(
    result: &Result<(), TransactionError>,
    meta: &Meta,
    inner: Inner<'_>,
    rewards: bool,
) -> Value {
    let mut fields = simple(result, meta, rewards);
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    put("innerInstructions", inner_instructions(&meta.inner_instructions, inner));
    put("logMessages", json!(meta.logs));
    put("computeUnitsConsumed", json!(meta.compute_units));
    put("costUnits", json!(meta.cost_units));
    put("rewards", if rewards { json!([]) } else { Value::Null });
    if matches!(inner, Inner::Raw) {
        put("loadedAddresses", loaded_addresses(&meta.loaded_addresses));
    }
    if let Some(data) = &meta.return_data {
        put("returnData", return_data(data));
    }
    Value::Object(fields)
}

/// Returns the fields that blocks with accounts alone show.
pub(crate) fn simple(
    result: &Result<(), TransactionError>,
    meta: &Meta,
    rewards: bool,
) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    put("err", encode::error(result));
    put("status", encode::status(result));
    put("fee", json!(meta.fee));
    put("preBalances", json!(meta.pre_balances));
    put("postBalances", json!(meta.post_balances));
    put("preTokenBalances", token_balances(&meta.pre_token_balances));
    put("postTokenBalances", token_balances(&meta.post_token_balances));
    if rewards {
        put("rewards", json!([]));
    }
    fields
}

/// Returns the inner instructions of each top-level instruction that has some.
pub(crate) fn inner_instructions(all: &[InnerInstructions], inner: Inner<'_>) -> Value {
    let show = |it: &selkie_node::InnerInstruction| {
        let height = Some(u32::from(it.stack_height));
        let instruction = CompiledInstruction {
            program_id_index: it.program_index,
            accounts: it.accounts.clone(),
            data: it.data.clone(),
        };
        match inner {
            Inner::Raw => message::instruction(&instruction, height),
            Inner::Parsed(keys) => instructions::parse(&instruction, keys, height),
        }
    };
    let each = |it: &InnerInstructions| {
        let shown: Vec<Value> = it.instructions.iter().map(show).collect();
        json!({ "index": it.index, "instructions": shown })
    };
    all.iter().map(each).collect()
}

/// Returns token balances as the ledger has them: the amount with the mint's decimals, without interest
/// and multiplier, which change with time (agave: `ledger/src/transaction_balances.rs`,
/// `svm_token_info_to_token_balance`).
pub(crate) fn token_balances(balances: &[TokenBalance]) -> Value {
    let show = |it: &TokenBalance| {
        json!({
            "accountIndex": it.account_index,
            "mint": it.mint.to_string(),
            "owner": it.owner.to_string(),
            "programId": it.program.to_string(),
            "uiTokenAmount": token_amount(it.amount, &Scale::new(it.decimals)),
        })
    };
    balances.iter().map(show).collect()
}

/// Returns `{readonly, writable}`.
pub(crate) fn loaded_addresses(loaded: &LoadedAddresses) -> Value {
    json!({
        "readonly": message::strings(&loaded.readonly),
        "writable": message::strings(&loaded.writable),
    })
}

/// Returns `{data, programId}`.
pub(crate) fn return_data(data: &ReturnData) -> Value {
    json!({
        "data": [BASE64_STANDARD.encode(&data.data), "base64"],
        "programId": data.program.to_string(),
    })
}
