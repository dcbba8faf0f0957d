//! Replay files: transactions with the state before them, as lines of JSON.
//!
//! ```text
//! {"selkie_replay":1,"symbols":["FILE"]}    the version of the format, and files with debug information
//!                                           if they were known; may be missing
//! {"blob":"SHA256","data":"BASE64"}         account data that replays refer to as `blob:SHA256`
//! {"id":…,"accounts":[…],"tx":…,…}          a replay, as `selkie conform` reads it
//! ```
//!
//! So each vector of kind `svm` and each [`Replay`] is a replay file. In a folder of recordings, data
//! are files besides: `blobs/SHA256.bin`.

use core::fmt;
use selkie_isa::failure::Failure;
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie::{Case, Release, Replay, ReplayError, Svm};
use selkie_isa::input;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::timeline::Timeline;

/// The version of the format.
const VERSION: u64 = 1;
/// The longest file that is read: the accounts of a transaction have 64 MiB at most.
const FILE_BYTES_MAX: u64 = 512 << 20;

/// The files with debug information that a file may name.
const SYMBOLS_MAX: usize = 64;

/// The transactions of a replay file.
#[derive(Clone, Default, Debug)]
pub struct ReplayFile {
    replays: Vec<Replay>,
    blobs: BTreeMap<String, Vec<u8>>,
    /// Where further blobs are.
    folder: Option<PathBuf>,
    /// Files that may have debug information of the programs.
    symbols: Vec<PathBuf>,
}

/// A replay file that cannot be read.
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be read.
    File(PathBuf, io::Error),
    /// A line is not what it must be; lines count from 1.
    Line(usize, String),
    /// It has no transaction with this number, from 0; and how many it has.
    NoSuchTransaction(usize, usize),
    /// A transaction cannot be replayed.
    Replay(ReplayError),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Self::Line(line, why) => write!(f, "not a replay file: line {line}: {why}"),
            Self::NoSuchTransaction(index, 1) => {
                write!(f, "it has one transaction, number 0, and none with number {index}")
            }
            Self::NoSuchTransaction(index, count) => {
                write!(f, "it has {count} transactions, from 0, and none with number {index}")
            }
            Self::Replay(error) => error.fmt(f),
        }
    }
}

impl fmt::Debug for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for FileError {}

impl From<ReplayError> for FileError {
    fn from(error: ReplayError) -> Self {
        Self::Replay(error)
    }
}

impl From<Replay> for ReplayFile {
    fn from(replay: Replay) -> Self {
        Self { replays: vec![replay], ..Self::default() }
    }
}

impl ReplayFile {
    /// Reads a file. Blobs that it lacks are looked for in the folder `blobs` beside it.
    ///
    /// # Errors
    /// If the file cannot be read or is malformed.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let failed = |error| FileError::File(path.to_owned(), error);
        let text = input::text(path, FILE_BYTES_MAX).map_err(failed)?;
        let mut file = Self::parse(&text)?;
        if let Some(folder) = path.parent() {
            let ids = file.replays.iter().map(Replay::id);
            let names: BTreeSet<&OsStr> = ids.filter_map(|id| Path::new(id).file_name()).collect();
            file.symbols.extend(names.into_iter().flat_map(|name| beside(folder, name)));
            file.folder = Some(folder.join("blobs"));
        }
        Ok(file)
    }

    /// Notes a file with debug information of the programs. It is used if it has the same code.
    #[must_use]
    pub fn with_symbols(mut self, path: PathBuf) -> Self {
        self.symbols.push(path);
        self
    }

    /// Returns the files that may have debug information of the programs, as far as they are known.
    #[must_use]
    pub fn symbols(&self) -> &[PathBuf] {
        &self.symbols
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// If a line is no JSON, or the version is unknown.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let mut file = Self::default();
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        for (number, line) in lines {
            file.add_line(line).map_err(|why| FileError::Line(number, why.chain()))?;
        }
        Ok(file)
    }

    fn add_line(&mut self, line: &str) -> Result<(), Failure> {
        let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        // Of the whole file, or of a recorded transaction.
        let symbols = value.get("symbols").and_then(Value::as_array).into_iter().flatten();
        let symbols = symbols.filter_map(Value::as_str).map(PathBuf::from);
        let room = SYMBOLS_MAX.saturating_sub(self.symbols.len());
        self.symbols.extend(symbols.take(room));
        if let Some(version) = value.get("selkie_replay") {
            if version.as_u64() != Some(VERSION) {
                return Err(
                    format!("the version is {version}, and this build reads {VERSION}").into()
                );
            }
            return Ok(());
        }
        if let Some(name) = value.get("blob") {
            let name = name.as_str().ok_or("`blob` is not a string")?;
            let data = value.get("data").and_then(Value::as_str).ok_or("`data` is not a string")?;
            let data = BASE64_STANDARD.decode(data).map_err(|error| error.to_string())?;
            if hash(&data) != name {
                return Err("the data do not have the hash that they are named by".into());
            }
            self.blobs.insert(name.to_owned(), data);
            return Ok(());
        }
        self.replays.push(Replay::parse(line).map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Sets the release of agave whose rules all transactions follow.
    #[must_use]
    pub fn with_release(mut self, release: Release) -> Self {
        self.replays = self.replays.into_iter().map(|it| it.with_release(release)).collect();
        self
    }

    /// Adds a transaction.
    pub fn push(&mut self, replay: Replay) {
        self.replays.push(replay);
    }

    /// Returns the number of transactions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.replays.len()
    }

    /// Returns whether there are no transactions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.replays.is_empty()
    }

    /// Returns the transactions.
    #[must_use]
    pub fn replays(&self) -> &[Replay] {
        &self.replays
    }

    /// Runs a transaction once, and returns its timeline.
    ///
    /// # Errors
    /// If there is no such transaction, or it is malformed.
    pub fn timeline(&self, index: usize) -> Result<Timeline, FileError> {
        let count = self.replays.len();
        let missing = FileError::NoSuchTransaction(index, count);
        let replay = self.replays.get(index).ok_or(missing)?;
        let mut timeline = Timeline::new(replay, &|name| self.blob(name))?;
        timeline.symbols.clone_from(&self.symbols);
        Ok(timeline)
    }

    /// Returns the chain before a transaction, and its case.
    ///
    /// # Errors
    /// If there is no such transaction, or it is malformed.
    pub fn chain(&self, index: usize) -> Result<(Svm, Case), FileError> {
        let missing = FileError::NoSuchTransaction(index, self.replays.len());
        let replay = self.replays.get(index).ok_or(missing)?;
        Ok(Svm::of_replay(replay, &|name| self.blob(name))?)
    }

    /// Returns account data that a transaction refers to by name.
    #[must_use]
    pub fn blob(&self, name: &str) -> Option<Vec<u8>> {
        if let Some(data) = self.blobs.get(name) {
            return Some(data.clone());
        }
        // Names are hashes, so they cannot lead out of the folder.
        let is_hash = name.len() == 64 && name.bytes().all(|it| it.is_ascii_hexdigit());
        let folder = self.folder.as_ref().filter(|_| is_hash)?;
        let data = input::read(&folder.join(format!("{name}.bin")), FILE_BYTES_MAX).ok()?;
        (hash(&data) == name).then_some(data)
    }
}

/// Writes the file as text.
impl fmt::Display for ReplayFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut header = json!({ "selkie_replay": VERSION });
        if !self.symbols.is_empty() {
            let symbols = self.symbols.iter().map(|path| path.to_string_lossy());
            header["symbols"] = symbols.collect();
        }
        writeln!(f, "{header}")?;
        for (name, data) in &self.blobs {
            writeln!(f, "{}", json!({ "blob": name, "data": BASE64_STANDARD.encode(data) }))?;
        }
        self.replays.iter().try_for_each(|replay| writeln!(f, "{replay}"))
    }
}

/// Returns the files beside a replay that may have debug information of the program with a name.
fn beside(folder: &Path, program: &OsStr) -> Vec<PathBuf> {
    let program = folder.join(program);
    match program.extension() {
        Some(extension) if extension == "so" => vec![program.with_extension("so.debug"), program],
        _ => Vec::new(),
    }
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
