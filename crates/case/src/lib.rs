//! A transaction with the state that it needs.
//!
//! A [`Case`] is what every tool that looks at a transaction takes: environment, blockhashes, accounts, what
//! is run, and how. A test chain, a bank and a node give one of what they process; fixtures of others and
//! rows of a table hold one each; traces, profiles, coverage, debuggers, batches and conformance run one.
//!
//! ```text
//! Case::of(transaction, store, environment) ──> Case ── run ──> Processed
//!        what it needs of a store               │ ▲
//!                                 Replay::new   ▼ │  Replay::case
//!                                               Replay: a line of JSON, with the Expected result
//! ```
//!
//! ```
//! use std::sync::Arc;
//!
//! use selkie_case::{Case, Input};
//! use solana_instruction::Instruction;
//!
//! // Nothing needs less: an instruction of a program that is not there.
//! let instructions = vec![Instruction::new_with_bytes([7; 32].into(), &[], Vec::new())];
//! let input = Input::Instructions { instructions, given: Vec::new() };
//! let processed = Case { input, ..Case::default() }.run_once()?;
//! assert!(processed.result.is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what it owns |
//! |---|---|
//! | `case` | [`Case`], and what a transaction needs of a store |
//! | `accounts` | [`Accounts`]: own ones over shared ones |
//! | `environment` | sysvars, and their accounts |
//! | `run` | runs a case |
//! | `instructions` | instructions outside of a transaction |
//! | `expected` | [`Expected`]: a recorded result, and how another one differs |
//! | `replay` | [`Replay`]: a case with its result as JSON |
//! | `firedancer` | cases as fixtures in protobuf, with the cargo feature `fixtures` |

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod accounts;
mod case;
mod environment;
mod error;
mod expected;
#[cfg(feature = "fixtures")]
pub mod firedancer;
mod instructions;
mod json;
mod replay;
mod run;

pub use crate::{
    accounts::{Accounts, KeyedAccount, sorted},
    case::{Case, CaseOptions, INSTRUCTION_BUDGET, Input, blockhashes, unnamed_accounts},
    environment::sysvar_accounts,
    error::ReplayError,
    expected::{Expected, Inner, changed_accounts, result_texts},
    instructions::{Overlay, process_instructions},
    replay::{Recorded, Replay},
    run::RunMemory,
};
