//! Arguments that describe a call of a program: instruction, accounts, and what is around them.

use selkie_client::numbers;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{AssemblerArgs, LoaderArg, feature::FeatureArgs};

/// An instruction with its accounts, and the environment in which a program processes it.
#[derive(Args, Clone, Debug)]
pub(crate) struct CallArgs {
    /// The instruction: program id, accounts and data, as JSON
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) input: Option<PathBuf>,

    /// More accounts: files as `solana account --output json` writes them, or addresses and names
    /// of accounts of --state; the suffix `:s` makes an account a signer, `:r` read-only
    #[arg(long, value_name = "FILE[:sr]", num_args = 1.., value_hint = ValueHint::FilePath)]
    pub(crate) accounts: Vec<String>,

    /// The instruction data; overrides that of --input
    #[arg(short, long)]
    pub(crate) data: Option<String>,

    /// The program ID to run as
    #[arg(long, value_name = "KEY")]
    pub(crate) program_id: Option<String>,

    /// The loader that owns the program
    #[arg(long, value_enum, default_value_t)]
    pub(crate) loader: LoaderArg,

    /// Another program that it can invoke by CPI
    #[arg(long = "program", value_name = "KEY=FILE", value_hint = ValueHint::FilePath)]
    pub(crate) programs: Vec<String>,

    /// Take accounts, programs, sysvars and features from a saved cluster
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) state: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) features: FeatureArgs,

    /// Compute unit limit
    #[arg(short, long, value_name = "CU", default_value_t = 200_000)]
    #[arg(value_parser = numbers::parse::<u64>)]
    pub(crate) limit: u64,

    /// Heap size: 32768 to 262144 bytes, a multiple of 1024
    #[arg(long, value_name = "BYTES", default_value_t = 32_768, value_parser = parse_heap)]
    pub(crate) heap: u32,

    #[command(flatten)]
    pub(crate) assembler: AssemblerArgs,
}

pub(super) fn parse_heap(text: &str) -> Result<u32, String> {
    let is_valid = |it: &u32| it.is_multiple_of(1024) && (32 * 1024..=256 * 1024).contains(it);
    let refused = || "a heap has 32768 to 262144 bytes, a multiple of 1024".to_owned();
    text.parse().ok().filter(is_valid).ok_or_else(refused)
}
