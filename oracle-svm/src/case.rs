//! Cases: a chain's state and transactions, in terms that both sides share.

use std::{collections::BTreeMap, sync::Arc};

pub(crate) type Key = [u8; 32];

/// Accounts by address. An account without lamports does not exist.
pub(crate) type Accounts = BTreeMap<Key, Account>;

/// One account's state.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Account {
    pub(crate) lamports: u64,
    pub(crate) owner: Key,
    pub(crate) executable: bool,
    pub(crate) rent_epoch: u64,
    /// Shared, because programs are large and cases are many.
    pub(crate) data: Arc<Vec<u8>>,
}

impl Account {
    /// A usual account: not executable, and rent-exempt.
    pub(crate) fn new(lamports: u64, owner: Key, data: Vec<u8>) -> Self {
        let data = Arc::new(data);
        Self { lamports, owner, executable: false, rent_epoch: u64::MAX, data }
    }
}

/// Differences from mainnet's features, those of the vectors.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Features {
    pub(crate) on: Vec<Key>,
    pub(crate) off: Vec<Key>,
}

/// A chain's state, and transactions that are executed in order, each in a batch of its own.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) slot: u64,
    pub(crate) epoch: u64,
    pub(crate) features: Features,
    pub(crate) sigverify: bool,
    pub(crate) lamports_per_signature: u64,
    /// The blockhashes of the queue, oldest first. All are recent enough for transactions, and the last
    /// is the bank's last.
    pub(crate) blockhashes: Vec<[u8; 32]>,
    /// Whether the status cache holds the first transaction.
    pub(crate) already_processed: bool,
    pub(crate) epoch_total_stake: u64,
    pub(crate) vote_stakes: Vec<(Key, u64)>,
    pub(crate) accounts: Accounts,
    pub(crate) transactions: Vec<Vec<u8>>,
}
