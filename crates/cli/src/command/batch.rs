//! `selkie batch`: runs items from Parquet files, and compares results.

mod budget;
mod diff;
mod execute;
mod import;
mod parts;
mod shards;
mod supervise;
mod table;
mod total;
mod verify;
mod work;

use anyhow::Result;

use crate::{
    args::batch::{BatchArgs, BatchCommand},
    ui::{Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &BatchArgs) -> Result<Status> {
    table::quiet_library_panics();
    match &args.command {
        BatchCommand::Run(args) => match &args.worker {
            None => supervise::run(ui, args),
            Some(work) => {
                supervise::end_with_starter();
                execute::run(ui, args, work)
            }
        },
        BatchCommand::Verify(args) => verify::run(ui, args),
        BatchCommand::Diff(args) => diff::run(ui, args),
        BatchCommand::Import(args) => import::run(ui, args),
    }
}

/// Returns whether a status says nothing about what the transaction does.
fn is_unusable(status: &str) -> bool {
    matches!(status, "MalformedItem" | "EngineCrash")
}
