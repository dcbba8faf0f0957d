//! Judging of files and folders of vectors on all cores.
//!
//! Neither verdicts nor their order in the report depend on the number of threads.

use core::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    ops::AddAssign,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use selkie_svm::Release;
use serde::Serialize;
use serde_json::Value;

use crate::{
    BadVector, Context, Difference, Engine, Verdict,
    content::{Content, Item},
    context::Elfs,
    fixture,
    kinds::{compared, kind_of},
    plan::{Named, Unit, units},
};

/// The number of lines that a thread takes at once.
const CHUNK_LINES: usize = 64;

/// The options of a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder of ELF files: `<base>.so` or `<fnv>.elf`.
    pub elfs: Option<PathBuf>,
    /// The number of threads; `None` for one per core.
    pub threads: Option<usize>,
    /// The engine that runs programs.
    pub engine: Engine,
    /// The release of agave that all follow, instead of that which each names or means.
    pub release: Option<Release>,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The current file.
    pub file: &'a Path,
    /// The number of its vectors judged so far.
    pub done: usize,
    /// The number of its vectors.
    pub total: usize,
}

/// The report of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The files in the order in which they were given; those of a folder in the order of names.
    pub files: Vec<FileReport>,
}

impl Report {
    /// Returns the totals of each kind that occurred, in the order of the tables.
    #[must_use]
    pub fn kinds(&self) -> Vec<KindReport> {
        let sum = |name| {
            let mut tally = Tally::default();
            let of_kind = self.files.iter().filter_map(|file| file.kinds.get(name));
            of_kind.for_each(|it| tally += *it);
            tally
        };
        let all = compared().chain([(UNKNOWN, "")]);
        let kinds = all.map(|(name, compared)| KindReport { name, compared, tally: sum(name) });
        kinds.filter(|kind| !kind.tally.is_empty()).collect()
    }

    /// Returns the totals over all files.
    #[must_use]
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.files.iter().for_each(|file| total += file.tally);
        total
    }
}

/// The name of the kind of vectors whose kind is unknown.
const UNKNOWN: &str = "unknown";

/// The totals of a kind of vectors or fixtures.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct KindReport {
    /// The name of the kind.
    pub name: &'static str,
    /// The fields that are compared.
    pub compared: &'static str,
    /// The numbers of passed, failed and skipped vectors.
    #[serde(flatten)]
    pub tally: Tally,
}

/// The report of a file of vectors, or of a folder of fixtures.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FileReport {
    /// The path of the file or folder.
    pub path: PathBuf,
    /// The numbers of passed, failed and skipped vectors.
    #[serde(flatten)]
    pub tally: Tally,
    /// The failed vectors, in the order of the file.
    pub failures: Vec<FailedVector>,
    /// The number of skipped vectors by reason.
    pub skips: BTreeMap<String, usize>,
    /// The number of fixtures that vectors of the same run name and judge. They are counted in the
    /// reports of those vectors.
    pub judged_by_vectors: usize,
    #[serde(skip)]
    kinds: BTreeMap<&'static str, Tally>,
}

/// The numbers of passed, failed and skipped vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Tally {
    /// The number of vectors whose expectations all hold.
    pub passed: usize,
    /// The number of vectors with a difference, or that are unreadable.
    pub failed: usize,
    /// The number of vectors that were not run.
    pub skipped: usize,
}

impl Tally {
    /// Returns whether all numbers are 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn count(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed(_) => self.failed += 1,
            Verdict::Skipped(_) => self.skipped += 1,
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// A vector that failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FailedVector {
    /// The line in the file, or the position of a fixture; from 1.
    pub line: usize,
    /// The id or name of the vector, if it has one, or the path of the fixture.
    pub id: Option<String>,
    /// The differences from the expectation.
    pub differences: Vec<Difference>,
}

impl fmt::Display for FailedVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        self.id.iter().try_for_each(|id| write!(f, ": {id}"))?;
        self.differences.iter().try_for_each(|difference| write!(f, "\n  {difference}"))
    }
}

/// Judges the vectors of files, and of all vector files in folders. A file that is given more than
/// once is judged once.
///
/// `progress` is called after every few vectors, from any thread.
#[must_use]
pub fn run(
    paths: &[PathBuf],
    options: &Options,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Report {
    let elfs = Arc::new(Elfs::new(options.elfs.clone()));
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.unwrap_or_else(cores).max(1);
    let run = Run { elfs, threads, options, progress };
    let mut report = Report::default();
    let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
    for path in paths {
        match units(path) {
            Ok(units) => all.extend(units),
            Err(error) => report.files.push(FileReport::unreadable(path, &error.to_string())),
        }
    }
    all.retain(|unit| seen.insert(unit.path().canonicalize().ok()));
    let named = Named::new(&all);
    report.files.extend(all.iter().map(|unit| run.unit(unit, &named)));
    report
}

struct Run<'a> {
    elfs: Arc<Elfs>,
    threads: usize,
    options: &'a Options,
    progress: &'a (dyn Fn(Progress<'_>) + Sync),
}

impl Run<'_> {
    fn unit(&self, unit: &Unit, named: &Named) -> FileReport {
        let path = unit.path();
        let (content, context) = match self.prepare(unit, named) {
            Ok(prepared) => prepared,
            Err(why) => return FileReport::unreadable(path, &why.to_string()),
        };
        let items = content.items();
        let run = FileRun { path, items: &items, context: &context, progress: self.progress };
        let mut report = run.on_threads(self.threads);
        report.judged_by_vectors = content.judged_by_vectors;
        for file in &content.left_out {
            let why = format!("{file} beside it states its current result: run both together");
            report.add(Judged { line: 0, id: None, kind: UNKNOWN, verdict: Verdict::Skipped(why) });
        }
        report
    }

    fn prepare(&self, unit: &Unit, named: &Named) -> Result<(Content, Context), Unprepared> {
        let content = Content::read(unit, named).map_err(Unprepared::Content)?;
        let file = match unit {
            Unit::File(file) => file.clone(),
            Unit::Fixtures(folder, _) => folder.join("fixtures"),
        };
        let context = Context::new(&file, Arc::clone(&self.elfs)).map_err(Unprepared::Context)?;
        Ok((content, context.with_engine(self.options.engine).with_release(self.options.release)))
    }
}

/// The run of one file.
struct FileRun<'a> {
    path: &'a Path,
    items: &'a [Item<'a>],
    context: &'a Context,
    progress: &'a (dyn Fn(Progress<'_>) + Sync),
}

impl FileRun<'_> {
    fn on_threads(&self, threads: usize) -> FileReport {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            let mut judged = Vec::new();
            let chunks: Vec<_> = self.items.chunks(CHUNK_LINES).collect();
            while let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
                judged.extend(chunk.iter().map(|item| self.judge(item)));
                let done = done.fetch_add(chunk.len(), Ordering::Relaxed) + chunk.len();
                (self.progress)(Progress { file: self.path, done, total: self.items.len() });
            }
            judged
        };
        let mut judged = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let results = workers.into_iter().map(|it| it.join().expect("`judge` does not panic"));
            results.flatten().collect::<Vec<_>>()
        });
        judged.sort_by_key(|judged| judged.line);
        let mut report = FileReport { path: self.path.to_owned(), ..FileReport::default() };
        judged.into_iter().for_each(|judged| report.add(judged));
        report
    }

    fn judge(&self, item: &Item<'_>) -> Judged {
        let line = item.number;
        let path = item.path.as_deref().map(str::to_owned);
        let bytes = match item.bytes() {
            Ok(bytes) => bytes,
            Err(error) => {
                return Judged::unreadable(line, path, format_args!("cannot read it: {error}"));
            }
        };
        if path.is_some() {
            let kind = catch_unwind(|| fixture::kind_of(&bytes)).ok().flatten();
            let verdict = catch_failures(|| fixture::judge(&bytes, self.context));
            return Judged {
                line,
                id: path,
                kind: kind.map_or(UNKNOWN, |kind| kind.name),
                verdict,
            };
        }
        let value = match read(&bytes) {
            Ok(value) => value,
            Err(why) => return Judged::unreadable(line, None, why),
        };
        let id = ["id", "name", "fixture"].iter().find_map(|field| value.get(field)?.as_str());
        let (kind, verdict) = match kind_of(&value) {
            Err(why) => (UNKNOWN, Verdict::Skipped(why.to_string())),
            Ok(kind) => (kind.name, catch_failures(|| (kind.judge)(&value, self.context))),
        };
        Judged { line, id: id.map(str::to_owned), kind, verdict }
    }
}

/// Reads the JSON of a vector.
fn read(line: &[u8]) -> Result<Value, Unread> {
    let separators = line.iter().filter(|byte| b",:[{".contains(byte)).count();
    if separators > SEPARATORS_MAX {
        return Err(Unread::TooManyValues);
    }
    serde_json::from_slice(line).map_err(Unread::Json)
}

/// The most separators in a vector. A parsed value takes up to a hundred times the memory of its text.
/// Separators inside of strings count too, but the largest vector has a thousand.
const SEPARATORS_MAX: usize = 1 << 16;

/// Why a line was not read.
enum Unread {
    TooManyValues,
    Json(serde_json::Error),
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyValues => write!(f, "a vector of more than {SEPARATORS_MAX} values"),
            Self::Json(error) => write!(f, "not JSON: {error}"),
        }
    }
}

/// Why no vector of a file can be judged: its content, or what stands beside it, is unreadable.
enum Unprepared {
    Content(io::Error),
    Context(BadVector),
}

impl fmt::Display for Unprepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Content(error) => error.fmt(f),
            Self::Context(error) => error.fmt(f),
        }
    }
}

/// Returns the verdict of `judge`; an error or a panic is a failure. The other vectors still run.
fn catch_failures(judge: impl FnOnce() -> Result<Verdict, BadVector>) -> Verdict {
    match catch_unwind(AssertUnwindSafe(judge)) {
        Ok(Ok(verdict)) => verdict,
        Ok(Err(error)) => Verdict::Failed(vec![bad(&error)]),
        Err(_) => Verdict::Failed(vec![bad("the engine panicked")]),
    }
}

struct Judged {
    line: usize,
    id: Option<String>,
    kind: &'static str,
    verdict: Verdict,
}

impl Judged {
    fn unreadable(line: usize, id: Option<String>, why: impl fmt::Display) -> Self {
        Self { line, id, kind: UNKNOWN, verdict: Verdict::Failed(vec![bad(why)]) }
    }
}

fn bad(why: impl fmt::Display) -> Difference {
    Difference {
        field: "vector".to_owned(),
        expected: "to be run".to_owned(),
        got: why.to_string(),
    }
}

impl FileReport {
    fn unreadable(path: &Path, why: &str) -> Self {
        let mut report = Self { path: path.to_owned(), ..Self::default() };
        report.add(Judged::unreadable(0, None, format_args!("cannot read the file: {why}")));
        report
    }

    fn add(&mut self, judged: Judged) {
        self.tally.count(&judged.verdict);
        self.kinds.entry(judged.kind).or_default().count(&judged.verdict);
        match judged.verdict {
            Verdict::Passed => {}
            Verdict::Failed(differences) => {
                self.failures.push(FailedVector { line: judged.line, id: judged.id, differences });
            }
            Verdict::Skipped(why) => *self.skips.entry(why).or_default() += 1,
        }
    }
}
