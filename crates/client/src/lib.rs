//! Clusters that are worked on: one in a file, or a running one, with the names and keys beside it.
//!
//! | item | what it is |
//! |---|---|
//! | [`Cluster`] | a cluster in a file, or a copy of what is needed of a running one |
//! | [`Client`] | a running cluster's JSON-RPC server |
//! | [`Names`] | finds addresses and keys by what users call them |
//! | [`programs`] | programs and buffers of a cluster |
//! | [`StoredPrograms`] | programs on disk, ready to run for the next process |
//! | [`instruction_file`] | instructions with their accounts, from files |
//! | [`sign`] | signatures of transactions |
//! | [`snapshot`] | accounts of a node, from a file |
//! | [`known`] | the fields of well-known accounts, as text |
//! | [`keys`] | key files, in the format of `solana-keygen` |
//! | [`amount`], [`data`], [`numbers`] | amounts, instruction data and numbers in the text of users |

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod amount;
mod cluster;
pub mod data;
pub mod instruction_file;
pub mod keys;
pub mod known;
mod names;
pub mod numbers;
pub mod programs;
mod read;
mod rpc;
pub mod sign;
pub mod snapshot;
mod store;

pub use crate::{
    cluster::{Cluster, Location, Signers, lookup_addresses},
    names::{Names, PAYER, Payer},
    read::read,
    rpc::{Client, LandedIn},
    store::{OpenError, Refusal, StoreStatistics, StoredFile, StoredPrograms},
};
