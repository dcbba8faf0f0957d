//! What banks and forks refuse.

use core::fmt;

/// Why something cannot be done with a bank, or with the forks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BankError {
    /// There is no bank at this slot: there never was, or it is gone.
    NotFound(u64),
    /// The bank of this slot does not change any more.
    Frozen(u64),
    /// The bank of this slot still changes.
    NotFrozen(u64),
    /// The bank of this slot is dead, or on a fork that is: it was marked so, or a root was set on
    /// another fork.
    Dead(u64),
    /// The bank of this slot is before the root, and has no state of its own any more.
    Rooted(u64),
    /// There is a bank at this slot already.
    SlotTaken(u64),
    /// A bank's slot must come after its parent's.
    NotAfterParent {
        /// The slot that was asked for.
        slot: u64,
        /// The parent's.
        parent: u64,
    },
    /// A root cannot die.
    IsRoot(u64),
}

impl fmt::Display for BankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(slot) => write!(f, "there is no bank at slot {slot}"),
            Self::Frozen(slot) => write!(f, "the bank of slot {slot} is frozen"),
            Self::NotFrozen(slot) => write!(
                f,
                "the bank of slot {slot} is not frozen\nhelp: `Bank::freeze` makes an end of it"
            ),
            Self::Dead(slot) => write!(f, "the bank of slot {slot} is on a dead fork"),
            Self::Rooted(slot) => write!(
                f,
                "the bank of slot {slot} is before the root\nhelp: the root has its accounts, as \
                 they are now"
            ),
            Self::SlotTaken(slot) => write!(f, "there is a bank at slot {slot} already"),
            Self::NotAfterParent { slot, parent } => {
                write!(f, "slot {slot} does not come after its parent's, {parent}")
            }
            Self::IsRoot(slot) => write!(f, "the bank of slot {slot} is the root"),
        }
    }
}

impl core::error::Error for BankError {}
