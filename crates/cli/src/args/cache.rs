//! Arguments of `selkie cache`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::program::StateArgs;

/// Show, fill or clear the on-disk cache of verified and compiled programs
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie cache                              lists the files and checks their integrity
  selkie cache warm --state dev.state       compiles and stores the programs of a cluster
  selkie cache clear

The cache stores verified programs with their machine code. Each file is authenticated with a secret key
in the same folder; a file that was modified is ignored and rebuilt.")]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    pub(crate) command: Option<CacheCommand>,

    /// The cache folder [default: selkie/ready in the user's cache folder]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(env = "SELKIE_CACHE")]
    pub(crate) cache: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum CacheCommand {
    /// List the files [default]
    Show,
    /// Compile the programs of a cluster and store them
    Warm(WarmArgs),
    /// Delete the files
    Clear,
}

#[derive(Args, Debug)]
pub(crate) struct WarmArgs {
    #[command(flatten)]
    pub(crate) state: StateArgs,
}
