//! What the benchmarks of this package share.

pub mod litesvm;
