//! What a node of Selkie keeps of its newest transactions: replays.

use selkie::Signature;
use selkie_isa::failure::{Context as _, Failure, OrFailure as _, Result};
use serde::Deserialize;
use serde_json::json;

use super::{Client, LIST_BYTES_MAX};

/// The largest answer that has a replay: the accounts of a transaction have 64 MiB at most.
const REPLAY_BYTES_MAX: u64 = 256 << 20;
/// The most slots that servers look for blocks in.
const SLOTS_MAX: u64 = 500_000;

/// The part of a block that is asked for.
#[derive(Deserialize)]
struct Block {
    signatures: Vec<String>,
}

impl Client {
    /// Returns the replay file of a landed transaction as text, from a node of Selkie.
    ///
    /// # Errors
    /// If the cluster is no node of Selkie, or does not have the transaction or the state before it.
    pub fn replay(&self, signature: &Signature) -> Result<String> {
        let signature = signature.to_string();
        let replay: Option<String> = self
            .call_for("selkie_replayTransaction", &json!([signature]), REPLAY_BYTES_MAX)
            .with_context(|| format!("cannot replay {signature}"))
            .advise("only `selkie node` keeps the state before its newest transactions")?;
        replay
            .ok_or_else(|| Failure::new(format!("{} has no transaction {signature}", self.url)))
            .advise("what fails in the simulation does not land: skip the preflight")
    }

    /// Returns the transactions of the newest blocks that have any, at most so many blocks, oldest first.
    ///
    /// # Errors
    /// If the cluster does not answer, or answers no signatures.
    pub fn newest_transactions(&self, blocks_max: usize) -> Result<Vec<Signature>> {
        let slot = self.slot()?;
        let range = json!([slot.saturating_sub(SLOTS_MAX), slot]);
        let slots: Vec<u64> = self.call_for("getBlocks", &range, LIST_BYTES_MAX)?;
        let mut blocks = Vec::new();
        for slot in slots.iter().rev() {
            let form = json!({
                "transactionDetails": "signatures",
                "rewards": false,
                "maxSupportedTransactionVersion": 1,
            });
            let block: Block = self.call_for("getBlock", &json!([slot, form]), LIST_BYTES_MAX)?;
            if !block.signatures.is_empty() {
                blocks.push(block);
            }
            if blocks.len() == blocks_max {
                break;
            }
        }
        let texts = blocks.iter().rev().flat_map(|it| &it.signatures);
        texts.map(|it| it.parse().or_failure()).collect()
    }
}
