//! Batches of items.

use std::{
    num::NonZeroUsize,
    sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::Instant,
};

use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};
use selkie_batch::{RunOptions, folder::Programs, schema};

use crate::{
    arrow::{Batch, BatchSchema, import},
    engine::engine,
    errors::{detached, exception},
};

/// What items refer to by hash, and the programs that are ready to run.
#[pyclass(frozen, module = "selkie._native")]
#[derive(Default, Debug)]
pub(crate) struct Base {
    base: RwLock<selkie_batch::Base>,
    /// The files that replace programs.
    programs: Programs,
}

#[pymethods]
impl Base {
    #[new]
    fn empty() -> Self {
        Self::default()
    }

    /// Adds a content and returns its hash.
    fn add<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let hash = detached(py, || self.write().add(data.to_vec()))?;
        Ok(PyBytes::new(py, &hash))
    }

    /// Adds the rows of a table of contents.
    fn add_table(&self, table: &Bound<'_, PyAny>) -> PyResult<()> {
        let batch = import(table)?;
        let added = detached(table.py(), || self.write().add_table(&batch))?;
        added.map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

impl Base {
    /// Returns what items refer to, in which programs have been replaced.
    pub(crate) fn new(base: selkie_batch::Base, programs: Programs) -> Self {
        Self { base: RwLock::new(base), programs }
    }

    /// Returns the files that replace programs.
    pub(crate) fn programs(&self) -> &Programs {
        &self.programs
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, selkie_batch::Base> {
        self.base.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, selkie_batch::Base> {
        self.base.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the items of a batch.
#[pyfunction]
pub(crate) fn run_batch(
    items: &Bound<'_, PyAny>,
    base: &Bound<'_, Base>,
    threads: NonZeroUsize,
    engine: &str,
    logs: bool,
    data: bool,
) -> PyResult<Batch> {
    let options = options(threads, engine, logs, data)?;
    let batch = import(items)?;
    let base = base.get();
    let run = || selkie_batch::run(&batch, &base.read(), &options);
    let results = detached(items.py(), run)?;
    results.map(Batch).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Returns how batches are run.
pub(crate) fn options(
    threads: NonZeroUsize,
    engine: &str,
    logs: bool,
    data: bool,
) -> PyResult<RunOptions> {
    Ok(RunOptions {
        threads,
        engine: self::engine(engine)?,
        keeps_logs: logs,
        keeps_data: data,
        clock: Some(nanoseconds),
        ..RunOptions::default()
    })
}

/// Returns the time since the first call, in nanoseconds.
#[expect(clippy::disallowed_methods, reason = "times are only shown")]
fn nanoseconds() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[pyfunction]
pub(crate) fn items_schema() -> BatchSchema {
    BatchSchema(schema::items())
}

#[pyfunction]
pub(crate) fn results_schema() -> BatchSchema {
    BatchSchema(schema::results())
}

#[pyfunction]
pub(crate) fn contents_schema() -> BatchSchema {
    BatchSchema(schema::contents())
}

/// Proves that two runs executed the same items with the same effects.
#[pyclass(module = "selkie._native")]
#[derive(Default, Debug)]
pub(crate) struct Digest(selkie_batch::Digest);

#[pymethods]
impl Digest {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Adds the results of a batch.
    fn add(&mut self, results: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.add(&import(results)?).map_err(exception)
    }

    /// Adds the results of another digest.
    fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    #[getter]
    fn items(&self) -> u64 {
        self.0.items
    }

    fn hex(&self) -> String {
        self.0.to_hex()
    }
}
