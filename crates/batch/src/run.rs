//! Runs a batch on some threads.

use core::{
    num::NonZeroUsize,
    sync::atomic::{AtomicUsize, Ordering},
};
use std::{panic::resume_unwind, thread};

use arrow_array::RecordBatch;
use selkie_svm::Engine;

use crate::{
    base::Base,
    error::BatchError,
    outcome::{Outcome, Status},
    results::{Kept, Results},
    rows::ItemRows,
    worker::Worker,
};

/// How many rows a thread takes at once.
const ROWS_AT_ONCE: usize = 16;

/// The default of [`RunOptions::kept_bytes_max`]. Columns cannot hold more than 2 GiB.
const KEPT_BYTES_MAX: usize = 1 << 30;

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

/// Runs the items of a batch. The result has a row for each, in the same order.
///
/// Items that are invalid have a row that says so, with the status `MalformedItem`; so has one on
/// which the engine panics, with `EngineCrash`.
///
/// # Errors
/// If the batch does not have the columns of [`schema::items`](crate::schema::items), or the results
/// are too large for a batch.
pub fn run(
    batch: &RecordBatch,
    base: &Base,
    options: &RunOptions,
) -> Result<RecordBatch, BatchError> {
    let rows = ItemRows::of(batch)?;
    let count = batch.num_rows();
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut worker, mut done) = (Worker::default(), Vec::new());
        loop {
            let start = next.fetch_add(ROWS_AT_ONCE, Ordering::Relaxed);
            if start >= count {
                return done;
            }
            for row in start..count.min(start.saturating_add(ROWS_AT_ONCE)) {
                let ended = timed(options, || worker.execute(&rows, row, base, options.engine));
                done.push((row, ended));
            }
        }
    };
    let others = options.threads.get().saturating_sub(1).min(count / ROWS_AT_ONCE);
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (0..others).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(row, _)| *row);
    let kept = Kept { logs: options.keeps_logs, data: options.keeps_data };
    let (mut results, mut bytes) = (Results::new(kept), 0_usize);
    for (row, (outcome, nanoseconds)) in &done {
        bytes = bytes.saturating_add(kept.bytes(outcome));
        if bytes > options.kept_bytes_max.min(KEPT_BYTES_MAX) {
            return Err(BatchError::TooLarge { rows: *row });
        }
        results.push(outcome, *nanoseconds);
    }
    results.finish()
}

/// Returns results for items that crashed the process in which they ran: rows with the status
/// `EngineCrash` and the reason as the error. The parent process calls this.
///
/// # Errors
/// If the batch does not have the columns of [`schema::items`](crate::schema::items).
pub fn crashed(batch: &RecordBatch, why: &str) -> Result<RecordBatch, BatchError> {
    let rows = ItemRows::of(batch)?;
    let mut results = Results::new(Kept { logs: false, data: false });
    for row in 0..batch.num_rows() {
        let stated = rows.stated_id(row);
        results.push(&Outcome::unusable(stated, Status::EngineCrash, why.to_owned()), 0);
    }
    results.finish()
}

fn timed(options: &RunOptions, work: impl FnOnce() -> Outcome) -> (Outcome, u64) {
    let now = || options.clock.map_or(0, |clock| clock());
    let start = now();
    let outcome = work();
    (outcome, now().saturating_sub(start))
}
