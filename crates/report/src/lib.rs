//! Reports on replays: where compute units go, what was executed, and what happened step by step. The
//! results are data and text; each format of another tool is a row of a table.
//!
//! | module | what it owns |
//! |---|---|
//! | [`symbolize`] | [`Programs`]: the functions, inlined functions and lines of each slot |
//! | [`profile`] | [`Profile`]: compute units by program, function, inlined function, line and syscall |
//! | [`profile::format`](mod@profile::format) | profiles for speedscope, pprof, flame graphs, editors |
//! | [`coverage`] | [`Coverage`]: which lines, functions and branches were executed |
//! | [`coverage::format`](mod@coverage::format) | coverage for lcov, Cobertura and browsers |
//! | [`trace`] | call trees and register traces |
//! | [`agave`] | register traces as files, as agave's tools write and read them |
//! | [`diff`] | the first step where two runs part |
//! | [`explain`] | why a transaction failed, and what a program consists of, as JSON for the explorer |
//! | [`flame`] | where the compute units of a transaction go, as JSON for the explorer |
//! | `usage` | [`Usage`]: functions with compute units and covered lines, as JSON for the explorer |
//! | [`test_results`] | results of tests: what harnesses print, JUnit's XML |
//! | `text` | escaping and alignment |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod agave;
pub mod coverage;
pub mod diff;
pub mod explain;
pub mod flame;
pub mod profile;
pub mod symbolize;
pub mod test_results;
mod text;
pub mod trace;
mod usage;

pub use crate::{
    coverage::Coverage,
    profile::Profile,
    symbolize::Programs,
    text::{escaped, thousands},
    usage::Usage,
};
