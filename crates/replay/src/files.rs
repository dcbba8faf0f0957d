//! Replays that the user has named: files, folders, or transactions of a node.

use selkie_isa::failure::{Context as _, Failure, OrFailure as _, Result};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use selkie::Signature;
use selkie_isa::input;
use serde_json::Value;

use crate::{DebugFiles, FileError, ReplayFile};

/// What an ELF file begins with.
const ELF_MAGIC: &[u8] = b"\x7fELF";

/// How replays come to be.
pub const HELP: &str =
    "name a program with its --input, or a replay: `selkie test` records those of a test suite";

/// Returns the files in which debug information is looked for: these files or folders, and those where
/// programs are built for who is in the folder `here`.
pub fn debug_files(symbols: &[PathBuf], here: &Path) -> Result<DebugFiles> {
    let mut files = DebugFiles::default();
    for path in symbols {
        path.metadata().with_context(|| format!("cannot read {}", path.display()))?;
        files.add(path);
    }
    files.add_usual(here);
    Ok(files)
}

/// Says where debug information was looked for, and what else to do about there being none.
pub fn searched(files: &[PathBuf]) -> String {
    let places = files.iter().map(|it| it.display().to_string()).collect::<Vec<_>>().join(", ");
    format!(
        "looked in {places}, and beside the program; --symbols names the .so.debug file that \
         `selkie build` wrote, or its folder"
    )
}

/// Returns the signature in the place of a file's name.
#[must_use]
pub fn signature(path: &Path) -> Option<Signature> {
    path.file_name()?.to_str()?.parse().ok()
}

/// Takes the transaction with a signature from where there is no file: a node.
pub type Fetch = Arc<dyn Fn(&Signature) -> Result<ReplayFile> + Send + Sync>;

/// Opens a replay file, or takes the transaction with a signature from a node.
///
/// # Errors
/// If there is none, or it cannot be used.
pub fn open(path: &Path, node: Option<&Fetch>) -> Result<ReplayFile> {
    if let Some(signature) = signature(path).filter(|_| !path.exists()) {
        let Some(fetch) = node else {
            return Err(Failure::new(format!("there is no file {signature}"))
                .with_help("--url URL takes the transaction of a running node"));
        };
        return fetch(&signature);
    }
    let opened = ReplayFile::open(path);
    if opened.is_err()
        && let Some(error) = not_a_replay(path)
    {
        return Err(error);
    }
    let opened = match opened {
        // Only the other errors name the file.
        Err(error @ FileError::Line(..)) => Err(error).with_context(|| path.display().to_string()),
        other => other.or_failure(),
    };
    opened.advise(HELP)
}

/// Says what a file is that is no replay, and how it is used: a program, or the input of one.
fn not_a_replay(path: &Path) -> Option<Failure> {
    let bytes = input::read(path, input::FILE_BYTES_MAX).ok()?;
    let name = path.display();
    let refused = |what: String, help: String| Some(Failure::new(what).with_help(help));
    if bytes.starts_with(ELF_MAGIC) {
        let what = format!("{name} is an ELF file, and no replay");
        return refused(what, "programs are known by the ending .so of their names".to_owned());
    }
    let value: Value = serde_json::from_slice(&bytes).ok()?;
    let is_input = ["program_id", "instruction_data", "accounts", "account"];
    is_input.iter().any(|key| value.get(key).is_some()).then_some(())?;
    let what = format!("{name} is the input of a program, and no replay");
    refused(what, format!("name the program, and the file by --input: PROGRAM.so --input {name}"))
}

/// Lists the files, and the replays in folders, sorted by name.
pub fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let found = replays_in(path)?;
        if found.is_empty() {
            let why = Failure::new(format!("there are no replays in {}", path.display()));
            return Err(why).advise(HELP);
        }
        files.extend(found);
    }
    Ok(files)
}

/// Whether a folder has no replays.
pub fn is_empty(folder: &Path) -> Result<bool> {
    Ok(replays_in(folder)?.is_empty())
}

fn replays_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder);
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    let paths = entries.map(|entry| entry.map(|it| it.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|it| it == "replay"));
    paths.sort_unstable();
    Ok(paths)
}
