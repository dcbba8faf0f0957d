//! The programs that are part of the Solana runtime.
//!
//! [`PROGRAMS`] has a row for each: what there is, what it costs, and what switches it on. All
//! checks are agave's, in its order, and so are errors, compute units and lines of the log: which
//! check comes first decides the error that the world sees.
//!
//! ```
//! use selkie_builtins::{builtins, precompiles};
//! use selkie_svm::{Environment, FeatureSet};
//!
//! let features = FeatureSet::mainnet();
//! let environment = Environment {
//!     features,
//!     builtins: builtins(features),
//!     precompiles: precompiles(),
//!     ..Environment::default()
//! };
//! assert!(environment.builtins.iter().count() > 4);
//! ```
//!
//! | module | what it owns |
//! |---|---|
//! | [`PROGRAMS`] | one row for each program |
//! | `system` | the system program, with nonce accounts |
//! | [`loader_v3`] | accounts of loader v3 |
//! | `loader` | the loaders' own instructions, of v1 to v4 |
//! | `vote` | the vote program |
//! | [`vote_account`] | vote accounts, as the stakes of an epoch need them |
//! | `zk` | the ZK ElGamal proof program |
//! | [`docs`] | documentation that is made from the table |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod checks;
pub mod docs;
mod loader;
mod system;
mod table;
mod vote;
mod wire;
mod zk;

/// Vote accounts, as the stakes of an epoch need them.
pub mod vote_account {
    pub use crate::vote::account::{BLS_KEY_BYTES, VOTE_ACCOUNT_BYTES, bls_key};
}

/// Accounts of loader v3, and their sizes.
pub mod loader_v3 {
    pub use crate::loader::{
        EXTENSION_BYTES_MIN,
        state::{BUFFER_HEADER_BYTES, PROGRAM_BYTES, PROGRAM_DATA_HEADER_BYTES, State},
    };
}

pub use crate::table::{Kind, PROGRAMS, Process, Row, builtins, precompiles};
