//! Methods about the node and the cluster that it stands for.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::OnceLock;

use selkie_node::View;
use selkie_svm::FeatureSet;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use solana_pubkey::Pubkey;

use crate::{
    config::{Commitment, ContextConfig},
    error::RpcError,
    methods::call::{API_VERSION, Call, with_context},
    params::{Params, parse_key},
};

/// Returns the number of the set of all features that the node knows, made as agave makes its own:
/// the first bytes of the hash of their sorted addresses.
fn feature_set() -> u32 {
    static NUMBER: OnceLock<u32> = OnceLock::new();
    *NUMBER.get_or_init(|| {
        let mut addresses: Vec<Pubkey> =
            FeatureSet::all().iter().map(|feature| feature.address()).collect();
        addresses.sort_unstable();
        let hasher = addresses.iter().fold(Sha256::new(), |it, key| it.chain_update(key));
        let first = hasher.finalize().first_chunk().copied();
        u32::from_le_bytes(first.unwrap_or_default())
    })
}

/// The most slot leaders that one request returns.
const LEADERS_MAX: u64 = 5000;
/// The least that can be delegated.
const STAKE_MINIMUM_LAMPORTS: u64 = 1_000_000_000;
/// The most performance samples that one request returns.
const SAMPLES_MAX: usize = 720;

pub(super) fn get_health(call: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    match call.node.failure() {
        None => Ok(json!("ok")),
        Some(failure) => Err(RpcError::node_unhealthy(&failure)),
    }
}

pub(super) fn get_version(_: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    Ok(json!({ "feature-set": feature_set(), "solana-core": API_VERSION }))
}

pub(super) fn get_genesis_hash(call: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    Ok(json!(call.node.info().genesis_hash.to_string()))
}

pub(super) fn get_identity(call: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    Ok(json!({ "identity": identity(call) }))
}

fn identity(call: &Call<'_>) -> String {
    call.node.info().identity.to_string()
}

/// Reads the view that the configuration at `index` asks for.
fn view(call: &Call<'_>, params: &mut Params, index: usize) -> Result<View, RpcError> {
    call.view(params.or_default::<ContextConfig>(index)?)
}

pub(super) fn get_slot(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    Ok(json!(view(call, params, 0)?.slot()))
}

pub(super) fn get_block_height(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    Ok(json!(view(call, params, 0)?.block_height()))
}

pub(super) fn get_transaction_count(
    call: &Call<'_>,
    params: &mut Params,
) -> Result<Value, RpcError> {
    Ok(json!(view(call, params, 0)?.transaction_count()))
}

pub(super) fn get_epoch_info(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let info = view(call, params, 0)?.epoch_info();
    Ok(epoch_info(&info))
}

/// Returns the position in the epoch.
pub(super) fn epoch_info(info: &selkie_node::EpochInfo) -> Value {
    json!({
        "absoluteSlot": info.absolute_slot,
        "blockHeight": info.block_height,
        "epoch": info.epoch,
        "slotIndex": info.slot_index,
        "slotsInEpoch": info.slots_in_epoch,
        "transactionCount": info.transaction_count,
    })
}

pub(super) fn get_epoch_schedule(call: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    let schedule = &call.node.info().epoch_schedule;
    Ok(json!({
        "firstNormalEpoch": schedule.first_normal_epoch,
        "firstNormalSlot": schedule.first_normal_slot,
        "leaderScheduleSlotOffset": schedule.leader_schedule_slot_offset,
        "slotsPerEpoch": schedule.slots_per_epoch,
        "warmup": schedule.warmup,
    }))
}

/// Returns an address as clients on this machine reach it.
fn reachable(mut address: SocketAddr) -> String {
    match address.ip() {
        ip if !ip.is_unspecified() => {}
        IpAddr::V4(_) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(_) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
    }
    address.to_string()
}

pub(super) fn get_cluster_nodes(call: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    Ok(json!([{
        "clientId": "Selkie",
        "featureSet": feature_set(),
        "gossip": null,
        "pubkey": identity(call),
        "pubsub": reachable(call.addresses.websocket),
        "rpc": reachable(call.addresses.rpc),
        "serveRepair": null,
        "shredVersion": 0,
        "tpu": null,
        "tpuForwards": null,
        "tpuForwardsQuic": null,
        "tpuQuic": call.addresses.quic.map(reachable),
        "tpuVote": null,
        "tvu": null,
        "version": API_VERSION,
    }]))
}

pub(super) fn get_slot_leader(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    view(call, params, 0)?;
    Ok(json!(identity(call)))
}

pub(super) fn get_slot_leaders(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let (_start, limit): (u64, u64) = (params.required(0)?, params.required(1)?);
    if limit > LEADERS_MAX {
        return Err(RpcError::invalid_params(format!("Invalid limit; max {LEADERS_MAX}")));
    }
    let identity = identity(call);
    Ok((0..limit).map(|_| json!(identity)).collect())
}

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

/// The node pays no rewards. As in agave, there is an answer once the epoch after the one that is asked for has
/// a block, which is where rewards would be.
pub(super) fn get_inflation_reward(
    call: &Call<'_>,
    params: &mut Params,
) -> Result<Value, RpcError> {
    let addresses: Vec<String> = params.required(0)?;
    let addresses: Vec<Pubkey> =
        addresses.iter().map(|text| parse_key(text)).collect::<Result<_, _>>()?;
    let config: EpochConfig = params.or_default(1)?;
    let (commitment, min_context_slot) = (config.commitment, config.min_context_slot);
    let view = call.view(ContextConfig { commitment, min_context_slot })?;
    let epoch = config.epoch.unwrap_or_else(|| view.epoch_info().epoch.saturating_sub(1));
    let schedule = &call.node.info().epoch_schedule;
    let slot = schedule.get_first_slot_in_epoch(epoch.saturating_add(1));
    let first_available = call.node.first_available_block();
    if slot < first_available {
        return Err(RpcError::block_cleaned_up(slot, first_available));
    }
    let level = commitment.at_least_confirmed()?;
    match call.node.blocks(slot, None, 1, level).is_empty() {
        true => Err(RpcError::block_not_available(slot)),
        false => Ok(addresses.iter().map(|_| Value::Null).collect()),
    }
}

pub(super) fn get_highest_snapshot_slot(_: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    Err(RpcError::no_snapshot())
}

/// Returns the newest slot: a single node retransmits and repairs nothing.
pub(super) fn get_max_slot(call: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    Ok(json!(call.node.slot(solana_commitment_config::CommitmentLevel::Processed)))
}

pub(super) fn get_block_commitment(_: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let _slot: u64 = params.required(0)?;
    Ok(json!({ "commitment": null, "totalStake": 0 }))
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "struct RpcBlockProductionConfig")]
struct BlockProductionConfig {
    identity: Option<String>,
    range: Option<Range>,
    commitment: Commitment,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "struct RpcBlockProductionConfigRange")]
struct Range {
    first_slot: u64,
    last_slot: Option<u64>,
}

pub(super) fn get_block_production(
    call: &Call<'_>,
    params: &mut Params,
) -> Result<Value, RpcError> {
    let config: BlockProductionConfig = params.or_default(0)?;
    let level = config.commitment.level();
    let view = call.node.view(level);
    let first = call.node.info().epoch_schedule.get_first_slot_in_epoch(view.epoch_info().epoch);
    let (first, last) = match config.range {
        Some(range) => (range.first_slot, range.last_slot.unwrap_or_else(|| view.slot())),
        None => (first, view.slot()),
    };
    if last < first {
        let text = format!("lastSlot, {last}, cannot be less than firstSlot, {first}");
        return Err(RpcError::invalid_params(text));
    }
    let identity = identity(call);
    let is_wanted = config.identity.is_none_or(|wanted| wanted == identity);
    let slots = last.saturating_sub(first).saturating_add(1);
    let blocks = call.node.blocks(first, Some(last), usize::MAX, level).len();
    let by_identity = if is_wanted { json!({ identity: [slots, blocks] }) } else { json!({}) };
    let value = json!({
        "byIdentity": by_identity,
        "range": { "firstSlot": first, "lastSlot": last },
    });
    Ok(with_context(view.slot(), value))
}

pub(super) fn get_stake_minimum_delegation(
    call: &Call<'_>,
    params: &mut Params,
) -> Result<Value, RpcError> {
    // As since stake program v5 (SIMD-0490), which mainnet runs.
    Ok(with_context(view(call, params, 0)?.slot(), json!(STAKE_MINIMUM_LAMPORTS)))
}

pub(super) fn get_first_available_block(
    call: &Call<'_>,
    _: &mut Params,
) -> Result<Value, RpcError> {
    Ok(json!(call.node.first_available_block()))
}

pub(super) fn get_recent_performance_samples(
    call: &Call<'_>,
    params: &mut Params,
) -> Result<Value, RpcError> {
    let limit = params.optional(0)?.unwrap_or(SAMPLES_MAX);
    if limit > SAMPLES_MAX {
        return Err(RpcError::invalid_params(format!("Invalid limit; max {SAMPLES_MAX}")));
    }
    let show = |sample: &selkie_node::PerformanceSample| {
        json!({
            "numNonVoteTransactions": sample.transactions,
            "numSlots": sample.slots,
            "numTransactions": sample.transactions,
            "samplePeriodSecs": sample.seconds,
            "slot": sample.slot,
        })
    };
    Ok(call.node.performance_samples(limit).iter().map(show).collect())
}
