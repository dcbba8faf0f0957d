//! Arguments of `selkie account`.

use selkie_client::numbers;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::send::{KEYS_HELP, SessionArgs};

/// Show, change, dump and load accounts of a saved cluster
#[derive(Args, Debug)]
#[command(after_help = format!("\
Examples:
  selkie account list                           all accounts except those of a new cluster
  selkie account list --owner counter
  selkie account show vault                     with decoded fields of mints, token accounts, sysvars …
  selkie account set vault --owner counter --data u64:41
  selkie account set vault --sol 5              changes the balance only
  selkie account dump vault vault.json          the format of `solana account --output json`
  selkie account load vault.json mint.json      files in that format

{KEYS_HELP}"))]
pub(crate) struct AccountArgs {
    #[command(subcommand)]
    pub(crate) command: AccountCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum AccountCommand {
    List(ListArgs),
    Show(ShowArgs),
    Set(SetArgs),
    Dump(DumpArgs),
    Load(LoadArgs),
}

/// List all accounts except those of a new cluster
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Only the accounts that this program owns
    #[arg(long, value_name = "KEY")]
    pub(crate) owner: Option<String>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Show accounts with their decoded data, or list all
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The accounts [default: list all except those of a new cluster]
    #[arg(value_name = "KEY")]
    pub(crate) accounts: Vec<String>,

    /// List only the accounts that this program owns
    #[arg(long, value_name = "KEY", conflicts_with = "accounts")]
    pub(crate) owner: Option<String>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Change or create an account without a transaction
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie account set vault --owner counter --data u64:41    creates it with a rent-exempt balance
  selkie account set vault --data u64:5 --offset 8          replaces eight bytes
  selkie account set vault --space 100                      pads with zeros, or truncates
  selkie account set vault --lamports 0                     deletes it")]
pub(crate) struct SetArgs {
    /// The account
    #[arg(value_name = "KEY")]
    pub(crate) account: String,

    /// Balance in lamports [default for a new account: the rent-exempt minimum]
    #[arg(long, value_name = "LAMPORTS", conflicts_with = "sol")]
    #[arg(value_parser = numbers::parse::<u64>)]
    pub(crate) lamports: Option<u64>,

    /// Balance in SOL
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) sol: Option<String>,

    /// Owner program [default for a new account: system]
    #[arg(long, value_name = "KEY")]
    pub(crate) owner: Option<String>,

    /// Account data; `selkie send --help` explains the format
    #[arg(short, long, value_name = "DATA")]
    pub(crate) data: Option<String>,

    /// Offset at which to write the data [default: replace all data]
    #[arg(long, value_name = "BYTES", requires = "data")]
    #[arg(value_parser = numbers::parse::<usize>)]
    pub(crate) offset: Option<usize>,

    /// Length of the data
    #[arg(long, value_name = "BYTES", value_parser = numbers::parse::<usize>)]
    pub(crate) space: Option<usize>,

    /// Whether the account is executable
    #[arg(long, value_name = "true|false")]
    pub(crate) executable: Option<bool>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Write an account to a file in the format of `solana account --output json`
#[derive(Args, Debug)]
pub(crate) struct DumpArgs {
    /// The account
    #[arg(value_name = "KEY")]
    pub(crate) account: String,

    /// The output file [default: standard output]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Load accounts from files written by `solana account --output json` or `selkie account dump`
#[derive(Args, Debug)]
pub(crate) struct LoadArgs {
    /// The files
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}
