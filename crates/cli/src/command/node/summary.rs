//! What is printed when the node is ready.

use std::io::Write as _;

use anyhow::Result;
use selkie::FeatureSet;
use selkie_node::{HistoryLimit, Node};
use selkie_rpc::{API_VERSION, Server};
use serde_json::json;

use crate::{
    args::node::{LogFormatArg, NodeArgs},
    ui::{GOOD, STRONG, Ui},
};

/// Prints where the node listens and what it was started with: text, or one line of JSON.
pub(super) fn show(ui: &mut Ui, args: &NodeArgs, node: &Node, server: &Server) -> Result<()> {
    let addresses = server.addresses();
    let (rpc, websocket) =
        (format!("http://{}", addresses.rpc), format!("ws://{}", addresses.websocket));
    let quic = addresses.quic.map(|address| address.to_string());
    let info = node.info();
    let faucet = info.faucet.map(|key| key.to_string());
    let mint = info.mint.map(|key| key.to_string());
    let slot = node.slot(solana_commitment_config::CommitmentLevel::Processed);
    let features_now = node.view(solana_commitment_config::CommitmentLevel::Processed).features();
    if ui.json || args.log_format == Some(LogFormatArg::Json) {
        let line = json!({
            "ready": true,
            "rpcUrl": rpc,
            "websocketUrl": websocket,
            "tpuQuic": quic,
            "genesisHash": info.genesis_hash.to_string(),
            "identity": info.identity.to_string(),
            "faucet": faucet,
            "mint": mint,
            "ledger": args.ledger,
            "slot": slot,
            "restoredSlot": info.restored_slot,
            "foundEmptyLedger": info.found_empty_ledger,
            "version": API_VERSION,
        });
        writeln!(ui.out, "{line}")?;
        return Ok(());
    }
    let ledger = match &args.ledger {
        Some(path) => path.display().to_string(),
        None => "in memory".to_owned(),
    };
    let history = match info.history {
        HistoryLimit::All => "all transactions, in memory without bound".to_owned(),
        HistoryLimit::Transactions(count) => format!("the newest {count} transactions"),
        #[allow(unreachable_patterns, reason = "there may be other limits one day")]
        _ => String::new(),
    };
    writeln!(ui.out, "{GOOD}ready{GOOD:#} in slot {slot}")?;
    for (name, value) in [
        ("RPC", rpc.clone()),
        ("WebSocket", websocket),
        ("TPU (QUIC)", quic.unwrap_or_else(|| "none".to_owned())),
        ("explorer", format!("{rpc}/")),
        ("genesis hash", info.genesis_hash.to_string()),
        ("identity", info.identity.to_string()),
        ("faucet", faucet.unwrap_or_else(|| "none".to_owned())),
        ("mint", mint.unwrap_or_else(|| "none".to_owned())),
        ("features", features(args, &features_now)),
        ("state", ledger),
        ("history", history),
        ("fork of", args.fork.clone().unwrap_or_else(|| "nothing".to_owned())),
    ] {
        writeln!(ui.out, "  {STRONG}{name:<13}{STRONG:#} {value}")?;
    }
    Ok(())
}

/// Names the features that are active, which are those of another cluster or of an older start if
/// they are neither the known sets nor what was asked for.
fn features(args: &NodeArgs, active: &FeatureSet) -> String {
    let all = FeatureSet::all();
    let known = all.iter().count();
    if args.clone_feature_set {
        let url = args.url.as_deref().unwrap_or("another cluster");
        return format!("those of {url}: {} (of {known} known)", active.iter().count());
    }
    let name = match &args.features {
        Some(name) => name.as_str(),
        None if args.deactivate_feature.is_empty() && *active != FeatureSet::mainnet() => {
            return format!("those of the ledger: {} (of {known} known)", active.iter().count());
        }
        None => "mainnet",
    };
    match args.deactivate_feature.len() {
        0 => format!("{name} (of {known} known)"),
        count => format!("{name} without {count} (of {known} known)"),
    }
}
