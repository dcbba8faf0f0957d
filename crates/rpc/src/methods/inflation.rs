//! Inflation, and the rewards that it pays.

use std::{collections::HashMap, sync::Arc};

use selkie_node::{Block, RewardKind, RewardRecord, reward_partition};
use serde::Deserialize;
use serde_json::{Value, json};
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;

use crate::{
    config::{Commitment, ContextConfig},
    error::RpcError,
    methods::{call::Call, cluster::view},
    params::{Params, check_count, parse_keys},
};

/// The most addresses that `getInflationReward` takes.
const ADDRESSES_MAX: usize = 32;

pub(super) fn get_inflation_governor(
    call: &Call<'_>,
    params: &mut Params,
) -> Result<Value, RpcError> {
    let (inflation, _) = view(call, params, 0)?.inflation();
    Ok(json!({
        "foundation": 0.0,
        "foundationTerm": 0.0,
        "initial": inflation.initial,
        "taper": inflation.taper,
        "terminal": inflation.terminal,
    }))
}

pub(super) fn get_inflation_rate(call: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    let view = call.node.view(Commitment::default().level());
    let (inflation, years) = view.inflation();
    let rate = inflation.rate(years);
    let epoch = view.epoch_info().epoch;
    Ok(json!({ "epoch": epoch, "foundation": 0.0, "total": rate, "validator": rate }))
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "struct RpcEpochConfig")]
struct EpochConfig {
    epoch: Option<u64>,
    commitment: Commitment,
    min_context_slot: Option<u64>,
}

/// Returns what addresses received for an epoch. As in agave, commissions are in the first block of the next
/// epoch, and the rewards of stakes in the blocks after it, or in it if it does not say in how many.
pub(super) fn get_inflation_reward(
    call: &Call<'_>,
    params: &mut Params,
) -> Result<Value, RpcError> {
    let addresses: Vec<String> = params.required(0)?;
    check_count(addresses.len(), ADDRESSES_MAX)?;
    let addresses = parse_keys(&addresses)?;
    let config: EpochConfig = params.or_default(1)?;
    let (commitment, min_context_slot) = (config.commitment, config.min_context_slot);
    let view = call.view(ContextConfig { commitment, min_context_slot })?;
    let epoch = config.epoch.unwrap_or_else(|| view.epoch_info().epoch.saturating_sub(1));
    let level = commitment.at_least_confirmed()?;
    let Some(boundary) = boundary(call, epoch, level)? else {
        return Ok(addresses.iter().map(|_| Value::Null).collect());
    };
    let mut found = Found::default();
    let in_boundary = boundary.reward_partitions.is_none();
    found.add(&boundary, |kind| kind == RewardKind::Voting || in_boundary && is_of_stake(kind));
    if let Some(partitions) = boundary.reward_partitions {
        let missing = addresses.iter().filter(|key| !found.0.contains_key(*key));
        let missing: Vec<Pubkey> = missing.copied().collect();
        let count = usize::try_from(partitions).unwrap_or(usize::MAX);
        let slots = call.node.blocks(boundary.slot.saturating_add(1), None, count, level);
        for key in missing {
            let at = reward_partition(&key, &boundary.previous_blockhash, partitions);
            let slot = usize::try_from(at).ok().and_then(|at| slots.get(at));
            let Some(slot) = slot else {
                let complete = boundary.block_height.saturating_add(partitions).saturating_add(1);
                let (slot, height) = (view.slot(), view.block_height());
                return Err(RpcError::epoch_rewards_period_active(slot, height, complete));
            };
            let block = call.node.block(*slot);
            found.add(&*block.map_err(|_| RpcError::block_not_available(*slot))?, is_of_stake);
        }
    }
    Ok(addresses.iter().map(|key| found.show(key, epoch)).collect())
}

/// Returns the first block after an epoch; `None` if no reward is due in it, since no block of the epoch
/// was made.
fn boundary(
    call: &Call<'_>,
    epoch: u64,
    level: CommitmentLevel,
) -> Result<Option<Arc<Block>>, RpcError> {
    let schedule = &call.node.info().epoch_schedule;
    let first = schedule.get_first_slot_in_epoch(epoch.saturating_add(1));
    let first_available = call.node.first_available_block();
    if first < first_available {
        return Err(RpcError::block_cleaned_up(first, first_available));
    }
    let missing = || RpcError::block_not_available(first);
    let slot = call.node.blocks(first, None, 1, level).first().copied().ok_or_else(missing)?;
    let block = call.node.block(slot).map_err(|_| RpcError::block_not_available(slot))?;
    if block.parent_slot >= first {
        return Err(RpcError::slot_not_epoch_boundary(slot));
    }
    Ok(Some(block).filter(|it| schedule.get_epoch(it.parent_slot) == epoch))
}

fn is_of_stake(kind: RewardKind) -> bool {
    matches!(kind, RewardKind::Staking | RewardKind::DeactivatedStake)
}

/// Rewards by address, with the slot of their block.
#[derive(Default)]
struct Found(HashMap<Pubkey, (u64, RewardRecord)>);

impl Found {
    fn add(&mut self, block: &Block, is_wanted: impl Fn(RewardKind) -> bool) {
        let wanted = block.rewards.iter().filter(|it| is_wanted(it.kind));
        self.0.extend(wanted.map(|it| (it.address, (block.slot, it.clone()))));
    }

    fn show(&self, key: &Pubkey, epoch: u64) -> Value {
        let Some((slot, reward)) = self.0.get(key) else { return Value::Null };
        let mut shown = json!({
            "amount": reward.lamports.unsigned_abs(),
            "commission": reward.commission,
            "effectiveSlot": slot,
            "epoch": epoch,
            "postBalance": reward.post_balance,
        });
        if let Some(bps) = reward.commission_bps {
            shown["commissionBps"] = json!(bps);
        }
        shown
    }
}
