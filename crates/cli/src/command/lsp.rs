//! `selkie lsp`.

use anyhow::Result;
use clap::Args;

use crate::{args::AssemblerArgs, ui::Status};

/// Serve an editor: findings while you type, completion, meaning and price of what is under the
/// cursor, definitions, names to change, compute units
#[derive(Args, Debug)]
#[command(after_help = "\
Editors start this and speak the Language Server Protocol with it over its standard input and
output; editors/README.md of the repository says how to set them up. Editors may say the version,
folders to include from and constants too, in their initialization options:
  { \"arch\": \"v0\", \"include\": [\"inc\"], \"defines\": { \"DEBUG\": 1 } }")]
pub(crate) struct LspArgs {
    #[command(flatten)]
    assembler: AssemblerArgs,

    /// Editors say this to all servers, and there is no other way here
    #[arg(long, hide = true)]
    stdio: bool,
}

pub(crate) fn run(args: &LspArgs) -> Result<Status> {
    let settings = selkie_lsp::Settings {
        version: args.assembler.arch,
        include_paths: args.assembler.include.clone(),
        defines: args.assembler.defines.clone(),
    };
    Ok(Status::of(selkie_lsp::serve_stdio(settings)? == selkie_lsp::Ended::Orderly))
}
