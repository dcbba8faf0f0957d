//! What a transaction did: as a tree of calls with compute units and changes, or as a replay.

use core::iter;

use selkie_isa::plain;
use selkie_layout::place;
use selkie_node::{AccountDiff, Changed, ProgramCall, SimulateOptions, Trace};
use serde_json::{Value, json};
use solana_account::{AccountSharedData, ReadableAccount};
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
    Ok(call.node.trace(&signature).map_or(Value::Null, |trace| show(call, &trace)))
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
    Ok(show(call, &view.profile(&transaction, &options).1))
}

fn show(call: &Call<'_>, trace: &Trace) -> Value {
    let changed = trace.changed.iter().map(Some).chain(iter::repeat(None));
    let diffs = trace.account_diffs.iter().zip(changed).map(|(it, changed)| {
        let mut shown = diff(it, &trace.accounts);
        shown["fields"] = changed.map(|it| fields(call, it)).unwrap_or_else(|| json!([]));
        shown
    });
    json!({
        "accountDiffs": diffs.collect::<Vec<_>>(),
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

/// Returns the fields of an account that changed, by its program's rows or description.
fn fields(call: &Call<'_>, it: &Changed) -> Value {
    let layout = |account: Option<&AccountSharedData>| {
        account.and_then(|it| call.interfaces.account(call, it.owner(), it.data()))
    };
    let (before, after) = (it.before.as_ref(), it.after.as_ref());
    let (old, new) = (layout(before), layout(after));
    let old = old.as_ref().zip(before).map(|((layout, _), it)| (layout, it.data()));
    let new = new.as_ref().zip(after).map(|((layout, _), it)| (layout, it.data()));
    let changed = place::changes(old, new);
    let shown = changed
        .iter()
        .map(|it| json!({ "after": it.after, "before": it.before, "path": plain::line(&it.path) }));
    shown.collect()
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
