//! Methods about past transactions and blocks.

use std::sync::Arc;

use selkie_node::{AddressQuery, Block, Landed, NoBlock};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use solana_commitment_config::CommitmentLevel;
use solana_signature::Signature;

use crate::{
    budget::Text,
    config::{
        BlockConfig, Commitment, ContextConfig, SignaturesConfig, TransactionConfig,
        TransactionEncoding,
    },
    encode::{self, block, transaction},
    error::RpcError,
    methods::call::{Call, check_slot, rank, with_context},
    params::{Params, check_count, parse_signature},
};

/// The most signatures that `getSignatureStatuses` takes.
const STATUSES_MAX: usize = 256;
/// The most signatures that `getSignaturesForAddress` returns.
const SIGNATURES_MAX: usize = 1000;
/// The most slots that `getBlocks` looks at.
const BLOCKS_MAX: u64 = 500_000;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "struct RpcSignatureStatusConfig")]
struct StatusConfig {
    #[allow(dead_code, reason = "the history is always searched")]
    #[serde(default)]
    search_transaction_history: bool,
    #[serde(default)]
    commitment: Commitment,
    min_context_slot: Option<u64>,
}

pub(super) fn get_signature_statuses(
    call: &Call<'_>,
    params: &mut Params,
) -> Result<Value, RpcError> {
    let texts: Vec<String> = params.required(0)?;
    let config: StatusConfig = params.or_default(1)?;
    check_count(texts.len(), STATUSES_MAX)?;
    let signatures: Vec<Signature> =
        texts.iter().map(|text| parse_signature(text)).collect::<Result<_, _>>()?;
    let level = config.commitment.or_processed();
    let view = call.node.view(level);
    check_slot(&view, config.min_context_slot)?;
    let statuses = call.node.statuses(&signatures);
    // web3.js subscribes and then asks, and takes what comes first: it returns the error of a
    // notification but throws the one of an answer. With agave's blocks, notifications come first.
    for (signature, _) in signatures.iter().zip(&statuses).filter(|(_, status)| status.is_some()) {
        call.subscribers.catch_up(signature);
    }
    let show = |status: &Option<selkie_node::Status>| match status {
        Some(status) if rank(status.commitment) >= rank(level) => json!({
            "confirmationStatus": confirmation(status.commitment),
            "confirmations": status.confirmations,
            "err": encode::error(&status.result),
            "slot": status.slot,
            "status": encode::status(&status.result),
        }),
        _ => Value::Null,
    };
    Ok(with_context(view.slot(), statuses.iter().map(show).collect()))
}

/// Returns the name of a commitment.
pub(crate) fn confirmation(level: CommitmentLevel) -> &'static str {
    match level {
        CommitmentLevel::Processed => "processed",
        CommitmentLevel::Confirmed => "confirmed",
        CommitmentLevel::Finalized => "finalized",
    }
}

/// Reads a configuration, or an encoding alone, which older clients send.
pub(crate) fn config_or_encoding<T: DeserializeOwned + Default>(
    params: &mut Params,
    index: usize,
) -> Result<T, RpcError> {
    if let Some(encoding) = params.peek(index).as_str() {
        let config = json!({ "encoding": encoding });
        return serde_json::from_value(config)
            .map_err(|error| RpcError::invalid_params(format!("Invalid params: {error}.")));
    }
    params.or_default(index)
}

pub(super) fn get_transaction(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let signature = params.signature(0)?;
    let config: TransactionConfig = config_or_encoding(params, 1)?;
    let max = config.max_supported_transaction_version;
    let encoding = TransactionEncoding::of_transactions(config.encoding, max)?;
    let level = config.commitment.at_least_confirmed()?;
    check_slot(&call.node.view(level), config.min_context_slot)?;
    let Some(landed) = call.node.transaction(&signature) else { return Ok(Value::Null) };
    if rank(call.node.commitment_of(landed.slot)) < rank(level) {
        return Ok(Value::Null);
    }
    let mut shown = transaction::encode_landed(&landed, encoding, max, true)?;
    shown["blockTime"] = json!(landed.block_time);
    shown["slot"] = json!(landed.slot);
    shown["transactionIndex"] = json!(landed.index);
    Ok(shown)
}

pub(super) fn get_signatures_for_address(
    call: &Call<'_>,
    params: &mut Params,
) -> Result<Value, RpcError> {
    let address = params.key(0)?;
    let config: SignaturesConfig = params.or_default(1)?;
    let parse = |text: Option<String>| text.map(|text| parse_signature(&text)).transpose();
    let limit = config.limit.unwrap_or(SIGNATURES_MAX);
    if limit == 0 || limit > SIGNATURES_MAX {
        return Err(RpcError::invalid_params(format!("Invalid limit; max {SIGNATURES_MAX}")));
    }
    let query = AddressQuery {
        before: parse(config.before)?,
        until: parse(config.until)?,
        limit,
        commitment: config.commitment.at_least_confirmed()?,
    };
    if config.min_context_slot.is_some() {
        check_slot(&call.node.view(query.commitment), config.min_context_slot)?;
    }
    let landed = call
        .node
        .signatures_for_address(&address, &query)
        .map_err(|unknown| RpcError::filter_transaction_not_found(&unknown.0.to_string()))?;
    Ok(landed.iter().map(|landed| show_signature(call, landed)).collect())
}

/// Returns what methods about addresses say of a transaction.
pub(super) fn show_signature(call: &Call<'_>, landed: &Landed) -> Value {
    json!({
        "blockTime": landed.block_time,
        "confirmationStatus": confirmation(call.node.commitment_of(landed.slot)),
        "err": encode::error(&landed.result),
        "memo": transaction::memo(landed),
        "signature": landed.signature.to_string(),
        "slot": landed.slot,
        "transactionIndex": landed.index,
    })
}

/// Returns the block of a slot that has reached a commitment.
fn find_block(call: &Call<'_>, slot: u64, level: CommitmentLevel) -> Result<Arc<Block>, RpcError> {
    if slot > call.node.slot(level) {
        return Err(RpcError::block_not_available(slot));
    }
    call.node.block(slot).map_err(|missing| match missing {
        NoBlock::NotYet => RpcError::block_not_available(slot),
        NoBlock::CleanedUp { first } => RpcError::block_cleaned_up(slot, first),
        _ => RpcError::slot_skipped(slot),
    })
}

pub(super) fn get_block(
    call: &Call<'_>,
    params: &mut Params,
    text: &mut Text,
) -> Result<(), RpcError> {
    let slot: u64 = params.required(0)?;
    let config: BlockConfig = config_or_encoding(params, 1)?;
    let max = config.max_supported_transaction_version;
    TransactionEncoding::of_transactions(config.encoding, max)?;
    let level = config.commitment.at_least_confirmed()?;
    let found = find_block(call, slot, level)?;
    text.json(&block::Shown::new(&found, &config, None)?)
}

pub(super) fn get_block_time(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let slot: u64 = params.required(0)?;
    // Agave knows when the genesis was made even if it has dropped its block.
    if slot == 0 {
        return Ok(json!(call.node.info().created));
    }
    let found = find_block(call, slot, CommitmentLevel::Confirmed)?;
    Ok(json!(found.block_time))
}

pub(super) fn get_blocks(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let first: u64 = params.required(0)?;
    // The configuration may come second, in place of the last slot.
    let at = if params.peek(1).is_object() { 1 } else { 2 };
    let last: Option<u64> = if at == 1 { None } else { params.optional(1)? };
    let config: ContextConfig = params.or_default(at)?;
    let level = config.commitment.at_least_confirmed()?;
    let newest = call.view(config)?.slot();
    let last = last.unwrap_or_else(|| first.saturating_add(BLOCKS_MAX)).min(newest);
    if last.saturating_sub(first) > BLOCKS_MAX {
        let text = format!("Slot range too large; max {BLOCKS_MAX}");
        return Err(RpcError::invalid_params(text));
    }
    if last < first {
        return Ok(json!([]));
    }
    Ok(json!(call.node.blocks(first, Some(last), usize::MAX, level)))
}

pub(super) fn get_blocks_with_limit(
    call: &Call<'_>,
    params: &mut Params,
) -> Result<Value, RpcError> {
    let (first, limit): (u64, u64) = (params.required(0)?, params.required(1)?);
    let config: ContextConfig = params.or_default(2)?;
    let level = config.commitment.at_least_confirmed()?;
    if limit > BLOCKS_MAX {
        return Err(RpcError::invalid_params(format!("Limit too large; max {BLOCKS_MAX}")));
    }
    call.view(config)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    Ok(json!(call.node.blocks(first, None, limit, level)))
}
