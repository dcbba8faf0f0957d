//! Runs Solana programs and transactions in a test, in-process, exactly as mainnet does.
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
//! | item | what it is |
//! |---|---|
//! | [`Svm`] | the chain: accounts, programs, time; sends, simulates, snapshots |
//! | [`ErrorPlace`] | where the error was decided that a program returned |
//! | [`Crash`] | whether a program panicked or trapped, rather than returned an error |
//! | [`TrapReport`] | why and where a program trapped: instruction, function, source line |
//! | [`Receipt`], [`FailedTransaction`] | the result of a transaction: logs, compute units, account changes, failure |
//! | [`SignedTransaction`], [`AsSigner`] | a transaction whose signatures may be made when they are read; those who sign |
//! | [`Check`] | expectations on a receipt, for assertions |
//! | [`Replay`], [`Case`] | a transaction recorded with the state it needs, to be replayed; what is run of it |
//! | [`Sequence`] | the transactions of a replay file, each on what the one before left |
//! | [`names`] | names of accounts, shown beside their addresses |
//! | [`programs`] | the well-known programs; those of mainnet are present from the start |
//! | [`Deployment`] | the result and cost of deploying or upgrading a program by transactions |
//! | [`system`], [`token`], [`loader`] | constructors of common instructions |
//! | [`registers`] | register traces as files, as `SBF_TRACE_DIR` asks for |
//! | [`compute_units`] | a report of compute units per test case, with a check for regressions |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod account_error;
mod account_file;
mod built;
mod cases;
mod check;
pub mod compute_units;
mod crash;
mod custom_error;
mod debug_port;
mod deploy;
mod deployment;
mod direct;
mod errors;
mod explain;
mod genesis;
mod history;
mod interface;
mod journal;
mod json;
pub mod loader;
pub mod names;
mod naming;
mod options;
mod origin;
mod process;
mod program_path;
mod receipt;
mod recorder;
mod recording;
mod register_filter;
mod register_numbers;
pub mod registers;
mod report;
mod returned;
mod rewards;
mod send;
mod sequence;
mod sign;
mod signer;
mod state_file;
mod store;
mod svm;
pub mod system;
mod sysvars;
mod time;
pub mod token;
mod trap;

pub use selkie_bank::{Genesis, RUNTIME_ACCOUNTS, alpenglow};
pub use selkie_case::{self as case, Case, Expected, Recorded, Replay, ReplayError};
pub use selkie_layout as layout;
pub use selkie_programs::{self as programs, program_data_key};
pub use selkie_svm::{
    self as runtime, AccountChange, BorrowedAccount, BranchCounters, Builtin, ComputeBudget,
    Detail, Engine, Environment, EpochStake, Feature, FeatureSet, Fee, InnerInstruction, Inspector,
    InstructionContext, InvokeContext, Loader, Machine, MemoryMap, Next, Release, ReturnData,
    Rules, SignedTransaction, SyscallCall, UnknownRules,
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
    account_error::AccountError,
    account_file::AccountFileError,
    built::{BuiltProgram, built},
    check::{AccountCheck, Check, CheckFailures},
    crash::Crash,
    custom_error::{ErrorSources, custom_error},
    deploy::{ProgramError, ProgramFile},
    deployment::{DeployError, DeployOptions, Deployment, UpgradeOptions},
    interface::{interface_file, interface_folders},
    journal::{Snapshot, SnapshotError},
    json::account_file as account_json,
    program_path::path_hint,
    receipt::{FailedAccount, FailedInstruction, FailedTransaction, Invocation, Receipt, Stage},
    returned::{ErrorPlace, ErrorTracer, ReturnedError},
    rewards::NoVoteAccount,
    send::{IntoTransaction, MalformedTransaction},
    sequence::Sequence,
    sign::{address, keypair},
    signer::{AnySigner, AsSigner, SignerList},
    state_file::StateFileError,
    svm::{AccountFilter, AirdropError, Svm},
    time::WarpError,
    trap::TrapReport,
};

/// Runs the examples of the guide to tests as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/testing.md")]
struct Testing;

/// Runs the examples of the migration guide as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/migration.md")]
struct Migration;
