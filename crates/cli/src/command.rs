//! One file for each command.

#[cfg(not(all(feature = "batch", feature = "conform", feature = "lsp", feature = "node")))]
mod absent;
pub(crate) mod account;
#[cfg(feature = "batch")]
pub(crate) mod batch;
pub(crate) mod build;
pub(crate) mod cache;
pub(crate) mod cfg;
pub(crate) mod check;
pub(crate) mod completions;
#[cfg(feature = "conform")]
pub(crate) mod conform;
pub(crate) mod coverage;
pub(crate) mod dap;
pub(crate) mod debug;
pub(crate) mod disasm;
pub(crate) mod fmt;
pub(crate) mod fuzz;
pub(crate) mod gdb_server;
pub(crate) mod input;
pub(crate) mod inspect;
pub(crate) mod keygen;
pub(crate) mod link;
#[cfg(feature = "lsp")]
pub(crate) mod lsp;
pub(crate) mod new;
#[cfg(feature = "node")]
pub(crate) mod node;
pub(crate) mod profile;
pub(crate) mod program;
pub(crate) mod run;
pub(crate) mod send;
pub(crate) mod switch;
pub(crate) mod test;
pub(crate) mod token;
pub(crate) mod trace;

#[cfg(not(feature = "batch"))]
pub(crate) use self::absent::batch;
#[cfg(not(feature = "conform"))]
pub(crate) use self::absent::conform;
#[cfg(not(feature = "lsp"))]
pub(crate) use self::absent::lsp;
#[cfg(not(feature = "node"))]
pub(crate) use self::absent::node;
