//! `selkie batch run`.

use core::{
    num::NonZeroUsize,
    sync::atomic::{AtomicUsize, Ordering},
};
use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, bail};
use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::Int64Type};
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use selkie::Pubkey;
use selkie_batch::{Base, BatchError, Digest, RunOptions, check_results, schema, schema::column};
use selkie_svm::{FeatureSet, Purpose, check_file};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{
    is_unusable,
    shards::{self, CONTENTS, ITEMS},
    table::{Table, TableWriter},
    verify,
};
use crate::{
    args::batch::BatchRunArgs,
    render::count,
    ui::{Advise as _, BAD, DIM, GOOD, STRONG, Status, Ui},
};

/// How many rows of contents are read at once.
const CONTENTS_AT_ONCE: usize = 64;

pub(crate) fn run(ui: &mut Ui, args: &BatchRunArgs) -> Result<Status> {
    let shards = shards::required(&args.items.join(ITEMS))?;
    let mut base = read_base(&args.items.join(CONTENTS))?;
    let replaced = replace_programs(&mut base, &args.program)?;
    fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot create {}", args.out.display()))?;
    let engine = selkie_svm::Engine::from(args.engine);
    engine.resolve()?;
    let processors = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = args.threads.unwrap_or(processors);
    let workers = threads.get().min(shards.len());
    let threads_each = NonZeroUsize::new(threads.get() / workers).unwrap_or(NonZeroUsize::MIN);
    let job = Job {
        base: &base,
        out: &args.out,
        rows: args.rows.get(),
        restarts: args.restart,
        made_by: format!(
            "selkie {}, logs {}, data {}{replaced}",
            env!("CARGO_PKG_VERSION"),
            args.logs,
            args.data
        ),
        options: RunOptions {
            threads: threads_each,
            engine,
            keeps_logs: args.logs,
            keeps_data: args.data,
            clock: Some(nanoseconds),
            ..RunOptions::default()
        },
        bar: if ui.is_watched() { bar(shards::rows(&shards)?) } else { ProgressBar::hidden() },
    };
    let start = nanoseconds();
    let total = job.run_all(&shards, workers)?;
    job.bar.finish_and_clear();
    let elapsed = Duration::from_nanos(nanoseconds().saturating_sub(start));
    report(ui, &total, elapsed.as_secs_f64())
}

/// Reads all contents into memory.
fn read_base(folder: &Path) -> Result<Base> {
    let mut base = Base::new();
    for path in shards::list(folder)? {
        let mut table = Table::open(&path, None, CONTENTS_AT_ONCE)?;
        let mut first: usize = 0;
        while let Some(batch) = table.next()? {
            let added = base.add_table(&batch).map_err(|error| in_file(error, first));
            added.with_context(|| format!("cannot use {}", path.display()))?;
            first = first.saturating_add(batch.num_rows());
        }
    }
    Ok(base)
}

/// Replaces programs of the items by files, which have to be such that a cluster would deploy. Returns
/// the addresses with the hashes of the files.
fn replace_programs(base: &mut Base, programs: &[(Pubkey, PathBuf)]) -> Result<String> {
    let mut replaced = BTreeMap::new();
    for (program, path) in programs {
        let elf = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        if let Err(refused) = check_file(&elf, FeatureSet::mainnet(), Purpose::Deployment) {
            let path = path.display();
            bail!(
                "{path} would not be deployed: {}; `selkie check {path}` shows more",
                refused.error
            );
        }
        replaced.insert(*program, hex::encode(Sha256::digest(&elf)));
        base.replace_program(*program, elf);
    }
    Ok(replaced.into_iter().map(|(program, hash)| format!(", {program}={hash}")).collect())
}

/// Counts the row of an error from the start of the file; `first` is that of the batch.
fn in_file(error: BatchError, first: usize) -> BatchError {
    match error {
        BatchError::Content { row, why } => {
            BatchError::Content { row: row.saturating_add(first), why }
        }
        other => other,
    }
}

/// Returns the time since the first call, in nanoseconds.
#[expect(clippy::disallowed_methods, reason = "times are only shown")]
fn nanoseconds() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
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
    /// Whether results that are there already are replaced.
    restarts: bool,
    /// What results depend on besides the items.
    made_by: String,
    options: RunOptions,
    bar: ProgressBar,
}

/// What was executed.
#[derive(Default)]
struct Total {
    digest: Digest,
    compute_units: u64,
    statuses: BTreeMap<String, u64>,
    /// Items whose result is not the expected one.
    unexpected: u64,
    /// Files whose results were there already.
    skipped: usize,
    /// The first items that are malformed or on which the engine crashed.
    unusable: Vec<String>,
}

/// How many unusable items are named.
const UNUSABLE_NAMED: usize = 5;

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
        let results = self.out.join(items.file_name().unwrap_or(items.as_os_str()));
        let mut total = Total::default();
        let ids = verify::ids(&[items.to_owned()])?;
        let stamp = format!("{} {}, {}", ids.items, ids.to_hex(), self.made_by);
        if results.exists() && !self.restarts {
            total.skipped = 1;
            self.read_results(&results, &stamp, &mut total)?;
            return Ok(total);
        }
        let mut table = Table::open(items, None, self.rows)?;
        let mut writer = TableWriter::create(&results, schema::results(), stamp)?;
        let mut row: u64 = 0;
        while let Some(batch) = table.next()? {
            // Halves of batches whose results are too large for one.
            let mut parts = vec![batch];
            while let Some(part) = parts.pop() {
                let (rows, half) = (part.num_rows(), part.num_rows() / 2);
                let done = match selkie_batch::run(&part, self.base, &self.options) {
                    Err(BatchError::TooLarge { .. }) if half > 0 => {
                        parts.push(part.slice(half, rows - half));
                        parts.push(part.slice(0, half));
                        continue;
                    }
                    done => done.with_context(|| format!("cannot run {}", items.display()))?,
                };
                writer.write(&done)?;
                self.count(&done, items, row, &mut total)?;
                row = row.saturating_add(rows as u64);
            }
        }
        writer.finish()?;
        Ok(total)
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

/// The columns that a total is made of.
const COUNTED: [&str; 6] = [
    column::ITEM_ID,
    column::STATUS,
    column::ERROR,
    column::COMPUTE_UNITS,
    column::EFFECTS_HASH,
    column::MATCHES,
];

impl Total {
    fn add(&mut self, results: &RecordBatch, file: &Path, first: u64) -> Result<()> {
        let context = || format!("cannot use {}", file.display());
        check_results(results, &COUNTED).with_context(context)?;
        self.digest.add(results).with_context(context)?;
        let column = |name| results.column_by_name(name).expect("the columns were checked");
        let units = column(column::COMPUTE_UNITS).as_primitive::<Int64Type>();
        let units = units.iter().flatten().map(i64::cast_unsigned);
        self.compute_units = units.fold(self.compute_units, u64::saturating_add);
        let matches = column(column::MATCHES).as_boolean();
        self.unexpected += matches.iter().filter(|it| *it == Some(false)).count() as u64;
        let (status, error) = (column(column::STATUS), column(column::ERROR));
        let (status, error) = (status.as_string::<i32>(), error.as_string::<i32>());
        for (row, status) in status.iter().enumerate() {
            let status = status.unwrap_or_default();
            *self.statuses.entry(status.to_owned()).or_default() += 1;
            if is_unusable(status) && self.unusable.len() < UNUSABLE_NAMED {
                let error = if error.is_null(row) { "" } else { error.value(row) };
                let row = first.saturating_add(row as u64);
                self.unusable.push(format!("{}, row {row}: {status}: {error}", file.display()));
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: Self) {
        self.digest.merge(&other.digest);
        self.compute_units = self.compute_units.saturating_add(other.compute_units);
        self.unexpected += other.unexpected;
        self.skipped += other.skipped;
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.unusable.extend(other.unusable);
        self.unusable.truncate(UNUSABLE_NAMED);
    }

    fn is_fine(&self) -> bool {
        self.unexpected == 0 && self.unusable.is_empty()
    }
}

fn report(ui: &mut Ui, total: &Total, seconds: f64) -> Result<Status> {
    let Total { digest, compute_units, statuses, unexpected, skipped, unusable } = total;
    if ui.json {
        ui.object(&json!({
            "items": digest.items,
            "statuses": statuses,
            "compute_units": compute_units,
            "unexpected": unexpected,
            "unusable": unusable,
            "files_skipped": skipped,
            "digest": digest.to_hex(),
            "seconds": seconds,
        }))?;
        return Ok(Status::of(total.is_fine()));
    }
    writeln!(ui.out, "{STRONG}{}{STRONG:#} in {seconds:.1} s", count(digest.items, "item"))?;
    for (status, number) in statuses {
        writeln!(ui.out, "  {status:14} {number}")?;
    }
    writeln!(ui.out, "  compute units  {compute_units}")?;
    if *skipped > 0 {
        writeln!(ui.out, "  {DIM}{} had results{DIM:#}", count(*skipped, "file"))?;
    }
    for line in unusable {
        writeln!(ui.out, "{BAD}unusable{BAD:#} {line}")?;
    }
    if *unexpected > 0 {
        writeln!(ui.out, "{BAD}{} not as expected{BAD:#}", count(*unexpected, "result"))?;
    }
    let style = if total.is_fine() { GOOD } else { BAD };
    writeln!(ui.out, "digest {style}{}{style:#}", digest.to_hex())?;
    Ok(Status::of(total.is_fine()))
}
