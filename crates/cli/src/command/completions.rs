//! `selkie completions`.

use std::io::Write as _;

use anyhow::Result;
use clap::CommandFactory as _;

use crate::{
    args::{Cli, CompletionsArgs},
    ui::{Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &CompletionsArgs) -> Result<Status> {
    // `generate` panics if writing fails.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "selkie", &mut script);
    ui.out.write_all(&script)?;
    Ok(Status::Success)
}
