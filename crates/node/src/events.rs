//! The events of a node.

use std::sync::Arc;

use selkie_ledger::Block;
use solana_commitment_config::CommitmentLevel;
use solana_signature::Signature;
use solana_transaction_error::TransactionError;

/// A stream of events. A subscriber that is too slow misses events and gets
/// [`RecvError::Lagged`](tokio::sync::broadcast::error::RecvError::Lagged) with their number.
pub type Events = tokio::sync::broadcast::Receiver<Event>;

/// What happened in a node. When an event is sent, readers of the node already see its effect.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A transaction was accepted.
    Received(Signature),
    /// A transaction will not land.
    Dropped {
        /// Its first signature.
        signature: Signature,
        /// Why it was dropped.
        error: TransactionError,
    },
    /// A slot has a block.
    Slot {
        /// The slot.
        slot: u64,
        /// The slot of the block before it.
        parent: u64,
        /// The newest finalized slot.
        root: u64,
        /// The time of the cluster, in milliseconds since the Unix epoch.
        time: u64,
    },
    /// A block has reached a commitment. Each block reaches all three, in the order of slots.
    Block {
        /// The commitment.
        commitment: CommitmentLevel,
        /// The block.
        block: Arc<Block>,
    },
    /// A block became finalized.
    Root(u64),
    /// The blocks after a slot are gone: a snapshot was restored, or another state loaded.
    Reverted {
        /// The newest slot that is left.
        slot: u64,
    },
}
