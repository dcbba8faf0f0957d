//! `selkie lsp`.

use anyhow::Result;
use clap::Args;

use crate::{
    args::AssemblerArgs,
    ui::{Status, Ui},
};

/// Run the language server: diagnostics, completion, hover, navigation, renaming, compute units
#[derive(Args, Debug)]
#[command(after_help = "\
The server speaks the Language Server Protocol over standard input and output; docs/editors.md of the
repository explains how to set up editors. Editors can also set the version, include folders and
constants in their initialization options:
  { \"arch\": \"v0\", \"include\": [\"inc\"], \"defines\": { \"DEBUG\": 1 } }")]
pub(crate) struct LspArgs {
    #[command(flatten)]
    assembler: AssemblerArgs,

    /// Accepted because editors pass it to every server; there is no other transport
    #[arg(long, hide = true)]
    stdio: bool,
}

pub(crate) fn run(_: &mut Ui, args: &LspArgs) -> Result<Status> {
    let settings = selkie_lsp::Settings {
        version: args.assembler.arch,
        include_paths: args.assembler.include.clone(),
        defines: args.assembler.defines.clone(),
    };
    Ok(Status::of(selkie_lsp::serve_stdio(settings)? == selkie_lsp::Ended::Orderly))
}
