//! Blocks, transactions, their history, and accounts on disk.
//!
//! ```text
//! bank ── Block, accounts ──> History (memory) ──> transactions by signature, by address, blocks by slot
//!                      └────> Commit ──> Store (disk) ──> Header, accounts, blocks of the next start
//! ```
//!
//! | module | what it owns |
//! |---|---|
//! | `block` | blocks, landed transactions and what is recorded of them |
//! | `history` | the blocks in memory, and the indexes by signature and by address |
//! | `statuses` | the results of recent transactions, whatever the history keeps |
//! | `store` | the trait [`Store`]: what is on disk, one transaction per commit |
//! | `disk` | [`DiskStore`]: a `Store` in one file |
//! | `records` | the encoding of records, on disk and in dumps |
//! | [`dump`] | the whole state as text, to be kept longer than a store's file |
//!
//! A store's file is used by one thread. What [`Store::commit`] has returned for survives a crash.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod block;
mod disk;
pub mod dump;
mod history;
mod records;
mod statuses;
mod store;

pub use crate::{
    block::{
        AccountDiff, Block, DataDiff, InnerInstruction, InnerInstructions, Landed, LoadedAddresses,
        Meta, ReturnData, RewardRecord, TokenBalance,
    },
    disk::DiskStore,
    history::{AddressQuery, History, HistoryLimit, UnknownSignature},
    records::{AccountRecord, Stake},
    store::{Commit, Header, Store, StoreError},
};
