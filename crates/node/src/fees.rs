//! What transactions of recent blocks paid for compute units.

use std::collections::HashMap;

use selkie_ledger::{Block, Landed};
use selkie_svm::check::is_reserved;
use solana_commitment_config::CommitmentLevel;
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{compute_budget, vote};

use crate::node::Node;

/// For how many blocks prices are reported (agave: `MAX_NUM_RECENT_BLOCKS` of
/// `prioritization_fee_cache.rs`).
const BLOCKS: usize = 150;
/// The first byte of the instruction `SetComputeUnitPrice`, which the price follows.
const SET_PRICE: u8 = 3;

impl Node {
    /// Returns what a transaction that writes to these accounts had to pay for compute units, for the
    /// newest confirmed blocks with a transaction that is no vote: the slot, and the highest of the
    /// block's lowest price and the lowest price of each account, in millionths of a lamport (agave:
    /// `prioritization_fee_cache.rs`).
    #[must_use]
    pub fn prioritization_fees(&self, accounts: &[Pubkey]) -> Vec<(u64, u64)> {
        let chain = self.shared().chain();
        let confirmed = chain.slot(CommitmentLevel::Confirmed);
        let blocks = chain.history.blocks(0..=confirmed).rev();
        let fees = blocks.filter_map(|block| Some((block.slot, fee(block, accounts)?)));
        let mut fees: Vec<(u64, u64)> = fees.take(BLOCKS).collect();
        fees.reverse();
        fees
    }
}

/// Returns what a transaction that writes to these accounts had to pay in a block; `None` if that has no
/// transaction but votes.
fn fee(block: &Block, accounts: &[Pubkey]) -> Option<u64> {
    let mut of_block: Option<u64> = None;
    let mut of_accounts: HashMap<Pubkey, u64> = HashMap::new();
    for landed in block.transactions.iter().filter(|it| counts(it)) {
        let price = price(landed);
        of_block = Some(of_block.map_or(price, |least| least.min(price)));
        if accounts.is_empty() {
            continue;
        }
        let keys = landed.account_keys();
        let writes = writable(&landed.transaction.message, &keys);
        let written = keys.iter().zip(writes).filter(|(_, writes)| *writes).map(|(key, _)| key);
        for key in written.filter(|key| accounts.contains(key)) {
            of_accounts.entry(*key).and_modify(|least| *least = price.min(*least)).or_insert(price);
        }
    }
    let highest = of_accounts.into_values().max().unwrap_or(0);
    of_block.map(|least| least.max(highest))
}

/// Returns whether the price of a transaction says something: it is no vote, and asks for compute units.
fn counts(landed: &Landed) -> bool {
    landed.meta.compute_unit_limit > 0 && !is_simple_vote(landed)
}

/// Returns whether a transaction is a vote as validators send them: legacy, with at most two signatures
/// and one instruction (agave: `is_simple_vote_transaction`).
fn is_simple_vote(landed: &Landed) -> bool {
    let message = &landed.transaction.message;
    let is_short = landed.transaction.signatures.len() < 3;
    let VersionedMessage::Legacy(legacy) = message else { return false };
    let [instruction] = legacy.instructions.as_slice() else { return false };
    let program = legacy.account_keys.get(usize::from(instruction.program_id_index));
    is_short && program == Some(&vote::ID)
}

/// Returns the price of compute units that a transaction asked to pay, in millionths of a lamport.
fn price(landed: &Landed) -> u64 {
    let message = &landed.transaction.message;
    if let VersionedMessage::V1(_) = message {
        // It says how many lamports it pays.
        return landed.compute_unit_price();
    }
    let keys = message.static_account_keys();
    let of_budget = message.instructions().iter().filter(|it| {
        keys.get(usize::from(it.program_id_index)).is_some_and(|key| *key == compute_budget::ID)
    });
    let mut prices = of_budget.filter_map(|it| {
        let (tag, price) = it.data.split_first()?;
        let price = price.first_chunk().copied().map(u64::from_le_bytes)?;
        (*tag == SET_PRICE).then_some(price)
    });
    prices.next().unwrap_or(0)
}

/// Returns which accounts instructions may write to, reserved addresses and called programs
/// excepted.
#[must_use]
pub fn writable(message: &VersionedMessage, keys: &[Pubkey]) -> Vec<bool> {
    let header = message.header();
    let signers = usize::from(header.num_required_signatures);
    let static_len = message.static_account_keys().len();
    let writable_signers = signers.saturating_sub(usize::from(header.num_readonly_signed_accounts));
    let writable_static =
        static_len.saturating_sub(usize::from(header.num_readonly_unsigned_accounts));
    let loaded_writable = match message {
        VersionedMessage::V0(message) => {
            message.address_table_lookups.iter().map(|it| it.writable_indexes.len()).sum()
        }
        _ => 0_usize,
    };
    let has_loader = keys.contains(&solana_sdk_ids::bpf_loader_upgradeable::ID);
    let is_program = |index: usize| {
        let mut programs = message.instructions().iter().map(|it| usize::from(it.program_id_index));
        !has_loader && programs.any(|program| program == index)
    };
    let is_writable = |(index, key): (usize, &Pubkey)| {
        let by_position = if index >= static_len {
            index.saturating_sub(static_len) < loaded_writable
        } else if index < signers {
            index < writable_signers
        } else {
            index < writable_static
        };
        by_position && !is_program(index) && !is_reserved(key)
    };
    keys.iter().enumerate().map(is_writable).collect()
}
