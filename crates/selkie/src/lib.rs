//! Solana in a test: transactions, programs and accounts, in the process and in microseconds.
//!
//! ```
//! use selkie::{keypair, system, Signer, Svm};
//!
//! let (alice, bob) = (keypair("alice"), keypair("bob"));
//! let mut svm = Svm::new();
//! svm.airdrop(&alice.pubkey(), 10_000_000_000)?;
//!
//! let transfer = system::transfer(&alice.pubkey(), &bob.pubkey(), 1_000_000_000);
//! let receipt = svm.send_instructions(&[transfer], &[&alice])?;
//! assert_eq!(svm.balance(&bob.pubkey()), 1_000_000_000);
//! println!("{receipt}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what it owns |
//! |---|---|
//! | [`Svm`] | accounts, time and programs, and transactions that change them |
//! | [`TrapReport`] | why a program was stopped, and where in its sources |
//! | [`Receipt`], [`FailedTransaction`] | what became of a transaction, and why |
//! | [`Check`] | what a test expects of a receipt |
//! | [`fixture`] | transactions with all they need, to be replayed |
//! | [`programs`] | the well-known programs, which clusters have from the start |
//! | [`Deployment`] | a program deployed or upgraded by transactions, and what it cost |
//! | [`system`], [`token`], [`loader`] | instructions that tests begin with |
//! | [`units`] | compute units of named cases, and whether they grew |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod account_file;
mod check;
mod deploy;
mod deployment;
mod direct;
mod errors;
pub mod fixture;
#[cfg(feature = "fixtures")]
mod fixture_account;
mod fixture_state;
mod genesis;
mod history;
#[cfg(feature = "fixtures")]
mod instruction_fixture;
mod journal;
mod json;
pub mod loader;
mod options;
mod origin;
mod receipt;
mod report;
mod send;
mod sign;
mod state_file;
mod store;
mod svm;
pub mod system;
mod sysvars;
mod time;
pub mod token;
#[cfg(feature = "fixtures")]
mod transaction_fixture;
mod trap;
pub mod units;

pub use selkie_programs::{self as programs, program_data_key};
pub use selkie_svm::{
    self as runtime, AccountChange, BorrowedAccount, Builtin, ComputeBudget, Engine, Environment,
    EpochStake, Feature, FeatureSet, Fee, InnerInstruction, Inspector, InstructionContext,
    InvokeContext, Loader, ReturnData,
    syscalls::custom::{SyscallContext, SyscallFailure},
    sysvars::SysvarError,
};
pub use solana_account::{Account, AccountSharedData, ReadableAccount, WritableAccount};
pub use solana_clock::Clock;
pub use solana_epoch_schedule::EpochSchedule;
pub use solana_hash::Hash;
pub use solana_instruction::{AccountMeta, Instruction};
pub use solana_instruction_error::InstructionError;
pub use solana_keypair::Keypair;
pub use solana_message::{
    self as message, AddressLookupTableAccount, Message, VersionedMessage, v0,
};
pub use solana_pubkey::Pubkey;
pub use solana_rent::Rent;
pub use solana_sdk_ids as ids;
pub use solana_signature::Signature;
pub use solana_signer::{Signer, SignerError};
pub use solana_stake_history::{StakeHistory, StakeHistoryEntry};
pub use solana_transaction::{Transaction, versioned::VersionedTransaction};
pub use solana_transaction_error::TransactionError;

pub use crate::{
    account_file::AccountFileError,
    check::{AccountCheck, Check, CheckFailures},
    deploy::{ProgramError, ProgramFile},
    deployment::{DeployError, DeployOptions, Deployment, UpgradeOptions},
    journal::{Snapshot, SnapshotError},
    receipt::{Culprit, FailedTransaction, Frame, Receipt, Stage},
    send::{IntoTransaction, Malformed},
    sign::{address, keypair},
    state_file::StateFileError,
    svm::{AirdropError, Filter, Svm},
    time::WarpError,
    trap::{TrapReport, debug_file},
};

/// The guide's example runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/migration.md")]
struct Migration;
