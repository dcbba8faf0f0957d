//! What can be said about tokens.

use clap::{Args, Subcommand};

use super::send::{KEYS_HELP, SessionArgs};

/// Make mints and token accounts, and mint and move tokens
#[derive(Args, Debug)]
#[command(after_help = format!("\
Examples:
  selkie token create-mint gold --decimals 6      remembers the new mint as `gold`
  selkie token mint gold 100                      to who pays
  selkie token mint gold 2.5 alice.json           to the token account of alice
  selkie token transfer gold 1.25 test:bob
  selkie token balance test:bob
  selkie token create-mint silver --program token-2022

Tokens are kept in associated token accounts, which are made where they are missing.

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

/// Make a mint
#[derive(Args, Debug)]
pub(crate) struct CreateMintArgs {
    /// The key of its address, or a name for a new one [default: a new key without a name]
    #[arg(value_name = "KEY|NAME")]
    pub(crate) mint: Option<String>,

    /// Into how many decimals a token is divided
    #[arg(long, default_value = "9", value_parser = crate::amount::parse_decimals)]
    pub(crate) decimals: u8,

    /// Who may make tokens [default: who pays]
    #[arg(long, value_name = "KEY")]
    pub(crate) authority: Option<String>,

    /// The token program
    #[arg(short = 'P', long, value_name = "KEY", default_value = "token")]
    pub(crate) program: String,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Make the associated token account of an owner
#[derive(Args, Debug)]
pub(crate) struct CreateAccountArgs {
    /// The mint
    #[arg(value_name = "MINT")]
    pub(crate) mint: String,

    /// Who owns the account [default: who pays]
    #[arg(value_name = "OWNER")]
    pub(crate) owner: Option<String>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Make tokens
#[derive(Args, Debug)]
pub(crate) struct MintArgs {
    /// The mint
    #[arg(value_name = "MINT")]
    pub(crate) mint: String,

    /// How many tokens: 2 or 1.5
    #[arg(value_name = "AMOUNT")]
    pub(crate) amount: String,

    /// Who gets them: an owner or a token account [default: who pays]
    #[arg(value_name = "RECIPIENT")]
    pub(crate) recipient: Option<String>,

    /// The authority of the mint [default: who pays]
    #[arg(long, value_name = "KEY")]
    pub(crate) authority: Option<String>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Move tokens
#[derive(Args, Debug)]
pub(crate) struct TransferArgs {
    /// The mint
    #[arg(value_name = "MINT")]
    pub(crate) mint: String,

    /// How many tokens: 2 or 1.5
    #[arg(value_name = "AMOUNT")]
    pub(crate) amount: String,

    /// Who gets them: an owner or a token account
    #[arg(value_name = "RECIPIENT")]
    pub(crate) recipient: String,

    /// Who has them, and signs [default: who pays]
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

    /// Tokens of this mint only
    #[arg(long, value_name = "MINT")]
    pub(crate) mint: Option<String>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}
