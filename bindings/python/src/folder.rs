//! Folders of items and of results, by the rules of `selkie batch run`: see `selkie_batch::folder`.

use std::{num::NonZeroUsize, path::PathBuf};

use pyo3::{exceptions::PyValueError, prelude::*};
use selkie::Pubkey;
use selkie_batch::{
    RunOptions,
    folder::{self, Job, Total},
};
use selkie_isa::failure::Failure;

use crate::{
    batch::{Base, options},
    errors::{SelkieError, detached},
};

/// Files that replace programs, by the addresses of these.
type ReplacedPrograms = Vec<(String, PathBuf)>;

/// Reads contents from Parquet files: a file, or those of a folder. Without them, the base is enough to
/// tell what results are of.
#[pyfunction]
pub(crate) fn read_base(
    py: Python<'_>,
    contents: Option<PathBuf>,
    programs: ReplacedPrograms,
) -> PyResult<Base> {
    let files = programs.into_iter().map(parse_program).collect::<PyResult<Vec<_>>>()?;
    let read = || {
        let programs = folder::programs(&files)?;
        let base = contents.map(|it| folder::read_contents(&it, &programs)).transpose()?;
        Ok(Base::new(base.unwrap_or_default(), programs))
    };
    detached(py, read)?.map_err(failure)
}

fn parse_program((address, file): (String, PathBuf)) -> PyResult<(Pubkey, PathBuf)> {
    let no_address = |error| PyValueError::new_err(format!("`{address}` is no address: {error}"));
    Ok((address.parse().map_err(no_address)?, file))
}

/// How files of items are run.
#[pyclass(frozen, module = "selkie._native")]
#[derive(Debug)]
pub(crate) struct Run {
    options: RunOptions,
    rows: NonZeroUsize,
    attempt: String,
}

#[pymethods]
impl Run {
    #[new]
    fn new(
        threads: NonZeroUsize,
        engine: &str,
        logs: bool,
        data: bool,
        rows: NonZeroUsize,
        attempt: String,
    ) -> PyResult<Self> {
        Ok(Self { options: options(threads, engine, logs, data)?, rows, attempt })
    }

    /// Runs files of items into a folder. Returns how many items were run.
    fn files(&self, files: Vec<PathBuf>, out: PathBuf, base: &Bound<'_, Base>) -> PyResult<u64> {
        self.with_job(base, |job| job.run_files(&files, &out, &|_, _| {}).map(items_run))
    }

    /// Runs a file of items. Returns how many items were run.
    fn file(&self, items: PathBuf, results: PathBuf, base: &Bound<'_, Base>) -> PyResult<u64> {
        self.with_job(base, |job| job.run_file(&items, &results, &|_, _| {}).map(items_run))
    }

    /// Returns those of some files of items that have no results in a folder.
    fn remaining(
        &self,
        files: Vec<PathBuf>,
        out: PathBuf,
        base: &Bound<'_, Base>,
    ) -> PyResult<Vec<PathBuf>> {
        self.with_job(base, |job| {
            let with = |it: PathBuf| Ok((job.is_done(&it, &folder::results_of(&out, &it))?, it));
            let files = files.into_iter().map(with).collect::<Result<Vec<_>, Failure>>()?;
            Ok(files.into_iter().filter(|(is_done, _)| !is_done).map(|(_, it)| it).collect())
        })
    }
}

impl Run {
    fn with_job<T: Send>(
        &self,
        base: &Bound<'_, Base>,
        work: impl FnOnce(&Job<'_>) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let py = base.py();
        let base = base.get();
        let run = || {
            let (read, programs) = (base.read(), base.programs());
            let job = Job::new(&read, programs, self.options, self.rows).of_attempt(&self.attempt);
            work(&job)
        };
        detached(py, run)?.map_err(failure)
    }
}

fn items_run(total: Total) -> u64 {
    total.digest.items.saturating_sub(total.items_skipped)
}

/// Removes the results of files of items.
#[pyfunction]
pub(crate) fn remove_results(files: Vec<PathBuf>, out: PathBuf) -> PyResult<()> {
    folder::remove_results(&out, &files).map_err(failure)
}

/// Removes what attempts that were killed have left.
#[pyfunction]
pub(crate) fn sweep(out: PathBuf) -> PyResult<()> {
    folder::sweep(&out).map_err(failure)
}

/// Checks that results are complete. Returns what was found, as JSON.
#[pyfunction]
pub(crate) fn verify(
    py: Python<'_>,
    results: PathBuf,
    items: Option<PathBuf>,
    allow_unusable: bool,
) -> PyResult<String> {
    let verify = || folder::verify(&results, items.as_deref(), allow_unusable);
    let found = detached(py, verify)?.map_err(failure)?;
    Ok(found.json().to_string())
}

/// Compares the results of two runs of the same items, as JSON.
#[pyfunction]
pub(crate) fn diff(
    py: Python<'_>,
    before: PathBuf,
    after: PathBuf,
    show: usize,
) -> PyResult<String> {
    let found = detached(py, || folder::diff(&before, &after, show))?.map_err(failure)?;
    Ok(found.json().to_string())
}

/// Makes an exception of a failure: its causes on one line, and the help below.
fn failure(failure: Failure) -> PyErr {
    let help = failure.help().map(|it| format!("\nhelp: {it}")).unwrap_or_default();
    SelkieError::new_err(format!("{}{help}", failure.chain()))
}
