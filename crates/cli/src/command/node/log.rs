//! A line for each transaction.

use std::{
    collections::HashMap,
    ffi::OsStr,
    io::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Result;
use selkie::{
    InstructionError, Signature, TransactionError,
    programs::errors::{self, ErrorName},
};
use selkie_node::{Block, Event, Events, Landed, Node, ProgramCall};
use serde_json::json;
use solana_commitment_config::CommitmentLevel;
use tokio::sync::broadcast::error::RecvError;

use crate::{
    args::node::{LogFormatArg, NodeArgs},
    names::Names,
    ui::{BAD, DIM, GOOD, Ui, WARN},
};

/// How many transactions may be on their way into a block without their times being forgotten.
const WAITING_MAX: usize = 16_384;

/// When transactions were received.
#[derive(Default)]
struct Received(HashMap<Signature, Instant>);

impl Received {
    #[expect(clippy::disallowed_methods, reason = "durations are only shown")]
    fn add(&mut self, signature: Signature) {
        if self.0.len() >= WAITING_MAX {
            self.0.clear();
        }
        self.0.insert(signature, Instant::now());
    }

    /// Returns how long ago a transaction was received; `None` if that is not known.
    fn take(&mut self, signature: &Signature) -> Option<Duration> {
        self.0.remove(signature).map(|since| since.elapsed())
    }
}

/// Prints a line for each transaction until the node ends.
pub(super) async fn run(
    ui: &mut Ui,
    args: &NodeArgs,
    node: &Node,
    mut events: Events,
) -> Result<()> {
    let names = names(args);
    let mut received = Received::default();
    loop {
        match events.recv().await {
            Ok(_) if args.quiet => {}
            Ok(Event::Received(signature)) => received.add(signature),
            Ok(Event::Block { commitment: CommitmentLevel::Processed, block }) => {
                show_block(ui, args, &names, &block, &mut received)?;
                if args.traces && !ui.json && args.log_format != Some(LogFormatArg::Json) {
                    show_calls(ui, node, &names, &block)?;
                }
            }
            Ok(Event::Dropped { signature, error }) => {
                received.take(&signature);
                show_dropped(ui, args, &signature, &error)?;
            }
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => {
                let failure = node.failure().unwrap_or_else(|| "the node has stopped".to_owned());
                return Err(anyhow::anyhow!(failure));
            }
        }
    }
}

fn show_dropped(
    ui: &mut Ui,
    args: &NodeArgs,
    signature: &Signature,
    error: &TransactionError,
) -> Result<()> {
    // Clients of QUIC send transactions until they see them in a block.
    let is_repeated = *error == TransactionError::AlreadyProcessed;
    if args.log_format == Some(LogFormatArg::Json) {
        tracing::warn!(%signature, %error, "dropped");
    } else if ui.json {
        let line = json!({ "signature": signature.to_string(), "dropped": error.to_string() });
        writeln!(ui.out, "{line}")?;
    } else if !is_repeated {
        writeln!(ui.out, "{WARN}dropped{WARN:#} {signature}  {error}")?;
    }
    Ok(())
}

/// Returns the well-known names, and those of the programs' files.
fn names(args: &NodeArgs) -> Names {
    let mut names = Names::well_known();
    let pairs = args.bpf_program.chunks(2).chain(args.upgradeable_program.chunks(3));
    for part in pairs {
        let [id, path, ..] = part else { continue };
        let name = Path::new(path).file_stem().and_then(OsStr::to_str);
        if let (Ok(id), Some(name)) = (names.address(id), name) {
            names.add_own(id, name);
        }
    }
    names
}

/// Returns what the custom error means that made a transaction fail, if tables or the log tell.
fn error_name(landed: &Landed) -> Option<ErrorName> {
    let Err(TransactionError::InstructionError(index, InstructionError::Custom(code))) =
        landed.result
    else {
        return None;
    };
    let message = &landed.transaction.message;
    let called = || {
        let instruction = message.instructions().get(usize::from(index))?;
        message.static_account_keys().get(usize::from(instruction.program_id_index)).copied()
    };
    let program = errors::failed_program(&landed.meta.logs, code).or_else(called)?;
    errors::decode(&program, code, &landed.meta.logs)
}

fn show_block(
    ui: &mut Ui,
    args: &NodeArgs,
    names: &Names,
    block: &Block,
    received: &mut Received,
) -> Result<()> {
    for landed in &block.transactions {
        let took = received.take(&landed.signature);
        if args.log_format == Some(LogFormatArg::Json) {
            trace(landed, took);
        } else if ui.json {
            writeln!(ui.out, "{}", line_of_json(landed))?;
        } else {
            show(ui, args, names, landed, took)?;
        }
    }
    if !block.transactions.is_empty() {
        ui.out.flush()?;
    }
    Ok(())
}

/// Logs a transaction, with what explains a failure.
fn trace(landed: &Landed, took: Option<Duration>) {
    let Landed { signature, slot, meta, result, .. } = landed;
    let (compute_units, fee) = (meta.compute_units, meta.fee);
    let milliseconds = took.map(|took| took.as_secs_f64() * 1e3);
    match result {
        Ok(()) => {
            tracing::info!(%signature, slot, compute_units, fee, milliseconds, "transaction");
        }
        Err(error) => {
            let (notes, logs) = (meta.notes.join("\n"), meta.logs.join("\n"));
            let name = error_name(landed).map(|it| it.to_string());
            tracing::warn!(%signature, slot, compute_units, fee, milliseconds, %error, name, notes, logs, "failed transaction");
        }
    }
}

/// Prints the call trees of a block's transactions.
fn show_calls(ui: &mut Ui, node: &Node, names: &Names, block: &Block) -> Result<()> {
    let traces = block.transactions.iter().filter_map(|it| node.trace(&it.signature));
    for frame in traces.flat_map(|trace| trace.frames) {
        show_frame(ui, names, &frame)?;
    }
    Ok(ui.out.flush()?)
}

/// Prints a call, and those that it made below it.
fn show_frame(ui: &mut Ui, names: &Names, frame: &ProgramCall) -> Result<()> {
    let indent = usize::from(frame.stack_height).saturating_mul(2).saturating_add(5);
    let (program, all, own) =
        (names.show(&frame.program), frame.compute_units, frame.self_compute_units);
    let own = if own == all { String::new() } else { format!(", {own} of its own") };
    writeln!(ui.out, "{:indent$}{program} {DIM}{all} CU{own}{DIM:#}", "")?;
    frame.inner.iter().try_for_each(|frame| show_frame(ui, names, frame))
}

fn line_of_json(landed: &Landed) -> serde_json::Value {
    json!({
        "signature": landed.signature.to_string(),
        "slot": landed.slot,
        "error": landed.result.as_ref().err().map(ToString::to_string),
        "errorName": error_name(landed).map(|it| it.to_string()),
        "computeUnits": landed.meta.compute_units,
        "fee": landed.meta.fee,
    })
}

fn show(
    ui: &mut Ui,
    args: &NodeArgs,
    names: &Names,
    landed: &Landed,
    took: Option<Duration>,
) -> Result<()> {
    let count = landed.transaction.message.instructions().len();
    let (units, signature, slot) = (landed.meta.compute_units, landed.signature, landed.slot);
    let took = took.map_or_else(String::new, |it| format!("  {:.1} ms", it.as_secs_f64() * 1e3));
    let facts = format!("{count} ix {units} CU  slot {slot}{took}");
    match &landed.result {
        Ok(()) => writeln!(ui.out, "{GOOD}ok{GOOD:#}     {signature}  {facts}")?,
        Err(error) => {
            let name = error_name(landed).map_or_else(String::new, |it| format!(" {it}"));
            let name = ui.line(&name);
            writeln!(ui.out, "{BAD}failed{BAD:#} {signature}  {facts}  {error}{name}")?;
            for note in &landed.meta.notes {
                let note = names.annotate(note);
                let note = ui.line(&note);
                writeln!(ui.out, "       {note}")?;
            }
        }
    }
    if args.log || landed.result.is_err() {
        for line in &landed.meta.logs {
            let line = names.annotate(line);
            let line = ui.line(&line);
            writeln!(ui.out, "       {DIM}{line}{DIM:#}")?;
        }
    }
    Ok(())
}
