//! The Parquet files of a folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use selkie_isa::failure::{Context as _, Failure};

use super::{Result, table::Table};

/// The folder of items inside a folder, and that of contents.
pub(crate) const ITEMS: &str = "items";
pub(crate) const CONTENTS: &str = "contents";

/// Lists the Parquet files of a folder by name. A file stands for itself.
///
/// # Errors
/// If the folder cannot be read.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    if folder.is_file() {
        return Ok(vec![folder.to_owned()]);
    }
    let read = || {
        let mut files = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|it| it == "parquet") {
                files.push(path);
            }
        }
        files.sort();
        Ok::<_, std::io::Error>(files)
    };
    read().with_context(|| format!("cannot read {}", folder.display()))
}

/// As [`list`], but an error if there are none.
pub(crate) fn required(folder: &Path) -> Result<Vec<PathBuf>> {
    let files = list(folder)?;
    if files.is_empty() {
        let failure = Failure::new(format!("there are no Parquet files in {}", folder.display()));
        return Err(failure.with_help("names of Parquet files end in .parquet"));
    }
    Ok(files)
}

/// Returns the sum of the rows that files state: no more than `u64::MAX`, as files may lie.
pub(crate) fn rows(files: &[PathBuf]) -> Result<u64> {
    files.iter().try_fold(0, |sum: u64, path| {
        let rows = Table::open(path, None, 1)?.rows;
        Ok(sum.saturating_add(rows))
    })
}
