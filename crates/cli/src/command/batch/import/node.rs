//! The newest transactions of a running node.

use std::path::Path;

use anyhow::Result;
use selkie_batch::import::Importer;
use selkie_client::Client;
use selkie_node::RECORDED_BLOCKS_MAX;

use crate::replays;

/// Adds the transactions of the blocks before which a node keeps the state, oldest first.
pub(super) fn add(url: &str, importer: &mut Importer) -> Result<()> {
    let client = Client::new(url)?;
    for signature in client.newest_transactions(RECORDED_BLOCKS_MAX)? {
        let name = signature.to_string();
        match replays::fetch(&client, &signature) {
            Ok(file) => importer.add_replays(Path::new(&name), &file)?,
            Err(error) => importer.skip(Path::new(&name), error.root_cause().to_string()),
        }
    }
    Ok(())
}
