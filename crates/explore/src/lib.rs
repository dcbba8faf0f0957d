//! Coverage-guided fuzzing of Solana programs.
//!
//! A [`Target`] is a chain with actions on it. [`explore`] calls the actions in sequences, with
//! arguments made of bytes, and keeps the sequences that take branches which none took before: from
//! these it makes further ones. Machine code counts the branches. What a program compares is put into
//! the arguments, so that magic numbers are found. A sequence that breaks an invariant is shrunk; the
//! [`Finding`] is a replay of its transactions and the source of a test.
//!
//! With one thread, the same seed and the same number of runs give the same corpus and findings.
//!
//! | module | what it owns |
//! |---|---|
//! | `random` | random numbers by seed |
//! | `call_sequence` | sequences of calls, and their text |
//! | `args` | arguments from bytes |
//! | `compared` | what programs compare |
//! | `target` | chain, actions, invariants |
//! | `call_error` | errors that calls end with |
//! | `explain` | what is known of such an error |
//! | `place` | where programs crash |
//! | `example` | targets of instructions by example |
//! | `idl` | targets of interface descriptions |
//! | `coverage` | which branches were taken |
//! | `runner` | runs cases |
//! | `mutate` | makes cases of cases |
//! | `shrink` | makes findings short |
//! | `finding` | replays and tests of findings |
//! | `recorded` | what recorded transactions give a search |
//! | `finding_test`, `outcome` | findings as tests; what a search has come to |
//! | `search` | the loop, on many threads |
//! | `harness` | the interface for libFuzzer, LibAFL and other fuzzers |
//! | `folder` | corpus and findings as files |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod args;
mod call_error;
mod call_sequence;
mod compared;
mod coverage;
mod example;
mod explain;
mod finding;
mod finding_test;
pub mod folder;
mod harness;
mod idl;
mod mutate;
mod outcome;
mod place;
mod random;
mod recorded;
mod runner;
mod search;
mod shrink;
mod target;

pub use crate::{
    args::Args,
    call_error::{CallError, ErrorCount},
    call_sequence::{CALLS_MAX, Call, CallSequence, CallSequenceError, DATA_BYTES_MAX},
    example::Example,
    explain::ErrorReport,
    finding::{Finding, reproduce},
    finding_test::FindingTest,
    harness::Harness,
    idl::{Idl, IdlError},
    outcome::{Outcome, line, per_second, refusal, with_program},
    recorded::{Recorded, program_files},
    search::{ActionCount, ExploreError, Options, Progress, Report, explore, explore_watched},
    target::{ActionContext, Defect, DefectKind, FailsOn, FailsOnError, Target},
};

/// Compiles the examples of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/fuzzing.md")]
struct Guide;
