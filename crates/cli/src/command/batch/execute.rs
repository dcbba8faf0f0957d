//! `selkie batch run`.

use core::{
    num::NonZeroUsize,
    sync::atomic::{AtomicUsize, Ordering},
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow};
use arrow_array::RecordBatch;
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use selkie_batch::{Base, RunOptions, schema};
use selkie_svm::Engine;
use sha2::{Digest as _, Sha256};

use super::{
    parts,
    shards::{self, ITEMS},
    table::{Table, TableWriter},
    total::{COUNTED, Total, report},
    verify,
    work::{nanoseconds, programs, read_base, run_batch, threads},
};
use crate::{
    args::batch::{BatchRunArgs, BatchWorkArgs, Work},
    ui::{Advise as _, Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &BatchRunArgs, work: &Work) -> Result<Status> {
    let shards = shards::required(&args.items.join(ITEMS))?;
    let base = read_base(&args.items, &programs(&args.work.program)?)?;
    fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot create {}", args.out.display()))?;
    let engine = Engine::from(args.work.engine);
    engine.resolve()?;
    let threads = threads(args.work.threads);
    let workers = threads.get().min(shards.len());
    let threads_each = NonZeroUsize::new(threads.get() / workers).unwrap_or(NonZeroUsize::MIN);
    let is_shown = ui.is_watched() && !matches!(work, Work::Rows { .. });
    let job = Job {
        base: &base,
        out: &args.out,
        rows: args.work.rows.get(),
        made_by: made_by(args)?,
        options: options(args, engine, threads_each),
        bar: if is_shown { bar(shards::rows(&shards)?) } else { ProgressBar::hidden() },
    };
    match *work {
        Work::First => parts::remove(&args.out, &shards, args.restart)?,
        Work::Again => {}
        Work::Rows { shard, first, count } => {
            let shard = shards.get(shard).context("there are fewer files of items")?;
            job.run_rows(shard, first, count)?;
            return Ok(Status::Success);
        }
    }
    let start = nanoseconds();
    let total = job.run_all(&shards, workers)?;
    job.bar.finish_and_clear();
    let elapsed = Duration::from_nanos(nanoseconds().saturating_sub(start));
    report(ui, &total, elapsed.as_secs_f64())
}

fn options(args: &BatchRunArgs, engine: Engine, threads: NonZeroUsize) -> RunOptions {
    RunOptions {
        threads,
        engine,
        keeps_logs: args.logs,
        keeps_data: args.work.data,
        clock: Some(nanoseconds),
        ..RunOptions::default()
    }
}

/// Returns what results depend on besides the items: options, and the files that replace programs.
pub(super) fn made_by(args: &BatchRunArgs) -> Result<String> {
    let BatchRunArgs { logs, work: BatchWorkArgs { data, program, .. }, .. } = args;
    let replaced = programs(program)?.into_iter();
    let replaced = replaced.map(|(program, elf)| (program, hex::encode(Sha256::digest(elf))));
    let replaced = replaced.map(|(program, hash)| format!(", {program}={hash}"));
    let version = env!("CARGO_PKG_VERSION");
    Ok(format!("selkie {version}, logs {logs}, data {data}{}", replaced.collect::<String>()))
}

fn bar(rows: u64) -> ProgressBar {
    let bar = ProgressBar::new(rows);
    let template =
        "{bar:30.cyan} {human_pos}/{human_len} items, {per_sec}, {msg} compute units, {eta} left";
    ProgressStyle::with_template(template).into_iter().for_each(|style| bar.set_style(style));
    bar
}

/// What the threads of a run share.
struct Job<'a> {
    base: &'a Base,
    out: &'a Path,
    rows: usize,
    /// What results depend on besides the items.
    made_by: String,
    options: RunOptions,
    bar: ProgressBar,
}

/// Returns what the results of a file of items are made of.
pub(super) fn stamp(items: &Path, made_by: &str) -> Result<String> {
    let ids = verify::ids(&[items.to_owned()])?;
    Ok(format!("{} {}, {made_by}", ids.items, ids.to_hex()))
}

impl Job<'_> {
    fn run_all(&self, shards: &[PathBuf], workers: usize) -> Result<Total> {
        let (next, total) = (AtomicUsize::new(0), Mutex::new(Ok(Total::default())));
        let work = || {
            while let Some(shard) = shards.get(next.fetch_add(1, Ordering::Relaxed)) {
                let done = self.run_shard(shard);
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
    fn run_shard(&self, items: &Path) -> Result<Total> {
        let results = parts::results(self.out, items);
        let mut total = Total::default();
        let stamp = stamp(items, &self.made_by)?;
        if results.exists() {
            total.skipped = 1;
            self.read_results(&results, &stamp, &mut total)?;
            return Ok(total);
        }
        let mut table = Table::open(items, None, self.rows)?;
        let mut writer = TableWriter::create(&results, schema::results(), stamp)?;
        let mut row: u64 = 0;
        while let Some(batch) = table.next()? {
            run_batch(batch, self.base, &self.options, items, &mut |done| {
                writer.write(done)?;
                let first = row;
                row = row.saturating_add(done.num_rows() as u64);
                self.count(done, items, first, &mut total)
            })?;
        }
        writer.finish()?;
        Ok(total)
    }

    /// Runs some items of a file, for the process that puts the results together.
    fn run_rows(&self, items: &Path, first: u64, count: u64) -> Result<()> {
        let mut table = Table::open(items, None, self.rows)?;
        let path = parts::rows(self.out, items);
        let mut writer = TableWriter::create(&path, schema::results(), String::new())?;
        while let Some(batch) = table.next_of(first, count)? {
            run_batch(batch, self.base, &self.options, items, &mut |done| writer.write(done))?;
        }
        writer.finish()
    }

    fn read_results(&self, results: &Path, stamp: &str, total: &mut Total) -> Result<()> {
        let mut table = Table::open(results, Some(&COUNTED), self.rows)?;
        if table.stamp.as_deref() != Some(stamp) {
            let path = results.display();
            return Err(anyhow!("{path} has results of other items, programs or options"))
                .advise("write to another folder, or replace the results by --restart");
        }
        let mut row: u64 = 0;
        while let Some(batch) = table.next()? {
            self.count(&batch, results, row, total)?;
            row = row.saturating_add(batch.num_rows() as u64);
        }
        Ok(())
    }

    fn count(&self, results: &RecordBatch, file: &Path, row: u64, total: &mut Total) -> Result<()> {
        total.add(results, file, row)?;
        self.bar.inc(results.num_rows() as u64);
        self.bar.set_message(HumanCount(total.compute_units).to_string());
        Ok(())
    }
}
