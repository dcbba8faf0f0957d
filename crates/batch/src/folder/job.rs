//! Runs files of items.

use core::{
    num::NonZeroUsize,
    sync::atomic::{AtomicUsize, Ordering},
};
use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread,
};

use arrow_array::RecordBatch;
use selkie_isa::failure::Failure;
use sha2::{Digest as _, Sha256};

use super::{
    Result,
    contents::{Programs, run_batch},
    parts,
    table::{Table, TableWriter, part_of},
    total::{COUNTED, Total},
    verify,
};
use crate::{base::Base, options::RunOptions, schema};

/// Is told the rows that are done besides those before, and the compute units of their file so far. Any
/// thread may call it.
pub type Progress<'a> = dyn Fn(u64, u64) + Sync + 'a;

/// How files of items are run: what the threads of a run share.
#[derive(Debug)]
pub struct Job<'a> {
    base: &'a Base,
    /// How batches are run. The threads are those of all files that run at once.
    options: RunOptions,
    rows: NonZeroUsize,
    /// What results depend on besides the items.
    made_by: String,
    /// What the names of files have behind them while they are being written.
    attempt: Option<String>,
}

/// Returns what results depend on besides the items: options, and the files that replace programs.
pub(super) fn made_by(options: &RunOptions, programs: &Programs) -> String {
    let RunOptions { keeps_logs: logs, keeps_data: data, .. } = options;
    let replaced = programs.iter();
    let replaced = replaced.map(|(program, elf)| (program, hex::encode(Sha256::digest(elf))));
    let replaced = replaced.map(|(program, hash)| format!(", {program}={hash}"));
    let version = env!("CARGO_PKG_VERSION");
    let form = schema::RESULTS_VERSION;
    format!(
        "selkie {version}, results {form}, logs {logs}, data {data}{}",
        replaced.collect::<String>()
    )
}

/// Returns what the results of a file of items are made of.
pub(super) fn stamp(items: &Path, made_by: &str) -> Result<String> {
    let ids = verify::ids(&[items.to_owned()])?;
    Ok(format!("{} {}, {made_by}", ids.items, ids.to_hex()))
}

impl<'a> Job<'a> {
    /// Returns a job for items that refer to `base`, in which `programs` have been replaced. A batch has up
    /// to `rows` rows.
    #[must_use]
    pub fn new(
        base: &'a Base,
        programs: &Programs,
        options: RunOptions,
        rows: NonZeroUsize,
    ) -> Self {
        let made_by = made_by(&options, programs);
        Self { base, options, rows, made_by, attempt: None }
    }

    /// Gives files that are being written a name which no other attempt has, where several processes may
    /// run the same file at once.
    #[must_use]
    pub fn of_attempt(self, name: &str) -> Self {
        Self { attempt: Some(name.to_owned()), ..self }
    }

    /// Runs files into a folder, several at once: a thread reads, runs and writes a file by itself, unless
    /// there are fewer files than threads.
    ///
    /// # Errors
    /// If a file cannot be used, or results are there that are of other items, programs or options.
    pub fn run_files(
        &self,
        files: &[PathBuf],
        out: &Path,
        progress: &Progress<'_>,
    ) -> Result<Total> {
        let threads = self.options.threads.get();
        let workers = threads.min(files.len()).max(1);
        let each = NonZeroUsize::new(threads / workers).unwrap_or(NonZeroUsize::MIN);
        let options = RunOptions { threads: each, ..self.options };
        let (next, total) = (AtomicUsize::new(0), Mutex::new(Ok(Total::default())));
        let work = || {
            while let Some(items) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                let results = parts::results(out, items);
                let done = self.run_with(&options, items, &results, progress);
                let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                match (done, total.as_mut()) {
                    (Ok(done), Ok(total)) => total.merge(done),
                    (Err(error), Ok(_)) => *total = Err(error),
                    (_, Err(_)) => {}
                }
                if total.is_err() {
                    return;
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..workers {
                scope.spawn(work);
            }
            work();
        });
        total.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the items of a file, unless its results are there already.
    ///
    /// # Errors
    /// If a file cannot be used, or the results are of other items, programs or options.
    pub fn run_file(&self, items: &Path, results: &Path, progress: &Progress<'_>) -> Result<Total> {
        self.run_with(&self.options, items, results, progress)
    }

    fn run_with(
        &self,
        options: &RunOptions,
        items: &Path,
        results: &Path,
        progress: &Progress<'_>,
    ) -> Result<Total> {
        let mut total = Total::default();
        let stamp = stamp(items, &self.made_by)?;
        if results.exists() {
            total.files_skipped = 1;
            self.read_results(results, &stamp, &mut total, progress)?;
            total.items_skipped = total.digest.items;
            return Ok(total);
        }
        let part = match &self.attempt {
            Some(name) => part_of(&results.with_added_extension(name)),
            None => part_of(results),
        };
        let writer = TableWriter::create_as(part.clone(), results, schema::results(), stamp)?;
        let written = self.write(options, items, writer, &mut total, progress);
        // Without a name of its own, it tells a process that goes on where this one has been.
        if written.is_err() && self.attempt.is_some() {
            parts::remove_file(&part)?;
        }
        written.map(|()| total)
    }

    /// Runs the items of a file, and writes the results.
    fn write(
        &self,
        options: &RunOptions,
        items: &Path,
        mut writer: TableWriter,
        total: &mut Total,
        progress: &Progress<'_>,
    ) -> Result<()> {
        let mut table = Table::open(items, None, self.rows.get())?;
        let mut row: u64 = 0;
        while let Some(batch) = table.next()? {
            run_batch(batch, self.base, options, items, &mut |done| {
                writer.write(done)?;
                let first = row;
                row = row.saturating_add(done.num_rows() as u64);
                count(done, items, first, total, progress)
            })?;
        }
        writer.finish()
    }

    /// Returns whether a file of items has results.
    ///
    /// # Errors
    /// If a file cannot be used, or the results are of other items, programs or options.
    pub fn is_done(&self, items: &Path, results: &Path) -> Result<bool> {
        if !results.exists() {
            return Ok(false);
        }
        self.open_results(results, &stamp(items, &self.made_by)?).map(|_| true)
    }

    /// Runs some items of a file, for the process that puts the results together.
    pub(super) fn run_rows(
        &self,
        items: &Path,
        results: &Path,
        first: u64,
        count: u64,
    ) -> Result<()> {
        let mut table = Table::open(items, None, self.rows.get())?;
        let mut writer = TableWriter::create(results, schema::results(), String::new())?;
        while let Some(batch) = table.next_of(first, count)? {
            run_batch(batch, self.base, &self.options, items, &mut |done| writer.write(done))?;
        }
        writer.finish()
    }

    fn open_results(&self, results: &Path, stamp: &str) -> Result<Table> {
        let table = Table::open(results, Some(&COUNTED), self.rows.get())?;
        if table.stamp.as_deref() != Some(stamp) {
            let path = results.display();
            let what = format!("{path} has results of other items, programs or options");
            let help = "write to another folder, or replace the results by --restart (in Python, restart=True)";
            return Err(Failure::new(what).with_help(help));
        }
        Ok(table)
    }

    fn read_results(
        &self,
        results: &Path,
        stamp: &str,
        total: &mut Total,
        progress: &Progress<'_>,
    ) -> Result<()> {
        let mut table = self.open_results(results, stamp)?;
        let mut row: u64 = 0;
        while let Some(batch) = table.next()? {
            count(&batch, results, row, total, progress)?;
            row = row.saturating_add(batch.num_rows() as u64);
        }
        Ok(())
    }
}

fn count(
    results: &RecordBatch,
    file: &Path,
    row: u64,
    total: &mut Total,
    progress: &Progress<'_>,
) -> Result<()> {
    total.add(results, file, row)?;
    progress(results.num_rows() as u64, total.compute_units);
    Ok(())
}
