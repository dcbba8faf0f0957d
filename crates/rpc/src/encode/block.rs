//! Blocks.

use std::sync::Arc;

use selkie_node::{Block, Landed, RewardKind};
use serde::{
    Serialize, Serializer,
    ser::{Error as _, SerializeMap as _, SerializeSeq as _},
};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;

use crate::{
    config::{BlockConfig, Details, TransactionEncoding},
    encode::transaction::{self, UnknownVersion},
};

/// A block with as much of its transactions as `config` asks for. They are encoded one by one, where the
/// block is written.
#[derive(Debug)]
pub(crate) struct Shown<'a> {
    block: &'a Block,
    config: &'a BlockConfig,
    /// Whose transactions are shown; `None` shows all.
    mentioned: Option<&'a Pubkey>,
}

impl<'a> Shown<'a> {
    /// Shows a block.
    ///
    /// # Errors
    /// If the client does not know the version of a transaction.
    pub(crate) fn new(
        block: &'a Block,
        config: &'a BlockConfig,
        mentioned: Option<&'a Pubkey>,
    ) -> Result<Self, UnknownVersion> {
        let shown = Self { block, config, mentioned };
        if matches!(
            config.transaction_details.unwrap_or_default(),
            Details::Full | Details::Accounts
        ) {
            let max = config.max_supported_transaction_version;
            shown.transactions().try_for_each(|it| transaction::check_version(it, max))?;
        }
        Ok(shown)
    }

    fn transactions(&self) -> impl Iterator<Item = &'a Arc<Landed>> {
        let mentioned = self.mentioned;
        let is_shown = move |landed: &&Arc<Landed>| {
            mentioned.is_none_or(|key| landed.account_keys().contains(key))
        };
        self.block.transactions.iter().filter(is_shown)
    }
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (block, config) = (self.block, self.config);
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("blockHeight", &block.block_height)?;
        fields.serialize_entry("blockTime", &block.block_time)?;
        fields.serialize_entry("blockhash", &block.blockhash.to_string())?;
        if let Some(partitions) = block.reward_partitions {
            fields.serialize_entry("numRewardPartitions", &partitions)?;
        }
        fields.serialize_entry("parentSlot", &block.parent_slot)?;
        fields.serialize_entry("previousBlockhash", &block.previous_blockhash.to_string())?;
        if config.rewards.unwrap_or(true) {
            let rewards: Vec<Value> = block.rewards.iter().map(reward).collect();
            fields.serialize_entry("rewards", &rewards)?;
        }
        match config.transaction_details.unwrap_or_default() {
            Details::None => {}
            Details::Signatures => {
                let all: Vec<String> =
                    self.transactions().map(|it| it.signature.to_string()).collect();
                fields.serialize_entry("signatures", &all)?;
            }
            details => {
                fields.serialize_entry("transactions", &Transactions { of: self, details })?
            }
        }
        fields.end()
    }
}

/// The transactions of a block, with the accounts alone if that is asked for.
struct Transactions<'a> {
    of: &'a Shown<'a>,
    details: Details,
}

impl Serialize for Transactions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let config = self.of.config;
        let rewards = config.rewards.unwrap_or(true);
        let encoding = config.encoding.unwrap_or(TransactionEncoding::Json);
        let max = config.max_supported_transaction_version;
        let mut list = serializer.serialize_seq(None)?;
        for landed in self.of.transactions() {
            let shown = match self.details {
                Details::Accounts => transaction::encode_accounts(landed, max, rewards),
                _ => transaction::encode_landed(landed, encoding, max, rewards),
            };
            list.serialize_element(&shown.map_err(|error| S::Error::custom(error.message))?)?;
        }
        list.end()
    }
}

fn reward(reward: &selkie_node::RewardRecord) -> Value {
    let mut shown = json!({
        "commission": reward.commission,
        "lamports": reward.lamports,
        "postBalance": reward.post_balance,
        "pubkey": reward.address.to_string(),
        "rewardType": match reward.kind {
            RewardKind::Fee => "Fee",
            RewardKind::Staking => "Staking",
            RewardKind::Voting => "Voting",
            RewardKind::DeactivatedStake => "DeactivatedStake",
            RewardKind::AdmissionDebit => "VATDebit",
        },
    });
    if let Some(bps) = reward.commission_bps {
        shown["commissionBps"] = json!(bps);
    }
    shown
}
