//! Vote accounts of version 4 (SIMD-0185), the version that the program writes.

use serde_json::{Map, Value, json};

use crate::{
    parsed::{
        accounts::account::{Account, typed},
        layout::read_fields,
    },
    reader::Reader,
};

const VERSION: u32 = 3;
const HEAD: &str = "nodePubkey:key authorizedWithdrawer:key inflationRewardsCollector:key blockRevenueCollector:key inflationRewardsCommissionBps:u16 blockRevenueCommissionBps:u16 pendingDelegatorRewards:su64";

pub(super) fn vote(account: &Account<'_>) -> Option<Value> {
    info(account.data).map(|info| typed("vote", &Value::Object(info)))
}

/// Returns the fields of a vote account's data.
pub(crate) fn info(data: &[u8]) -> Option<Map<String, Value>> {
    let mut reader = Reader::new(data);
    if reader.u32()? != VERSION {
        return None;
    }
    let mut info = Map::new();
    read_fields(&mut reader, HEAD, &mut info)?;
    let basis_points = info.get("inflationRewardsCommissionBps")?.as_u64()?;
    info.insert("commission".to_owned(), json!(basis_points.div_ceil(100).min(255)));
    let bls = match reader.bool()? {
        true => Some(bs58::encode(reader.take(48)?).into_string()),
        false => None,
    };
    info.insert("blsPubkeyCompressed".to_owned(), json!(bls));
    let votes = list(&mut reader, "latency:u8 slot:u64 confirmationCount:u32")?;
    info.insert("votes".to_owned(), votes);
    read_fields(&mut reader, "rootSlot:|u64", &mut info)?;
    let voters = list(&mut reader, "epoch:u64 authorizedVoter:key")?;
    info.insert("authorizedVoters".to_owned(), voters);
    info.insert("priorVoters".to_owned(), json!([]));
    let credits = list(&mut reader, "epoch:u64 credits:su64 previousCredits:su64")?;
    info.insert("epochCredits".to_owned(), credits);
    read_fields(&mut reader, "lastTimestamp{ slot:u64 timestamp:i64 }", &mut info)?;
    Some(info)
}

/// Reads entries behind their number.
fn list(reader: &mut Reader<'_>, layout: &str) -> Option<Value> {
    let count = reader.u64()?;
    let mut entries = Vec::new();
    for _ in 0..count {
        let mut entry = Map::new();
        read_fields(reader, layout, &mut entry)?;
        entries.push(Value::Object(entry));
    }
    Some(json!(entries))
}
