//! Methods that no cluster has: they edit state and time.

use core::fmt::Display;
use std::collections::BTreeMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_layout::place::with_values;
use selkie_node::{BlockMode, TokenEdit, TokenState, Travel};
use serde::Deserialize;
use serde_json::{Value, json};
use solana_account::{AccountSharedData, ReadableAccount, WritableAccount};
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;

use crate::{
    budget::Text,
    encode,
    error::RpcError,
    methods::{
        call::{Call, with_context},
        cluster::epoch_info,
    },
    params::{Params, parse_key},
};

/// Timestamps above this are milliseconds: as seconds they would be in the year 5138.
const SECONDS_MAX: i64 = 100_000_000_000;
/// The longest data in base58, in characters: to decode it takes as long as the square of its length.
const BASE58_MAX: usize = 16 * 1024;
/// How many transactions `selkie_recentTransactions` returns by default.
const RECENT: usize = 50;

/// Returns the error for an edit that the node refuses.
pub(super) fn refused(error: impl Display) -> RpcError {
    RpcError::invalid_params(error.to_string())
}

/// Returns null with the newest slot.
fn done(call: &Call<'_>) -> Value {
    with_context(call.node.slot(CommitmentLevel::Processed), Value::Null)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AccountEdit {
    lamports: Option<u64>,
    data: Option<Bytes>,
    owner: Option<String>,
    executable: Option<bool>,
    #[serde(default)]
    fields: BTreeMap<String, String>,
}

/// Bytes as hexadecimal text, or as text and encoding, as `getAccountInfo` shows them.
#[derive(Deserialize)]
#[serde(untagged)]
enum Bytes {
    Hex(String),
    Encoded(String, String),
}

impl Bytes {
    fn decode(self) -> Result<Vec<u8>, RpcError> {
        let invalid = |error: &dyn Display| RpcError::invalid_params(format!("data: {error}"));
        match self {
            Self::Hex(text) => {
                let text = text.strip_prefix("0x").unwrap_or(&text);
                hex::decode(text).map_err(|error| invalid(&error))
            }
            Self::Encoded(text, encoding) if encoding == "base64" => {
                BASE64_STANDARD.decode(text).map_err(|error| invalid(&error))
            }
            Self::Encoded(text, encoding) if encoding == "base58" && text.len() > BASE58_MAX => {
                let len = text.len();
                Err(invalid(&format!("{len} characters of base58 take too long, use base64")))
            }
            Self::Encoded(text, encoding) if encoding == "base58" => {
                bs58::decode(text).into_vec().map_err(|error| invalid(&error))
            }
            Self::Encoded(_, encoding) => {
                Err(invalid(&format!("unknown encoding {encoding}, use base64 or base58")))
            }
        }
    }
}

pub(super) fn set_account(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let key = params.key(0)?;
    let edit: AccountEdit = params.required(1)?;
    let view = call.node.view(CommitmentLevel::Processed);
    let mut account = view.account(&key).unwrap_or_default();
    if let Some(lamports) = edit.lamports {
        account.set_lamports(lamports);
    }
    if let Some(data) = edit.data {
        account.set_data_from_slice(&data.decode()?);
    }
    if let Some(owner) = edit.owner {
        account.set_owner(parse_key(&owner)?);
    }
    if let Some(executable) = edit.executable {
        account.set_executable(executable);
    }
    if !edit.fields.is_empty() {
        let data = with_fields(call, &account, &edit.fields)?;
        account.set_data_from_slice(&data);
    }
    // An account without lamports does not exist, so a new one gets what its size requires.
    if edit.lamports.is_none() && account.lamports() == 0 {
        account.set_lamports(view.minimum_balance(account.data().len()));
    }
    call.node.set_account(key, account).map_err(refused)?;
    Ok(done(call))
}

/// Returns an account's data with other values of fields, which are named as `selkie_describe` names them.
fn with_fields(
    call: &Call<'_>,
    account: &AccountSharedData,
    fields: &BTreeMap<String, String>,
) -> Result<Vec<u8>, RpcError> {
    let invalid = |text: String| RpcError::invalid_params(format!("fields: {text}"));
    let found = call.interfaces.account(call, account.owner(), account.data());
    let (layout, _) =
        found.ok_or_else(|| invalid("no layout of the account's data is known".to_owned()))?;
    with_values(&layout, account.data(), fields, |place, path| place == path)
        .map_err(|error| invalid(error.to_string()))
}

pub(super) fn set_balance(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let key = params.key(0)?;
    call.node.set_balance(key, params.required(1)?).map(|slot| json!(slot)).map_err(refused)
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TokenAccountEdit {
    amount: Option<u64>,
    delegate: Option<String>,
    delegated_amount: Option<u64>,
    state: Option<String>,
    close_authority: Option<String>,
}

/// Reads an address; surfpool's clients write `null` to remove one.
fn key_or_null(text: Option<String>) -> Result<Option<Option<Pubkey>>, RpcError> {
    match text.as_deref() {
        None => Ok(None),
        Some("null") => Ok(Some(None)),
        Some(text) => parse_key(text).map(|key| Some(Some(key))),
    }
}

pub(super) fn set_token_account(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let address = edit_token_account(call, params)?;
    Ok(with_context(call.node.slot(CommitmentLevel::Processed), json!(address.to_string())))
}

/// Edits a token account by the parameters of a call, and returns its address.
pub(super) fn edit_token_account(call: &Call<'_>, params: &mut Params) -> Result<Pubkey, RpcError> {
    let (owner, mint) = (params.key(0)?, params.key(1)?);
    let edit: TokenAccountEdit = params.required(2)?;
    let program = match params.optional::<String>(3)? {
        Some(text) => Some(parse_key(&text)?),
        None => None,
    };
    let state = match edit.state.as_deref() {
        None => None,
        Some("initialized") => Some(TokenState::Initialized),
        Some("frozen") => Some(TokenState::Frozen),
        Some("uninitialized") => Some(TokenState::Uninitialized),
        Some(other) => {
            let text = format!("unknown state {other}, use initialized, frozen or uninitialized");
            return Err(RpcError::invalid_params(text));
        }
    };
    let edit = TokenEdit {
        owner,
        mint,
        program,
        amount: edit.amount,
        delegate: key_or_null(edit.delegate)?,
        delegated_amount: edit.delegated_amount,
        state,
        close_authority: key_or_null(edit.close_authority)?,
    };
    call.node.set_token_account(edit).map_err(refused)
}

pub(super) fn set_program(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let program = params.key(0)?;
    let elf = Bytes::Encoded(params.required(1)?, "base64".to_owned()).decode()?;
    let authority = params.optional::<String>(2)?.map(|text| parse_key(&text)).transpose()?;
    call.node.set_program(program, elf, authority).map(|slot| json!(slot)).map_err(refused)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Target {
    #[serde(alias = "absoluteSlot")]
    Slot(u64),
    #[serde(alias = "absoluteEpoch")]
    Epoch(u64),
    #[serde(alias = "absoluteTimestamp")]
    Timestamp(i64),
}

pub(super) fn time_travel(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let target: Target = params.required(0)?;
    let travel = match target {
        Target::Slot(slot) => Travel::Slot(slot),
        Target::Epoch(epoch) => Travel::Epoch(epoch),
        Target::Timestamp(time) if time > SECONDS_MAX => Travel::Timestamp(time / 1000),
        Target::Timestamp(time) => Travel::Timestamp(time),
    };
    call.node.travel(travel).map(|info| epoch_info(&info)).map_err(refused)
}

fn current_epoch_info(call: &Call<'_>) -> Value {
    epoch_info(&call.node.view(CommitmentLevel::Processed).epoch_info())
}

pub(super) fn pause_clock(call: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    call.node.pause_clock().map_err(refused)?;
    Ok(current_epoch_info(call))
}

pub(super) fn resume_clock(call: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    call.node.resume_clock().map_err(refused)?;
    Ok(current_epoch_info(call))
}

pub(super) fn set_block_mode(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let mode = match params.required::<String>(0)?.as_str() {
        "onDemand" => BlockMode::OnDemand,
        "interval" => BlockMode::Interval,
        "manual" => BlockMode::Manual,
        other => {
            let text = format!("unknown mode {other}, use onDemand, interval or manual");
            return Err(RpcError::invalid_params(text));
        }
    };
    call.node.set_block_mode(mode).map_err(refused)?;
    Ok(Value::Null)
}

pub(super) fn mine(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let blocks = params.optional(0)?.unwrap_or(1);
    call.node.mine(blocks).map(|slot| json!(slot)).map_err(refused)
}

pub(super) fn snapshot(call: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    call.node.snapshot().map(|id| json!(id)).map_err(refused)
}

pub(super) fn revert(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    call.node.revert(params.required(0)?).map(|slot| json!(slot)).map_err(refused)
}

pub(super) fn drop_snapshot(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    call.node.drop_snapshot(params.required(0)?).map_err(refused)?;
    Ok(Value::Null)
}

pub(super) fn impersonate(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let key = params.key(0)?;
    call.node.impersonate(key, params.required(1)?).map_err(refused)?;
    Ok(Value::Null)
}

pub(super) fn impersonate_all(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    call.node.impersonate_all(params.required(0)?).map_err(refused)?;
    Ok(Value::Null)
}

pub(super) fn set_feature(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let feature = params.key(0)?;
    call.node.set_feature(feature, params.required(1)?).map_err(refused)?;
    Ok(Value::Null)
}

pub(super) fn reset(call: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    call.node.reset().map(|slot| json!(slot)).map_err(refused)
}

pub(super) fn dump_state(call: &Call<'_>, _: &mut Params, text: &mut Text) -> Result<(), RpcError> {
    let mut state = text.another();
    let dumped = call.node.dump(&mut state);
    dumped.map_err(|error| state.error(&error))?;
    text.json(state.as_str())
}

pub(super) fn load_state(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let state: String = params.required(0)?;
    call.node.load(&mut state.as_bytes()).map(|slot| json!(slot)).map_err(refused)
}

pub(super) fn recent_transactions(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let limit = params.optional(0)?.unwrap_or(RECENT);
    let recent = call.node.recent_transactions(limit);
    let value = recent
        .iter()
        .map(|landed| {
            json!({
                "err": encode::error(&landed.result),
                "logs": landed.meta.logs,
                "signature": landed.signature.to_string(),
                "slot": landed.slot,
            })
        })
        .collect();
    Ok(with_context(call.node.slot(CommitmentLevel::Processed), value))
}

pub(super) fn node_info(call: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    let info = call.node.info();
    let blocks = match info.blocks {
        BlockMode::OnDemand => "onDemand",
        BlockMode::Interval => "interval",
        BlockMode::Manual => "manual",
    };
    Ok(json!({
        "blocks": blocks,
        "created": info.created,
        "fetchedAccounts": call.node.fetched_accounts().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "faucet": info.faucet.map(|key| key.to_string()),
        "genesisHash": info.genesis_hash.to_string(),
        "identity": info.identity.to_string(),
        "rpc": call.addresses.rpc.to_string(),
        "slotMilliseconds": info.slot_milliseconds,
        "websocket": call.addresses.websocket.to_string(),
    }))
}
