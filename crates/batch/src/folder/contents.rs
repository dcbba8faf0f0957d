//! What the items of a folder refer to, and batches of them that are run.

use core::num::NonZeroUsize;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    thread,
};

use arrow_array::RecordBatch;
use selkie::Pubkey;
use selkie_isa::{
    failure::{Context as _, Failure},
    input,
};
use selkie_svm::{FeatureSet, Purpose, check_file};

use super::{
    Result,
    shards::{self, CONTENTS},
    table::Table,
};
use crate::{base::Base, error::BatchError, options::RunOptions};

/// How many rows of contents are read at once.
const CONTENTS_AT_ONCE: usize = 64;

/// The files that replace programs of the items, by the programs' addresses.
pub type Programs = BTreeMap<Pubkey, Vec<u8>>;

/// Reads what a folder of items refers to into memory, and puts files in place of programs.
///
/// # Errors
/// If a file cannot be used.
pub fn read_base(items: &Path, programs: &Programs) -> Result<Base> {
    read_contents(&items.join(CONTENTS), programs)
}

/// As [`read_base`], of a folder of contents.
///
/// # Errors
/// If a file cannot be used.
pub fn read_contents(contents: &Path, programs: &Programs) -> Result<Base> {
    let mut base = Base::new();
    for path in shards::list(contents)? {
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
///
/// # Errors
/// If a file cannot be read, or would not be deployed.
pub fn programs(programs: &[(Pubkey, PathBuf)]) -> Result<Programs> {
    let mut all = Programs::new();
    for (program, path) in programs {
        let elf = input::read(path, input::FILE_BYTES_MAX)
            .with_context(|| format!("cannot read {}", path.display()))?;
        if let Err(refused) = check_file(&elf, FeatureSet::mainnet(), Purpose::Deployment) {
            let path = path.display();
            return Err(Failure::new(format!(
                "{path} would not be deployed: {}; `selkie check {path}` shows more",
                refused.error
            )));
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
        match crate::run(&part, base, options) {
            Err(BatchError::TooLarge { .. }) if half > 0 => {
                parts.push(part.slice(half, rows - half));
                parts.push(part.slice(0, half));
            }
            done => then(&done.with_context(|| format!("cannot run {}", items.display()))?)?,
        }
    }
    Ok(())
}
