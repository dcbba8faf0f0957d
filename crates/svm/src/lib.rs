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
//! | [`account`], `programs` | accounts; programs that are ready to run, by loader |
//! | [`input`] | the serialized input, both ways, and explained field by field |
//! | [`syscalls`] | one row for each syscall |
//! | [`cost`] | costs and limits |
//! | [`error`] | errors with mainnet's texts and numbers |
//! | [`engine`] | what runs programs, and when they are compiled |
//! | [`run`] | a program's run and how it ended |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod chain;
mod pipeline;
mod programs;
mod runtime;

pub use solana_account::ReadableAccount;
pub use solana_pubkey::Pubkey;
pub use solana_sdk_ids::native_loader::ID as NATIVE_LOADER;

pub use crate::{
    chain::{
        account::{self, Account, AccountSharedData, AccountStore, Loader},
        blockhash_queue::{self, BlockhashQueue},
        budget::{self, Fee, TransactionBudget},
        cost::{self, ComputeBudget},
        error::{self, InstructionError, SyscallError},
        features::{self, Feature, FeatureSet},
        key_map::{KeyHasher, KeyMap, KeyState},
        message_id::MessageId,
        nonce,
        sysvars::{self, Sysvars},
        transaction::{self, Transaction},
    },
    pipeline::{
        batch::{self, BatchWorkspace, process_batch, process_batch_into},
        chain_state::{ChainState, ProcessOptions},
        check, execute, load,
        outcome::{AccountChange, InnerInstruction, InnerInstructions, Processed, TopLevelUnits},
        process::process,
        workspace::{Workspace, WorkspacePool},
    },
    programs::{
        cache::{self as program_cache, ProgramCache},
        engine::{self, Engine, EngineError},
        file::{LoadError, Purpose, RefusedFile, check_file, elf_environment, mainnet_environment},
        program::{Program, ProgramEntry},
        transaction_programs::{Programs, TransactionPrograms},
    },
    runtime::{
        context::{
            self, Inspector, InvokeContext, Options,
            builtin::{self, Builtin, Builtins, Precompile, Precompiles},
            environment::{self, Environment, EpochStake},
        },
        input::{self, Abi, DataMode, Input, Layout},
        instruction::{
            self, AccountMeta, Instruction, InstructionResult, instruction_input,
            process_instruction,
        },
        instruction_context::{InstructionAccount, InstructionAccounts, InstructionContext},
        invocation::Invocation,
        stop::{self, Run, Stop, Stopped},
        syscalls::{self, Syscall, pda::find_program_address},
        transaction_accounts::{self, BorrowedAccount, ReturnData, TransactionAccounts},
    },
};
