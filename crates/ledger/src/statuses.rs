//! The results of the transactions of recent blocks, whatever the history keeps.
//!
//! A transaction is known here for at least as long as the bank would refuse to process it again
//! (`crates/bank`, `status_cache.rs`). Without that, one that has landed could look lost.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;

use solana_signature::Signature;
use solana_transaction_error::TransactionError;

use crate::block::{Block, Landed};

/// For how many block heights a transaction is known (agave: `MAX_CACHE_ENTRIES` of `status_cache.rs`).
const HEIGHTS_KEPT: u64 = 300;
/// How many block heights are dropped together.
const HEIGHTS_TOGETHER: u64 = 10;

/// The results of recent transactions, oldest first.
#[derive(Default, Debug)]
pub(crate) struct Statuses {
    parts: VecDeque<Part>,
}

/// The transactions of some block heights.
#[derive(Debug)]
struct Part {
    first_height: u64,
    first_slot: u64,
    results: HashMap<Signature, Landing, FixedState>,
}

/// Where a transaction landed, and its error.
#[derive(Clone, Debug)]
struct Landing {
    slot: u64,
    error: Option<Box<TransactionError>>,
}

impl Statuses {
    /// Adds a block after all others, and drops what is too old.
    pub(crate) fn push(&mut self, block: &Block) {
        let height = block.block_height;
        let is_full = |part: &Part| height.saturating_sub(part.first_height) >= HEIGHTS_TOGETHER;
        if self.parts.back().is_none_or(is_full) {
            let (first_height, first_slot) = (height, block.slot);
            self.parts.push_back(Part { first_height, first_slot, results: HashMap::default() });
        }
        if let Some(part) = self.parts.back_mut() {
            let landing = |it: &Landed| Landing {
                slot: it.slot,
                error: it.result.as_ref().err().map(|error| Box::new(error.clone())),
            };
            part.results.extend(block.transactions.iter().map(|it| (it.signature, landing(it))));
        }
        // The heights of a part end where the next one begins.
        while let Some(next) = self.parts.get(1)
            && height.saturating_sub(next.first_height) > HEIGHTS_KEPT
        {
            self.parts.pop_front();
        }
    }

    /// Removes the blocks after a slot.
    pub(crate) fn revert_to(&mut self, slot: u64) {
        while self.parts.back().is_some_and(|part| part.first_slot > slot) {
            self.parts.pop_back();
        }
        if let Some(part) = self.parts.back_mut() {
            part.results.retain(|_, landing| landing.slot <= slot);
        }
    }

    /// Returns the slot and the result of a transaction.
    pub(crate) fn get(&self, signature: &Signature) -> Option<(u64, Result<(), TransactionError>)> {
        let Landing { slot, error } =
            self.parts.iter().rev().find_map(|part| part.results.get(signature))?;
        Some((*slot, error.as_deref().map_or(Ok(()), |error| Err(error.clone()))))
    }
}
