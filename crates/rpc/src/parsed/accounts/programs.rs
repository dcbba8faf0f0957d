//! Lookup tables, programs, nonces, stake and config accounts.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};

use crate::{
    ids,
    parsed::{
        accounts::account::{Account, typed},
        layout::{read_fields, read_object},
    },
    reader::Reader,
};

/// The bytes before a lookup table's addresses.
const LOOKUP_TABLE_META_BYTES: usize = 56;

pub(super) fn lookup_table(account: &Account<'_>) -> Option<Value> {
    let mut reader = Reader::new(account.data);
    if reader.u32()? == 0 {
        return Some(json!({ "type": "uninitialized" }));
    }
    let layout =
        "deactivationSlot:su64 lastExtendedSlot:su64 lastExtendedSlotStartIndex:u8 authority:?key";
    let mut info = Map::new();
    read_fields(&mut reader, layout, &mut info)?;
    let addresses = account.data.get(LOOKUP_TABLE_META_BYTES..)?;
    if !addresses.len().is_multiple_of(32) {
        return None;
    }
    let mut reader = Reader::new(addresses);
    let addresses: Vec<String> =
        core::iter::from_fn(|| reader.key().map(|key| key.to_string())).collect();
    info.insert("addresses".to_owned(), json!(addresses));
    Some(typed("lookupTable", &Value::Object(info)))
}

pub(super) fn loader(account: &Account<'_>) -> Option<Value> {
    let mut reader = Reader::new(account.data);
    let authority = |reader: &mut Reader<'_>| match reader.bool()? {
        true => reader.key().map(|key| Some(key.to_string())),
        false => Some(None),
    };
    let data = |reader: &Reader<'_>| json!([BASE64_STANDARD.encode(reader.rest()), "base64"]);
    match reader.u32()? {
        0 => Some(json!({ "type": "uninitialized" })),
        1 => {
            let authority = authority(&mut reader)?;
            let info = json!({ "authority": authority, "data": data(&reader) });
            Some(typed("buffer", &info))
        }
        2 => {
            let program_data = reader.key()?.to_string();
            Some(typed("program", &json!({ "programData": program_data })))
        }
        3 => {
            let slot = reader.u64()?;
            let authority = authority(&mut reader)?;
            let info = json!({ "authority": authority, "data": data(&reader), "slot": slot });
            Some(typed("programData", &info))
        }
        _ => None,
    }
}

/// Shows an initialized nonce account; others of the system program are not told from wallets.
pub(super) fn nonce(account: &Account<'_>) -> Option<Value> {
    let mut reader = Reader::new(account.data);
    let (version, state) = (reader.u32()?, reader.u32()?);
    if version > 1 || state != 1 {
        return None;
    }
    let layout = "authority:key blockhash:key feeCalculator{ lamportsPerSignature:su64 }";
    read_object(reader.rest(), layout).map(|info| typed("initialized", &info))
}

const STAKE_META: &str = "meta{ rentExemptReserve:su64 authorized{ staker:key withdrawer:key } lockup{ unixTimestamp:i64 epoch:u64 custodian:key } }";
const STAKE: &str = "stake{ delegation{ voter:key stake:su64 activationEpoch:su64 deactivationEpoch:su64 _:u64 } creditsObserved:u64 }";

pub(super) fn stake(account: &Account<'_>) -> Option<Value> {
    let mut reader = Reader::new(account.data);
    let mut info = Map::new();
    match reader.u32()? {
        0 => Some(json!({ "type": "uninitialized" })),
        3 => Some(json!({ "type": "rewardsPool" })),
        kind @ (1 | 2) => {
            read_fields(&mut reader, STAKE_META, &mut info)?;
            if kind == 2 {
                read_fields(&mut reader, STAKE, &mut info)?;
                return Some(typed("delegated", &Value::Object(info)));
            }
            info.insert("stake".to_owned(), Value::Null);
            Some(typed("initialized", &Value::Object(info)))
        }
        _ => None,
    }
}

/// Shows what a validator says about itself, the only data of the config program that clients know.
pub(super) fn config(account: &Account<'_>) -> Option<Value> {
    let mut reader = Reader::new(account.data);
    let count = compact_u16(&mut reader)?;
    let mut keys = Vec::new();
    for index in 0..count {
        let (key, signer) = (reader.key()?, reader.bool()?);
        if index == 0 && key != ids::VALIDATOR_INFO {
            return None;
        }
        keys.push(json!({ "pubkey": key.to_string(), "signer": signer }));
    }
    let len = usize::try_from(reader.u64()?).ok()?;
    let data: Value = serde_json::from_str(reader.text(len)?).ok()?;
    let info = json!({ "configData": data, "keys": keys });
    (!keys.is_empty()).then(|| typed("validatorInfo", &info))
}

/// Reads a number of 7 bits per byte, the lowest first.
fn compact_u16(reader: &mut Reader<'_>) -> Option<u16> {
    let mut number = 0;
    for shift in [0, 7, 14] {
        let byte = reader.u8()?;
        number |= u16::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
