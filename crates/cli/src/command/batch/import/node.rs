//! The newest transactions of a running node.

use selkie_client::{Client, LIST_BYTES_MAX};
use std::path::Path;

use anyhow::Result;
use selkie_batch::import::Importer;
use selkie_node::RECORDED_BLOCKS_MAX;
use serde::Deserialize;
use serde_json::json;

use crate::replays;

/// The most slots that servers look for blocks in.
const SLOTS_MAX: u64 = 500_000;

/// The part of a block that is asked for.
#[derive(Deserialize)]
struct Block {
    signatures: Vec<String>,
}

/// Adds the transactions of the blocks before which a node keeps the state, oldest first.
pub(super) fn add(url: &str, importer: &mut Importer) -> Result<()> {
    let client = Client::new(url)?;
    let slot: u64 = client.call("getSlot", &json!([]))?;
    let slots: Vec<u64> = client.call_for(
        "getBlocks",
        &json!([slot.saturating_sub(SLOTS_MAX), slot]),
        LIST_BYTES_MAX,
    )?;
    let mut blocks = Vec::new();
    for slot in slots.iter().rev() {
        let form = json!({
            "transactionDetails": "signatures",
            "rewards": false,
            "maxSupportedTransactionVersion": 1,
        });
        let block: Block = client.call_for("getBlock", &json!([slot, form]), LIST_BYTES_MAX)?;
        if !block.signatures.is_empty() {
            blocks.push(block);
        }
        if blocks.len() == RECORDED_BLOCKS_MAX {
            break;
        }
    }
    for signature in blocks.iter().rev().flat_map(|block| &block.signatures) {
        let path = Path::new(signature);
        match replays::fetch(&client, signature) {
            Ok(file) => importer.add_replays(path, &file)?,
            Err(error) => importer.skip(path, error.root_cause().to_string()),
        }
    }
    Ok(())
}
