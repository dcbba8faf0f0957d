//! Programs that are loaded, verified and ready to run, the cache that keeps them, and the engines
//! that run them.

pub(crate) mod bindings;
pub mod cache;
pub(crate) mod dirty_hints;
pub mod engine;
pub(crate) mod file;
pub(crate) mod program;
pub(crate) mod transaction_programs;
pub(crate) mod usage;
