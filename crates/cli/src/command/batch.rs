//! `selkie batch`: runs items from Parquet files, and compares results.

mod diff;
mod execute;
mod import;
mod shards;
mod table;
mod verify;

use anyhow::Result;

use crate::{
    args::batch::{BatchArgs, BatchCommand},
    ui::{Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &BatchArgs) -> Result<Status> {
    table::quiet_library_panics();
    match &args.command {
        BatchCommand::Run(args) => execute::run(ui, args),
        BatchCommand::Verify(args) => verify::run(ui, args),
        BatchCommand::Diff(args) => diff::run(ui, args),
        BatchCommand::Import(args) => import::run(ui, args),
    }
}

/// Returns whether a status says nothing about what the transaction does.
fn is_unusable(status: &str) -> bool {
    matches!(status, "MalformedItem" | "EngineCrash")
}
