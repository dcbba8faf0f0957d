//! What a transaction did: as a tree of calls with compute units and changes, or as a replay.

use selkie_node::{AccountDiff, ProgramCall, SimulateOptions, Trace};
use serde_json::{Value, json};
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;

use crate::{
    config::SendConfig,
    encode,
    error::RpcError,
    methods::{call::Call, wire},
    params::Params,
};

/// Returns the trace of a landed transaction; null if it is not in the history.
pub(super) fn trace_transaction(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let signature = params.signature(0)?;
    Ok(call.node.trace(&signature).map_or(Value::Null, |trace| show(&trace)))
}

/// Returns the replay file of a landed transaction; null if it is not in the history.
pub(super) fn replay_transaction(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let signature = params.signature(0)?;
    let replay = call.node.replay(&signature);
    let replay = replay.map_err(|error| RpcError::refused(error.to_string()))?;
    Ok(replay.map_or(Value::Null, |it| format!("{it}\n").into()))
}

/// Simulates a transaction with the newest blockhash and without signatures, and returns its trace.
pub(super) fn profile_transaction(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let text: String = params.required(0)?;
    let config: SendConfig = params.or_default(1)?;
    let encoding = config.encoding.or(Some(crate::config::TransactionEncoding::Base64));
    let transaction = wire::transaction(&text, encoding)?;
    let options = SimulateOptions { verify_signatures: false, replace_blockhash: true };
    let view = call.node.view(CommitmentLevel::Processed);
    Ok(show(&view.profile(&transaction, &options).1))
}

fn show(trace: &Trace) -> Value {
    json!({
        "accountDiffs": trace.account_diffs.iter().map(|it| diff(it, &trace.accounts)).collect::<Vec<_>>(),
        "computeUnitLimit": trace.compute_unit_limit,
        "computeUnits": trace.compute_units,
        "err": encode::error(&trace.result),
        "frames": trace.frames.iter().map(frame).collect::<Vec<_>>(),
        "logs": trace.logs,
        "notes": trace.notes,
        "postBalances": trace.post_balances,
        "preBalances": trace.pre_balances,
    })
}

fn frame(it: &ProgramCall) -> Value {
    json!({
        "accounts": encode::message::strings(&it.accounts),
        "computeUnits": it.compute_units,
        "data": bs58::encode(&it.data).into_string(),
        "inner": it.inner.iter().map(frame).collect::<Vec<_>>(),
        "logs": it.logs,
        "program": it.program.to_string(),
        "selfComputeUnits": it.self_compute_units,
        "stackHeight": it.stack_height,
    })
}

fn diff(it: &AccountDiff, accounts: &[Pubkey]) -> Value {
    let account = accounts.get(usize::from(it.account_index)).map(Pubkey::to_string);
    let ranges: Vec<Value> = it
        .ranges
        .iter()
        .map(|range| {
            json!({
                "after": hex::encode(&range.after),
                "before": hex::encode(&range.before),
                "offset": range.offset,
            })
        })
        .collect();
    json!({
        "account": account,
        "bytesAfter": it.bytes_after,
        "bytesBefore": it.bytes_before,
        "isTruncated": it.is_truncated,
        "ownerAfter": it.owner_after.to_string(),
        "ownerBefore": it.owner_before.to_string(),
        "ranges": ranges,
    })
}
