//! Arguments for the environment of `selkie run`: other programs, a saved cluster, features.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::feature::FeatureArgs;

/// The environment that the program runs in.
#[derive(Args, Clone, Debug)]
pub(crate) struct SurroundingsArgs {
    /// Another program that it can invoke by CPI
    #[arg(long = "program", value_name = "KEY=FILE", value_hint = ValueHint::FilePath)]
    pub(crate) programs: Vec<String>,

    /// Take accounts, programs, sysvars and features from a saved cluster
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) state: Option<PathBuf>,

    /// Take them from a running cluster: a URL, or a name such as localhost or devnet
    #[arg(short, long, value_name = "URL", conflicts_with = "state")]
    pub(crate) url: Option<String>,

    #[command(flatten)]
    pub(crate) features: FeatureArgs,
}
