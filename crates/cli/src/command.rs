//! One file for each command.

pub(crate) mod build;
pub(crate) mod cache;
pub(crate) mod cfg;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod conform;
pub(crate) mod disasm;
pub(crate) mod fmt;
pub(crate) mod input;
pub(crate) mod link;
pub(crate) mod lsp;
pub(crate) mod new;
pub(crate) mod program;
pub(crate) mod run;
