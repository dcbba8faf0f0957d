//! Sysvars.

use serde_json::{Value, json};
use solana_sdk_ids::sysvar;

use crate::{
    parsed::{
        accounts::account::{Account, typed},
        layout::read_object,
    },
    reader::Reader,
};

/// The number of slots in the slot history.
const HISTORY_SLOTS: usize = 1024 * 1024;

/// A sysvar whose data has a fixed layout.
struct Row {
    id: solana_pubkey::Pubkey,
    kind: &'static str,
    layout: &'static str,
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { id: sysvar::clock::ID, kind: "clock", layout: "slot:u64 epochStartTimestamp:i64 epoch:u64 leaderScheduleEpoch:u64 unixTimestamp:i64" },
    Row { id: sysvar::epoch_schedule::ID, kind: "epochSchedule", layout: "slotsPerEpoch:u64 leaderScheduleSlotOffset:u64 warmup:bool firstNormalEpoch:u64 firstNormalSlot:u64" },
    Row { id: sysvar::fees::ID, kind: "fees", layout: "feeCalculator{ lamportsPerSignature:su64 }" },
    Row { id: sysvar::rent::ID, kind: "rent", layout: "lamportsPerByte:su64" },
    Row { id: sysvar::rewards::ID, kind: "rewards", layout: "validatorPointValue:f64" },
    Row { id: sysvar::last_restart_slot::ID, kind: "lastRestartSlot", layout: "lastRestartSlot:u64" },
    Row { id: sysvar::epoch_rewards::ID, kind: "epochRewards", layout: "distributionStartingBlockHeight:u64 numPartitions:u64 parentBlockhash:key totalPoints:su128 totalRewards:su64 distributedRewards:su64 active:bool" },
];

/// A sysvar whose data is a list of entries behind their number.
#[rustfmt::skip]
const LISTS: &[Row] = &[
    Row { id: sysvar::recent_blockhashes::ID, kind: "recentBlockhashes", layout: "blockhash:key feeCalculator{ lamportsPerSignature:su64 }" },
    Row { id: sysvar::slot_hashes::ID, kind: "slotHashes", layout: "slot:u64 hash:key" },
    Row { id: sysvar::stake_history::ID, kind: "stakeHistory", layout: "epoch:u64 stakeHistory{ effective:u64 activating:u64 deactivating:u64 }" },
];

pub(super) fn sysvar(account: &Account<'_>) -> Option<Value> {
    if let Some(row) = ROWS.iter().find(|row| row.id == *account.key) {
        return read_object(account.data, row.layout).map(|info| typed(row.kind, &info));
    }
    if let Some(row) = LISTS.iter().find(|row| row.id == *account.key) {
        return list(account.data, row.layout).map(|info| typed(row.kind, &info));
    }
    let is_history = *account.key == sysvar::slot_history::ID;
    is_history.then(|| history(account.data)).flatten().map(|info| typed("slotHistory", &info))
}

fn list(data: &[u8], layout: &str) -> Option<Value> {
    let mut reader = Reader::new(data);
    let count = reader.u64()?;
    let mut entries = Vec::new();
    for _ in 0..count {
        let mut entry = serde_json::Map::new();
        crate::parsed::layout::read_fields(&mut reader, layout, &mut entry)?;
        entries.push(Value::Object(entry));
    }
    Some(json!(entries))
}

/// Shows the slot history: a digit for each of its slots.
fn history(data: &[u8]) -> Option<Value> {
    let mut reader = Reader::new(data);
    // The bits are an option, their words behind their number, and the number of bits.
    if !reader.bool()? {
        return None;
    }
    let words = usize::try_from(reader.u64()?).ok()?;
    if words != HISTORY_SLOTS.div_ceil(64) {
        return None;
    }
    let mut bits = String::with_capacity(HISTORY_SLOTS);
    for _ in 0..words {
        let word = reader.u64()?;
        bits.extend((0..64).map(|bit| if word >> bit & 1 == 1 { '1' } else { '0' }));
    }
    reader.u64()?;
    Some(json!({ "bits": bits, "nextSlot": reader.u64()? }))
}
