//! What a block records of rewards (agave: `solana-reward-info`, `Bank::rewards`).

use selkie_svm::{Pubkey, RewardKind};

/// Lamports that the runtime paid or took in a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reward {
    /// The account.
    pub address: Pubkey,
    /// What for.
    pub kind: RewardKind,
    /// The lamports; negative if they were taken.
    pub lamports: i64,
    /// The account's balance afterwards, in lamports.
    pub post_balance: u64,
    /// The commission of the vote account, in basis points. Unknown since validators choose who receives
    /// it (SIMD-0232).
    pub commission_bps: Option<u16>,
}

impl Reward {
    /// Creates the record of lamports that were received.
    pub(crate) fn received(
        address: Pubkey,
        kind: RewardKind,
        lamports: u64,
        post_balance: u64,
    ) -> Self {
        let lamports = i64::try_from(lamports).unwrap_or(i64::MAX);
        Self { address, kind, lamports, post_balance, commission_bps: None }
    }
}
