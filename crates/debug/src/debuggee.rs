//! Opens the transaction that is debugged.

use std::path::{Path, PathBuf};

use selkie_inspect::is_library;
use selkie_isa::{failure::Result, input};
use selkie_replay::{
    Recordings, Timeline,
    files::{debug_files, searched},
};

use crate::{
    history::History,
    info::PathMap,
    session::{Session, StartAt},
};

/// The longest source file that is read.
const SOURCE_BYTES_MAX: u64 = 64 << 20;

/// The transactions around the one that a session is about.
#[derive(Debug)]
pub struct Listing {
    /// A line for each, if there are several.
    pub lines: Vec<String>,
    /// What to do about programs without lines, if all of the user's are.
    pub without_lines: Option<String>,
}

/// What is debugged.
#[derive(Default, Debug)]
pub struct Debuggee<'a> {
    /// The number of the transaction; `None` for the one that a test failed with, or that failed first.
    pub transaction: Option<usize>,
    /// The name of the test that made the transaction, or a part of it.
    pub test: Option<&'a str>,
    /// Where debug information is, besides the usual folder.
    pub symbols: &'a [PathBuf],
    /// Recorded path prefixes, and what stands for them.
    pub source_map: Vec<(String, String)>,
    /// Whether steps stop in libraries.
    pub steps_into_libraries: bool,
    /// Where the session begins.
    pub start_at: Option<StartAt>,
}

impl Debuggee<'_> {
    /// Opens the session at the place where it begins. `folder` is the one in which programs are built.
    ///
    /// # Errors
    /// If there is no such transaction, or it cannot be repeated.
    pub fn open(self, recordings: Recordings, folder: &Path) -> Result<Session> {
        let (mut session, listing) = self.open_listed(recordings, folder)?;
        listing.without_lines.into_iter().for_each(|it| session.tell(format!("warning: {it}")));
        Ok(session)
    }

    /// Opens the session, and lists the transactions around the one that it is about.
    ///
    /// # Errors
    /// As [`Debuggee::open`].
    pub fn open_listed(
        self,
        mut recordings: Recordings,
        folder: &Path,
    ) -> Result<(Session, Listing)> {
        let chosen = recordings.choose(self.transaction, self.test)?;
        let (timeline, lines) = (recordings.timeline(chosen)?, recordings.around(chosen));
        let (session, without_lines) = self.session(folder, timeline)?;
        Ok((session, Listing { lines, without_lines }))
    }

    /// Opens the session of a transaction at the place where it begins. Also says what to do if no program
    /// of the user's has lines.
    ///
    /// # Errors
    /// If the files with debug information cannot be read.
    pub fn session(self, folder: &Path, timeline: Timeline) -> Result<(Session, Option<String>)> {
        let mut files = debug_files(self.symbols, folder)?;
        files.add_named(timeline.symbols());
        let paths = PathMap { rules: self.source_map };
        let mut session = Session::new(History::new(timeline, &files), paths);
        session.step_into_libraries(self.steps_into_libraries);
        let without_lines = without_lines(&session, files.searched());
        session.begin(self.start_at);
        Ok((session, without_lines))
    }
}

/// Says where debug information was looked for, if none of the user's programs has any.
fn without_lines(session: &Session, searched: &[PathBuf]) -> Option<String> {
    let is_known = |address: &str| {
        address.parse().is_ok_and(|address| selkie::programs::by_id(&address).is_some())
    };
    let users = session.programs().iter().filter(|it| !is_known(&it.file.address));
    let users: Vec<_> = users.collect();
    if users.is_empty() || users.iter().any(|it| it.info.has_lines()) {
        return None;
    }
    let names = users.iter().map(|it| it.file.name.as_str()).collect::<Vec<_>>().join(", ");
    let searched = self::searched(searched);
    Some(format!("no debug information was found of {names}: {searched}"))
}

/// Returns the path of a source file here. A file that is not where the compiler has recorded it is
/// looked for in the folder, by the last parts of its path.
#[must_use]
pub fn find_source(folder: &Path, recorded: &str) -> Option<PathBuf> {
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
#[must_use]
pub fn source(path: &str) -> Option<String> {
    let path = find_source(Path::new(""), path)?;
    let bytes = input::read(&path, SOURCE_BYTES_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
