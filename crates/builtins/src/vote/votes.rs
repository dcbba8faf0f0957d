//! Votes and towers, as validators send them and vote accounts store them.

/// The maximum confirmation count of a vote.
pub(super) const CONFIRMATIONS_MAX: u32 = 31;

/// A vote with its confirmation count: the number of votes from it to the top of the tower.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lockout {
    pub(super) slot: u64,
    pub(super) confirmations: u32,
}

impl Lockout {
    /// Returns the last slot of the lockout: up to it, a vote on another fork is forbidden.
    pub(super) fn last_locked_out(self) -> u64 {
        let slots = 1_u64 << self.confirmations.min(CONFIRMATIONS_MAX);
        self.slot.saturating_add(slots)
    }
}

/// A vote with its latency in slots; 0 if that is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LandedVote {
    pub(super) latency: u8,
    pub(super) lockout: Lockout,
}

/// Votes for slots, oldest first. Each vote doubles the lockouts of those below it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Vote {
    pub(super) slots: Vec<u64>,
    pub(super) hash: [u8; 32],
    pub(super) timestamp: Option<i64>,
}

/// The tower that a validator sends: all its votes above the root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tower {
    /// Oldest first.
    pub(super) lockouts: Vec<Lockout>,
    pub(super) root: Option<u64>,
    /// The hash of the newest slot.
    pub(super) hash: [u8; 32],
    pub(super) timestamp: Option<i64>,
}
