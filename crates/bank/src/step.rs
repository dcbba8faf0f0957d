//! How a chain goes from a block to the next.

/// What the slots between a block and its parent count as.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Between {
    /// They were skipped: no block, not in the slot hashes.
    #[default]
    Skipped,
    /// The cluster was idle: they are in the slot hashes and the slot history, and an epoch that began
    /// in one is past its rewards; but they do not count in the block height and age no blockhash.
    Idle,
    /// Each had an empty block, with a blockhash of its own.
    Empty,
}

/// When the rewards of an epoch are distributed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Distribution {
    /// In the blocks after the epoch's first one, as on clusters. Meanwhile the stake program refuses
    /// most instructions.
    #[default]
    InBlocks,
    /// In the epoch's first block.
    AtOnce,
}

/// How a chain goes on from a block.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The Unix timestamp of the new slot's clock, unless the parent's is later. `None` derives it from
    /// the slot; after the migration to Alpenglow it is when the block before it ended.
    pub unix_timestamp: Option<i64>,
    /// Whether the block counts in the block height and ages blockhashes. A cluster that makes blocks
    /// faster than its slot time can let only one per slot time count.
    pub counts: bool,
    /// Whether features whose accounts are pending become active although no epoch begins.
    pub activates_features: bool,
    /// What the slots since the parent's count as.
    pub between: Between,
    /// When the rewards of an epoch that begins are distributed.
    pub distribution: Distribution,
    /// Whether the block is the first of Alpenglow: it begins with the certificate of its parent. A
    /// chain whose gate is active migrates by itself after
    /// [`MIGRATION_SLOTS`](crate::alpenglow::MIGRATION_SLOTS).
    pub migrates: bool,
}

impl Default for Step {
    /// Returns the step of a real cluster.
    fn default() -> Self {
        Self {
            unix_timestamp: None,
            counts: true,
            activates_features: false,
            between: Between::Skipped,
            distribution: Distribution::InBlocks,
            migrates: false,
        }
    }
}
