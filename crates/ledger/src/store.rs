//! What is on disk: the trait that a store implements.

use core::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use solana_account::AccountSharedData;
use solana_hash::Hash;
use solana_pubkey::Pubkey;

use crate::{
    block::Block,
    records::{Stake, addresses, base58},
};

/// A ledger on disk. One thread uses it.
pub trait Store: Send + fmt::Debug {
    /// Reads the header; `None` if nothing was ever committed.
    ///
    /// # Errors
    /// If the store is damaged or cannot be read.
    fn header(&mut self) -> Result<Option<Header>, StoreError>;

    /// Passes every account to `each`, sorted by address.
    ///
    /// # Errors
    /// As [`Store::header`].
    fn accounts(
        &mut self,
        each: &mut dyn FnMut(Pubkey, AccountSharedData),
    ) -> Result<(), StoreError>;

    /// Passes every block to `each`, oldest first.
    ///
    /// # Errors
    /// As [`Store::header`].
    fn blocks(&mut self, each: &mut dyn FnMut(Block)) -> Result<(), StoreError>;

    /// Reads the addresses that were asked for at another cluster.
    ///
    /// # Errors
    /// As [`Store::header`].
    fn fetched(&mut self) -> Result<Vec<Pubkey>, StoreError>;

    /// Writes all of `commit`, or nothing. When it returns, what was written survives a crash.
    ///
    /// # Errors
    /// If the disk is full, read-only or damaged.
    fn commit(&mut self, commit: &Commit) -> Result<(), StoreError>;

    /// Removes everything.
    ///
    /// # Errors
    /// As [`Store::commit`].
    fn clear(&mut self) -> Result<(), StoreError>;

    /// Verifies the checksums of everything that is stored.
    ///
    /// # Errors
    /// If a checksum is wrong.
    fn check(&mut self) -> Result<(), StoreError>;

    /// Returns unused space to the file system.
    ///
    /// # Errors
    /// As [`Store::commit`].
    fn compact(&mut self) -> Result<(), StoreError>;

    /// Returns the space that the store takes on disk, in bytes.
    fn size_bytes(&self) -> u64;
}

/// A change of the store.
#[derive(Clone, Default, Debug)]
pub struct Commit {
    /// Accounts to write; those with 0 lamports are removed.
    pub accounts: Vec<(Pubkey, AccountSharedData)>,
    /// Removes the blocks after this slot first.
    pub revert_to: Option<u64>,
    /// Blocks to add.
    pub blocks: Vec<Arc<Block>>,
    /// Removes the blocks before this slot.
    pub prune_before: Option<u64>,
    /// The header from now on.
    pub header: Header,
    /// All addresses that were asked for at another cluster, if they have changed.
    pub fetched: Option<Vec<Pubkey>>,
}

/// The state of the newest bank besides its accounts.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Header {
    /// The hash of the genesis, by which clients tell clusters apart.
    #[serde(with = "base58")]
    pub genesis_hash: Hash,
    /// When the cluster was created: Unix timestamp in seconds.
    pub created: i64,
    /// The slot.
    pub slot: u64,
    /// The block height.
    pub block_height: u64,
    /// The number of transactions since genesis.
    pub transaction_count: u64,
    /// The bank hash.
    #[serde(with = "base58")]
    pub hash: Hash,
    /// The lattice hash of all accounts, as bytes; empty if it is not known. Stores keep it; dumps
    /// do not, since their accounts may be edited.
    #[serde(skip)]
    pub lattice: Vec<u8>,
    /// The addresses of the active features.
    #[serde(with = "addresses")]
    pub features: Vec<Pubkey>,
    /// The recent blockhashes, oldest first.
    #[serde(with = "addresses")]
    pub blockhashes: Vec<Hash>,
    /// The fee per signature, in lamports.
    pub lamports_per_signature: u64,
    /// Stake that no account shows.
    pub additional_stake: Stake,
    /// The stakes by epoch.
    pub stakes: Vec<(u64, Stake)>,
    /// The time of the newest block by the host's clock, in milliseconds since the Unix epoch.
    pub clock_milliseconds: u64,
    /// How far the cluster's clock is ahead of the host's, in milliseconds.
    pub clock_offset_milliseconds: i64,
    /// The duration of a slot, in milliseconds.
    pub slot_milliseconds: u64,
}

/// An error of a store.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// The file cannot be used: its path and the reason.
    File(String, String),
    /// Another process uses the file.
    InUse(String),
    /// The file was written by a newer version: its schema, and the newest one that is known.
    Newer(u64, u64),
    /// The file is damaged: what is wrong.
    Damaged(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, why) => write!(f, "cannot use the ledger {path}: {why}"),
            Self::InUse(path) => write!(
                f,
                "the ledger {path} is in use by another process\nhelp: stop that node, or choose \
                 another ledger"
            ),
            Self::Newer(schema, known) => write!(
                f,
                "the ledger has schema {schema}, and this version knows those up to {known}\nhelp: \
                 use the version that wrote it, or start anew with a reset"
            ),
            Self::Damaged(what) => write!(
                f,
                "the ledger is damaged: {what}\nhelp: restore a copy or a dump, or start anew with a \
                 reset"
            ),
        }
    }
}

impl core::error::Error for StoreError {}
