//! Opens the transaction that is debugged.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow};
use selkie_debug::{History, PathMap, Session, StartAt, info::is_library};
use selkie_replay::{DebugFiles, ReplayFile, Timeline};

use crate::ui::Advise as _;

/// How replays come to be.
const HELP: &str =
    "record one with `selkie run PROGRAM --save-replay FILE`, or with SELKIE_RECORD=DIR cargo test";
/// Where built programs are.
const DEPLOY: &str = "target/deploy";
/// The longest source file that is read.
const SOURCE_BYTES_MAX: u64 = 64 << 20;

/// What is debugged.
pub(crate) struct Debuggee<'a> {
    /// A replay file, or a folder of recordings.
    pub(crate) path: &'a Path,
    /// The number of the transaction; `None` for the first one that failed.
    pub(crate) transaction: Option<usize>,
    /// Where debug information is, besides the usual folder.
    pub(crate) symbols: &'a [PathBuf],
    /// Recorded path prefixes, and what stands for them.
    pub(crate) source_map: Vec<(String, String)>,
    pub(crate) steps_into_libraries: bool,
    pub(crate) start_at: Option<StartAt>,
}

impl Debuggee<'_> {
    /// Opens the session at the place where it begins. `folder` is the one in which programs are built.
    pub(crate) fn open(self, folder: &Path) -> Result<Session> {
        let timeline = self.timeline()?;
        let mut files = DebugFiles::default();
        for path in self.symbols {
            path.metadata().with_context(|| format!("cannot read {}", path.display()))?;
            files.add(path);
        }
        files.add(&folder.join(DEPLOY));
        let paths = PathMap { rules: self.source_map };
        let mut session = Session::new(History::new(timeline, &files), paths);
        session.step_into_libraries(self.steps_into_libraries);
        session.begin(self.start_at);
        Ok(session)
    }

    /// Returns the transaction: the one with the number, or the first one that failed, or else the
    /// first one.
    fn timeline(&self) -> Result<Timeline> {
        let mut first = None;
        let mut count = 0;
        for path in self.files()? {
            let file = ReplayFile::open(&path).advise(HELP)?;
            for index in 0..file.len() {
                let number = count;
                count += 1;
                if self.transaction.is_some_and(|wanted| wanted != number) {
                    continue;
                }
                let timeline = file.timeline(index);
                let timeline = timeline.with_context(|| format!("{}", path.display()))?;
                if self.transaction.is_some() || timeline.receipt().result.is_err() {
                    return Ok(timeline);
                }
                first.get_or_insert(timeline);
            }
        }
        let missing = || match self.transaction {
            Some(wanted) => anyhow!("there is no transaction {wanted}, but {count}, from 0"),
            None => anyhow!("there are no transactions in {}", self.path.display()),
        };
        first.ok_or_else(missing).advise(HELP)
    }

    /// Lists the file, or the replays in the folder, sorted by name.
    fn files(&self) -> Result<Vec<PathBuf>> {
        if !self.path.is_dir() {
            return Ok(vec![self.path.to_owned()]);
        }
        let entries = fs::read_dir(self.path);
        let entries = entries.with_context(|| format!("cannot read {}", self.path.display()))?;
        let paths = entries.map(|entry| entry.map(|it| it.path()));
        let mut paths = paths.collect::<Result<Vec<_>, _>>()?;
        paths.retain(|path| path.extension().is_some_and(|it| it == "replay"));
        paths.sort_unstable();
        Ok(paths)
    }
}

/// Returns the path of a source file here. A file that is not where the compiler has recorded it is
/// looked for in the folder, by the last parts of its path.
pub(crate) fn find_source(folder: &Path, recorded: &str) -> Option<PathBuf> {
    let exact = folder.join(recorded);
    if exact.is_file() {
        return Some(std::path::absolute(exact).unwrap_or_default());
    }
    if is_library(recorded) {
        return None;
    }
    let parts: Vec<&str> = recorded.split(['/', '\\']).filter(|it| !it.is_empty()).collect();
    // Names alone, as `lib.rs`, are in each package.
    let suffixes = (1..parts.len().saturating_sub(1)).map(|start| parts[start..].join("/"));
    let found = suffixes.map(|suffix| folder.join(suffix)).find(|it| it.is_file())?;
    std::path::absolute(found).ok()
}

/// Returns the text of a source file, if it is here and not too long.
pub(crate) fn source(path: &str) -> Option<String> {
    let path = find_source(Path::new(""), path)?;
    let is_short = fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() <= SOURCE_BYTES_MAX);
    is_short
        .then(|| fs::read(path).ok())
        .flatten()
        .map(|it| String::from_utf8_lossy(&it).into_owned())
}
