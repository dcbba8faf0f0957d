//! The rewards of an epoch: computed in the first block of the next one, where validators receive their
//! commissions; stake accounts receive theirs in the blocks after it (agave 4.4:
//! `runtime/src/bank/partitioned_epoch_rewards`).

mod accounts;
mod calculate;
mod inflation;
mod partition;
mod record;

use std::sync::Arc;

use selkie_svm::{
    AccountSharedData, Feature, FeatureSet, Pubkey, ReadableAccount,
    check::is_reserved,
    sysvars::{EpochRewards, Rent, minimum_balance},
};
use solana_account::WritableAccount;
use solana_sdk_ids::{incinerator, system_program};

pub use self::{
    accounts::{DELEGATED_STAKES, EpochInflation, VOTE_REWARDS, VoteRewards, genesis_accounts},
    inflation::InflationSchedule,
    partition::partition_of,
    record::Reward,
};
pub(crate) use self::{
    accounts::{delegated_stakes, read_delegated_stakes},
    calculate::{BASIS_POINTS, Calculation, EpochKind, Inputs, Rules, StakeReward, part},
    inflation::{DOUBLE_DISINFLATION, Inflation, doubled_since, since as inflation_since},
};
use crate::{
    alpenglow::{self, active_since},
    slot_time::SlotTimes,
};

/// The feature that leaves inactive stakes alone (SIMD-0599), which no program can see.
pub(crate) const SKIP_INACTIVE: Pubkey =
    Pubkey::from_str_const("RMsTKfD6hZnBhhNvgGBeKNrqCNkeoP3DYYxNtcuWtRg");

/// The rewards of stake accounts that are still to be distributed.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    /// The rewarded epoch.
    pub(crate) epoch: u64,
    pub(crate) partitions: Arc<[Vec<StakeReward>]>,
    /// How many of the partitions this chain has paid.
    pub(crate) paid: usize,
}

impl Pending {
    pub(crate) fn new(epoch: u64, stakes: &[StakeReward], rewards: &EpochRewards) -> Self {
        let count = usize::try_from(rewards.num_partitions).unwrap_or(0);
        let mut partitions = vec![Vec::new(); count];
        for reward in stakes {
            let at = partition_of(&reward.key, &rewards.parent_blockhash, rewards.num_partitions);
            let partition = usize::try_from(at).ok().and_then(|at| partitions.get_mut(at));
            partition.into_iter().for_each(|it: &mut Vec<_>| it.push(*reward));
        }
        Self { epoch, partitions: partitions.into(), paid: 0 }
    }
}

/// Returns the lamports that a vote account pays for the admission to an epoch: none before the gate of
/// Alpenglow is active.
pub(crate) fn admission(
    accounts: &impl selkie_svm::AccountStore,
    times: &SlotTimes,
    slot: u64,
) -> u64 {
    let is_due = active_since(accounts, &alpenglow::GATE).is_some_and(|since| since <= slot);
    if is_due { times.at(slot).admission_lamports } else { 0 }
}

/// Returns the account of a fee or commission collector with lamports added, if it may receive them
/// (agave: `fee_distribution.rs`).
pub(crate) fn credited(
    collector: &Pubkey,
    mut account: AccountSharedData,
    lamports: u64,
    features: FeatureSet,
    rent: &Rent,
) -> Option<AccountSharedData> {
    let before = account.lamports();
    account.checked_add_lamports(lamports).ok()?;
    let is_custom = features.has(Feature::CustomCommissionCollector);
    if *account.owner() != system_program::ID || is_custom && is_reserved(collector) {
        return None;
    }
    let minimum = minimum_balance(rent, account.data().len());
    let is_enough =
        account.lamports() >= minimum || features.has(Feature::RelaxMinBalanceCheck) && before > 0;
    // The incinerator needs no minimum balance, since it is emptied at once.
    (is_enough || is_custom && *collector == incinerator::ID).then_some(account)
}
