//! Addresses that only clients tell apart.

use selkie_programs as programs;
use solana_pubkey::Pubkey;

/// SPL Token.
pub(crate) const TOKEN: Pubkey = programs::TOKEN.id;
/// Token-2022.
pub(crate) const TOKEN_2022: Pubkey = programs::TOKEN_2022.id;
/// The first key of accounts of the config program that describe validators.
pub(crate) const VALIDATOR_INFO: Pubkey =
    Pubkey::from_str_const("Va1idator1nfo111111111111111111111111111111");
