//! Errors, with the names and texts of the original.

use core::fmt;
use std::io;

use solana_transaction_error::{TransactionError, TransportError};

use crate::results::TransactionReturnData;

/// An error of a [`BanksClient`](crate::BanksClient).
#[derive(Debug)]
pub enum BanksClientError {
    /// What was asked for is missing, or is not what the test expects.
    ClientError(&'static str),
    /// Data could not be decoded.
    Io(io::Error),
    /// A transaction failed or was dropped.
    TransactionError(TransactionError),
    /// A transaction failed in its simulation, and was not processed.
    SimulationError {
        /// Why it failed.
        err: TransactionError,
        /// The log lines.
        logs: Vec<String>,
        /// The compute units that it used.
        units_consumed: u64,
        /// The data that was returned last.
        return_data: Option<TransactionReturnData>,
    },
}

impl BanksClientError {
    /// Returns why a transaction failed.
    ///
    /// # Panics
    /// If it is no error of a transaction.
    #[must_use]
    pub fn unwrap(&self) -> TransactionError {
        match self {
            Self::TransactionError(error) | Self::SimulationError { err: error, .. } => {
                error.clone()
            }
            other => panic!("the error is not that of a transaction: {other}"),
        }
    }
}

impl fmt::Display for BanksClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClientError(text) => write!(f, "client error: {text}"),
            Self::Io(error) => error.fmt(f),
            Self::TransactionError(error) => write!(f, "transport transaction error: {error}"),
            Self::SimulationError { err, logs, units_consumed, .. } => {
                write!(f, "simulation error: {err:?}, logs: {logs:?}, ")?;
                write!(f, "units_consumed: {units_consumed:?}")
            }
        }
    }
}

impl core::error::Error for BanksClientError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::ClientError(_) => None,
            Self::Io(error) => Some(error),
            Self::TransactionError(error) | Self::SimulationError { err: error, .. } => Some(error),
        }
    }
}

impl From<io::Error> for BanksClientError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<TransactionError> for BanksClientError {
    fn from(error: TransactionError) -> Self {
        Self::TransactionError(error)
    }
}

impl From<BanksClientError> for io::Error {
    fn from(error: BanksClientError) -> Self {
        match error {
            BanksClientError::ClientError(text) => Self::other(text),
            BanksClientError::Io(error) => error,
            BanksClientError::TransactionError(error)
            | BanksClientError::SimulationError { err: error, .. } => Self::other(error),
        }
    }
}

impl From<BanksClientError> for TransportError {
    fn from(error: BanksClientError) -> Self {
        match error {
            BanksClientError::TransactionError(error)
            | BanksClientError::SimulationError { err: error, .. } => Self::TransactionError(error),
            other => Self::IoError(other.into()),
        }
    }
}

/// An error of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramTestError {
    /// The slot is not later than the current one.
    InvalidWarpSlot,
}

impl fmt::Display for ProgramTestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidWarpSlot => f.write_str("Warp slot not in the future"),
        }
    }
}

impl core::error::Error for ProgramTestError {}
