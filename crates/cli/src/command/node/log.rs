//! A line for each transaction.

use std::io::Write as _;

use anyhow::Result;
use selkie_node::{Block, Event, Events, Landed, Node};
use serde_json::json;
use solana_commitment_config::CommitmentLevel;
use tokio::sync::broadcast::error::RecvError;

use crate::{
    args::node::NodeArgs,
    ui::{BAD, DIM, GOOD, Ui, WARN},
};

/// Prints a line for each transaction until the node ends.
pub(super) async fn run(
    ui: &mut Ui,
    args: &NodeArgs,
    node: &Node,
    mut events: Events,
) -> Result<()> {
    loop {
        match events.recv().await {
            Ok(_) if args.quiet => {}
            Ok(Event::Block { commitment: CommitmentLevel::Processed, block }) => {
                show_block(ui, args, &block)?;
            }
            Ok(Event::Dropped { signature, error }) if ui.json => {
                let line =
                    json!({ "signature": signature.to_string(), "dropped": error.to_string() });
                writeln!(ui.out, "{line}")?;
            }
            Ok(Event::Dropped { signature, error }) => {
                writeln!(ui.out, "{WARN}dropped{WARN:#} {signature}  {error}")?;
            }
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => {
                let failure = node.failure().unwrap_or_else(|| "the node has stopped".to_owned());
                return Err(anyhow::anyhow!(failure));
            }
        }
    }
}

fn show_block(ui: &mut Ui, args: &NodeArgs, block: &Block) -> Result<()> {
    for landed in &block.transactions {
        if ui.json {
            writeln!(ui.out, "{}", line_of_json(landed))?;
        } else {
            show(ui, args, landed)?;
        }
    }
    if !block.transactions.is_empty() {
        ui.out.flush()?;
    }
    Ok(())
}

fn line_of_json(landed: &Landed) -> serde_json::Value {
    json!({
        "signature": landed.signature.to_string(),
        "slot": landed.slot,
        "error": landed.result.as_ref().err().map(ToString::to_string),
        "computeUnits": landed.meta.compute_units,
        "fee": landed.meta.fee,
    })
}

fn show(ui: &mut Ui, args: &NodeArgs, landed: &Landed) -> Result<()> {
    let count = landed.transaction.message.instructions().len();
    let (units, signature, slot) = (landed.meta.compute_units, landed.signature, landed.slot);
    let facts = format!("{count} ix {units} CU  slot {slot}");
    match &landed.result {
        Ok(()) => writeln!(ui.out, "{GOOD}ok{GOOD:#}     {signature}  {facts}")?,
        Err(error) => {
            writeln!(ui.out, "{BAD}failed{BAD:#} {signature}  {facts}  {error}")?;
            for note in &landed.meta.notes {
                writeln!(ui.out, "       {note}")?;
            }
        }
    }
    if args.log || landed.result.is_err() {
        for line in &landed.meta.logs {
            writeln!(ui.out, "       {DIM}{line}{DIM:#}")?;
        }
    }
    Ok(())
}
