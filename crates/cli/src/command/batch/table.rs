//! Parquet files: reads their record batches, writes them.

use std::{
    fs::{self, File},
    panic::{self, AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow};
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
    reader: ParquetRecordBatchReader,
}

impl Table {
    /// Opens a file. `columns` are those to read; all without it. A batch has up to `rows` rows.
    pub(crate) fn open(path: &Path, columns: Option<&[&str]>, rows: usize) -> Result<Self> {
        let open = || {
            let file = File::open(path)?;
            let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
            let metadata = builder.metadata().file_metadata();
            let stated = metadata.num_rows();
            let stamp = metadata.key_value_metadata().into_iter().flatten();
            let stamp = stamp.filter(|it| it.key == STAMP).find_map(|it| it.value.clone());
            let mask = columns.map_or_else(ProjectionMask::all, |columns| {
                ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied())
            });
            let reader = builder.with_projection(mask).with_batch_size(rows).build()?;
            Ok((u64::try_from(stated).unwrap_or_default(), stamp, reader))
        };
        let (rows, stamp, reader) = guarded(path, open)?;
        Ok(Self { path: path.to_owned(), read: 0, rows, stamp, reader })
    }

    /// Returns the columns that are read.
    #[cfg(feature = "sql")]
    pub(crate) fn schema(&self) -> SchemaRef {
        arrow_array::RecordBatchReader::schema(&self.reader)
    }

    /// Reads the next batch; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>> {
        let Self { path, reader, .. } = self;
        let batch = guarded(path, || Ok(reader.next().transpose()?))?;
        let rows = batch.as_ref().map_or(0, RecordBatch::num_rows);
        self.read = self.read.saturating_add(rows as u64);
        Ok(batch)
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

/// Keeps panics of the Parquet library off the standard error: [`guarded`] makes errors of them.
pub(crate) fn quiet_library_panics() {
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
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    let result = catch_unwind(AssertUnwindSafe(read));
    let result = result.unwrap_or_else(|_| Err(anyhow!("the file is damaged")));
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
        let part = part_of(path);
        let create = || {
            let file = File::create(&part)?;
            let stamp = vec![KeyValue::new(STAMP.to_owned(), stamp)];
            let properties = WriterProperties::builder()
                .set_compression(Compression::SNAPPY)
                .set_key_value_metadata(Some(stamp));
            Ok::<_, anyhow::Error>(ArrowWriter::try_new(file, schema, Some(properties.build()))?)
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
            Ok::<_, anyhow::Error>(())
        };
        finish().with_context(|| format!("cannot write {}", path.display()))
    }
}
