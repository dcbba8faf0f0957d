//! What several tests read from results.

use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::Int64Type};
use selkie_batch::Digest;

/// Returns the text in a column, if it is not null.
pub(crate) fn text<'a>(results: &'a RecordBatch, column: &str, row: usize) -> Option<&'a str> {
    let column = results.column_by_name(column).expect("the column exists").as_string::<i32>();
    column.is_valid(row).then(|| column.value(row))
}

/// Returns the number in a column.
pub(crate) fn number(results: &RecordBatch, column: &str, row: usize) -> i64 {
    let column = results.column_by_name(column).expect("the column exists");
    column.as_primitive::<Int64Type>().value(row)
}

/// Returns the digest of results.
pub(crate) fn digest(results: &RecordBatch) -> Digest {
    let mut digest = Digest::default();
    digest.add(results).expect("results have these columns");
    digest
}
