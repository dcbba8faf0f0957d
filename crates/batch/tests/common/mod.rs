//! What several tests read from results.

#![allow(dead_code, reason = "each test binary uses a part of this")]

use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::Int64Type};
use selkie::Pubkey;
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

/// Returns whether a result is the expected one.
pub(crate) fn matches(results: &RecordBatch, row: usize) -> bool {
    results.column_by_name("matches").expect("the column exists").as_boolean().value(row)
}

/// Returns the bytes in a column.
pub(crate) fn binary<'a>(results: &'a RecordBatch, column: &str, row: usize) -> &'a [u8] {
    results.column_by_name(column).expect("the column exists").as_binary::<i32>().value(row)
}

/// Returns the addresses and balances of written accounts.
pub(crate) fn post(results: &RecordBatch, row: usize) -> Vec<(Pubkey, u64)> {
    let post = results.column_by_name("post").expect("the column exists").as_list::<i32>();
    let post = post.value(row);
    let post = post.as_struct();
    let keys = post.column_by_name("pubkey").expect("the field exists").as_binary::<i32>();
    let lamports = post.column_by_name("lamports").expect("the field exists");
    let lamports = lamports.as_primitive::<Int64Type>().values();
    let key = |it: Option<&[u8]>| Pubkey::try_from(it.expect("it is set")).expect("it is a key");
    keys.iter().map(key).zip(lamports.iter().map(|it| it.cast_unsigned())).collect()
}
