//! Runs files and folders of vectors on all cores.
//!
//! Verdicts do not depend on the number of threads, nor does their order in the report.

use core::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::AddAssign,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

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

/// Lines that a thread takes at once.
const CHUNK_LINES: usize = 64;

/// How to run vectors.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Folder of base ELFs: `<base>.so` or `<fnv>.elf`.
    pub elfs: Option<PathBuf>,
    /// Threads to run on; all cores if not given.
    pub threads: Option<usize>,
    /// What runs programs.
    pub engine: Engine,
}

/// How far a run got.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The file that is being run.
    pub file: &'a Path,
    /// Vectors of it that are done.
    pub done: usize,
    /// Vectors of it.
    pub total: usize,
}

/// What became of every file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The files, in the order in which they were given, folders in order of names.
    pub files: Vec<FileReport>,
}

impl Report {
    /// The sums over all files, for each kind that there was, in the order of the table.
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

    /// The sums over all files.
    #[must_use]
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.files.iter().for_each(|file| total += file.tally);
        total
    }
}

/// What things are called whose kind is not known.
const UNKNOWN: &str = "unknown";

/// What became of the vectors or fixtures of a kind.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct KindReport {
    /// What the kind is called.
    pub name: &'static str,
    /// What is compared.
    pub compared: &'static str,
    /// How many passed, failed and were skipped.
    #[serde(flatten)]
    pub tally: Tally,
}

/// What became of the vectors of a file, or of the fixtures in a folder.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FileReport {
    /// The file, or the folder.
    pub path: PathBuf,
    /// How many passed, failed and were skipped.
    #[serde(flatten)]
    pub tally: Tally,
    /// Each that failed, in the file's order.
    pub failures: Vec<Failure>,
    /// How many were skipped for each reason.
    pub skips: BTreeMap<String, usize>,
    /// How many fixtures are left to vectors of the same run, which name them and say what holds
    /// today; they are counted there.
    pub judged_by_vectors: usize,
    #[serde(skip)]
    kinds: BTreeMap<&'static str, Tally>,
}

/// How many vectors passed, failed and were skipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Tally {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
}

impl Tally {
    /// Whether there was nothing to judge.
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
pub struct Failure {
    /// Its line in the file, or its place among the file's fixtures; from 1.
    pub line: usize,
    /// Its own id or name, if it has one; a fixture's path.
    pub id: Option<String>,
    /// What came out differently.
    pub differences: Vec<Difference>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        self.id.iter().try_for_each(|id| write!(f, ": {id}"))?;
        self.differences.iter().try_for_each(|difference| write!(f, "\n  {difference}"))
    }
}

/// Runs the vectors of files, and of all vector files in folders. A file that was named more than
/// once is run once.
///
/// `progress` is told about every few vectors, from any thread.
#[must_use]
pub fn run(
    paths: &[PathBuf],
    options: &Options,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Report {
    let elfs = Arc::new(Elfs::new(options.elfs.clone()));
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.unwrap_or_else(cores).max(1);
    let run = Run { elfs, threads, engine: options.engine, progress };
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
    engine: Engine,
    progress: &'a (dyn Fn(Progress<'_>) + Sync),
}

impl Run<'_> {
    fn unit(&self, unit: &Unit, named: &Named) -> FileReport {
        let path = unit.path();
        let (content, context) = match self.prepare(unit, named) {
            Ok(prepared) => prepared,
            Err(why) => return FileReport::unreadable(path, &why),
        };
        let items = content.items();
        let run = FileRun { path, items: &items, context: &context, progress: self.progress };
        let mut report = run.on_threads(self.threads);
        report.judged_by_vectors = content.judged_by_vectors;
        for file in &content.left_out {
            let why = format!("{file} beside it says what holds today: run that with it");
            report.add(Judged { line: 0, id: None, kind: UNKNOWN, verdict: Verdict::Skipped(why) });
        }
        report
    }

    fn prepare(&self, unit: &Unit, named: &Named) -> Result<(Content, Context), String> {
        let content = Content::read(unit, named).map_err(|error| error.to_string())?;
        let file = match unit {
            Unit::File(file) => file.clone(),
            Unit::Fixtures(folder, _) => folder.join("fixtures"),
        };
        let context = Context::new(&file, Arc::clone(&self.elfs));
        let context = context.map_err(|error| error.to_string())?;
        Ok((content, context.with_engine(self.engine)))
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
        let line = item.place;
        let path = item.path.as_deref().map(str::to_owned);
        let bytes = match item.bytes() {
            Ok(bytes) => bytes,
            Err(error) => {
                return Judged::unread(line, path, format_args!("cannot read it: {error}"));
            }
        };
        if path.is_some() {
            let kind = catch_unwind(|| fixture::kind_of(&bytes)).ok().flatten();
            let verdict = caught(|| fixture::judge(&bytes, self.context));
            return Judged {
                line,
                id: path,
                kind: kind.map_or(UNKNOWN, |kind| kind.name),
                verdict,
            };
        }
        let value = match read(&bytes) {
            Ok(value) => value,
            Err(why) => return Judged::unread(line, None, why),
        };
        let id = ["id", "name", "fixture"].iter().find_map(|field| value.get(field)?.as_str());
        let (kind, verdict) = match kind_of(&value) {
            Err(why) => (UNKNOWN, Verdict::Skipped(why)),
            Ok(kind) => (kind.name, caught(|| (kind.judge)(&value, self.context))),
        };
        Judged { line, id: id.map(str::to_owned), kind, verdict }
    }
}

/// Reads the JSON of a vector.
fn read(line: &[u8]) -> Result<Value, String> {
    // A value takes up to a hundred times its text. What separates values may stand in texts too,
    // but the largest vector has a thousand.
    const MARKS_MAX: usize = 1 << 16;
    let marks = line.iter().filter(|byte| b",:[{".contains(byte)).count();
    if marks > MARKS_MAX {
        return Err(format!("a vector of more than {MARKS_MAX} values"));
    }
    serde_json::from_slice(line).map_err(|error| format!("not JSON: {error}"))
}

/// The verdict, whatever happens: a panic is a bug that one vector found, and the others are still
/// worth running.
fn caught(judge: impl FnOnce() -> Result<Verdict, BadVector>) -> Verdict {
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
    fn unread(line: usize, id: Option<String>, why: impl fmt::Display) -> Self {
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
        report.add(Judged::unread(0, None, format_args!("cannot read the file: {why}")));
        report
    }

    fn add(&mut self, judged: Judged) {
        self.tally.count(&judged.verdict);
        self.kinds.entry(judged.kind).or_default().count(&judged.verdict);
        match judged.verdict {
            Verdict::Passed => {}
            Verdict::Failed(differences) => {
                self.failures.push(Failure { line: judged.line, id: judged.id, differences });
            }
            Verdict::Skipped(why) => *self.skips.entry(why).or_default() += 1,
        }
    }
}
