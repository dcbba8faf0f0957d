//! Banks and forks: the state that a validator keeps around the runtime.
//!
//! A [`Bank`] is the state of a slot on its fork, on top of a parent: it processes transactions and
//! commits their account changes, and its hash covers all of them once it is frozen. [`Forks`]
//! holds the banks of all forks; setting a root drops those on other forks.
//!
//! ```
//! use std::sync::Arc;
//! use selkie_bank::{Forks, Genesis, Options, State};
//! use selkie_svm::ProgramCache;
//!
//! let genesis = State::genesis(&Genesis::default());
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
//! | `bank` | a bank and its accessors |
//! | `process` | processing of transactions in a bank |
//! | `phase` | the phases of a bank: open, frozen, rooted, dead |
//! | `lifecycle` | changes of the phase, removal of a bank's state |
//! | `begin` | creation of a bank |
//! | `step` | how a chain goes from a block to the next |
//! | `options` | options of forks and of banks |
//! | [`alpenglow`] | the migration to Alpenglow, its accounts and blockhashes |
//! | `slot_time` | how long slots last, and the limits of blocks |
//! | `head` | what the next slot of a chain follows from, and the end of a slot |
//! | `advance` | the start of a slot |
//! | `epoch` | the start of an epoch |
//! | `stakes` | effective stake of delegations per epoch |
//! | [`rewards`] | the rewards of an epoch: who receives how much |
//! | `distribution` | rewards in the blocks of an epoch |
//! | `footer` | the end of a block: clock and vote accounts |
//! | `freeze` | freezing of a bank: blockhash, fees, hash |
//! | `accounts` | accounts of all forks |
//! | `status_cache` | processed transactions on all forks |
//! | `ancestors` | the ancestors of a bank |
//! | `slot_tree` | relationship of slots, for the program cache |
//! | `lattice` | the hash of all accounts |
//! | [`sysvars`] | data of the sysvars that change per slot or epoch |
//! | [`time`] | clock and blockhashes |
//! | `state` | a bank's state for import and export, and that of a new cluster |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod accounts;
mod advance;
pub mod alpenglow;
mod ancestors;
mod bank;
mod begin;
mod distribution;
mod epoch;
mod error;
mod footer;
mod forks;
mod freeze;
mod head;
mod lattice;
mod lifecycle;
mod options;
mod phase;
mod process;
pub mod rewards;
mod slot_time;
mod slot_tree;
mod stakes;
mod state;
mod status_cache;
mod step;
pub mod sysvars;
pub mod time;

pub use crate::{
    alpenglow::{Certified, Footer},
    bank::Bank,
    error::BankError,
    forks::Forks,
    head::{BlockEnd, Head, HeadAccounts},
    lattice::LatticeHash,
    options::{BankOptions, Options},
    process::Outcome,
    slot_time::{RAISE_BLOCK_LIMITS_TO_100M, SlotParameters, SlotTimes, slot_time_gates},
    stakes::{MAINNET_STAKE, StakeAccounts, Stakes, Terms},
    state::{Genesis, State},
    step::{Between, Distribution, Step},
};

/// The accounts of Alpenglow and of rewards that the runtime writes outside of transactions, as sysvars, though
/// the system program owns them.
pub const RUNTIME_ACCOUNTS: [selkie_svm::Pubkey; 4] =
    [alpenglow::CLOCK, alpenglow::CERTIFICATE, rewards::VOTE_REWARDS, rewards::DELEGATED_STAKES];
