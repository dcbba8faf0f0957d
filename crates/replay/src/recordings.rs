//! Lists recorded transactions without running them, and chooses the one that is asked for.

use core::cmp::Reverse;
use selkie_isa::failure::{Context as _, Failure, OrFailure as _, Result};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use selkie::{Release, Replay};
use selkie_isa::{input, plain};
use serde_json::{Value, json};

use crate::{
    ReplayFile, Timeline,
    files::{self, Fetch},
};

/// Where `selkie test` and other commands record, within the target folder.
pub const RECORDINGS: &str = "selkie-recordings";
/// Where the test library writes transactions that tests fail with, within the target folder.
pub const FAILURES: &str = "selkie-replays";
/// The recordings of `selkie test`, within the folder of recordings.
pub const TEST: &str = "test";
/// The longest mark of a test that failed.
const MARK_BYTES_MAX: u64 = 64 << 10;
/// The transactions that are listed before a session.
const LISTED_MAX: usize = 20;
/// The tests that a message names.
const NAMES_MAX: usize = 20;

/// A recorded transaction.
#[derive(Clone, Debug)]
pub struct Recording {
    path: PathBuf,
    /// Which transaction of the file it is, from 0.
    index: usize,
    suite: String,
    /// The name of the test, or another one.
    test: String,
    /// Which transaction of the test it is, from 1.
    number: Option<u64>,
    /// `Ok`, or the error.
    result: String,
    is_failure: bool,
    units: Option<u64>,
    /// Whether the test failed with it.
    fails_test: bool,
}

impl Recording {
    fn new(path: &Path, index: usize, replay: &Replay) -> Self {
        let recorded = replay.recorded();
        Self {
            path: path.to_owned(),
            index,
            suite: replay.suite().unwrap_or_default().to_owned(),
            test: replay.id().to_owned(),
            number: replay.number(),
            result: recorded.result.to_owned(),
            is_failure: recorded.is_failure(),
            units: recorded.compute_units,
            fails_test: false,
        }
    }

    /// Whether it is of a test: of the one with this name if there is one.
    fn fits(&self, name: &str, how: Fit) -> bool {
        let whole = || format!("{}::{}", self.suite, self.test);
        match how {
            Fit::Whole => self.test == name || whole() == name,
            Fit::Last => self.test.strip_suffix(name).is_some_and(|it| it.ends_with("::")),
            Fit::Part => self.test.contains(name),
        }
    }

    fn json(&self, number: usize) -> Value {
        json!({
            "transaction": number,
            "suite": self.suite,
            "test": self.test,
            "number": self.number,
            "result": self.result,
            "compute_units": self.units,
            "fails_test": self.fails_test,
            "file": self.path.display().to_string(),
            "index": self.index,
        })
    }
}

/// How the name of a test is compared: the first way that fits any counts.
#[derive(Clone, Copy, Debug)]
enum Fit {
    Whole,
    Last,
    Part,
}

/// Recorded transactions, in the order in which tests sent them, and of tests by name.
#[derive(Default)]
pub struct Recordings {
    list: Vec<Recording>,
    /// The file that was opened last.
    opened: Option<(PathBuf, ReplayFile)>,
    node: Option<Fetch>,
    /// The release that all follow, instead of that which each was recorded under.
    release: Option<Release>,
}

impl core::fmt::Debug for Recordings {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(&self.list).finish()
    }
}

impl Recordings {
    /// Reads files and folders of replays, or takes transactions of a node by signature.
    pub fn open(paths: &[PathBuf], node: Option<Fetch>) -> Result<Self> {
        let mut all = Self { node, ..Self::default() };
        for path in paths {
            let start = all.list.len();
            for file in files::files(core::slice::from_ref(path))? {
                let opened = files::open(&file, all.node.as_ref())?;
                let replays = opened.replays().iter().enumerate();
                all.list.extend(replays.map(|(index, it)| Recording::new(&file, index, it)));
                all.opened = Some((file, opened));
            }
            if path.is_dir() {
                let added = all.list.get_mut(start..).unwrap_or_default();
                mark_failed(path, added);
                let key = |it: &Recording| {
                    (it.suite.clone(), it.test.clone(), it.number, it.path.clone(), it.index)
                };
                match path.file_name().is_some_and(|it| it == FAILURES) {
                    // They are of any runs: the newest is what a test did last.
                    true => added.sort_by_cached_key(|it| Reverse(changed(&it.path))),
                    false => added.sort_by_cached_key(key),
                }
            }
        }
        Ok(all)
    }

    /// Takes the transactions of a file that is not written: `path` is what they are shown as.
    pub fn of(path: &Path, file: ReplayFile) -> Self {
        let replays = file.replays().iter().enumerate();
        let list = replays.map(|(index, it)| Recording::new(path, index, it)).collect();
        Self { list, opened: Some((path.to_owned(), file)), ..Self::default() }
    }

    /// Sets the release of agave that all transactions follow, instead of that which each was recorded under.
    #[must_use]
    pub fn with_release(self, release: Release) -> Self {
        let opened = self.opened.map(|(path, file)| (path, file.with_release(release)));
        Self { opened, release: Some(release), ..self }
    }

    /// Returns how many there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "what is empty is refused")]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Runs a transaction once, and returns its timeline.
    pub fn timeline(&mut self, number: usize) -> Result<Timeline> {
        let recording = self
            .list
            .get(number)
            .ok_or_else(|| Failure::new(format!("there is no transaction {number}")))?;
        let is_open = self.opened.as_ref().is_some_and(|(path, _)| *path == recording.path);
        if !is_open {
            let file = files::open(&recording.path, self.node.as_ref())?;
            let file = match self.release {
                Some(release) => file.with_release(release),
                None => file,
            };
            self.opened = Some((recording.path.clone(), file));
        }
        let (path, file) = self.opened.as_ref().context("the file is open")?;
        file.timeline(recording.index).with_context(|| path.display().to_string())
    }

    /// Returns the numbers of the transactions of the tests that a name means: of the test with this
    /// name, else of those whose last part it is, else of those whose name contains it.
    fn of_test(&self, name: &str) -> Vec<usize> {
        let fitting = |how: Fit| {
            let fitting = self.list.iter().enumerate().filter(|(_, it)| it.fits(name, how));
            fitting.map(|(number, _)| number).collect::<Vec<_>>()
        };
        let ways = [Fit::Whole, Fit::Last, Fit::Part].into_iter().map(fitting);
        ways.into_iter().find(|it| !it.is_empty()).unwrap_or_default()
    }

    /// Returns the number of the transaction that is asked for. Without a number it is the one that a
    /// test failed with, else the first that failed, else the first.
    pub fn choose(&self, number: Option<usize>, test: Option<&str>) -> Result<usize> {
        let count = self.list.len();
        if let Some(number) = number.filter(|it| *it < count) {
            return Ok(number);
        }
        let wanted = test.map_or_else(|| (0..count).collect(), |test| self.of_test(test));
        let first = |is_it: fn(&Recording) -> bool| {
            wanted.iter().copied().find(|it| self.list.get(*it).is_some_and(is_it))
        };
        let chosen = first(|it| it.fails_test).or_else(|| first(|it| it.is_failure));
        match chosen.or_else(|| wanted.first().copied()) {
            Some(chosen) if number.is_none() => Ok(chosen),
            _ => Err(self.missing(number, test)),
        }
    }

    /// Says why there is none of the transactions that are asked for.
    fn missing(&self, number: Option<usize>, test: Option<&str>) -> Failure {
        let (why, help) = match (number, test) {
            _ if self.list.is_empty() => {
                (Failure::new("there are no transactions"), files::HELP.to_owned())
            }
            (Some(wanted), _) => {
                let count = self.list.len();
                let help = "`selkie debug PATH --list` lists them".to_owned();
                (
                    Failure::new(format!("there is no transaction {wanted}, but {count}, from 0")),
                    help,
                )
            }
            (None, test) => {
                let known: BTreeSet<&str> = self.list.iter().map(|it| it.test.as_str()).collect();
                let known: Vec<&str> = known.into_iter().take(NAMES_MAX).collect();
                let help = format!("the tests are {}", known.join(", "));
                (
                    Failure::new(format!(
                        "no transaction is of a test named like `{}`",
                        test.unwrap_or_default()
                    )),
                    help,
                )
            }
        };
        why.with_help(help)
    }

    /// Renders the transactions around the chosen one, if there are several, with a mark at it.
    pub fn around(&self, chosen: usize) -> Vec<String> {
        let count = self.list.len();
        if count < 2 {
            return Vec::new();
        }
        let first = chosen.saturating_sub(LISTED_MAX / 2).min(count.saturating_sub(LISTED_MAX));
        let heading = format!("{count} transactions: --test NAME or --transaction N takes another");
        let lines = self.lines(first..count.min(first.saturating_add(LISTED_MAX)), Some(chosen));
        let rest = count.checked_sub(LISTED_MAX).filter(|it| *it > 0);
        let rest = rest.map(|rest| format!("       and {rest} more: --list shows all"));
        core::iter::once(heading).chain(lines).chain(rest).collect()
    }

    fn lines(&self, numbers: core::ops::Range<usize>, chosen: Option<usize>) -> Vec<String> {
        let shown = self.list.get(numbers.clone()).unwrap_or_default();
        let suites: BTreeSet<&str> = shown.iter().map(|it| it.suite.as_str()).collect();
        let name = |it: &Recording| {
            let test = plain::line(&it.test);
            let test = match suites.len() {
                0 | 1 => test.to_string(),
                _ => format!("{}::{test}", plain::line(&it.suite)),
            };
            it.number.map_or(test.clone(), |number| format!("{test} #{number}"))
        };
        let result = |it: &Recording| match it.result.as_str() {
            "" => String::new(),
            "Ok" => "ok".to_owned(),
            error => plain::line(error).to_string(),
        };
        let rows: Vec<_> = shown.iter().map(|it| (name(it), result(it), it)).collect();
        let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
        let names = width(&mut rows.iter().map(|(name, ..)| name.chars().count()));
        let results = width(&mut rows.iter().map(|(_, result, _)| result.chars().count()));
        let line = |(number, (name, result, it)): (usize, &(String, String, &Recording))| {
            let mark = if chosen == Some(number) { '>' } else { ' ' };
            let units = it.units.map_or(String::new(), |units| format!("{units} CU"));
            let fails = if it.fails_test { "  the test failed with it" } else { "" };
            let line = format!(
                "{mark}{number:>4}  {name:<names$}  {result:<results$}  {units:>10}{fails}"
            );
            line.trim_end().to_owned()
        };
        numbers.zip(&rows).map(line).collect()
    }

    /// Returns only the transactions of the tests that a name means.
    ///
    /// # Errors
    /// If there are none.
    pub fn of_tests(mut self, test: &str) -> Result<Self> {
        let wanted = self.of_test(test);
        if wanted.is_empty() {
            return Err(self.missing(None, Some(test)));
        }
        self.list = wanted.iter().filter_map(|it| self.list.get(*it).cloned()).collect();
        Ok(self)
    }

    /// Returns the transactions as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let list = self.list.iter().enumerate().map(|(number, it)| it.json(number));
        Value::Array(list.collect())
    }

    /// Returns a line for each transaction, and whether it failed.
    #[must_use]
    pub fn rows(&self) -> Vec<(String, bool)> {
        let lines = self.lines(0..self.list.len(), None).into_iter();
        lines.zip(self.list.iter().map(|it| it.is_failure)).collect()
    }

    /// Returns the suites and names of the tests that are marked as failed.
    pub fn failed_tests(&self) -> BTreeSet<(String, String)> {
        let failed = self.list.iter().filter(|it| it.fails_test);
        failed.map(|it| (it.suite.clone(), it.test.clone())).collect()
    }

    /// Returns the number of the transaction that a test failed with: the marked one, else its last one
    /// that failed, else its last.
    pub fn culprit(&self, suite: &str, test: &str) -> Option<usize> {
        let is_of = |it: &Recording| {
            it.test == test && (it.suite == suite || it.suite.is_empty() || suite.is_empty())
        };
        let of_test = self.list.iter().enumerate().filter(|(_, it)| is_of(it));
        let last = of_test.max_by_key(|(_, it)| (it.fails_test, it.is_failure));
        last.map(|(number, _)| number)
    }

    /// Returns which transaction of its test one is, from 1, and how many the test has.
    pub fn place_in_test(&self, number: usize) -> (Option<u64>, usize) {
        let Some(it) = self.list.get(number) else { return (None, 0) };
        let same =
            self.list.iter().filter(|other| other.suite == it.suite && other.test == it.test);
        (it.number, same.count())
    }

    /// Returns names by which the test of a transaction may be told from others, short ones first.
    pub fn names_of(&self, number: usize) -> Vec<String> {
        let Some(it) = self.list.get(number) else { return Vec::new() };
        let last = it.test.rsplit("::").next().unwrap_or_default().to_owned();
        let names = [last, it.test.clone(), format!("{}::{}", it.suite, it.test)];
        // What a shell would take apart.
        let is_plain = |it: &String| {
            !it.is_empty() && it.chars().all(|it| it.is_alphanumeric() || "_:-./".contains(it))
        };
        names.into_iter().filter(is_plain).collect()
    }

    /// Whether a transaction is in a file, or in one of a folder.
    pub fn is_in(&self, number: usize, path: &Path) -> bool {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.list.get(number).is_some_and(|it| it.path.starts_with(path))
    }

    /// Returns the file of a transaction as it can be given to a command, from the current folder.
    pub fn file_of(&self, number: usize) -> String {
        let here = std::env::current_dir().unwrap_or_default();
        let path = self.list.get(number).map(|it| it.path.clone()).unwrap_or_default();
        path.strip_prefix(here).unwrap_or(&path).display().to_string()
    }
}

/// Marks the recordings that tests failed with, as the test library has written it to the folder.
fn mark_failed(folder: &Path, recordings: &mut [Recording]) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let marks = entries.map(|it| it.path());
    let marks = marks.filter(|path| path.extension().is_some_and(|it| it == "failed"));
    let replays: BTreeSet<String> = marks
        .filter_map(|mark| {
            let mark: Value =
                serde_json::from_slice(&input::read(&mark, MARK_BYTES_MAX).ok()?).ok()?;
            Some(mark.get("replay")?.as_str()?.to_owned())
        })
        .collect();
    for it in recordings {
        let name = it.path.file_name().unwrap_or_default();
        it.fails_test = name.to_str().is_some_and(|name| replays.contains(name));
    }
}

/// Returns where the newest failure of a test is: in the recordings of `selkie test`, or among the
/// transactions that the test library has kept; of the target folder nearest to `folder` that has some. With
/// the name of a test, only places count that have one of its transactions.
pub fn newest(folder: &Path, test: Option<&str>) -> Result<PathBuf> {
    let mut searched = Vec::new();
    for target in target_folders_of(folder) {
        let recordings = target.join(RECORDINGS).join(TEST);
        let kept = target.join(FAILURES);
        let marked = newest_file(&recordings, "failed").map(|(time, _)| (time, recordings.clone()));
        let found = match test {
            None => marked.into_iter().chain(newest_file(&kept, "replay")).max(),
            Some(test) => {
                // Also a test that passed can be debugged.
                let recorded = marked.or_else(|| newest_file(&recordings, "replay"));
                let recorded = recorded.map(|(time, _)| (time, recordings.clone()));
                let kept = newest_file(&kept, "replay").map(|(time, _)| (time, kept.clone()));
                recorded.into_iter().chain(kept).filter(|(_, folder)| has_test(folder, test)).max()
            }
        };
        if let Some((_, newest)) = found {
            return Ok(newest);
        }
        searched.extend([recordings, kept]);
    }
    if let Some(test) = test {
        let why = Failure::new(format!("no transaction of a test named like `{test}` is recorded"));
        return Err(why).advise(format!("`selkie test {test}` records it"));
    }
    let folders: Vec<String> = searched.iter().map(|it| it.display().to_string()).collect();
    let why = Failure::new(format!("no test has failed: nothing is in {}", folders.join(" or ")));
    Err(why).advise("name a replay, a folder of them, or run `selkie test` first")
}

fn has_test(folder: &Path, test: &str) -> bool {
    let all = Recordings::open(&[folder.to_owned()], None);
    all.is_ok_and(|all| !all.of_test(test).is_empty())
}

/// Returns the newest file of a folder with this extension.
fn newest_file(folder: &Path, extension: &str) -> Option<(SystemTime, PathBuf)> {
    dated_files(folder, extension).max()
}

/// Returns when a file was written last; the beginning of time if that cannot be told.
fn changed(path: &Path) -> SystemTime {
    path.metadata().and_then(|it| it.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn dated_files(folder: &Path, extension: &str) -> impl Iterator<Item = (SystemTime, PathBuf)> {
    let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path());
    let paths = paths.filter(move |path| path.extension().is_some_and(|it| it == extension));
    paths.map(|path| (changed(&path), path))
}

/// Returns cargo's target folders, as they can be given to a command in the current folder.
pub fn target_folders() -> Vec<PathBuf> {
    target_folders_of(Path::new(""))
}

/// Returns cargo's target folders for who is in a folder, as they can be given to a command in the current
/// one.
fn target_folders_of(folder: &Path) -> Vec<PathBuf> {
    let here = std::env::current_dir().unwrap_or_default();
    let folders = selkie_inspect::target_folders(&here.join(folder)).into_iter();
    folders.map(|it| it.strip_prefix(&here).map(Path::to_owned).unwrap_or(it)).collect()
}
