//! Errors of functions that prepare a test.

use core::fmt;
use std::io;

use selkie_convert::{Address, InstructionError};
use solana_sdk_ids::sysvar;

/// A sysvar account whose data are not valid for the sysvar.
#[derive(Debug)]
pub enum InvalidSysvarDataError {
    /// The clock.
    Clock,
    /// The epoch rewards.
    EpochRewards,
    /// The epoch schedule.
    EpochSchedule,
    /// The fees, which programs cannot read any more.
    Fees,
    /// The last restart slot.
    LastRestartSlot,
    /// The recent blockhashes.
    RecentBlockhashes,
    /// The rent.
    Rent,
    /// The slot hashes.
    SlotHashes,
    /// The stake history.
    StakeHistory,
}

impl InvalidSysvarDataError {
    /// Returns the error of a sysvar; `None` if `address` is no sysvar.
    pub(crate) fn of(address: &Address) -> Option<Self> {
        let rows = [
            (sysvar::clock::ID, Self::Clock),
            (sysvar::epoch_rewards::ID, Self::EpochRewards),
            (sysvar::epoch_schedule::ID, Self::EpochSchedule),
            (sysvar::fees::ID, Self::Fees),
            (sysvar::last_restart_slot::ID, Self::LastRestartSlot),
            (sysvar::recent_blockhashes::ID, Self::RecentBlockhashes),
            (sysvar::rent::ID, Self::Rent),
            (sysvar::slot_hashes::ID, Self::SlotHashes),
            (sysvar::stake_history::ID, Self::StakeHistory),
        ];
        rows.into_iter().find(|(id, _)| id == address).map(|(_, error)| error)
    }
}

impl fmt::Display for InvalidSysvarDataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invalid {self:?} sysvar data.")
    }
}

impl core::error::Error for InvalidSysvarDataError {}

/// Error of a function that prepares a test.
#[derive(Debug)]
pub enum LiteSVMError {
    /// A sysvar's data are not valid.
    InvalidSysvarData(InvalidSysvarDataError),
    /// An account is not a valid program.
    Instruction(InstructionError),
    /// A file cannot be read.
    InvalidPath(io::Error),
    /// No such loader.
    InvalidLoader(String),
    /// A file is not a valid program.
    ProgramLoad(String),
    /// The sum of the stakes exceeds `u64::MAX`.
    EpochStakeOverflow,
}

impl fmt::Display for LiteSVMError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidSysvarData(error) => error.fmt(f),
            Self::Instruction(error) => error.fmt(f),
            Self::InvalidPath(error) => error.fmt(f),
            Self::InvalidLoader(text) | Self::ProgramLoad(text) => f.write_str(text),
            Self::EpochStakeOverflow => f.write_str("Epoch stake arithmetic overflow"),
        }
    }
}

impl core::error::Error for LiteSVMError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::InvalidSysvarData(error) => Some(error),
            Self::Instruction(error) => Some(error),
            Self::InvalidPath(error) => Some(error),
            Self::InvalidLoader(_) | Self::ProgramLoad(_) | Self::EpochStakeOverflow => None,
        }
    }
}

impl From<InvalidSysvarDataError> for LiteSVMError {
    fn from(error: InvalidSysvarDataError) -> Self {
        Self::InvalidSysvarData(error)
    }
}

impl From<InstructionError> for LiteSVMError {
    fn from(error: InstructionError) -> Self {
        Self::Instruction(error)
    }
}

impl From<io::Error> for LiteSVMError {
    fn from(error: io::Error) -> Self {
        Self::InvalidPath(error)
    }
}
