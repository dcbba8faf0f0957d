//! `selkie node`.

mod config;
mod log;
mod logging;
mod options;
mod remote;
mod signals;
mod summary;

use std::io::Write as _;

use anyhow::Result;
use selkie_node::Node;
use selkie_rpc::Server;
use tokio::runtime::Runtime;

pub(crate) use crate::args::node::NodeArgs;
use crate::{
    command::node::signals::Signals,
    effects,
    ui::{Advise as _, Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &NodeArgs) -> Result<Status> {
    let args = config::merge(args, &mut ui.given)?;
    ui.warn_of_effects()?;
    if args.print_config {
        write!(ui.out, "{}", config::print(&args)?)?;
        return Ok(Status::Success);
    }
    ui.show_raw(args.raw);
    logging::start(&args)?;
    let options = options::node(&args)?;
    let first_slot = options.first_slot;
    let node = Node::start(options)?;
    warn_of_ledger(ui, &args, &node, first_slot)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = serve(ui, &args, &node, &runtime);
    // Requests that still run are cut off.
    runtime.shutdown_timeout(core::time::Duration::from_millis(200));
    node.stop()?;
    outcome
}

/// Warns of what the node has found in the folder of the ledger.
fn warn_of_ledger(ui: &mut Ui, args: &NodeArgs, node: &Node, first_slot: u64) -> Result<()> {
    let info = node.info();
    if let Some(slot) = info.restored_slot {
        ui.warn_of_effects_if(effects::EXISTING_LEDGER)?;
        if first_slot <= slot {
            ui.warn_of_effects_if(effects::LATER_LEDGER)?;
        }
    }
    if let Some(folder) = args.ledger.as_ref().filter(|_| info.found_empty_ledger) {
        ui.warning(&format!(
            "the ledger in {} holds nothing, so a new cluster begins",
            folder.display()
        ))?;
        ui.help("restore a copy of the folder if it should not be empty");
    }
    Ok(())
}

/// Serves until the process is asked to stop.
fn serve(ui: &mut Ui, args: &NodeArgs, node: &Node, runtime: &Runtime) -> Result<Status> {
    let events = node.subscribe();
    let server = runtime
        .block_on(Server::start(node.clone(), options::server(args)))
        .advise("stop that process, or choose another port with --rpc-port")?;
    // Before the node is announced: who reads that may stop it at once.
    let signals = runtime.block_on(async { Signals::listen() })?;
    summary::show(ui, args, node, &server)?;
    ui.out.flush()?;
    runtime.block_on(async {
        tokio::select! {
            result = signals.received() => result,
            result = log::run(ui, args, node, events) => result,
        }
    })?;
    runtime.block_on(server.stop());
    Ok(Status::Success)
}
