//! Well-known programs of mainnet: their addresses and names, their files, and the accounts that
//! hold them.
//!
//! The files come from packages on crates.io, which cargo fetches; they are compiled in unless the
//! feature `files` is switched off. What [`MAINNET`] lists is what a cluster has from the start.
//!
//! | module | what it owns |
//! |---|---|
//! | [`WellKnownProgram`] | a row of the table |
//! | [`accounts`] | the accounts of mainnet's programs, made when they are first asked for |
//! | [`program_accounts`] | how the accounts of any program look |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod account;
pub mod accounts;

use core::fmt;

use selkie_svm::Loader;
use solana_pubkey::Pubkey;

pub use crate::account::{Deployed, program_accounts, program_data_key};

/// A well-known program, as mainnet has it.
#[derive(Clone, Copy)]
pub struct WellKnownProgram {
    /// What people call it: lowercase words with dashes.
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
    /// Leaves out the file.
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
    /// The bytes of its file.
    #[cfg(feature = "files")]
    #[must_use]
    pub const fn elf(&self) -> &'static [u8] {
        self.elf
    }
}

/// The address that a data file of the build script has, if the program has such an account.
#[cfg(feature = "files")]
const fn data_key(bytes: &[u8]) -> Option<Pubkey> {
    match bytes.first_chunk::<32>() {
        Some(bytes) => Some(Pubkey::new_from_array(*bytes)),
        None => None,
    }
}

macro_rules! table {
    ($($(#[$doc:meta])* $constant:ident = $name:literal, $address:literal, $loader:ident, $package:ident;)*) => {
        $(
            $(#[$doc])*
            #[cfg(feature = "files")]
            pub const $constant: WellKnownProgram = {
                // Each file is a static, of which a binary has one copy however many crates use it.
                const FILE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".so"));
                static ELF: [u8; FILE.len()] =
                    *include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".so"));
                WellKnownProgram {
                    name: $name,
                    id: Pubkey::from_str_const($address),
                    loader: Loader::$loader,
                    elf: &ELF,
                    data_key: data_key(
                        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".data")),
                    ),
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

        /// Every well-known program. Two of them have one address.
        pub const ALL: &[WellKnownProgram] = &[$($constant),*];
    };
}

include!("table.rs");

/// The programs that mainnet has today, each address once.
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

/// The program that mainnet has at an address, if it is a well-known one.
#[must_use]
pub fn by_id(id: &Pubkey) -> Option<&'static WellKnownProgram> {
    MAINNET.iter().find(|program| program.id == *id)
}
