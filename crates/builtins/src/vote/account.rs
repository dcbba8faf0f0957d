//! Vote accounts as stakes and rewards read and change them: outside of transactions.

pub use selkie_layout::vote::BLS_KEY_BYTES;
use selkie_layout::{
    account::At,
    vote::{PENDING_DELEGATOR_REWARDS, VERSION_4},
};
use selkie_svm::Pubkey;

pub use super::state::VOTE_ACCOUNT_BYTES;
use super::{
    state::{Version, VoteState},
    votes::LandedVote,
};

/// The entry of the epoch credits that separates those of votes from lamports, which follow it (agave:
/// `AG_MIGRATION_EPOCH_CREDIT`).
pub const MIGRATION_MARKER: EpochCredits = (u64::MAX, u64::MAX, u64::MAX);

/// For how many epochs a vote account keeps credits.
const EPOCHS_MAX: usize = 64;

/// An epoch, the credits at its end, and those at its start.
pub type EpochCredits = (u64, u64, u64);

/// Returns the lamports in the data of a vote account of the newest version that its delegators are
/// still to receive (SIMD-0123).
fn pending_rewards(data: &[u8]) -> Option<u64> {
    let is_newest = At::<u32>::new(0).get(data) == Some(VERSION_4);
    let pending = || PENDING_DELEGATOR_REWARDS.get(data);
    (is_newest && data.len() >= VOTE_ACCOUNT_BYTES).then(pending).flatten()
}

/// Adds lamports to those in the data of a vote account that its delegators are still to receive; `None`
/// if it is not of the newest version, or if they are too many (agave: `VoteStateViewMut`).
pub fn add_pending_rewards(data: &mut [u8], lamports: u64) -> Option<()> {
    let pending = pending_rewards(data)?.checked_add(lamports)?;
    PENDING_DELEGATOR_REWARDS.put(data, &pending)
}

/// Sets the lamports in the data of a vote account that its delegators are still to receive to 0, and
/// returns them; `None` if it is not of the newest version.
pub fn take_pending_rewards(data: &mut [u8]) -> Option<u64> {
    let pending = pending_rewards(data)?;
    PENDING_DELEGATOR_REWARDS.put(data, &0)?;
    Some(pending)
}

/// Returns the compressed BLS key in the data of a vote account; `None` if it has none or the data
/// are not those of a vote account. Only the newest version has a field for the key (SIMD-0185).
#[must_use]
pub fn bls_key(address: &Pubkey, data: &[u8]) -> Option<[u8; BLS_KEY_BYTES]> {
    if data.len() != VOTE_ACCOUNT_BYTES {
        return None;
    }
    let (_, state) = VoteState::read(address, data).ok()??;
    state.bls_key
}

/// The state of a vote account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VoteAccount {
    state: VoteState,
    version: Version,
}

impl VoteAccount {
    /// Decodes the account at `address`; `None` if the data are not those of an initialized one.
    #[must_use]
    pub fn read(address: &Pubkey, data: &[u8]) -> Option<Self> {
        let (version, state) = VoteState::read(address, data).ok()??;
        Some(Self { state, version })
    }

    /// Encodes the account, in the newest version, with zeros up to the length of its data.
    #[must_use]
    pub fn write(&self, bytes: usize) -> Option<Vec<u8>> {
        let mut data = self.state.write();
        (data.len() <= bytes).then(|| {
            data.resize(bytes, 0);
            data
        })
    }

    /// Returns whether it has a BLS key.
    #[must_use]
    pub fn has_bls_key(&self) -> bool {
        self.version == Version::V4 && self.state.bls_key.is_some()
    }

    /// Returns the commission of inflation rewards, in basis points.
    #[must_use]
    pub fn commission_bps(&self) -> u16 {
        self.state.inflation_rewards_commission_bps
    }

    /// Returns who receives the commission of inflation rewards.
    #[must_use]
    pub fn collector(&self) -> &Pubkey {
        &self.state.inflation_rewards_collector
    }

    /// Returns the leader's part of block revenue, in basis points, and who receives it.
    #[must_use]
    pub fn block_revenue(&self) -> (u16, &Pubkey) {
        (self.state.block_revenue_commission_bps, &self.state.block_revenue_collector)
    }

    /// Returns the lamports that its delegators are still to receive.
    #[must_use]
    pub fn pending_rewards(&self) -> u64 {
        self.state.pending_delegator_rewards
    }

    /// Sets the commission of inflation rewards, in basis points, and the lamports that its delegators are
    /// still to receive: those of an earlier time.
    pub fn set_terms(&mut self, commission_bps: u16, pending_rewards: u64) {
        self.state.inflation_rewards_commission_bps = commission_bps;
        self.state.pending_delegator_rewards = pending_rewards;
    }

    /// Returns the credits of the last epochs, the oldest first.
    #[must_use]
    pub fn epoch_credits(&self) -> &[EpochCredits] {
        &self.state.epoch_credits
    }

    /// Forgets the credits of epochs after this one.
    pub fn forget_credits_after(&mut self, epoch: u64) {
        let is_known = |it: &EpochCredits| it.0 <= epoch || *it == MIGRATION_MARKER;
        self.state.epoch_credits.retain(is_known);
    }

    /// Returns the credits so far.
    #[must_use]
    pub fn credits(&self) -> u64 {
        self.state.epoch_credits.last().map_or(0, |(_, credits, _)| *credits)
    }

    /// Adds credits in an epoch: those of votes, or lamports on a chain that migrated to Alpenglow in
    /// `migration_epoch` (agave: `VoteStateHandler::increment_credits`, `vote_reward.rs`).
    pub fn add_credits(&mut self, epoch: u64, credits: u64, migration_epoch: Option<u64>) {
        let all = &mut self.state.epoch_credits;
        if migration_epoch == Some(epoch) && !all.contains(&MIGRATION_MARKER) {
            all.push(MIGRATION_MARKER);
        }
        let before = all.iter().rev().find(|it| **it != MIGRATION_MARKER);
        let before = before.map_or(0, |(_, credits, _)| *credits);
        let after = before.saturating_add(credits);
        match all.last_mut().filter(|it| **it != MIGRATION_MARKER) {
            Some((last, end, start)) if *last == epoch || end == start => {
                (*last, *end) = (epoch, after);
            }
            _ => all.push((epoch, after, before)),
        }
        let excess = all.len().saturating_sub(EPOCHS_MAX);
        all.drain(..excess);
    }

    /// Records that a block's footer shows a vote for a slot at a time in seconds: it replaces all votes
    /// (agave: `maybe_update_votes`).
    pub fn record_vote(&mut self, slot: u64, timestamp: i64) {
        let last = self.state.votes.back().map_or(0, |vote| vote.lockout.slot);
        let newest = slot.max(last).max(self.state.root.unwrap_or(0));
        self.state.votes = [LandedVote::first(newest)].into();
        if timestamp > self.state.last_timestamp.1 {
            self.state.last_timestamp = (slot, timestamp);
        }
    }

    /// Records that a slot was finalized (agave: `maybe_update_root`).
    pub fn record_root(&mut self, slot: u64) {
        self.state.root = Some(self.state.root.unwrap_or(slot).max(slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> VoteAccount {
        VoteAccount { state: VoteState::default(), version: Version::V4 }
    }

    #[test]
    fn credits_are_kept_by_epoch() {
        let mut account = empty();
        account.add_credits(3, 5, None);
        account.add_credits(3, 2, None);
        account.add_credits(5, 1, None);
        assert_eq!(account.epoch_credits(), [(3, 7, 0), (5, 8, 7)]);
        // An epoch without credits is replaced.
        account.add_credits(6, 0, None);
        account.add_credits(7, 4, None);
        assert_eq!(account.epoch_credits(), [(3, 7, 0), (5, 8, 7), (7, 12, 8)]);
        (8..100).for_each(|epoch| account.add_credits(epoch, 1, None));
        assert_eq!(account.epoch_credits().len(), EPOCHS_MAX);
        assert_eq!(account.credits(), 12 + 92);
    }

    #[test]
    fn lamports_follow_the_marker_of_the_migration() {
        let mut account = empty();
        account.add_credits(3, 7, None);
        account.add_credits(3, 10, Some(3));
        account.add_credits(3, 10, Some(3));
        account.add_credits(4, 10, Some(3));
        let expected = [(3, 7, 0), MIGRATION_MARKER, (3, 27, 7), (4, 37, 27)];
        assert_eq!(account.epoch_credits(), expected);
        let mut new = empty();
        new.add_credits(3, 10, Some(3));
        assert_eq!(new.epoch_credits(), [MIGRATION_MARKER, (3, 10, 0)]);
    }

    #[test]
    fn pending_rewards_are_changed_in_place() {
        let mut account = empty();
        account.set_terms(0, 5);
        let mut data = account.write(VOTE_ACCOUNT_BYTES).unwrap();
        assert_eq!(add_pending_rewards(&mut data, u64::MAX), None);
        assert_eq!(add_pending_rewards(&mut data, 2), Some(()));
        let read = |data: &[u8]| VoteAccount::read(&Pubkey::default(), data).unwrap();
        assert_eq!(read(&data).pending_rewards(), 7);
        assert_eq!(take_pending_rewards(&mut data), Some(7));
        account.set_terms(0, 0);
        assert_eq!(read(&data), account);
        data[0] = 2;
        assert_eq!(take_pending_rewards(&mut data), None);
        assert_eq!(take_pending_rewards(&mut [3, 0, 0, 0]), None);
    }

    #[test]
    fn footers_replace_votes() {
        let mut account = empty();
        account.record_root(40);
        account.record_vote(50, 100);
        account.record_vote(45, 99);
        assert_eq!(account.state.votes.len(), 1);
        assert_eq!(account.state.votes[0].lockout.slot, 50);
        assert_eq!((account.state.root, account.state.last_timestamp), (Some(40), (50, 100)));
        let data = account.write(VOTE_ACCOUNT_BYTES).unwrap();
        assert_eq!(VoteAccount::read(&Pubkey::default(), &data), Some(account));
    }
}
