//! Batches of self-contained transactions, searches and blocks: Arrow record batches of items in, of results out.
//!
//! [`run`] is a pure function. A result depends on its row and on what the row refers to by hash, and
//! is the same on every machine, with any number of threads and with both engines. So any engine that
//! moves Arrow batches (Spark, Ray, DataFusion, a loop over Parquet files) can distribute the work,
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
//! | [`Digest`] | proves that two runs executed the same items with the same effects |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod base;
mod columns;
mod digest;
mod effects;
mod environment;
mod error;
mod fuzz;
mod fuzz_file;
mod instructions;
mod item;
mod items;
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
    error::BatchError,
    fuzz_file::FuzzFile,
    item::{Expectation, Item, ItemAccount, ItemData, Kind, Override},
    items::Items,
    run::{RunOptions, crashed, run},
    segment::{SegmentBlock, SegmentFile},
};

/// A SHA-256 hash, by which contents and items are named.
pub type Sha256 = [u8; 32];

/// Returns the SHA-256 hash of these bytes.
#[must_use]
pub fn sha256(bytes: &[u8]) -> Sha256 {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).into()
}
