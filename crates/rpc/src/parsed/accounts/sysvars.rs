//! Sysvars.

use selkie_layout::{
    kind::Field,
    sysvar::{
        self as layouts, HISTORY_BITS, HISTORY_HAS_BITS, HISTORY_NEXT_SLOT, HISTORY_WORD_COUNT,
        HISTORY_WORDS,
    },
    wire::Reader,
};
use serde_json::{Value, json};
use solana_sdk_ids::sysvar;

use crate::parsed::{
    accounts::account::{Account, typed},
    layout::{read_list, read_object},
};

/// A sysvar whose data has a fixed layout.
struct Row {
    id: solana_pubkey::Pubkey,
    kind: &'static str,
    fields: &'static [Field],
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { id: sysvar::clock::ID, kind: "clock", fields: layouts::Clock::FIELDS },
    Row { id: sysvar::epoch_schedule::ID, kind: "epochSchedule", fields: layouts::EpochSchedule::FIELDS },
    Row { id: sysvar::fees::ID, kind: "fees", fields: layouts::Fees::FIELDS },
    Row { id: sysvar::rent::ID, kind: "rent", fields: layouts::Rent::FIELDS },
    Row { id: sysvar::rewards::ID, kind: "rewards", fields: layouts::Rewards::FIELDS },
    Row { id: sysvar::last_restart_slot::ID, kind: "lastRestartSlot", fields: layouts::LastRestartSlot::FIELDS },
    Row { id: sysvar::epoch_rewards::ID, kind: "epochRewards", fields: layouts::EpochRewards::FIELDS },
];

/// A sysvar whose data is a list of entries behind their number.
#[rustfmt::skip]
const LISTS: &[Row] = &[
    Row { id: sysvar::recent_blockhashes::ID, kind: "recentBlockhashes", fields: layouts::RecentBlockhash::FIELDS },
    Row { id: sysvar::slot_hashes::ID, kind: "slotHashes", fields: layouts::SlotHash::FIELDS },
    Row { id: sysvar::stake_history::ID, kind: "stakeHistory", fields: layouts::StakeHistory::FIELDS },
];

pub(super) fn sysvar(account: &Account<'_>) -> Option<Value> {
    if let Some(row) = ROWS.iter().find(|row| row.id == *account.key) {
        return read_object(account.data, row.fields).map(|info| typed(row.kind, &info));
    }
    if let Some(row) = LISTS.iter().find(|row| row.id == *account.key) {
        return list(account.data, row.fields).map(|info| typed(row.kind, &info));
    }
    let is_history = *account.key == sysvar::slot_history::ID;
    is_history.then(|| history(account.data)).flatten().map(|info| typed("slotHistory", &info))
}

fn list(data: &[u8], fields: &'static [Field]) -> Option<Value> {
    read_list(&mut Reader::new(data), fields)
}

/// Shows the slot history: a digit for each of its slots.
fn history(data: &[u8]) -> Option<Value> {
    if !HISTORY_HAS_BITS.get(data)? || HISTORY_WORD_COUNT.get(data)? != HISTORY_WORDS {
        return None;
    }
    let mut bits = String::with_capacity(HISTORY_BITS.len().saturating_mul(8));
    for byte in data.get(HISTORY_BITS)? {
        bits.extend((0..8).map(|bit| if byte >> bit & 1 == 1 { '1' } else { '0' }));
    }
    let next_slot = HISTORY_NEXT_SLOT.get(data)?;
    Some(json!({ "bits": bits, "nextSlot": next_slot }))
}
