//! Errors of a node.

use core::fmt;

use selkie_bank::BankError;
use selkie_ledger::{StoreError, dump::DumpError};
use solana_transaction_error::TransactionError;

use crate::{source::FetchError, view::Simulation};

/// An operation on a node that is not possible.
#[derive(Debug)]
#[non_exhaustive]
pub enum NodeError {
    /// The node was stopped.
    Stopped,
    /// A thread cannot be started: the reason.
    Thread(String),
    /// The ledger cannot be used.
    Store(StoreError),
    /// The banks refused an operation.
    Bank(BankError),
    /// The time travel goes back: the current and the requested slot or timestamp.
    TimeGoesBack {
        /// Where the cluster is.
        now: i64,
        /// Where it should go.
        to: i64,
    },
    /// The time travel goes too far: the last slot and the last timestamp that can be reached.
    TooFar {
        /// The last slot.
        slot: u64,
        /// The last Unix timestamp.
        timestamp: i64,
    },
    /// There is no snapshot with this number.
    NoSnapshot(u64),
    /// There are too many snapshots: the limit.
    TooManySnapshots(usize),
    /// The program cannot be deployed: the reason.
    Program(String),
    /// An account cannot be edited: the reason.
    Account(String),
    /// The other cluster cannot be asked for accounts.
    Fetch(FetchError),
    /// The state before a transaction is not kept any longer.
    NotKept,
    /// The dump cannot be written or read.
    Dump(DumpError),
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("the node was stopped"),
            Self::Thread(why) => write!(f, "cannot start a thread: {why}"),
            Self::Store(error) => error.fmt(f),
            Self::Bank(error) => error.fmt(f),
            Self::TimeGoesBack { now, to } => write!(
                f,
                "time cannot go back from {now} to {to}\nhelp: take a snapshot, and revert to it later"
            ),
            Self::TooFar { slot, timestamp } => {
                write!(f, "time travel ends at slot {slot} and at the timestamp {timestamp}")
            }
            Self::NoSnapshot(id) => write!(f, "there is no snapshot {id}"),
            Self::TooManySnapshots(max) => {
                write!(f, "there are {max} snapshots already\nhelp: revert or drop some")
            }
            Self::Program(why) => write!(f, "the program cannot be deployed: {why}"),
            Self::Account(why) => f.write_str(why),
            Self::Fetch(why) => write!(f, "cannot fetch accounts: {why}"),
            Self::NotKept => f.write_str(
                "the state before the transaction is not kept\nhelp: that of the newest transactions is, \
                 while the node runs; send it again",
            ),
            Self::Dump(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for NodeError {}

impl From<StoreError> for NodeError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<BankError> for NodeError {
    fn from(error: BankError) -> Self {
        Self::Bank(error)
    }
}

impl From<DumpError> for NodeError {
    fn from(error: DumpError) -> Self {
        Self::Dump(error)
    }
}

/// A transaction that was not accepted, or did not land.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The transaction is malformed.
    Sanitize(TransactionError),
    /// The simulation before sending failed.
    Preflight(Box<Simulation>),
    /// The accounts of the transaction cannot be fetched: the reason.
    Fetch(String),
    /// The transaction was dropped when its block was made.
    Dropped(TransactionError),
    /// The ledger cannot be written to any more: the reason.
    Ledger(String),
    /// The node has no faucet.
    NoFaucet,
    /// Too many transactions are waiting.
    QueueFull,
    /// The node was stopped.
    Stopped,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sanitize(error) => write!(f, "invalid transaction: {error}"),
            Self::Preflight(simulation) => match &simulation.result {
                Ok(()) => f.write_str("Transaction simulation failed"),
                Err(error) => write!(f, "Transaction simulation failed: {error}"),
            },
            Self::Fetch(why) | Self::Ledger(why) => f.write_str(why),
            Self::Dropped(error) => write!(f, "the transaction was dropped: {error}"),
            Self::NoFaucet => f.write_str("the node has no faucet"),
            Self::QueueFull => f.write_str("too many transactions are waiting"),
            Self::Stopped => f.write_str("the node was stopped"),
        }
    }
}

impl core::error::Error for SendError {}

/// The most transactions of a bundle: Jito's limit.
pub const BUNDLE_TRANSACTIONS_MAX: usize = 5;

/// A bundle that did not land, or cannot be simulated.
#[derive(Debug)]
#[non_exhaustive]
pub enum BundleError {
    /// It has no transactions.
    Empty,
    /// It has more than [`BUNDLE_TRANSACTIONS_MAX`] transactions.
    TooLong,
    /// A transaction failed, is malformed, or would be dropped.
    Transaction {
        /// Its index.
        index: usize,
        /// Why.
        error: TransactionError,
    },
    /// The node cannot fetch accounts, or make a block.
    Node(NodeError),
}

impl fmt::Display for BundleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("Bundle cannot be empty"),
            Self::TooLong => {
                write!(f, "Bundle exceeds maximum size of {BUNDLE_TRANSACTIONS_MAX} transactions")
            }
            Self::Transaction { index, error } => {
                let number = index.saturating_add(1);
                write!(
                    f,
                    "Jito bundle couldn't be executed, failed to process transaction {number}: {error}"
                )
            }
            Self::Node(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for BundleError {}
