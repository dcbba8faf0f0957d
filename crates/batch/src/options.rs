//! How batches are run.

use core::num::NonZeroUsize;

use selkie_svm::Engine;

/// The default of [`RunOptions::kept_bytes_max`]. Columns cannot hold more than 2 GiB.
pub(crate) const KEPT_BYTES_MAX: usize = 1 << 30;

/// How to run a batch. Nothing but `keeps_logs` and `keeps_data` changes the results.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// The number of threads.
    pub threads: NonZeroUsize,
    /// The engine that runs programs.
    pub engine: Engine,
    /// Whether the results hold the log lines.
    pub keeps_logs: bool,
    /// Whether the results hold the data of written accounts.
    pub keeps_data: bool,
    /// The most bytes of logs and data that the results of a batch keep.
    pub kept_bytes_max: usize,
    /// Returns a time in nanoseconds, for the column of that name; without it, the column is 0.
    pub clock: Option<fn() -> u64>,
}

impl Default for RunOptions {
    /// Returns one thread and the default engine, without logs, data and times.
    fn default() -> Self {
        Self {
            threads: NonZeroUsize::MIN,
            engine: Engine::default(),
            keeps_logs: false,
            keeps_data: false,
            kept_bytes_max: KEPT_BYTES_MAX,
            clock: None,
        }
    }
}
