//! Bank and forks: what a validator does around the runtime.
//!
//! A [`Bank`] is a slot's block being made, on top of its parent: it processes transactions, keeps
//! what they leave behind, and once it is frozen its hash tells all that it came to. [`Forks`] holds
//! the banks of all forks, until one of them becomes the root and the others are dropped.
//!
//! ```
//! use std::sync::Arc;
//! use selkie_bank::{Forks, Options, State};
//! use selkie_svm::{FeatureSet, ProgramCache};
//!
//! let genesis = State::genesis(FeatureSet::mainnet());
//! let forks = Forks::new(genesis, Arc::new(ProgramCache::new()), Options::default());
//! let left = forks.new_bank(0, 1)?;
//! let right = forks.new_bank(0, 2)?;
//! left.freeze()?;
//! right.freeze()?;
//! assert_eq!(forks.set_root(2)?, [1]);
//! assert!(left.is_dead() && forks.root().slot() == 2);
//! # Ok::<(), selkie_bank::BankError>(())
//! ```
//!
//! | module | what it owns |
//! |---|---|
//! | `forks` | the banks of all forks, and the root |
//! | `bank` | one bank, and what it tells |
//! | `process` | transactions in a bank |
//! | `life` | open, frozen, rooted or dead |
//! | `begin` | how a bank begins: sysvars of its slot |
//! | `epoch` | what happens at the first slot of an epoch |
//! | `stakes` | what delegations amount to from epoch to epoch |
//! | `freeze` | how a bank ends: blockhash, fees, hash |
//! | `accounts` | accounts as every fork has them |
//! | `statuses` | which transactions were processed on which forks |
//! | `ancestors` | which banks a bank descends from |
//! | `tree` | how slots descend from each other, for the program cache |
//! | `lattice` | one hash of all accounts |
//! | [`sysvars`] | the data of sysvars that change with time |
//! | [`time`] | clock and blockhashes |
//! | `state` | a bank as it can be written down |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod accounts;
mod ancestors;
mod bank;
mod begin;
mod epoch;
mod error;
mod forks;
mod freeze;
mod lattice;
mod life;
mod process;
mod stakes;
mod state;
mod statuses;
pub mod sysvars;
pub mod time;
mod tree;

pub use crate::{
    bank::{Bank, Options},
    error::BankError,
    forks::Forks,
    lattice::LatticeHash,
    process::Outcome,
    stakes::{StakeAccounts, Stakes},
    state::{State, builtin_name, native_account},
};
