//! The Solana runtime: transactions, instructions, accounts, syscalls.
//!
//! ```text
//! Transaction ─ check → Checked ─ load → Loaded ─ execute → Executed ─ settle → Processed
//!     execute, for each instruction:  push ─> builtin or loaded program ─> pop
//!     a loaded program:  input::serialize ─> vm::run ─> input::deserialize
//!                                               │ syscalls ─> Call: InvokeContext, guest memory, meter
//! ```
//!
//! The crate does no input or output, reads no clock and no environment, and no random number but
//! the key of a hash that no result depends on: the same input gives the same bytes.
//!
//! | item | what it is |
//! |---|---|
//! | [`process`], [`Processed`] | a transaction processed against a [`ChainState`], with a [`Workspace`] |
//! | [`process_batch`] | many transactions in parallel, with the results of sequential processing |
//! | [`check`], [`load`], [`execute`] | the steps of a transaction |
//! | [`process_instruction`] | one instruction without a transaction |
//! | [`Invocation`] | an instruction whose program is driven from outside, syscall by syscall |
//! | [`ProgramCache`], [`Program`] | programs that are ready to run |
//! | [`Environment`], [`InvokeContext`], [`builtin`] | what instructions run in; builtin programs |
//! | [`input`] | the input region, serialized, deserialized and explained |
//! | [`syscalls`] | the handlers of syscalls; custom syscalls |
//! | [`SignedTransaction`] | a message with signatures, which may be made when they are read |
//! | [`account`], [`transaction`], [`sysvars`], [`nonce`] | the chain's data |
//! | [`BlockhashQueue`], [`budget`], [`cost`], [`features`] | ages, fees, costs and limits, features |
//! | [`error`] | errors with mainnet's texts and numbers |
//! | [`engine`], [`stop`] | interpreter or JIT; how a run ended |
//!
//! Its modules are in four layers, each of which uses only those before it: `chain`, `programs`,
//! `runtime`, `pipeline` (`cargo xtask tidy` checks that).

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod chain;
mod pipeline;
mod programs;
mod runtime;

pub use selkie_elf::NotSbpf;
pub use selkie_vm::{BranchCounters, Machine, MemoryMap};
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
        features::{
            self, Feature, FeatureSet, Release, Rules, Ungated, UnknownRules, agave_feature,
        },
        key_map::{KeyHasher, KeyMap, KeyState},
        message_id::MessageId,
        nonce,
        reward::RewardKind,
        signed::SignedTransaction,
        sysvars::{self, Sysvars},
        transaction::{self, Transaction},
    },
    pipeline::{
        batch::{self, BatchWorkspace, process_batch, process_batch_into},
        chain_state::{ChainState, ProcessOptions},
        check, execute, load,
        outcome::{
            AccountChange, InnerInstruction, InnerInstructions, InstructionComputeUnits, Processed,
        },
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
            self, InvokeContext, Options,
            builtin::{self, Builtin, Builtins, Precompile, Precompiles},
            environment::{self, Environment, EpochStake},
            inspector::{Detail, Inspector, Next, SyscallCall},
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
