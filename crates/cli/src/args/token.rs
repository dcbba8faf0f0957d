//! Arguments of `selkie token`.

use clap::{Args, Subcommand};

use super::send::{KEYS_HELP, SessionArgs};

/// Create mints and token accounts; mint and transfer tokens
#[derive(Args, Debug)]
#[command(after_help = format!("\
Examples:
  selkie token create-mint gold --decimals 6      names the new mint `gold`
  selkie token mint gold 100                      to the payer
  selkie token mint gold 2.5 alice.json           to the associated token account of alice
  selkie token transfer gold 1.25 test:bob
  selkie token balance test:bob
  selkie token create-mint silver --program token-2022

Tokens are held in associated token accounts, which are created as needed.

{KEYS_HELP}"))]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum TokenCommand {
    CreateMint(CreateMintArgs),
    CreateAccount(CreateAccountArgs),
    Mint(MintArgs),
    Transfer(TransferArgs),
    Balance(BalanceArgs),
}

/// Create a mint
#[derive(Args, Debug)]
pub(crate) struct CreateMintArgs {
    /// The key of its address, or a name for a new key [default: a new key without a name]
    #[arg(value_name = "KEY|NAME")]
    pub(crate) mint: Option<String>,

    /// Number of decimals
    #[arg(long, default_value = "9", value_parser = selkie_client::amount::parse_decimals)]
    pub(crate) decimals: u8,

    /// The mint authority [default: the payer]
    #[arg(long, value_name = "KEY")]
    pub(crate) authority: Option<String>,

    /// The token program
    #[arg(short = 'P', long, value_name = "KEY", default_value = "token")]
    pub(crate) program: String,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Create the associated token account of an owner
#[derive(Args, Debug)]
pub(crate) struct CreateAccountArgs {
    /// The mint
    #[arg(value_name = "MINT")]
    pub(crate) mint: String,

    /// The owner of the account [default: the payer]
    #[arg(value_name = "OWNER")]
    pub(crate) owner: Option<String>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Mint tokens
#[derive(Args, Debug)]
pub(crate) struct MintArgs {
    /// The mint
    #[arg(value_name = "MINT")]
    pub(crate) mint: String,

    /// How many tokens: 2 or 1.5
    #[arg(value_name = "AMOUNT")]
    pub(crate) amount: String,

    /// The recipient: an owner or a token account [default: the payer]
    #[arg(value_name = "RECIPIENT")]
    pub(crate) recipient: Option<String>,

    /// The mint authority [default: the payer]
    #[arg(long, value_name = "KEY")]
    pub(crate) authority: Option<String>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Transfer tokens
#[derive(Args, Debug)]
pub(crate) struct TransferArgs {
    /// The mint
    #[arg(value_name = "MINT")]
    pub(crate) mint: String,

    /// How many tokens: 2 or 1.5
    #[arg(value_name = "AMOUNT")]
    pub(crate) amount: String,

    /// The recipient: an owner or a token account
    #[arg(value_name = "RECIPIENT")]
    pub(crate) recipient: String,

    /// The owner of the tokens, who signs [default: the payer]
    #[arg(long, value_name = "KEY")]
    pub(crate) from: Option<String>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Show the tokens of an owner, or of one token account
#[derive(Args, Debug)]
pub(crate) struct BalanceArgs {
    /// An owner or a token account
    #[arg(value_name = "KEY", default_value = "payer")]
    pub(crate) owner: String,

    /// Show only tokens of this mint
    #[arg(long, value_name = "MINT")]
    pub(crate) mint: Option<String>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}
