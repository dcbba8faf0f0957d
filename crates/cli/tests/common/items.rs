//! Items in Parquet files, for tests of `selkie batch`.

#![allow(dead_code, reason = "each test binary uses a part of this")]

use std::{fs, path::Path};

use arrow_array::RecordBatch;
use parquet::arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReader};
use selkie::{Signer, Svm, keypair, system};
use selkie_batch::{Base, Item, Items, record, schema};

use super::common::{Output, selkie};

/// How many transfers a file holds, and how many files there are.
pub(crate) const ROWS: u64 = 40;
pub(crate) const FILES: u64 = 3;

/// Writes a folder of items: transfers of different sums, a seventh of them too large.
pub(crate) fn write_items(folder: &Path, balance: u64) {
    let payer = keypair("payer");
    let mut svm = Svm::new();
    svm.airdrop(&payer.pubkey(), balance).expect("the balance fits");
    let mut base = Base::new();
    let environment = record::environment_file(svm.environment(), []).to_bytes();
    let env_ref = base.add(environment.clone());
    for file in 0..FILES {
        let mut items = Items::new();
        for row in 0..ROWS {
            let number = file * ROWS + row;
            let lamports = if number % 7 == 3 { u64::MAX - number } else { 1_000_000 + number };
            let transfer = system::transfer(&payer.pubkey(), &keypair("bob").pubkey(), lamports);
            let signed = svm.sign(&[transfer], &[&payer]).expect("the payer signs");
            let payer = (payer.pubkey(), svm.shared_account(&payer.pubkey()).expect("it exists"));
            items.push(&Item {
                env_ref,
                message: &wincode::serialize(&signed).expect("transactions can be serialized"),
                accounts: vec![record::item_account(&payer, &mut base)],
                verify_signatures: true,
                ..Item::default()
            });
        }
        let items = items.finish().expect("the items fit");
        write(&folder.join(format!("items/{file}.parquet")), &items);
    }
    write_contents(folder, &env_ref, &environment);
}

/// Writes the one content that all items refer to.
pub(crate) fn write_contents(folder: &Path, hash: &[u8], data: &[u8]) {
    let hash = arrow_array::BinaryArray::from_vec(vec![hash]);
    let data = arrow_array::BinaryArray::from_vec(vec![data]);
    let columns = vec![std::sync::Arc::new(hash) as _, std::sync::Arc::new(data) as _];
    let contents = RecordBatch::try_new(schema::contents(), columns).expect("the columns fit");
    write(&folder.join("contents/environments.parquet"), &contents);
}

pub(crate) fn write(path: &Path, batch: &RecordBatch) {
    fs::create_dir_all(path.parent().expect("it has a folder")).expect("the folder is writable");
    let file = fs::File::create(path).expect("the folder is writable");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("the schema is valid");
    writer.write(batch).expect("the file is writable");
    writer.close().expect("the file is writable");
}

/// Reads a file that has one batch.
pub(crate) fn read(path: &Path) -> RecordBatch {
    let file = fs::File::open(path).expect("it exists");
    let mut reader = ParquetRecordBatchReader::try_new(file, 1024).expect("it is a Parquet file");
    reader.next().expect("it has rows").expect("it can be read")
}

pub(crate) fn run(folder: &Path, out: &str, more: &[&str]) -> Output {
    selkie(folder, &[&["--json", "batch", "run", ".", "--out", out], more].concat())
}

pub(crate) fn digest(output: &Output) -> String {
    output.json()["digest"].as_str().expect("the digest is text").to_owned()
}
