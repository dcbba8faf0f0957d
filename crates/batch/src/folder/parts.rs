//! The files in a folder of results, complete ones and those of work that goes on.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use selkie_isa::failure::Context as _;

use super::{Result, table::part_of};

/// Returns the file of the results of a file of items.
#[must_use]
pub fn results(out: &Path, items: &Path) -> PathBuf {
    out.join(items.file_name().unwrap_or(items.as_os_str()))
}

/// Returns the file of the results of some rows.
pub(super) fn rows(out: &Path, items: &Path) -> PathBuf {
    results(out, items).with_extension("rows")
}

/// Returns whether results were being written when a process ended.
pub(super) fn is_begun(out: &Path, items: &Path) -> bool {
    part_of(&results(out, items)).exists()
}

/// Removes what a run that was killed has left, and with `all` complete results as well.
pub(super) fn remove(out: &Path, shards: &[PathBuf], all: bool) -> Result<()> {
    for items in shards {
        let results = results(out, items);
        remove_file(&part_of(&results))?;
        remove_rows(out, items)?;
        if all {
            remove_file(&results)?;
        }
    }
    Ok(())
}

/// Removes the results of some rows, if they are there, complete or not.
pub(super) fn remove_rows(out: &Path, items: &Path) -> Result<()> {
    let rows = rows(out, items);
    remove_file(&part_of(&rows))?;
    remove_file(&rows)
}

/// Removes a file, if it is there.
pub(super) fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Removes what attempts that were killed have left in a folder of results: see
/// [`Job::of_attempt`](super::Job::of_attempt). No other process may be writing there.
///
/// # Errors
/// If the folder cannot be read, or a file not be removed.
pub fn sweep(out: &Path) -> Result<()> {
    let cannot_read = || format!("cannot read {}", out.display());
    for entry in fs::read_dir(out).with_context(cannot_read)? {
        let path = entry.with_context(cannot_read)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".part") && name.contains(".parquet.") {
            remove_file(&path)?;
        }
    }
    Ok(())
}

/// Removes the results of files of items, so that they are run again.
///
/// # Errors
/// If a file cannot be removed.
pub fn remove_results(out: &Path, files: &[PathBuf]) -> Result<()> {
    files.iter().try_for_each(|items| remove_file(&results(out, items)))
}
