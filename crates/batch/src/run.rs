//! Runs a batch on some threads.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    thread,
};

use arrow_array::RecordBatch;

use crate::{
    base::Base,
    error::BatchError,
    options::{KEPT_BYTES_MAX, RunOptions},
    outcome::{Outcome, Status},
    results::Results,
    rows::ItemRows,
    worker::Worker,
};

/// How many rows a thread takes at once.
const ROWS_AT_ONCE: usize = 16;

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
    let results = Mutex::new(InOrder::new(&rows, count, options));
    let work = || {
        let mut worker = Worker::default();
        loop {
            let start = next.fetch_add(ROWS_AT_ONCE, Ordering::Relaxed);
            if start >= count {
                return;
            }
            let rows_at_once = start..count.min(start.saturating_add(ROWS_AT_ONCE));
            let ended = rows_at_once
                .map(|row| timed(options, || worker.execute(&rows, row, base, options)))
                .collect();
            results.lock().unwrap_or_else(PoisonError::into_inner).add(start, ended);
        }
    };
    let others = options.threads.get().saturating_sub(1).min(count / ROWS_AT_ONCE);
    thread::scope(|scope| {
        (0..others).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner).finish()
}

/// Results in the order of their rows, whichever thread is done first.
struct InOrder<'a> {
    rows: &'a ItemRows<'a>,
    results: Result<Results, BatchError>,
    /// How many bytes of logs and data the results hold, and may hold.
    kept_bytes: usize,
    kept_bytes_max: usize,
    /// The first row without a result.
    next: usize,
    /// Results of later rows, by the first of these.
    waiting: BTreeMap<usize, Vec<(Outcome, u64)>>,
}

impl<'a> InOrder<'a> {
    fn new(rows: &'a ItemRows<'a>, count: usize, options: &RunOptions) -> Self {
        Self {
            rows,
            results: Ok(Results::new(count, options.keeps_data)),
            kept_bytes: 0,
            kept_bytes_max: options.kept_bytes_max.min(KEPT_BYTES_MAX),
            next: 0,
            waiting: BTreeMap::new(),
        }
    }

    /// Adds the results of rows that follow each other, each with the time that it took.
    fn add(&mut self, start: usize, ended: Vec<(Outcome, u64)>) {
        self.waiting.insert(start, ended);
        while let Some(ended) = self.waiting.remove(&self.next) {
            for (outcome, nanoseconds) in ended {
                self.push(&outcome, nanoseconds);
            }
        }
    }

    fn push(&mut self, outcome: &Outcome, nanoseconds: u64) {
        let row = self.next;
        self.next = row.saturating_add(1);
        let Ok(results) = &mut self.results else { return };
        self.kept_bytes = self.kept_bytes.saturating_add(results.kept_bytes(outcome));
        if self.kept_bytes > self.kept_bytes_max {
            self.results = Err(BatchError::TooLarge { rows: row });
        } else {
            results.push(self.rows.stated_id(row), outcome, nanoseconds);
        }
    }

    fn finish(self) -> Result<RecordBatch, BatchError> {
        self.results?.finish()
    }
}

/// Returns results for items that crashed the process in which they ran: rows with the status
/// `EngineCrash` and the reason as the error. The parent process calls this.
///
/// # Errors
/// If the batch does not have the columns of [`schema::items`](crate::schema::items).
pub fn crashed(batch: &RecordBatch, why: &str) -> Result<RecordBatch, BatchError> {
    let rows = ItemRows::of(batch)?;
    let mut results = Results::new(batch.num_rows(), false);
    for row in 0..batch.num_rows() {
        let stated = rows.stated_id(row);
        results.push(stated, &Outcome::unusable(stated, Status::EngineCrash, why.to_owned()), 0);
    }
    results.finish()
}

fn timed(options: &RunOptions, work: impl FnOnce() -> Outcome) -> (Outcome, u64) {
    let now = || options.clock.map_or(0, |clock| clock());
    let start = now();
    let outcome = work();
    (outcome, now().saturating_sub(start))
}
