//! What `selkie batch run` and `selkie batch sql` share: what items refer to, and batches that are run.

use core::num::NonZeroUsize;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::OnceLock,
    thread,
    time::Instant,
};

use anyhow::{Context as _, Result, bail};
use arrow_array::RecordBatch;
use selkie::Pubkey;
use selkie_batch::{Base, BatchError, RunOptions};
use selkie_isa::input;
use selkie_svm::{FeatureSet, Purpose, check_file};

use super::{
    shards::{self, CONTENTS},
    table::Table,
};

/// How many rows of contents are read at once.
const CONTENTS_AT_ONCE: usize = 64;

/// The files that replace programs of the items, by the programs' addresses.
pub(super) type Programs = BTreeMap<Pubkey, Vec<u8>>;

/// Reads all contents of a folder of items into memory, and puts files in place of programs.
pub(super) fn read_base(items: &Path, programs: &Programs) -> Result<Base> {
    let mut base = Base::new();
    for path in shards::list(&items.join(CONTENTS))? {
        let mut table = Table::open(&path, None, CONTENTS_AT_ONCE)?;
        let mut first: usize = 0;
        while let Some(batch) = table.next()? {
            let added = base.add_table(&batch).map_err(|error| in_file(error, first));
            added.with_context(|| format!("cannot use {}", path.display()))?;
            first = first.saturating_add(batch.num_rows());
        }
    }
    for (program, elf) in programs {
        base.replace_program(*program, elf.clone());
    }
    Ok(base)
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

/// Reads the files that replace programs of the items, which have to be such that a cluster would
/// deploy.
pub(super) fn programs(programs: &[(Pubkey, PathBuf)]) -> Result<Programs> {
    let mut all = Programs::new();
    for (program, path) in programs {
        let elf = input::read(path, input::FILE_BYTES_MAX)
            .with_context(|| format!("cannot read {}", path.display()))?;
        if let Err(refused) = check_file(&elf, FeatureSet::mainnet(), Purpose::Deployment) {
            let path = path.display();
            bail!(
                "{path} would not be deployed: {}; `selkie check {path}` shows more",
                refused.error
            );
        }
        all.insert(*program, elf);
    }
    Ok(all)
}

/// Returns how many threads work: as many as asked for, or one for each processor.
pub(super) fn threads(asked: Option<NonZeroUsize>) -> NonZeroUsize {
    asked.unwrap_or_else(|| thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

/// Runs a batch of a file of items, in halves if its results are too large for one. `then` takes the
/// results.
pub(super) fn run_batch(
    batch: RecordBatch,
    base: &Base,
    options: &RunOptions,
    items: &Path,
    then: &mut dyn FnMut(&RecordBatch) -> Result<()>,
) -> Result<()> {
    let mut parts = vec![batch];
    while let Some(part) = parts.pop() {
        let (rows, half) = (part.num_rows(), part.num_rows() / 2);
        match selkie_batch::run(&part, base, options) {
            Err(BatchError::TooLarge { .. }) if half > 0 => {
                parts.push(part.slice(half, rows - half));
                parts.push(part.slice(0, half));
            }
            done => then(&done.with_context(|| format!("cannot run {}", items.display()))?)?,
        }
    }
    Ok(())
}

/// Returns the time since the first call, in nanoseconds.
#[expect(clippy::disallowed_methods, reason = "times are only shown")]
pub(super) fn nanoseconds() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}
