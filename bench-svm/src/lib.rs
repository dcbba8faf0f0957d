//! What the benchmarks of this package share.

pub mod call;
pub mod litesvm;
