//! Parquet files whose rows take far more memory than the file.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_array::{BinaryArray, RecordBatch};
use parquet::{arrow::ArrowWriter, basic::Compression, file::properties::WriterProperties};
use selkie_batch::{Item, ItemAccount, ItemData, Items, schema};
use sha2::{Digest as _, Sha256};

use crate::{bound::run, common::folder};

/// What the values of a batch of rows may take, and once more for what is made of them.
const BATCH_BYTES_MAX: usize = 2 * (128 << 20);

/// Writes a file that has each value once.
fn write(folder: &Path, name: &str, batch: &RecordBatch) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("it has a folder")).expect("the folder is writable");
    let file = fs::File::create(&path).expect("the folder is writable");
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_page_size_limit(64 << 20)
        .build();
    let mut writer =
        ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("the schema is valid");
    writer.write(batch).expect("the file is writable");
    writer.close().expect("the file is writable");
    path
}

fn write_contents(folder: &Path, rows: usize, data: &[u8]) -> PathBuf {
    let hash = Sha256::digest(data);
    let columns = [vec![hash.as_slice(); rows], vec![data; rows]];
    let columns = columns.map(|it| Arc::new(BinaryArray::from_vec(it)) as _);
    let contents = RecordBatch::try_new(schema::contents(), columns.to_vec());
    write(folder, "contents/a.parquet", &contents.expect("the columns fit"))
}

/// Writes items, each with as many accounts that have the same data.
fn write_items(folder: &Path, rows: usize, accounts: usize, data: &[u8]) -> PathBuf {
    let mut items = Items::new();
    for _ in 0..rows {
        let account = |_| ItemAccount {
            pubkey: [1; 32].into(),
            lamports: 1,
            owner: [2; 32].into(),
            executable: false,
            data: ItemData::Inline(data),
        };
        items.push(&Item { accounts: (0..accounts).map(account).collect(), ..Item::default() });
    }
    write(folder, "items/a.parquet", &items.finish().expect("the items fit"))
}

/// Runs a folder of items, of which one file is large in memory. It is tried once.
fn check(folder: &Path, file: &Path, code: i32, expected: &str) {
    let input_len = usize::try_from(fs::metadata(file).expect("it was written").len());
    let input_len = input_len.expect("it is small");
    assert!(input_len < 1 << 20, "{input_len}");
    let arguments = ["batch", "run", ".", "--out", "out", "--threads", "1"];
    let output = run(folder, input_len + BATCH_BYTES_MAX / 3, &arguments);
    assert_eq!(output.code, Some(code), "{output:?}");
    assert!(output.text().contains(expected), "{output:?}");
    assert!(!output.text().contains("the engine died"), "{output:?}");
}

#[test]
fn rows_that_share_a_long_value_are_read_in_small_batches() {
    let folder = folder("bounds-parquet-rows");
    write_contents(&folder, 1, b"x");
    let path = write_items(&folder, 700, 1, &[7; 512 << 10]);
    check(&folder, &path, 1, "MalformedItem");
}

#[test]
fn a_row_that_is_too_large_is_refused_once() {
    let folder = folder("bounds-parquet-row");
    write_contents(&folder, 1, b"x");
    let path = write_items(&folder, 1, 500, &[7; 1 << 20]);
    check(&folder, &path, 2, "a row may take");
}

#[test]
fn contents_have_the_same_budget_as_items() {
    let folder = folder("bounds-parquet-contents");
    write_items(&folder, 1, 0, &[]);
    let path = write_contents(&folder, 45, &[7; 8 << 20]);
    check(&folder, &path, 1, "MalformedItem");
}
