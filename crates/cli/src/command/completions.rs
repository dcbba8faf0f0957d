//! `selkie completions`.

use std::io::Write as _;

use anyhow::Result;
use clap::Command;

use crate::{
    args::CompletionsArgs,
    ui::{Status, Ui},
};

/// Prints the script that completes the arguments of `cli`.
pub(crate) fn run(ui: &mut Ui, args: &CompletionsArgs, cli: &mut Command) -> Result<Status> {
    // `generate` panics if writing fails.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, cli, "selkie", &mut script);
    ui.out.write_all(&script)?;
    Ok(Status::Success)
}
