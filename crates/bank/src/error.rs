//! Errors of banks and forks.

use core::fmt;

/// An operation on a bank or on the forks that is not possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BankError {
    /// There is no bank at this slot: it was never created, or it is older than the root.
    NotFound(u64),
    /// The bank of this slot is frozen.
    Frozen(u64),
    /// The bank of this slot is not frozen.
    NotFrozen(u64),
    /// The bank of this slot is on a dead fork: marked as dead, or abandoned by a root on another
    /// fork.
    Dead(u64),
    /// The bank of this slot is before the root, so it has no state of its own any more.
    Rooted(u64),
    /// There is already a bank at this slot.
    SlotTaken(u64),
    /// The slot is not after its parent's.
    NotAfterParent {
        /// The requested slot.
        slot: u64,
        /// The parent's slot.
        parent: u64,
    },
    /// The root cannot be marked as dead.
    IsRoot(u64),
}

impl fmt::Display for BankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(slot) => write!(f, "there is no bank at slot {slot}"),
            Self::Frozen(slot) => write!(f, "the bank of slot {slot} is frozen"),
            Self::NotFrozen(slot) => {
                write!(f, "the bank of slot {slot} is not frozen\nhelp: call `Bank::freeze` first")
            }
            Self::Dead(slot) => write!(f, "the bank of slot {slot} is on a dead fork"),
            Self::Rooted(slot) => write!(
                f,
                "the bank of slot {slot} is before the root\nhelp: read its accounts \
                 from the root, which has their current versions"
            ),
            Self::SlotTaken(slot) => write!(f, "there is already a bank at slot {slot}"),
            Self::NotAfterParent { slot, parent } => {
                write!(f, "slot {slot} is not after its parent's slot {parent}")
            }
            Self::IsRoot(slot) => write!(f, "the bank of slot {slot} is the root"),
        }
    }
}

impl core::error::Error for BankError {}
