//! `selkie batch`: runs items from Parquet files, and compares results.

mod diff;
mod import;
mod run;
mod verify;

use anyhow::Result;
use selkie_batch::folder;

pub(crate) use crate::args::batch::BatchArgs;
use crate::{
    args::batch::BatchCommand,
    ui::{Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &BatchArgs) -> Result<Status> {
    folder::quiet_library_panics();
    match &args.command {
        BatchCommand::Run(args) => run::run(ui, args),
        BatchCommand::Verify(args) => verify::run(ui, args),
        BatchCommand::Diff(args) => diff::run(ui, args),
        BatchCommand::Import(args) => import::run(ui, args),
    }
}
