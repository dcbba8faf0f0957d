//! Surfpool's cheatcodes whose answers have another shape than ours: clients in Rust read `null` where
//! there is nothing to say, and a context around it (surfpool-types 1.7.0, `types.rs`).

use selkie_node::Travel;
use serde::Deserialize;
use serde_json::{Value, json};
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;

use crate::{
    error::RpcError,
    methods::{
        call::{Call, with_context},
        cheats::{self, refused},
        cluster::epoch_info,
        surfnet_settings::{Chosen, Supply},
    },
    params::{Params, parse_key},
};

/// Returns a value with the newest slot.
pub(super) fn now(call: &Call<'_>, value: Value) -> Value {
    with_context(call.node.slot(CommitmentLevel::Processed), value)
}

/// Anchor starts its tests when no runbook is left in the answer that is not complete.
pub(super) fn info(call: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    let startup = json!({ "phase": "ready", "planSealed": true, "tasks": [], "error": null });
    Ok(now(call, json!({ "runbookExecutions": [], "startup": startup })))
}

pub(super) fn reset_network(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    cheats::reset(call, params)?;
    Ok(now(call, Value::Null))
}

/// How far time travels where nothing is said, in seconds.
const HOUR: i64 = 60 * 60;

/// Where surfpool travels; timestamps are in milliseconds.
#[derive(Deserialize)]
enum Target {
    #[serde(rename = "absoluteSlot")]
    Slot(u64),
    #[serde(rename = "absoluteEpoch")]
    Epoch(u64),
    #[serde(rename = "absoluteTimestamp")]
    Timestamp(i64),
    #[serde(rename = "absoluteSlotAt")]
    SlotAt { slot: u64, timestamp: i64 },
}

pub(super) fn time_travel(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let travel = match params.optional(0)? {
        Some(Target::Slot(slot)) => Travel::Slot(slot),
        Some(Target::Epoch(epoch)) => Travel::Epoch(epoch),
        Some(Target::Timestamp(time)) => Travel::Timestamp(time / 1000),
        Some(Target::SlotAt { slot, timestamp }) => Travel::SlotAt(slot, timestamp / 1000),
        None => {
            let clock = call.node.view(CommitmentLevel::Processed).clock();
            Travel::Timestamp(clock.unix_timestamp.saturating_add(HOUR))
        }
    };
    call.node.travel(travel).map(|info| epoch_info(&info)).map_err(refused)
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Owned {
    include_owned_accounts: Option<bool>,
}

/// Reads an address, and with `includeOwnedAccounts` the accounts that it owns.
fn with_owned(call: &Call<'_>, params: &mut Params) -> Result<Vec<Pubkey>, RpcError> {
    let key = params.key(0)?;
    let Owned { include_owned_accounts } = params.or_default(1)?;
    let mut keys = vec![key];
    if include_owned_accounts.unwrap_or_default() {
        let view = call.node.view(CommitmentLevel::Processed);
        keys.extend(view.program_accounts(&key).into_iter().map(|(key, _)| key));
    }
    Ok(keys)
}

pub(super) fn reset_account(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    call.node.reset_accounts(with_owned(call, params)?).map_err(refused)?;
    Ok(now(call, Value::Null))
}

pub(super) fn offline_account(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    call.node.keep_local(&with_owned(call, params)?);
    Ok(now(call, Value::Null))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Control {
    lockout: Option<bool>,
}

pub(super) fn disable(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let chosen: Chosen = params.required(0)?;
    let Control { lockout } = params.or_default(1)?;
    call.surfnet.disable(chosen, lockout.unwrap_or_default())?;
    Ok(now(call, Value::Null))
}

pub(super) fn enable(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    call.surfnet.enable(params.required(0)?)?;
    Ok(now(call, Value::Null))
}

pub(super) fn set_supply(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    call.surfnet.set_supply(params.required::<Supply>(0)?)?;
    Ok(now(call, Value::Null))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Streamed {
    pubkey: String,
    include_owned_accounts: Option<bool>,
}

pub(super) fn stream_account(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let key = params.key(0)?;
    let Owned { include_owned_accounts } = params.or_default(1)?;
    call.node.stream(key, include_owned_accounts.unwrap_or_default());
    Ok(now(call, Value::Null))
}

pub(super) fn stream_accounts(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let entries: Vec<Streamed> = params.required(0)?;
    let key = |it: &Streamed| Ok((parse_key(&it.pubkey)?, it.include_owned_accounts));
    let entries = entries.iter().map(key).collect::<Result<Vec<_>, RpcError>>()?;
    for (key, with_owned) in entries {
        call.node.stream(key, with_owned.unwrap_or_default());
    }
    Ok(now(call, Value::Null))
}

pub(super) fn streamed_accounts(call: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    let show = |(key, with_owned): (Pubkey, bool)| json!({ "includeOwnedAccounts": with_owned, "pubkey": key.to_string() });
    let accounts: Vec<Value> = call.node.streamed().into_iter().map(show).collect();
    Ok(now(call, json!({ "accounts": accounts })))
}
