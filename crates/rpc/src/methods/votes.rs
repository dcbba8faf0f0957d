//! Vote accounts, leaders of slots, and who votes in Alpenglow.

use selkie_node::View;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use solana_account::ReadableAccount as _;
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;
use solana_sdk_ids::vote;

use crate::{
    budget::Text,
    config::Commitment,
    error::RpcError,
    methods::call::{Call, check_slot, with_context},
    params::{Params, parse_key},
    parsed::accounts::vote_info,
};

/// How many slots the last vote of a validator may be behind before it counts as delinquent.
const DELINQUENT_SLOTS: u64 = 128;
/// The most epochs whose credits are shown.
const CREDITS_MAX: usize = 5;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "struct RpcGetVoteAccountsConfig")]
struct VoteAccountsConfig {
    vote_pubkey: Option<String>,
    commitment: Commitment,
    keep_unstaked_delinquents: Option<bool>,
    delinquent_slot_distance: Option<u64>,
}

/// Returns the vote accounts. That of the node itself counts as having voted for every block, others
/// as their data says.
pub(super) fn get_vote_accounts(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let config: VoteAccountsConfig = params.or_default(0)?;
    let wanted = config.vote_pubkey.map(|text| parse_key(&text)).transpose()?;
    let view = call.node.view(config.commitment.level());
    let (slot, own) = (view.slot(), call.node.info().vote_account);
    let accounts = view.program_accounts(&vote::ID).into_iter();
    let accounts = accounts.filter(|(key, _)| wanted.is_none_or(|wanted| wanted == *key));
    let shown = accounts.filter_map(|(key, account)| {
        let mut info = vote_info(account.data())?;
        if key == own {
            info.insert("votes".to_owned(), json!([{ "slot": slot }]));
            let root = call.node.slot(CommitmentLevel::Finalized);
            info.insert("rootSlot".to_owned(), json!(root.min(slot)));
        }
        Some(vote_account(&key, &info, view.stake(&key)))
    });
    let distance = config.delinquent_slot_distance.unwrap_or(DELINQUENT_SLOTS);
    // As in agave. In the first slots of a cluster this is 0, and every validator that has voted is
    // current.
    let oldest = slot.saturating_sub(distance);
    let (current, mut delinquent): (Vec<Value>, Vec<Value>) =
        shown.partition(|account| account["lastVote"].as_u64() > Some(oldest));
    if !config.keep_unstaked_delinquents.unwrap_or(false) {
        delinquent.retain(|account| account["activatedStake"] != 0);
    }
    Ok(json!({ "current": current, "delinquent": delinquent }))
}

/// Returns what is shown of a vote account with these fields.
fn vote_account(key: &Pubkey, info: &Map<String, Value>, stake: Option<u64>) -> Value {
    let list = |name| info.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let last_vote = list("votes").last().and_then(|vote| vote["slot"].as_u64());
    let credits = list("epochCredits");
    let number = |value: &Value| value.as_str().and_then(|text| text.parse::<u64>().ok());
    let credits = credits
        .iter()
        .skip(credits.len().saturating_sub(CREDITS_MAX))
        .map(|it| json!([it["epoch"], number(&it["credits"]), number(&it["previousCredits"])]));
    json!({
        "activatedStake": stake.unwrap_or(0),
        "commission": info.get("commission"),
        "epochCredits": credits.collect::<Vec<_>>(),
        "epochVoteAccount": stake.is_some(),
        "inflationRewardsCommissionBps": info.get("inflationRewardsCommissionBps"),
        "lastVote": last_vote.unwrap_or(0),
        "nodePubkey": info.get("nodePubkey"),
        "rootSlot": info.get("rootSlot").and_then(Value::as_u64).unwrap_or(0),
        "votePubkey": key.to_string(),
    })
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LeaderScheduleConfig {
    identity: Option<String>,
    key_by_vote_account: Option<bool>,
    commitment: Commitment,
}

/// Writes the slots of the epoch, all of which are this node's; null if the epoch is not the
/// current one.
pub(super) fn get_leader_schedule(
    call: &Call<'_>,
    params: &mut Params,
    text: &mut Text,
) -> Result<(), RpcError> {
    // The configuration may come first, in place of the slot.
    let at = usize::from(!params.peek(0).is_object());
    let slot: Option<u64> = if at == 0 { None } else { params.optional(0)? };
    let config: LeaderScheduleConfig = params.or_default(at)?;
    let own = call.node.info().identity;
    let wanted = config.identity.map(|text| parse_key(&text)).transpose()?;
    let info = call.node.view(config.commitment.level()).epoch_info();
    let schedule = &call.node.info().epoch_schedule;
    // Leaders are known for one epoch ahead.
    if slot.is_some_and(|slot| schedule.get_epoch(slot) > info.epoch.saturating_add(1)) {
        return text.raw("null");
    }
    if let Some(other) = wanted.filter(|wanted| *wanted != own) {
        return Err(RpcError::leader_schedule_identity_not_found(&other.to_string()));
    }
    let by_vote_account = config.key_by_vote_account.unwrap_or_default();
    let key = if by_vote_account { call.node.info().vote_account } else { own };
    text.raw(&format!(r#"{{"{key}":"#))?;
    text.raw(&call.schedules.of(info.slots_in_epoch))?;
    text.raw("}")
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[serde(expecting = "struct RpcRankMapConfig")]
struct RankMapConfig {
    identity: Option<String>,
    min_context_slot: Option<u64>,
}

/// Returns who may vote in Alpenglow in the epoch of a slot, by rank: the vote accounts with stake and with a
/// BLS key, of which neither the key nor the node is that of another one too (agave: `BLSPubkeyToRankMap`,
/// `rank_map_response`). Keys and nodes are those that the accounts have now.
pub(super) fn get_rank_map(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let slot: u64 = params.required(0)?;
    let config: RankMapConfig = params.or_default(1)?;
    let identity = config.identity.map(|text| parse_key(&text)).transpose()?;
    let view = call.node.view(CommitmentLevel::Finalized);
    check_slot(&view, config.min_context_slot)?;
    let epoch = view.epoch_schedule().get_epoch(slot);
    let Some(stakes) = view.epoch_stakes(epoch) else {
        return Ok(with_context(view.slot(), Value::Null));
    };
    let candidates: Vec<Voter> =
        stakes.iter().filter_map(|(key, stake)| Voter::read(&view, *key, *stake)).collect();
    let is_only = |voter: &&Voter| {
        let same = |it: &&Voter| it.bls == voter.bls || it.node == voter.node;
        candidates.iter().filter(same).count() == 1
    };
    let mut voters: Vec<&Voter> = candidates.iter().filter(is_only).collect();
    voters.sort_by(|one, other| other.stake.cmp(&one.stake).then(one.bls.cmp(&other.bls)));
    let total = voters.iter().map(|voter| voter.stake).fold(0, u64::saturating_add);
    let identity = identity.map(|key| key.to_string());
    let wanted = (0_u64..)
        .zip(voters)
        .filter(|(_, voter)| identity.as_ref().is_none_or(|identity| voter.node == *identity));
    let validators: Vec<Value> = wanted.map(|(rank, voter)| voter.show(rank)).collect();
    let value = json!({ "epoch": epoch, "totalStake": total, "validators": validators });
    Ok(with_context(view.slot(), value))
}

/// A vote account that has a BLS key, with its stake in an epoch.
struct Voter {
    key: Pubkey,
    node: String,
    bls: Vec<u8>,
    stake: u64,
}

impl Voter {
    fn read(view: &View, key: Pubkey, stake: u64) -> Option<Self> {
        let info = vote_info(view.account(&key)?.data())?;
        let text = |name: &str| info.get(name).and_then(Value::as_str);
        let bls = bs58::decode(text("blsPubkeyCompressed")?).into_vec().ok()?;
        let node = text("nodePubkey")?.to_owned();
        (stake > 0).then_some(Self { key, node, bls, stake })
    }

    fn show(&self, rank: u64) -> Value {
        json!({
            "blsPubkeyCompressed": bs58::encode(&self.bls).into_string(),
            "nodePubkey": self.node,
            "rank": rank,
            "stake": self.stake,
            "votePubkey": self.key.to_string(),
        })
    }
}

/// Returns the certificate of the last block before Alpenglow; null if the cluster has not migrated.
pub(super) fn get_ag_genesis_cert(call: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    let view = call.node.view(CommitmentLevel::Finalized);
    let Some(certificate) = view.genesis_certificate() else { return Ok(Value::Null) };
    Ok(json!({
        "block": { "blockId": certificate.block_id, "slot": certificate.slot },
        "signature": { "bitmap": certificate.signers, "signature": certificate.signature.to_vec() },
    }))
}
