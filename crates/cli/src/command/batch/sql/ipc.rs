//! Takes batches from this workspace's version of Arrow to DataFusion's, as messages of Arrow's IPC.
//!
//! The versions differ most of the time, and Arrow's C interface would need `unsafe` code. A message costs
//! a copy, which is little beside running items.

use std::io::Cursor;

use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::Schema;
use datafusion::arrow::{array, datatypes::SchemaRef, ipc::reader::StreamReader};

/// Returns the schema in DataFusion's version.
pub(super) fn schema(schema: &Schema) -> Result<SchemaRef> {
    Ok(stream(schema, None)?.schema())
}

/// Returns the batch in DataFusion's version.
pub(super) fn batch(batch: &RecordBatch) -> Result<array::RecordBatch> {
    let mut stream = stream(batch.schema_ref(), Some(batch))?;
    let batch = stream.next().transpose()?;
    Ok(batch.unwrap_or_else(|| array::RecordBatch::new_empty(stream.schema())))
}

fn stream(schema: &Schema, batch: Option<&RecordBatch>) -> Result<StreamReader<Cursor<Vec<u8>>>> {
    let mut writer = StreamWriter::try_new(Vec::new(), schema)?;
    batch.map_or(Ok(()), |batch| writer.write(batch))?;
    Ok(StreamReader::try_new(Cursor::new(writer.into_inner()?), None)?)
}
