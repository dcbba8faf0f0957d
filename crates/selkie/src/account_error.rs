//! Why an account cannot be set.

use core::fmt;

use selkie_programs::token::TokenEditError;
use selkie_svm::{cost::ACCOUNT_BYTES_MAX, sysvars::SysvarError};
use solana_pubkey::Pubkey;

/// An account that cannot be set, since no cluster could have it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AccountError {
    /// The data are longer than those of any account.
    TooLong {
        /// The address of the account.
        key: Pubkey,
        /// The length of the data in bytes.
        bytes: usize,
    },
    /// The data are not those of the sysvar at this address.
    Sysvar(SysvarError),
    /// No token program could have made the token account.
    Token(TokenEditError),
    /// The native mint is as the genesis has it, or missing.
    NativeMint,
}

impl From<SysvarError> for AccountError {
    fn from(error: SysvarError) -> Self {
        Self::Sysvar(error)
    }
}

impl From<TokenEditError> for AccountError {
    fn from(error: TokenEditError) -> Self {
        Self::Token(error)
    }
}

impl fmt::Display for AccountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { key, bytes } => write!(
                f,
                "the data of {key} have {bytes} bytes, more than the {ACCOUNT_BYTES_MAX} of the \
                 largest account"
            ),
            Self::Sysvar(error) => error.fmt(f),
            Self::Token(error) => {
                error.fmt(f)?;
                match error {
                    TokenEditError::NotAMint(_) => f.write_str("\nhelp: `set_mint` sets one"),
                    _ => Ok(()),
                }
            }
            Self::NativeMint => f.write_str(
                "the mint of wrapped lamports cannot be set: nobody may mint them\nhelp: it is part \
                 of the genesis, beside the token program",
            ),
        }
    }
}

impl core::error::Error for AccountError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Sysvar(error) => Some(error),
            Self::Token(error) => Some(error),
            Self::TooLong { .. } | Self::NativeMint => None,
        }
    }
}
