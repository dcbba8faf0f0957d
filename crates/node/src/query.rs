//! Questions about blocks and transactions.

use core::fmt;
use std::sync::{Arc, atomic::Ordering};

use selkie_ledger::{AddressQuery as LedgerQuery, Block, Landed, UnknownSignature};
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_transaction_error::TransactionError;

use crate::node::Node;

/// The length of a performance sample, in seconds.
const SAMPLE_SECONDS: i64 = 60;

/// Which transactions of an address are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressQuery {
    /// Only transactions before this one.
    pub before: Option<Signature>,
    /// Only transactions after this one.
    pub until: Option<Signature>,
    /// How many at most.
    pub limit: usize,
    /// Only transactions that have reached this commitment.
    pub commitment: CommitmentLevel,
}

/// The status of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// The slot of its block.
    pub slot: u64,
    /// The number of blocks after its own; `None` once it is finalized.
    pub confirmations: Option<u64>,
    /// Its result.
    pub result: Result<(), TransactionError>,
    /// The commitment that it has reached.
    pub commitment: CommitmentLevel,
}

/// Why there is no block in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NoBlock {
    /// The slot is in the future.
    NotYet,
    /// The block is older than the history; the first slot that is left.
    CleanedUp {
        /// The first slot of the history.
        first: u64,
    },
    /// The slot was skipped.
    Skipped,
}

impl fmt::Display for NoBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYet => f.write_str("the slot is in the future"),
            Self::CleanedUp { first } => {
                write!(f, "the block was dropped from the history, which begins at slot {first}")
            }
            Self::Skipped => f.write_str("the slot was skipped"),
        }
    }
}

impl core::error::Error for NoBlock {}

/// How many transactions there were in a period.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PerformanceSample {
    /// The last slot of the period.
    pub slot: u64,
    /// The number of slots.
    pub slots: u64,
    /// The number of transactions.
    pub transactions: u64,
    /// The length of the period, in seconds.
    pub seconds: u16,
}

/// Counters and sizes of a node.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Transactions that succeeded, since the start of the node.
    pub succeeded: u64,
    /// Transactions that landed and failed.
    pub failed: u64,
    /// Transactions that were dropped.
    pub dropped: u64,
    /// Blocks, empty ones included.
    pub blocks: u64,
    /// Compute units of all transactions.
    pub compute_units: u64,
    /// Airdrops that were asked for.
    pub airdrops: u64,
    /// Transactions in the history.
    pub history: u64,
    /// Subscribers to events.
    pub subscribers: u64,
}

impl Node {
    /// Returns a transaction of the history, whatever its commitment.
    #[must_use]
    pub fn transaction(&self, signature: &Signature) -> Option<Arc<Landed>> {
        self.shared().chain().history.transaction(signature).cloned()
    }

    /// Returns the statuses of transactions, all at the same moment: of those that are kept, and of those
    /// of the last 300 block heights.
    #[must_use]
    pub fn statuses(&self, signatures: &[Signature]) -> Vec<Option<Status>> {
        let chain = self.shared().chain();
        let tip = chain.tip().bank.slot();
        let status = |signature: &Signature| {
            let (slot, result) = chain.history.status(signature)?;
            let commitment = chain.commitment_of(slot);
            let is_final = commitment == CommitmentLevel::Finalized;
            let after = || chain.history.blocks(slot.saturating_add(1)..=tip).count() as u64;
            let confirmations = (!is_final).then(after);
            Some(Status { slot, confirmations, result, commitment })
        };
        signatures.iter().map(status).collect()
    }

    /// Returns the commitment that a slot has reached.
    #[must_use]
    pub fn commitment_of(&self, slot: u64) -> CommitmentLevel {
        self.shared().chain().commitment_of(slot)
    }

    /// Returns the transactions of an address, newest first.
    ///
    /// # Errors
    /// If `before` or `until` is not in the history.
    pub fn signatures_for_address(
        &self,
        address: &Pubkey,
        query: &AddressQuery,
    ) -> Result<Vec<Arc<Landed>>, UnknownSignature> {
        let chain = self.shared().chain();
        let query = LedgerQuery {
            before: query.before,
            until: query.until,
            limit: query.limit,
            slot_max: chain.slot(query.commitment),
        };
        chain.history.of_address(address, &query)
    }

    /// Returns the block of a slot, whatever its commitment.
    ///
    /// # Errors
    /// If there is none.
    pub fn block(&self, slot: u64) -> Result<Arc<Block>, NoBlock> {
        let chain = self.shared().chain();
        if let Some(block) = chain.history.block(slot) {
            return Ok(Arc::clone(block));
        }
        let first = chain.history.first_slot().unwrap_or(0);
        Err(match slot {
            _ if slot > chain.tip().bank.slot() => NoBlock::NotYet,
            _ if slot < first => NoBlock::CleanedUp { first },
            _ => NoBlock::Skipped,
        })
    }

    /// Returns the slots with a block between two slots, both included, that have reached a
    /// commitment; at most `limit`.
    #[must_use]
    pub fn blocks(
        &self,
        from: u64,
        to: Option<u64>,
        limit: usize,
        commitment: CommitmentLevel,
    ) -> Vec<u64> {
        let chain = self.shared().chain();
        let last = to.unwrap_or(u64::MAX).min(chain.slot(commitment));
        chain.history.blocks(from..=last).take(limit).map(|block| block.slot).collect()
    }

    /// Returns the first slot of the history.
    #[must_use]
    pub fn first_available_block(&self) -> u64 {
        self.shared().chain().history.first_slot().unwrap_or(0)
    }

    /// Returns how many transactions there were in the last minutes, newest first; at most `limit`.
    #[must_use]
    pub fn performance_samples(&self, limit: usize) -> Vec<PerformanceSample> {
        let chain = self.shared().chain();
        let mut samples: Vec<(i64, PerformanceSample)> = Vec::new();
        for block in chain.history.blocks(0..=u64::MAX).rev() {
            let minute = block.block_time.div_euclid(SAMPLE_SECONDS);
            let slots = block.slot.saturating_sub(block.parent_slot);
            let transactions = block.transactions.len() as u64;
            let is_new = samples.last().is_none_or(|(last, _)| *last != minute);
            if is_new && samples.len() >= limit {
                break;
            }
            if is_new {
                let seconds = u16::try_from(SAMPLE_SECONDS).unwrap_or(u16::MAX);
                let sample = PerformanceSample { slot: block.slot, seconds, ..Default::default() };
                samples.push((minute, sample));
            }
            if let Some((_, sample)) = samples.last_mut() {
                sample.slots = sample.slots.saturating_add(slots);
                sample.transactions = sample.transactions.saturating_add(transactions);
            }
        }
        samples.into_iter().map(|(_, sample)| sample).collect()
    }

    /// Returns the newest transactions, newest first.
    #[must_use]
    pub fn recent_transactions(&self, limit: usize) -> Vec<Arc<Landed>> {
        self.shared().chain().history.newest().take(limit).cloned().collect()
    }

    /// Returns counters and sizes.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let shared = self.shared();
        let chain = shared.chain();
        let counters = &shared.counters;
        Stats {
            succeeded: counters.succeeded.load(Ordering::Relaxed),
            failed: counters.failed.load(Ordering::Relaxed),
            dropped: counters.dropped.load(Ordering::Relaxed),
            blocks: counters.blocks.load(Ordering::Relaxed),
            compute_units: counters.compute_units.load(Ordering::Relaxed),
            airdrops: counters.airdrops.load(Ordering::Relaxed),
            history: chain.history.len() as u64,
            subscribers: chain.events.receiver_count() as u64,
        }
    }
}
