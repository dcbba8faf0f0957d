//! Parquet files: reads their record batches, writes them.

use std::{
    fs::{self, File},
    panic::{self, AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::{
    arrow::{
        ArrowWriter, ProjectionMask,
        arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder},
    },
    basic::Compression,
    file::{metadata::KeyValue, properties::WriterProperties},
};
use selkie_isa::{
    failure::{Context as _, Failure},
    input,
};

use super::{Result, Tried, budget::Need};

/// The name of the stamp in a file's metadata.
const STAMP: &str = "selkie.run";

/// A Parquet file that is read batch by batch.
pub(crate) struct Table {
    path: PathBuf,
    /// How many rows were read.
    read: u64,
    /// The number of rows that the file states.
    pub(crate) rows: u64,
    /// What the file was made of, if it says so: see [`TableWriter::create`].
    pub(crate) stamp: Option<String>,
    rows_at_once: usize,
    columns: Option<Vec<String>>,
    reader: Option<ParquetRecordBatchReader>,
}

impl Table {
    /// Opens a file. `columns` are those to read; all without it. A batch has up to `rows` rows, and
    /// fewer if they are large.
    pub(crate) fn open(path: &Path, columns: Option<&[&str]>, rows: usize) -> Result<Self> {
        let open = || {
            let builder = ParquetRecordBatchReaderBuilder::try_new(input::open(path)?)?;
            let metadata = builder.metadata().file_metadata();
            let stated = u64::try_from(metadata.num_rows()).unwrap_or_default();
            let stamp = metadata.key_value_metadata().into_iter().flatten();
            let stamp = stamp.filter(|it| it.key == STAMP).find_map(|it| it.value.clone());
            Ok((stated, stamp))
        };
        let (stated, stamp) = guarded(path, open)?;
        let columns = columns.map(|all| all.iter().map(|&it| it.to_owned()).collect());
        let path = path.to_owned();
        Ok(Self { path, read: 0, rows: stated, stamp, rows_at_once: rows, columns, reader: None })
    }

    /// Reads the next batch; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>> {
        if self.reader.is_none() {
            self.reader = Some(guarded(&self.path, || self.start())?);
        }
        let Self { path, reader: Some(reader), .. } = self else { return Ok(None) };
        let batch = guarded(path, || Ok(reader.next().transpose()?))?;
        let rows = batch.as_ref().map_or(0, RecordBatch::num_rows);
        self.read = self.read.saturating_add(rows as u64);
        Ok(batch)
    }

    /// Begins to read, with as many rows in a batch as its budget allows.
    fn start(&self) -> Tried<ParquetRecordBatchReader> {
        let columns = self.columns.as_deref();
        let rows = Need::of(input::open(&self.path)?, columns)?.rows(self.rows_at_once)?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(input::open(&self.path)?)?;
        let mask = columns.map_or_else(ProjectionMask::all, |columns| {
            ProjectionMask::columns(builder.parquet_schema(), columns.iter().map(String::as_str))
        });
        Ok(builder.with_projection(mask).with_batch_size(rows).build()?)
    }

    /// Reads the next batch of those rows that are from `first` on, up to `count`; `None` at their end.
    pub(crate) fn next_of(&mut self, first: u64, count: u64) -> Result<Option<RecordBatch>> {
        let end = first.saturating_add(count);
        loop {
            let start = self.read;
            if start >= end {
                return Ok(None);
            }
            let Some(batch) = self.next()? else { return Ok(None) };
            let from = first.saturating_sub(start);
            let to = end.saturating_sub(start).min(batch.num_rows() as u64);
            if from < to {
                let [from, len] = [from, to - from]
                    .map(|it| usize::try_from(it).expect("batches have fewer rows"));
                return Ok(Some(batch.slice(from, len)));
            }
        }
    }
}

/// Keeps panics of the Parquet library, of which errors are made, off the standard error: for a process
/// that reads files of others.
pub fn quiet_library_panics() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let is_of =
            |library: &&str| panic.location().is_some_and(|it| it.file().contains(*library));
        if !["/parquet-", "/arrow-"].iter().any(is_of) {
            default(panic);
        }
    }));
}

/// Reads from a file. The Parquet library may panic if a file lies about its contents.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Tried<T>) -> Result<T> {
    let result = catch_unwind(AssertUnwindSafe(read));
    let result = result.unwrap_or_else(|_| Err(Failure::new("the file is damaged").into()));
    result.with_context(|| format!("cannot read {}", path.display()))
}

/// Returns the name of a file while it is being written.
pub(crate) fn part_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// A Parquet file that is being written. It gets its name when it is complete.
pub(crate) struct TableWriter {
    path: PathBuf,
    part: PathBuf,
    writer: ArrowWriter<File>,
}

impl TableWriter {
    /// Creates a file. Its stamp says what it is made of, so that it is not taken for something else
    /// later.
    pub(crate) fn create(path: &Path, schema: SchemaRef, stamp: String) -> Result<Self> {
        Self::create_as(part_of(path), path, schema, stamp)
    }

    /// As [`create`](Self::create), with another name while it is being written.
    pub(crate) fn create_as(
        part: PathBuf,
        path: &Path,
        schema: SchemaRef,
        stamp: String,
    ) -> Result<Self> {
        let create = || {
            let file = File::create(&part)?;
            let stamp = vec![KeyValue::new(STAMP.to_owned(), stamp)];
            let properties = WriterProperties::builder()
                .set_compression(Compression::SNAPPY)
                .set_key_value_metadata(Some(stamp));
            Tried::Ok(ArrowWriter::try_new(file, schema, Some(properties.build()))?)
        };
        let writer = create().with_context(|| format!("cannot create {}", part.display()))?;
        Ok(Self { path: path.to_owned(), part, writer })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).with_context(|| format!("cannot write {}", self.part.display()))
    }

    /// Completes the file and gives it its name.
    pub(crate) fn finish(self) -> Result<()> {
        let Self { path, part, writer } = self;
        let finish = || {
            writer.into_inner()?.sync_all()?;
            fs::rename(&part, &path)?;
            Tried::Ok(())
        };
        finish().with_context(|| format!("cannot write {}", path.display()))
    }
}
