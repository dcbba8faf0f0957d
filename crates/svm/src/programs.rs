//! Programs that are loaded, verified and ready to run, the cache that keeps them, and the engines
//! that run them.

pub mod cache;
pub mod engine;
pub(crate) mod program;
