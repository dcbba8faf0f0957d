//! Well-known programs of mainnet: their addresses, names, ELF files and accounts.
//!
//! The ELF files, from `crates/programs/files`, are compiled in, unless the feature `files` is off. The
//! programs that mainnet has today are listed in [`MAINNET`].
//!
//! | item | what it is |
//! |---|---|
//! | [`WellKnownProgram`] | a program: name, address, loader, ELF file |
//! | [`MAINNET`], [`ALL`] | the programs of mainnet, and those including older versions |
//! | [`accounts`] | the accounts of mainnet's programs and the native mint, created when first read |
//! | [`errors`] | the names of the custom errors of well-known programs |
//! | [`token`] | mints and token accounts, made and changed without transactions |
//! | [`program_accounts`] | creates the accounts of any program |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod account;
pub mod accounts;
pub mod token;

use core::fmt;

use selkie_svm::Loader;
use solana_pubkey::Pubkey;

pub use selkie_layout::errors;

pub use crate::account::{Deployed, program_accounts, program_data_key};

/// A well-known program of mainnet.
#[derive(Clone, Copy)]
pub struct WellKnownProgram {
    /// Its name: lowercase words with dashes.
    pub name: &'static str,
    /// Its address.
    pub id: Pubkey,
    /// The loader that owns it.
    pub loader: Loader,
    elf: &'static [u8],
    data_key: Option<Pubkey>,
}

impl PartialEq for WellKnownProgram {
    /// Names are unique.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for WellKnownProgram {}

impl fmt::Debug for WellKnownProgram {
    /// Omits the ELF file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, id, loader, .. } = self;
        f.debug_struct("WellKnownProgram")
            .field("name", name)
            .field("id", id)
            .field("loader", loader)
            .finish_non_exhaustive()
    }
}

impl WellKnownProgram {
    /// Returns its ELF file.
    #[cfg(feature = "files")]
    #[must_use]
    pub const fn elf(&self) -> &'static [u8] {
        self.elf
    }
}

/// Decodes a programdata address of the table; `None` if the text is empty.
#[cfg(feature = "files")]
const fn data_key(address: &str) -> Option<Pubkey> {
    match address.is_empty() {
        true => None,
        false => Some(Pubkey::from_str_const(address)),
    }
}

macro_rules! table {
    ($($(#[$doc:meta])* $constant:ident = $name:literal, $address:literal, $loader:ident, $data:literal;)*) => {
        $(
            $(#[$doc])*
            #[cfg(feature = "files")]
            pub const $constant: WellKnownProgram = {
                // A static has one address, so a binary holds one copy of the file.
                const FILE: &[u8] = include_bytes!(concat!("../files/", $name, ".so"));
                static ELF: [u8; FILE.len()] = *include_bytes!(concat!("../files/", $name, ".so"));
                WellKnownProgram {
                    name: $name,
                    id: Pubkey::from_str_const($address),
                    loader: Loader::$loader,
                    elf: &ELF,
                    data_key: data_key($data),
                }
            };

            $(#[$doc])*
            #[cfg(not(feature = "files"))]
            pub const $constant: WellKnownProgram = WellKnownProgram {
                name: $name,
                id: Pubkey::from_str_const($address),
                loader: Loader::$loader,
                elf: &[],
                data_key: None,
            };
        )*

        /// Every well-known program. [`TOKEN`] and [`SPL_TOKEN`] share an address.
        pub const ALL: &[WellKnownProgram] = &[$($constant),*];
    };
}

include!("table.rs");

/// The programs of mainnet today, with unique addresses.
pub const MAINNET: &[WellKnownProgram] = &[
    TOKEN,
    TOKEN_2022,
    ASSOCIATED_TOKEN,
    MEMO,
    MEMO_V1,
    MEMO_V4,
    ADDRESS_LOOKUP_TABLE,
    STAKE,
    CONFIG,
    FEATURE_GATE,
];

/// Returns whether a program keeps token accounts: SPL Token, or Token-2022.
#[must_use]
pub fn is_token_program(id: &Pubkey) -> bool {
    [TOKEN.id, TOKEN_2022.id].contains(id)
}

/// Returns the well-known program that mainnet has at an address.
#[must_use]
pub fn by_id(id: &Pubkey) -> Option<&'static WellKnownProgram> {
    MAINNET.iter().find(|program| program.id == *id)
}
