//! The builtin programs and precompiles of the Solana runtime.
//!
//! [`PROGRAMS`] has one row per program: its address, its cost and the feature that activates it.
//! Checks, their order, errors, compute units and log lines follow agave: the order of the checks
//! decides which error a transaction reports.
//!
//! ```
//! use selkie_svm::FeatureSet;
//!
//! let environment = selkie_builtins::environment(FeatureSet::mainnet());
//! assert!(environment.builtins.iter().count() > 4);
//! ```
//!
//! | module | what it owns |
//! |---|---|
//! | [`PROGRAMS`], [`builtins`], [`precompiles`], [`environment`] | the table of programs, and what is made from it |
//! | [`program_account`], [`native_accounts`], [`sysvar_account`] | the accounts of programs of the table and of sysvars |
//! | `system` | the system program, with nonce accounts |
//! | `loader` | the instructions of the loaders v1 to v4 |
//! | `vote` | the vote program |
//! | `zk` | the ZK ElGamal proof program |
//! | [`loader_v3`] | account layouts of loader v3 |
//! | [`vote_account`] | vote accounts as stakes and rewards read and change them |
//! | [`docs`] | documentation generated from the table |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod accounts;
mod checks;
pub mod docs;
mod loader;
mod system;
mod table;
mod vote;
mod wire;
mod zk;

/// Vote accounts as stakes and rewards read and change them.
pub mod vote_account {
    pub use crate::vote::account::{
        BLS_KEY_BYTES, EpochCredits, MIGRATION_MARKER, VOTE_ACCOUNT_BYTES, VoteAccount,
        add_pending_rewards, bls_key, take_pending_rewards,
    };
}

/// Account layouts of loader v3, and their sizes.
pub mod loader_v3 {
    pub use crate::loader::{
        EXTENSION_BYTES_MIN,
        state::{BUFFER_HEADER_BYTES, PROGRAM_BYTES, PROGRAM_DATA_HEADER_BYTES, State},
    };
}

pub use crate::{
    accounts::{native_account, native_accounts, program_account, sysvar_account},
    table::{PROGRAMS, Process, ProgramKind, RuntimeProgram, builtins, environment, precompiles},
};
