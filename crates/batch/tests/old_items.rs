//! Files of older versions: items are read, keep their ids, and end as recorded; results are compared with
//! later ones.

mod common;

#[cfg(feature = "folders")]
#[path = "old_items/results.rs"]
mod results;

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use arrow_array::{BinaryArray, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use selkie_batch::{Base, RunOptions, run};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/batch").join(name)
}

fn read(name: &str) -> RecordBatch {
    let file = File::open(path(name)).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let mut batches = reader.build().unwrap();
    let table = batches.next().unwrap().unwrap();
    // The reader leaves out what the file says of its own writer.
    let columns = table.columns().to_vec();
    let fields = table.schema().fields().clone();
    RecordBatch::try_new(arrow_schema::Schema::new(fields).into(), columns).unwrap()
}

fn run_old_items() -> (RecordBatch, RecordBatch) {
    let mut base = Base::new();
    base.add_table(&read("contents_1.parquet")).unwrap();
    let items = read("items_1.parquet");
    let results = run(&items, &base, &RunOptions::default()).unwrap();
    (items, results)
}

/// Two that succeed, one that fails, one that is dropped, one with other features and a lookup table; the
/// environments are among the contents.
#[test]
fn items_and_contents_of_version_1_are_read() {
    let (items, results) = run_old_items();
    assert_eq!(results.num_rows(), 5);
    let statuses: Vec<_> = (0..5).map(|row| common::text(&results, "status", row)).collect();
    let expected = ["Success", "Failed", "Dropped", "Success", "Success"].map(Some);
    assert_eq!(statuses, expected);
    for row in 0..5 {
        assert!(common::matches(&results, row), "{row}: {:?}", results.slice(row, 1));
    }
    let ids = |table: &RecordBatch| -> BinaryArray {
        table.column_by_name("item_id").unwrap().to_data().into()
    };
    assert_eq!(ids(&items), ids(&results));
    let digest = common::digest(&results).to_hex();
    assert_eq!(digest, "8c6b6fa51ecb15c5e82cf6e4159f704c44a66a56c00f7e27969a8536f6bbfda9");
}
