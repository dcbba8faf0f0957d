//! Opens the transaction that is debugged.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow};
use selkie_debug::{History, PathMap, Session, StartAt};
use selkie_inspect::is_library;
use selkie_isa::{input, plain};
use selkie_replay::Timeline;

use crate::{replays, ui::Advise as _};

/// How replays come to be.
const HELP: &str =
    "record one with `selkie run PROGRAM --save-replay FILE`, or with SELKIE_RECORD=DIR cargo test";
/// The longest source file that is read.
const SOURCE_BYTES_MAX: u64 = 64 << 20;

/// The names that are listed.
const NAMES_MAX: usize = 20;

/// The transactions that a session could be about.
pub(crate) struct Listing {
    /// The names of the tests that made them, or other names.
    names: Vec<String>,
    chosen: usize,
    /// What to do about programs without lines, if all of the user's are.
    pub(crate) without_lines: Option<String>,
}

impl Listing {
    /// Renders the transactions, if there are several: a line for each, with a mark at the chosen one.
    pub(crate) fn lines(&self) -> Vec<String> {
        let count = self.names.len();
        if count < 2 {
            return Vec::new();
        }
        let first = self.chosen.saturating_sub(NAMES_MAX / 2).min(count.saturating_sub(NAMES_MAX));
        let shown = self.names.iter().enumerate().skip(first).take(NAMES_MAX);
        let line = |(number, name): (usize, &String)| {
            let mark = if number == self.chosen { '>' } else { ' ' };
            format!("{mark}{number:>4}  {}", plain::line(name))
        };
        let heading = format!("{count} transactions: --test NAME or --transaction N takes another");
        let rest = count.checked_sub(NAMES_MAX).filter(|it| *it > 0);
        let rest = rest.map(|rest| format!("       and {rest} more"));
        core::iter::once(heading).chain(shown.map(line)).chain(rest).collect()
    }
}

/// What is debugged.
pub(crate) struct Debuggee<'a> {
    /// A replay file, a folder of recordings, or a transaction's signature.
    pub(crate) path: &'a Path,
    /// Where transactions are taken from by signature.
    pub(crate) url: Option<&'a str>,
    /// The number of the transaction; `None` for the first one that failed.
    pub(crate) transaction: Option<usize>,
    /// A part of the name of the test that made the transaction.
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
        let (mut session, listing) = self.open_listed(folder)?;
        listing.without_lines.into_iter().for_each(|it| session.tell(format!("warning: {it}")));
        Ok(session)
    }

    /// Opens the session, and lists the transactions that there are.
    pub(crate) fn open_listed(self, folder: &Path) -> Result<(Session, Listing)> {
        let (timeline, mut listing) = self.timeline()?;
        let mut files = replays::debug_files(self.symbols, folder)?;
        files.add_named(timeline.symbols());
        let paths = PathMap { rules: self.source_map };
        let mut session = Session::new(History::new(timeline, &files), paths);
        session.step_into_libraries(self.steps_into_libraries);
        listing.without_lines = without_lines(&session, files.searched());
        session.begin(self.start_at);
        Ok((session, listing))
    }

    /// Returns the first one that failed of the transactions that are asked for, or else the first one.
    fn timeline(&self) -> Result<(Timeline, Listing)> {
        let (mut chosen, mut names) = (None, Vec::new());
        let mut is_failure = false;
        for path in self.files()? {
            let file = replays::open(&path, self.url)?;
            for (index, fixture) in file.fixtures().iter().enumerate() {
                let number = names.len();
                names.push(fixture.id().to_owned());
                if is_failure || !self.is_wanted(number, fixture.id()) {
                    continue;
                }
                let timeline = file.timeline(index);
                let timeline = timeline.with_context(|| format!("{}", path.display()))?;
                is_failure = timeline.receipt().result.is_err();
                if is_failure || chosen.is_none() {
                    chosen = Some((number, timeline));
                }
            }
        }
        match chosen {
            Some((chosen, timeline)) => {
                Ok((timeline, Listing { names, chosen, without_lines: None }))
            }
            None => Err(self.missing(&names)),
        }
    }

    fn is_wanted(&self, number: usize, name: &str) -> bool {
        self.transaction.is_none_or(|wanted| wanted == number)
            && self.test.is_none_or(|wanted| name.contains(wanted))
    }

    /// Says why there is none of the transactions that are asked for.
    fn missing(&self, names: &[String]) -> anyhow::Error {
        let count = names.len();
        let why = match (self.transaction, self.test) {
            _ if count == 0 => anyhow!("there are no transactions in {}", self.path.display()),
            (Some(wanted), None) => {
                anyhow!("there is no transaction {wanted}, but {count}, from 0")
            }
            (_, Some(test)) => {
                let known: BTreeSet<&str> = names.iter().map(String::as_str).collect();
                let known: Vec<&str> = known.into_iter().take(NAMES_MAX).collect();
                let help = format!("the tests are {}", known.join(", "));
                let why = anyhow!("no transaction is of a test named like `{test}`");
                return Err::<(), _>(why).advise(help).expect_err("it is an error");
            }
            (None, None) => anyhow!("there are no transactions in {}", self.path.display()),
        };
        Err::<(), _>(why).advise(HELP).expect_err("it is an error")
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
    let searched = replays::searched(searched);
    Some(format!("no debug information was found of {names}: {searched}"))
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
