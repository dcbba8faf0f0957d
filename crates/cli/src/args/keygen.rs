//! Arguments of `selkie keygen`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::send::{KEYS_HELP, SessionArgs};

/// Generate keys and print addresses
#[derive(Args, Debug)]
#[command(after_help = format!("\
Examples:
  selkie keygen new alice.json
  selkie keygen new alice.json --starts-with Al   generates keys until an address starts with Al
  selkie keygen pubkey alice.json
  selkie keygen pubkey pda:counter:vault          any address

Key files have the format of `solana-keygen`. They are readable by their owner only, and existing files
are never overwritten.

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
    /// The file to create; it must not exist
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// Generate keys until the address starts with this base58 text: each letter takes 58 times as long
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) starts_with: String,

    /// Generate keys until the address ends with this base58 text
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) ends_with: String,
}

/// Print an address
#[derive(Args, Debug)]
pub(crate) struct PubkeyArgs {
    /// A key file, or an address in any other form
    #[arg(value_name = "KEY")]
    pub(crate) key: String,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}
