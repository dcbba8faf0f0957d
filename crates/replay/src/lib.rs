//! Time travel through transactions.
//!
//! The runtime is deterministic, so nothing is recorded but the input: a transaction with the state
//! before it. A position is a number of executed instructions, and is reached by running the
//! transaction again from its start, as machine code as far as possible. So a replay takes kilobytes,
//! and going back costs as much as going forward.
//!
//! ```text
//! ReplayFile ── timeline ──> Timeline ── state_at(step) ──> State: levels of CPI, frames, memory, logs
//!                            │   └─ find, find_last, last_write: the step where something holds
//!                            └─ visit(Visitor): every step in order, for tools that count
//! ```
//!
//! | module | what it owns |
//! |---|---|
//! | [`file`](mod@file) | replay files: lines of replays, with the account data that they share |
//! | [`timeline`] | [`Timeline`]: a transaction and its steps; going to one; edits |
//! | [`index`] | where invocations begin and end, and at how many compute units some steps are |
//! | [`visit`] | the trait [`Visitor`], and what it sees at a step |
//! | `drive` | runs a transaction to the steps that a visitor asks for |
//! | [`state`] | [`State`]: everything at a step, as plain data |
//! | [`search`] | the first or the last step in a range at which something holds |
//! | [`writes`] | which step wrote to an address last |
//! | `account_bytes` | parts of accounts, and where programs see them |
//! | [`origin`] | who wrote to an account, in this invocation or in another one |
//! | `errors` | where the error was decided that a program returned |
//! | [`edit`] | changes of registers and memory, which fork history |
//! | [`program`] | the programs of a transaction: functions, lines, listings |
//! | [`json`] | states as JSON, for terminal, editor and browser alike |
//! | [`files`], [`recordings`] | replays that the user has named; those of tests, by name |
//! | [`query`] | questions about a transaction, as JSON |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod account_bytes;
mod drive;
pub mod edit;
mod errors;
pub mod file;
pub mod files;
pub mod index;
pub mod json;
pub mod origin;
pub mod program;
pub mod query;
pub mod recordings;
pub mod search;
pub mod state;
pub mod timeline;
pub mod visit;
pub mod writes;

pub use crate::{
    account_bytes::{AccountBytes, Part},
    edit::{Edit, EditError},
    file::{FileError, ReplayFile},
    index::{Invocation, Mark},
    program::{DebugFiles, ProgramView, offset_name},
    recordings::Recordings,
    state::{CallFrame, Level, Memory, MemoryRegion, State, region_name},
    timeline::Timeline,
    visit::{ReachedStep, Visitor},
    writes::{Write, Writer},
};
