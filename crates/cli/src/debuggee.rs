//! Opens the transaction that is debugged.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use selkie_debug::{History, PathMap, Session, StartAt};
use selkie_inspect::is_library;
use selkie_isa::input;
use selkie_replay::{DebugFiles, Timeline};

use crate::recordings::{self, Recordings};

/// Where built programs are.
const DEPLOY: &str = "target/deploy";
/// The longest source file that is read.
const SOURCE_BYTES_MAX: u64 = 64 << 20;

/// What is debugged.
#[derive(Default)]
pub(crate) struct Debuggee<'a> {
    /// A replay file, a folder of recordings, or a transaction's signature; `None` for where the newest
    /// failure of a test is.
    pub(crate) path: Option<&'a Path>,
    /// Where transactions are taken from by signature.
    pub(crate) url: Option<&'a str>,
    /// The number of the transaction; `None` for the one that a test failed with, or that failed first.
    pub(crate) transaction: Option<usize>,
    /// The name of the test that made the transaction, or a part of it.
    pub(crate) test: Option<&'a str>,
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
        self.open_listed(folder).map(|(session, _)| session)
    }

    /// Reads the transactions that there are.
    pub(crate) fn recordings(&self) -> Result<Recordings> {
        let path = match self.path {
            Some(path) => path.to_owned(),
            None => recordings::newest(self.test)?,
        };
        Recordings::open(&[path], self.url)
    }

    /// Opens the session, and lists the transactions around the one that it is about.
    pub(crate) fn open_listed(self, folder: &Path) -> Result<(Session, Vec<String>)> {
        let mut recordings = self.recordings()?;
        let chosen = recordings.choose(self.transaction, self.test)?;
        let (timeline, listing) = (recordings.timeline(chosen)?, recordings.around(chosen));
        Ok((self.session(folder, timeline)?, listing))
    }

    /// Opens the session of a transaction at the place where it begins.
    pub(crate) fn session(self, folder: &Path, timeline: Timeline) -> Result<Session> {
        let mut files = DebugFiles::default();
        for path in self.symbols {
            path.metadata().with_context(|| format!("cannot read {}", path.display()))?;
            files.add(path);
        }
        files.add(&folder.join(DEPLOY));
        files.add_named(timeline.symbols());
        let paths = PathMap { rules: self.source_map };
        let mut session = Session::new(History::new(timeline, &files), paths);
        session.step_into_libraries(self.steps_into_libraries);
        session.begin(self.start_at);
        Ok(session)
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
    let bytes = input::read(&path, SOURCE_BYTES_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
