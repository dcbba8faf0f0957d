//! What transactions are processed against, and how.

use crate::{
    chain::{blockhash_queue::BlockhashQueue, cost::ComputeBudget},
    programs::{cache::ProgramCache, engine::Engine},
    runtime::context::environment::Environment,
};

/// How to process transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcessOptions {
    /// Whether signatures are verified.
    pub verify_signatures: bool,
    /// The engine that runs programs.
    pub engine: Engine,
    /// The compute budget of every transaction, in the place of what it requests; its fee is the same.
    /// For tools that run transactions with other limits than a cluster would.
    pub budget: Option<ComputeBudget>,
}

impl Default for ProcessOptions {
    fn default() -> Self {
        Self { verify_signatures: true, engine: Engine::default(), budget: None }
    }
}

/// The state of the chain that transactions are processed against. Nothing in it is written to:
/// the caller commits what [`Processed::writes`](crate::Processed::writes) yields.
#[derive(Debug)]
pub struct ChainState<'a, S> {
    /// The account store.
    pub accounts: &'a S,
    /// Features, sysvars, builtin programs and fees.
    pub environment: &'a Environment,
    /// Recent blockhashes, and the transactions processed under each.
    pub blockhash_queue: &'a BlockhashQueue,
    /// The program cache.
    pub programs: &'a ProgramCache,
}

// Not derived: the store itself need not be `Copy`.
impl<S> Clone for ChainState<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for ChainState<'_, S> {}
