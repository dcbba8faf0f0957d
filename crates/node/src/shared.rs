//! What a node's handles and its writer thread share.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    atomic::{AtomicBool, AtomicU64},
};

use selkie_ledger::HistoryLimit;
use solana_epoch_schedule::EpochSchedule;
use solana_hash::Hash;
use solana_pubkey::Pubkey;

use crate::{
    chain::Chain,
    clock::Clock,
    fetched::Fetched,
    impersonation::Impersonated,
    index::Index,
    options::{BlockMode, Finality, Options},
    recording::Recordings,
};

/// What does not change while a node runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Info {
    /// The hash of the genesis, by which clients tell clusters apart.
    pub genesis_hash: Hash,
    /// When the cluster was created: Unix timestamp in seconds.
    pub created: i64,
    /// The node's identity.
    pub identity: Pubkey,
    /// The vote account of the node's own validator.
    pub vote_account: Pubkey,
    /// The address of the faucet, if there is one.
    pub faucet: Option<Pubkey>,
    /// The address that got as much as the faucet; `None` if there is none, or for a cluster of a
    /// ledger.
    pub mint: Option<Pubkey>,
    /// The duration of a slot, in milliseconds.
    pub slot_milliseconds: u64,
    /// When blocks are made, as long as no client changes that.
    pub blocks: BlockMode,
    /// The epoch schedule.
    pub epoch_schedule: EpochSchedule,
    /// How many transactions are kept.
    pub history: HistoryLimit,
    /// When blocks become confirmed and finalized.
    pub finality: Finality,
    /// The slot that was found in the ledger; `None` for a new cluster.
    pub restored_slot: Option<u64>,
    /// Whether the ledger's file was there but held nothing, so that the node began a new cluster.
    /// A ledger has lost its contents then, unless its node was killed before the first block.
    pub found_empty_ledger: bool,
}

/// The shared state.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) info: Info,
    pub(crate) chain: Arc<RwLock<Chain>>,
    pub(crate) index: RwLock<Index>,
    pub(crate) impersonated: RwLock<Impersonated>,
    /// The host's time, in milliseconds, from which on a look at the slot makes a new block.
    pub(crate) next_tick: AtomicU64,
    pub(crate) is_ticking: AtomicBool,
    /// Why the ledger cannot be written to any more.
    pub(crate) failure: Mutex<Option<String>>,
    pub(crate) fetched: Mutex<Fetched>,
    pub(crate) recordings: Mutex<Recordings>,
    pub(crate) counters: Counters,
}

/// Counters since the start of the node.
#[derive(Default, Debug)]
pub(crate) struct Counters {
    pub(crate) succeeded: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) blocks: AtomicU64,
    pub(crate) compute_units: AtomicU64,
    pub(crate) airdrops: AtomicU64,
}

impl Shared {
    pub(crate) fn chain(&self) -> RwLockReadGuard<'_, Chain> {
        self.chain.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn chain_mut(&self) -> RwLockWriteGuard<'_, Chain> {
        self.chain.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn index_mut(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn fetched(&self) -> MutexGuard<'_, Fetched> {
        self.fetched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn recordings(&self) -> MutexGuard<'_, Recordings> {
        self.recordings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.options.clock
    }
}
