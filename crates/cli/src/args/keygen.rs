//! What can be said about keys.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::send::{KEYS_HELP, SessionArgs};

/// Make keys, and show their addresses
#[derive(Args, Debug)]
#[command(after_help = format!("\
Examples:
  selkie keygen new alice.json
  selkie keygen new alice.json --starts-with Al   tries keys until an address begins so
  selkie keygen pubkey alice.json
  selkie keygen pubkey pda:counter:vault          any address

Files of keys are those of `solana-keygen`. Only their owner can read them, and no file is ever
overwritten.

{KEYS_HELP}"))]
pub(crate) struct KeygenArgs {
    #[command(subcommand)]
    pub(crate) command: KeygenCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum KeygenCommand {
    New(NewArgs),
    Pubkey(PubkeyArgs),
}

/// Write a new key to a file
#[derive(Args, Debug)]
pub(crate) struct NewArgs {
    /// The file, which must not be there yet
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// Try keys until the address begins with this, in base58: each letter takes 58 times as long
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) starts_with: String,

    /// Try keys until the address ends with this
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) ends_with: String,
}

/// Print an address
#[derive(Args, Debug)]
pub(crate) struct PubkeyArgs {
    /// The file of a key, or any other form of an address
    #[arg(value_name = "KEY")]
    pub(crate) key: String,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}
