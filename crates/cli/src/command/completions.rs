//! `selkie completions`.

use anyhow::Result;
use clap::CommandFactory as _;

use crate::{
    args::{Cli, CompletionsArgs},
    ui::{Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &CompletionsArgs) -> Result<Status> {
    clap_complete::generate(args.shell, &mut Cli::command(), "selkie", &mut ui.out);
    Ok(Status::Success)
}
