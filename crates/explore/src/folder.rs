//! Corpus and findings as files: the only part that reads and writes any.

use core::fmt;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

use selkie_isa::input;

use crate::{
    call_sequence::{CallSequence, CallSequenceError},
    finding::Finding,
};

/// The longest file of a corpus that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A folder that cannot be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum FolderError {
    /// A file or the folder cannot be read or written.
    File(PathBuf, io::Error),
    /// A file is not a case of the target.
    CallSequence(PathBuf, CallSequenceError),
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
            Self::CallSequence(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl core::error::Error for FolderError {}

/// Reads the cases of a folder, the files that end in `.case`, in the order of their names. A folder
/// that does not exist has none.
///
/// # Errors
/// If a file cannot be read, or is not a case of a target with these actions.
pub fn read(folder: &Path, actions: &[&str]) -> Result<Vec<CallSequence>, FolderError> {
    let failed = |error| FolderError::File(folder.to_owned(), error);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).map_err(failed)?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>();
    let mut paths = paths.map_err(failed)?;
    paths.retain(|path| path.extension().is_some_and(|it| it == "case"));
    paths.sort_unstable();
    paths.into_iter().map(|path| read_case(path, actions)).collect()
}

fn read_case(path: PathBuf, actions: &[&str]) -> Result<CallSequence, FolderError> {
    let text = input::text(&path, FILE_BYTES_MAX)
        .map_err(|error| FolderError::File(path.clone(), error))?;
    CallSequence::parse(&text, actions).map_err(|error| FolderError::CallSequence(path, error))
}

/// Writes cases to a folder, each under its [name](CallSequence::name).
///
/// # Errors
/// If a file cannot be written.
pub fn write(folder: &Path, cases: &[CallSequence], actions: &[&str]) -> Result<(), FolderError> {
    create(folder)?;
    for case in cases {
        let path = folder.join(format!("{}.case", case.name(actions)));
        write_file(path, &format!("{}\n", case.to_text(actions)))?;
    }
    Ok(())
}

/// Writes a finding to a folder: `NAME.case`, `NAME.replay` and, if there is a source, `NAME.rs`.
/// Returns the path of the replay.
///
/// # Errors
/// If a file cannot be written.
pub fn write_finding(
    folder: &Path,
    finding: &Finding,
    test: Option<&str>,
) -> Result<PathBuf, FolderError> {
    create(folder)?;
    let path = |extension: &str| folder.join(format!("{}.{extension}", finding.name));
    write_file(path("case"), &format!("{}\n", finding.text))?;
    write_file(path("replay"), &finding.replay())?;
    if let Some(test) = test {
        write_file(path("rs"), test)?;
    }
    Ok(path("replay"))
}

fn create(folder: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(folder).map_err(|error| FolderError::File(folder.to_owned(), error))
}

fn write_file(path: PathBuf, text: &str) -> Result<(), FolderError> {
    fs::write(&path, text).map_err(|error| FolderError::File(path, error))
}
