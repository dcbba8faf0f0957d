//! Votes, as vote accounts store them.

use selkie_layout::vote::{self as layout, Lockout};

/// The maximum confirmation count of a vote.
pub(super) const CONFIRMATIONS_MAX: u32 = 31;

/// Returns the last slot of a lockout: up to it, a vote on another fork is forbidden.
pub(super) fn last_locked_out(lockout: Lockout) -> u64 {
    let slots = 1_u64 << lockout.confirmation_count.min(CONFIRMATIONS_MAX);
    lockout.slot.saturating_add(slots)
}

/// A vote with its latency in slots; 0 if that is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LandedVote {
    pub(super) latency: u8,
    pub(super) lockout: Lockout,
}

impl LandedVote {
    /// Returns a vote for a slot without confirmations by later ones.
    pub(super) fn first(slot: u64) -> Self {
        Self { latency: 0, lockout: Lockout { slot, confirmation_count: 1 } }
    }
}

impl From<layout::LandedVote> for LandedVote {
    fn from(layout::LandedVote { latency, slot, confirmation_count }: layout::LandedVote) -> Self {
        Self { latency, lockout: Lockout { slot, confirmation_count } }
    }
}

impl From<LandedVote> for layout::LandedVote {
    fn from(LandedVote { latency, lockout }: LandedVote) -> Self {
        let Lockout { slot, confirmation_count } = lockout;
        Self { latency, slot, confirmation_count }
    }
}
