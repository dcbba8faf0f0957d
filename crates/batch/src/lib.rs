//! Batches of self-contained transactions, searches and blocks: Arrow record batches of items in, of results out.
//!
//! [`run`] is a pure function. A result depends on its row and on what the row refers to by hash, and
//! is the same on every machine, with any number of threads and with both engines. So any engine that
//! moves Arrow batches (Spark, Ray, a loop over Parquet files) can distribute the work,
//! and repeat any part of it.
//!
//! | item | what it is |
//! |---|---|
//! | [`run`], [`RunOptions`] | executes a batch on some threads |
//! | [`crashed`] | results of items on which a process died |
//! | [`Base`] | what items refer to by hash: account data, programs, environments |
//! | [`schema`] | the tables: items, results, contents |
//! | [`check_columns`], [`check_results`] | check the columns of a table |
//! | [`Item`], [`ItemAccount`], [`ItemData`], [`Override`], [`Expectation`] | a row of the item table |
//! | [`Kind`] | what an item is: a transaction, a search for failures, or blocks |
//! | [`FuzzFile`] | the search of an item |
//! | [`SegmentFile`], [`SegmentBlock`] | the blocks of an item |
//! | [`Items`] | collects items into a batch |
//! | [`EnvironmentFile`] | features, sysvars, fees and shared accounts, in a file that its hash names |
//! | [`record`] | items from the state of a chain |
//! | `folder` | Parquet files of items and results, with the feature `folders` |
//! | `import` | items of recorded transactions, with the feature `import` |
//! | [`Digest`] | proves that two runs executed the same items with the same effects |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod base;
mod columns;
mod digest;
mod effects;
mod environment;
mod error;
#[cfg(feature = "folders")]
#[allow(clippy::arithmetic_side_effects, reason = "64 bits count all rows that are read")]
pub mod folder;
mod fuzz;
mod fuzz_file;
#[cfg(feature = "import")]
#[allow(clippy::arithmetic_side_effects, reason = "64 bits count all rows that are read")]
pub mod import;
mod item;
mod items;
mod options;
mod outcome;
pub mod record;
mod replacement;
mod results;
mod rows;
mod run;
pub mod schema;
mod segment;
mod state;
mod transaction;
mod worker;

pub use crate::{
    base::{Base, Content},
    columns::{check_columns, check_results},
    digest::Digest,
    environment::{EnvironmentAccount, EnvironmentFile},
    error::{BatchError, Malformed},
    fuzz_file::FuzzFile,
    item::{Expectation, Item, ItemAccount, ItemData, Kind, Override},
    items::Items,
    options::RunOptions,
    run::{crashed, run},
    segment::{SegmentBlock, SegmentFile},
};

/// A SHA-256 hash, by which contents and items are named.
pub type Sha256 = [u8; 32];

/// The SHA-256 hash of nothing.
const EMPTY_SHA256: Sha256 = [
    0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24,
    0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
];

/// Returns the SHA-256 hash of these bytes.
#[must_use]
pub fn sha256(bytes: &[u8]) -> Sha256 {
    use sha2::Digest as _;
    // Most accounts have no data.
    if bytes.is_empty() {
        return EMPTY_SHA256;
    }
    sha2::Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use sha2::Digest as _;

    use super::*;

    #[test]
    fn the_hash_of_nothing_is_what_the_function_gives() {
        assert_eq!(sha256(b"")[..], sha2::Sha256::digest(b"")[..]);
    }
}
