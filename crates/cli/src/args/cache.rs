//! What can be said about programs on disk.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::program::StateArgs;

/// Show, fill and empty the cache of programs that are kept ready on disk
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie cache                              what is there, and whether it is sound
  selkie cache warm --state dev.state       make a cluster's programs ready
  selkie cache clear

Programs are kept verified, and with their machine code. What is in the folder was sealed with a
secret that is there too: a file that was changed is not used, and made anew.")]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    pub(crate) command: Option<CacheCommand>,

    /// The folder [default: selkie/ready in the user's cache folder]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(env = "SELKIE_CACHE")]
    pub(crate) cache: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum CacheCommand {
    /// List the files [default]
    Show,
    /// Make the programs of a cluster ready, and keep them
    Warm(WarmArgs),
    /// Delete the files
    Clear,
}

#[derive(Args, Debug)]
pub(crate) struct WarmArgs {
    #[command(flatten)]
    pub(crate) state: StateArgs,
}
