//! The numbered files of a folder, as `anchor test --profile` and `anchor debugger` read them.

use std::{
    fs, io,
    path::Path,
    sync::{Mutex, PoisonError},
};

/// What the files of a chain are numbered by.
#[derive(Default, Debug)]
pub(crate) struct Numbers(Mutex<Last>);

#[derive(Default, Debug)]
struct Last {
    invocation: u32,
    transaction: u32,
}

impl Numbers {
    /// Returns the beginnings of the names of a transaction's files: `0003__tx2` is that of the third invocation of a
    /// program, which is in the second transaction. The first transaction removes files of an earlier run.
    pub(crate) fn next(&self, folder: &Path, invocations: usize) -> io::Result<Vec<String>> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        fs::create_dir_all(folder)?;
        if last.transaction == 0 {
            remove_numbered(folder)?;
        }
        last.transaction = last.transaction.saturating_add(1);
        let transaction = last.transaction;
        let mut next = || {
            last.invocation = last.invocation.saturating_add(1);
            format!("{:04}__tx{transaction}", last.invocation)
        };
        Ok((0..invocations).map(|_| next()).collect())
    }
}

/// Removes the files of a folder that are named so.
fn remove_numbered(folder: &Path) -> io::Result<()> {
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().and_then(|it| it.split_once('.')?.0.split_once("__tx"));
        if name.is_some_and(|(invocation, transaction)| {
            is_number(invocation) && is_number(transaction)
        }) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
