//! Lookup tables, programs, nonces, stake and config accounts.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_layout::{
    config::ConfigKeys,
    loader::State,
    lookup_table::{self, LookupTable},
    stake::{DELEGATED_STATE, INITIALIZED_STATE, Meta, Stake},
    system::{NONCE_ACCOUNT, NonceAccount},
    wire::{Reader, Wire as _},
};
use serde_json::{Map, Value, json};
use solana_pubkey::Pubkey;

use crate::{
    ids,
    parsed::{
        accounts::account::{Account, typed},
        layout::{read_into, read_next, read_object},
    },
};

pub(super) fn lookup_table(account: &Account<'_>) -> Option<Value> {
    let mut reader = Reader::new(account.data);
    if reader.clone().u32().ok()? == 0 {
        return Some(json!({ "type": "uninitialized" }));
    }
    let mut info = Map::new();
    read_into(&mut reader, LookupTable::FIELDS, &mut info)?;
    let addresses = lookup_table::addresses(account.data)?;
    let addresses = addresses.iter().map(|it| Pubkey::new_from_array(*it).to_string());
    let addresses: Vec<String> = addresses.collect();
    info.insert("addresses".to_owned(), json!(addresses));
    Some(typed("lookupTable", &Value::Object(info)))
}

pub(super) fn loader(account: &Account<'_>) -> Option<Value> {
    let text = |key: Option<Pubkey>| json!(key.map(|key| key.to_string()));
    let state = State::of_data(account.data)?;
    // The file follows the fields, and not where it is if there is an authority.
    let file = account.data.get(state.write().len()..).unwrap_or_default();
    let data = || json!([BASE64_STANDARD.encode(file), "base64"]);
    Some(match state {
        State::Uninitialized => json!({ "type": "uninitialized" }),
        State::Buffer { authority } => {
            typed("buffer", &json!({ "authority": text(authority), "data": data() }))
        }
        State::Program { program_data } => {
            typed("program", &json!({ "programData": program_data.to_string() }))
        }
        State::ProgramData { slot, authority } => {
            let info = json!({ "authority": text(authority), "data": data(), "slot": slot });
            typed("programData", &info)
        }
    })
}

/// Shows an initialized nonce account; others of the system program are not told from wallets.
pub(super) fn nonce(account: &Account<'_>) -> Option<Value> {
    let data = account.data;
    let (version, state) = (NONCE_ACCOUNT.version.get(data)?, NONCE_ACCOUNT.state.get(data)?);
    if version > 1 || state != 1 {
        return None;
    }
    read_object(data, NonceAccount::FIELDS).map(|info| typed("initialized", &info))
}

pub(super) fn stake(account: &Account<'_>) -> Option<Value> {
    let mut reader = Reader::new(account.data);
    match reader.u32().ok()? {
        0 => Some(json!({ "type": "uninitialized" })),
        3 => Some(json!({ "type": "rewardsPool" })),
        kind @ (INITIALIZED_STATE | DELEGATED_STATE) => {
            let meta = read_next(&mut reader, Meta::FIELDS)?;
            if kind == DELEGATED_STATE {
                let stake = read_next(&mut reader, Stake::FIELDS)?;
                return Some(typed("delegated", &json!({ "meta": meta, "stake": stake })));
            }
            Some(typed("initialized", &json!({ "meta": meta, "stake": null })))
        }
        _ => None,
    }
}

/// Shows what a validator says about itself, the only data of the config program that clients know.
pub(super) fn config(account: &Account<'_>) -> Option<Value> {
    let mut reader = Reader::new(account.data);
    let ConfigKeys(keys) = ConfigKeys::read(&mut reader).ok()?;
    if keys.first()?.pubkey != ids::VALIDATOR_INFO {
        return None;
    }
    let shown =
        keys.iter().map(|it| json!({ "pubkey": it.pubkey.to_string(), "signer": it.signer }));
    let shown: Vec<Value> = shown.collect();
    let len = usize::try_from(reader.u64().ok()?).ok()?;
    let data: Value = serde_json::from_slice(reader.bytes(len).ok()?).ok()?;
    Some(typed("validatorInfo", &json!({ "configData": data, "keys": shown })))
}
