//! A transaction's way: checked, loaded, executed and settled, alone or in a batch.

pub mod batch;
pub(crate) mod chain_state;
pub mod check;
pub mod execute;
pub(crate) mod limits;
pub mod load;
pub(crate) mod lookup;
pub(crate) mod outcome;
pub(crate) mod process;
pub(crate) mod settle;
pub(crate) mod thread_cache;
pub(crate) mod workspace;
