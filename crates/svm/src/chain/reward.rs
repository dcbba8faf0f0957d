//! What blocks pay and take outside of transactions (agave: `solana-reward-info`).

/// What lamports were received or paid for outside of transactions. Records keep the order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RewardKind {
    /// The fees of the block's transactions.
    Fee,
    /// A stake in the epoch that ended.
    Staking,
    /// The commission of a vote account.
    Voting,
    /// A stake in the epoch that ended, none of which is effective any more.
    DeactivatedStake,
    /// The admission of a vote account to an epoch, which it paid.
    AdmissionDebit,
}
