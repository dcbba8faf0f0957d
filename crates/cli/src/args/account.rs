//! What can be said about accounts.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::send::{KEYS_HELP, SessionArgs};
use crate::numbers;

/// Show, change, dump and load accounts of a saved cluster
#[derive(Args, Debug)]
#[command(after_help = format!("\
Examples:
  selkie account show                           every account but those of every cluster
  selkie account show vault                     fields of mints, token accounts, sysvars …
  selkie account set vault --owner counter --data u64:41
  selkie account set vault --sol 5              what is not named stays as it is
  selkie account dump vault vault.json          as `solana account --output json` writes it
  selkie account load vault.json mint.json      what that wrote

{KEYS_HELP}"))]
pub(crate) struct AccountArgs {
    #[command(subcommand)]
    pub(crate) command: AccountCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum AccountCommand {
    Show(ShowArgs),
    Set(SetArgs),
    Dump(DumpArgs),
    Load(LoadArgs),
}

/// Show accounts with what their data say, or a list of all
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The accounts [default: a list of all but those of every cluster]
    #[arg(value_name = "KEY")]
    pub(crate) accounts: Vec<String>,

    /// List the accounts of this program only
    #[arg(long, value_name = "KEY", conflicts_with = "accounts")]
    pub(crate) owner: Option<String>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Change an account, or make one, without asking its owner
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie account set vault --owner counter --data u64:41    a new account, exempt from rent
  selkie account set vault --data u64:5 --offset 8          eight bytes of it
  selkie account set vault --space 100                      longer by zeros, or shorter
  selkie account set vault --lamports 0                     gone")]
pub(crate) struct SetArgs {
    /// The account
    #[arg(value_name = "KEY")]
    pub(crate) account: String,

    /// Its balance in lamports [default for a new one: what exempts it from rent]
    #[arg(long, value_name = "LAMPORTS", conflicts_with = "sol")]
    #[arg(value_parser = numbers::parse::<u64>)]
    pub(crate) lamports: Option<u64>,

    /// Its balance in SOL
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) sol: Option<String>,

    /// The program that owns it [default for a new one: system]
    #[arg(long, value_name = "KEY")]
    pub(crate) owner: Option<String>,

    /// Its data; `selkie send --help` explains the form
    #[arg(short, long, value_name = "DATA")]
    pub(crate) data: Option<String>,

    /// Where in its data the new ones go [default: they replace all]
    #[arg(long, value_name = "BYTES", requires = "data")]
    #[arg(value_parser = numbers::parse::<usize>)]
    pub(crate) offset: Option<usize>,

    /// How many bytes of data it has
    #[arg(long, value_name = "BYTES", value_parser = numbers::parse::<usize>)]
    pub(crate) space: Option<usize>,

    /// Whether it is marked as executable
    #[arg(long, value_name = "WHETHER")]
    pub(crate) executable: Option<bool>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Write an account to a file, as `solana account --output json` does
#[derive(Args, Debug)]
pub(crate) struct DumpArgs {
    /// The account
    #[arg(value_name = "KEY")]
    pub(crate) account: String,

    /// Where to write it [default: to the terminal]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Read accounts from files that `solana account --output json` or `selkie account dump` wrote
#[derive(Args, Debug)]
pub(crate) struct LoadArgs {
    /// The files
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}
