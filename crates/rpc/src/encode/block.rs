//! Blocks.

use selkie_node::Block;
use serde_json::{Map, Value, json};

use crate::{
    config::{BlockConfig, Details, TransactionEncoding},
    encode::{account::Surroundings, transaction},
    error::RpcError,
};

/// Returns a block with as much of its transactions as `config` asks for.
///
/// # Errors
/// If the client does not know the version of a transaction.
pub(crate) fn encode(
    block: &Block,
    config: &BlockConfig,
    around: &dyn Surroundings,
) -> Result<Value, RpcError> {
    let rewards = config.rewards.unwrap_or(true);
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    put("blockHeight", json!(block.block_height));
    put("blockTime", json!(block.block_time));
    put("blockhash", json!(block.blockhash.to_string()));
    put("parentSlot", json!(block.parent_slot));
    put("previousBlockhash", json!(block.previous_blockhash.to_string()));
    if rewards {
        put("rewards", block.rewards.iter().map(reward).collect());
    }
    match config.transaction_details.unwrap_or_default() {
        Details::None => {}
        Details::Signatures => {
            let signature =
                |it: &std::sync::Arc<selkie_node::Landed>| json!(it.signature.to_string());
            put("signatures", block.transactions.iter().map(signature).collect());
        }
        details => put("transactions", transactions(block, config, details, rewards, around)?),
    }
    Ok(Value::Object(fields))
}

fn transactions(
    block: &Block,
    config: &BlockConfig,
    details: Details,
    rewards: bool,
    around: &dyn Surroundings,
) -> Result<Value, RpcError> {
    let encoding = config.encoding.unwrap_or(TransactionEncoding::Json);
    let max = config.max_supported_transaction_version;
    let encode = |landed: &std::sync::Arc<selkie_node::Landed>| match details {
        Details::Accounts => transaction::encode_accounts(landed, max, rewards, around),
        _ => transaction::encode_landed(landed, encoding, max, rewards, around),
    };
    block.transactions.iter().map(encode).collect()
}

fn reward(reward: &selkie_node::Reward) -> Value {
    json!({
        "commission": null,
        "lamports": reward.lamports,
        "postBalance": reward.post_balance,
        "pubkey": reward.address.to_string(),
        "rewardType": "Fee",
    })
}
