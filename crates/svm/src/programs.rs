//! Loaded and verified programs, the program cache, and the engines that run programs.

pub(crate) mod bindings;
pub mod cache;
pub(crate) mod dirty_hints;
pub mod engine;
pub(crate) mod file;
pub(crate) mod program;
pub(crate) mod transaction_programs;
pub(crate) mod usage;
