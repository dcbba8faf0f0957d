//! Runs files and folders of vectors on all cores.
//!
//! Verdicts do not depend on the number of threads, nor does their order in the report.

use core::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering},
};
use std::{
    collections::BTreeMap,
    fs, io,
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
    content::{Content, Item, is_content},
    context::Elfs,
    fixture,
    kinds::kind_of,
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
    /// The sums over all files.
    #[must_use]
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.files.iter().for_each(|file| total += file.tally);
        total
    }
}

/// What became of the vectors of a file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FileReport {
    /// The file.
    pub path: PathBuf,
    /// How many passed, failed and were skipped.
    #[serde(flatten)]
    pub tally: Tally,
    /// Each that failed, in the file's order.
    pub failures: Vec<Failure>,
    /// How many were skipped for each reason.
    pub skips: BTreeMap<String, usize>,
}

/// How many vectors passed, failed and were skipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Tally {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
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

/// Runs the vectors of files, and of all vector files in folders.
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
    let mut report = Report::default();
    for path in paths {
        match vector_files(path) {
            Ok(files) => report.files.extend(
                files.iter().map(|file| run_file(file, &elfs, threads, options.engine, progress)),
            ),
            Err(error) => report.files.push(FileReport::unreadable(path, &error.to_string())),
        }
    }
    report
}

/// The vector files at a path: itself if it is a file, those in it if it is a folder.
fn vector_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut files = Vec::new();
    for entry in entries {
        let kind = entry.file_type()?;
        if kind.is_dir() {
            files.extend(vector_files(&entry.path())?);
        } else if is_content(&entry.path()) {
            files.push(entry.path());
        }
    }
    Ok(files)
}

fn run_file(
    path: &Path,
    elfs: &Arc<Elfs>,
    threads: usize,
    engine: Engine,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> FileReport {
    let prepared = Content::read(path).map_err(|error| error.to_string()).and_then(|content| {
        let context = Context::new(path, Arc::clone(elfs)).map_err(|error| error.to_string())?;
        Ok((content, context.with_engine(engine)))
    });
    match prepared {
        Ok((content, context)) => {
            let run = FileRun { path, items: &content.items(), context: &context, progress };
            run.on_threads(threads)
        }
        Err(why) => FileReport::unreadable(path, &why),
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
        if let Some(path) = item.path {
            let verdict = caught(|| fixture::judge(item.bytes, self.context));
            return Judged { line, id: Some(path.to_owned()), verdict };
        }
        let value = match serde_json::from_slice::<Value>(item.bytes) {
            Ok(value) => value,
            Err(error) => {
                let verdict = Verdict::Failed(vec![bad(format_args!("not JSON: {error}"))]);
                return Judged { line, id: None, verdict };
            }
        };
        let id = ["id", "name", "fixture"].iter().find_map(|field| value.get(field)?.as_str());
        let verdict = match kind_of(&value) {
            Err(why) => Verdict::Skipped(why),
            Ok(kind) => caught(|| (kind.judge)(&value, self.context)),
        };
        Judged { line, id: id.map(str::to_owned), verdict }
    }
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
    verdict: Verdict,
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
        let verdict = Verdict::Failed(vec![bad(format_args!("cannot read the file: {why}"))]);
        report.add(Judged { line: 0, id: None, verdict });
        report
    }

    fn add(&mut self, judged: Judged) {
        match judged.verdict {
            Verdict::Passed => self.tally.passed += 1,
            Verdict::Failed(differences) => {
                self.tally.failed += 1;
                self.failures.push(Failure { line: judged.line, id: judged.id, differences });
            }
            Verdict::Skipped(why) => {
                self.tally.skipped += 1;
                *self.skips.entry(why).or_default() += 1;
            }
        }
    }
}
