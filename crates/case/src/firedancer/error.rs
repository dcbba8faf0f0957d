//! What the format of fixtures cannot express.

use core::fmt;

use solana_pubkey::Pubkey;

/// Why the format of fixtures cannot express a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Inexpressible {
    /// It runs something else.
    Input,
    /// Its transaction was processed before.
    Processed,
    /// The fee per signature is too high.
    Price,
    /// This feature is inactive.
    Feature(Pubkey),
}

impl fmt::Display for Inexpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input => f.write_str("the format has single transactions and instructions only"),
            Self::Processed => {
                f.write_str("it was processed before, which the format cannot express")
            }
            Self::Price => f.write_str("the fee per signature exceeds the format's 32 bits"),
            Self::Feature(id) => {
                write!(f, "feature {id} is inactive, but is active in all fixtures")
            }
        }
    }
}

impl core::error::Error for Inexpressible {}
