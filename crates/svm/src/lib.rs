//! The Solana runtime: accounts, instructions, syscalls.
//!
//! ```text
//! Instruction, accounts ── process_instruction ──> InstructionResult
//!     push ─> input::serialize ─> vm::run ─> input::deserialize ─> pop
//!                                   │  syscalls
//!                                   └─────────> Call: InvokeContext, guest memory, meter
//! ```
//!
//! The crate does no input or output, reads no clock and no environment, and no random number but
//! the key of a hash that no result depends on: the same input gives the same bytes.
//!
//! | module | what it owns |
//! |---|---|
//! | [`instruction`] | one instruction outside of any transaction |
//! | [`Invocation`] | an instruction whose program is driven from outside |
//! | [`environment`] | what a cluster gives to every instruction |
//! | [`features`], [`sysvars`] | what is switched on; the chain's variables |
//! | [`account`], [`programs`] | accounts; programs that are ready to run, by loader |
//! | [`input`] | the serialized input, both ways, and explained field by field |
//! | [`syscalls`] | one row for each syscall |
//! | [`cost`] | prices and limits |
//! | [`error`] | errors with mainnet's texts and numbers |
//! | [`engine`] | what runs programs, and when they are compiled |
//! | [`run`] | a program's run and how it ended |
//! | [`docs`] | documentation that is made from the tables |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

pub mod account;
mod at_hand;
pub mod batch;
pub mod blockhash_queue;
pub mod budget;
mod buffers;
pub mod builtin;
pub mod check;
pub mod context;
pub mod cost;
mod cpi;
pub mod docs;
pub mod engine;
pub mod environment;
pub mod error;
pub mod execute;
pub mod features;
pub mod input;
pub mod instruction;
mod invocation;
mod invoke;
mod key_map;
pub mod load;
mod logs;
mod lookup;
mod message_id;
pub mod nonce;
pub mod process;
pub mod program_cache;
pub mod programs;
mod rent;
pub mod run;
mod settle;
pub mod stop;
pub mod syscalls;
pub mod sysvars;
pub mod transaction;
pub mod transaction_accounts;
mod workspace;

pub use solana_account::ReadableAccount;
pub use solana_pubkey::Pubkey;
pub use solana_sdk_ids::native_loader::ID as NATIVE_LOADER;

pub use crate::{
    account::{Account, AccountSharedData, AccountStore, Loader},
    batch::{process_batch, process_batch_into},
    blockhash_queue::BlockhashQueue,
    budget::{Fee, TransactionBudget},
    builtin::{Builtin, Builtins, Precompile, Precompiles},
    context::{Inspector, InstructionContext, InvokeContext},
    cost::ComputeBudget,
    engine::{Engine, EngineError},
    environment::{Environment, EpochStake},
    error::{InstructionError, SyscallError},
    features::{Feature, FeatureSet},
    input::{Abi, DataMode, Input, Layout},
    instruction::{
        AccountMeta, Instruction, InstructionResult, Options, instruction_input,
        process_instruction,
    },
    invocation::Invocation,
    key_map::{KeyHasher, KeyMap, KeyState},
    message_id::MessageId,
    process::{AccountChange, ChainState, ProcessOptions, Processed, process, process_into},
    program_cache::ProgramCache,
    programs::{
        LoadError, Program, ProgramEntry, Programs, Purpose, RefusedFile, check_file,
        elf_environment, mainnet_environment,
    },
    run::Run,
    stop::{Stop, Stopped},
    syscalls::{Syscall, pda::find_program_address},
    sysvars::Sysvars,
    transaction::Transaction,
    transaction_accounts::{BorrowedAccount, InstructionAccount, ReturnData, TransactionAccounts},
};
