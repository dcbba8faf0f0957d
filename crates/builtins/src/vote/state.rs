//! The state of vote accounts: three versions are read, the newest is written (SIMD-0185).

use std::collections::{BTreeMap, VecDeque};

use selkie_layout::{
    vote::{
        self as layout, AuthorizedVoter, BlockTimestamp, EpochCredits, Lockout, OldVoteHead,
        PriorVoters, VERSION_1, VERSION_3, VERSION_4, VoteHead, VoteInit, VoteInitV2, VoteTail,
    },
    wire::Wire,
};
use selkie_svm::{InstructionError, InvokeContext, Pubkey};

use super::{error::VoteError, votes::LandedVote};
use crate::{
    checks::minimum_balance,
    wire::{Malformed, Reader, store},
};

pub use selkie_layout::vote::ACCOUNT_BYTES as VOTE_ACCOUNT_BYTES;

/// The state of a vote account, of any version.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct VoteState {
    pub(super) node: Pubkey,
    pub(super) withdrawer: Pubkey,
    pub(super) inflation_rewards_collector: Pubkey,
    pub(super) block_revenue_collector: Pubkey,
    pub(super) inflation_rewards_commission_bps: u16,
    pub(super) block_revenue_commission_bps: u16,
    pub(super) pending_delegator_rewards: u64,
    pub(super) bls_key: Option<[u8; layout::BLS_KEY_BYTES]>,
    pub(super) votes: VecDeque<LandedVote>,
    pub(super) root: Option<u64>,
    /// The authorized voters, each by the first epoch in which it may vote.
    pub(super) voters: BTreeMap<u64, Pubkey>,
    /// Epoch, credits at its end, credits at its start.
    pub(super) epoch_credits: Vec<(u64, u64, u64)>,
    /// The slot and Unix timestamp of the last vote that had a timestamp.
    pub(super) last_timestamp: (u64, i64),
}

/// The version of a vote account's layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Version {
    V1_14_11,
    V3,
    V4,
}

const FULL_COMMISSION_BPS: u16 = 10_000;

/// Converts a commission in percent to basis points.
pub(super) fn basis_points(percent: u8) -> u16 {
    u16::from(percent).saturating_mul(100)
}

impl VoteState {
    pub(super) fn new(address: Pubkey, init: &VoteInit, epoch: u64) -> Self {
        Self {
            node: init.node,
            withdrawer: init.authorized_withdrawer,
            inflation_rewards_collector: address,
            block_revenue_collector: init.node,
            inflation_rewards_commission_bps: basis_points(init.commission),
            block_revenue_commission_bps: FULL_COMMISSION_BPS,
            voters: BTreeMap::from([(epoch, init.authorized_voter)]),
            ..Self::default()
        }
    }

    /// Returns a new state with a BLS key and explicit commission collectors.
    pub(super) fn with_bls(
        init: &VoteInitV2,
        [inflation_rewards_collector, block_revenue_collector]: [Pubkey; 2],
        epoch: u64,
    ) -> Self {
        Self {
            node: init.node,
            withdrawer: init.authorized_withdrawer,
            inflation_rewards_collector,
            block_revenue_collector,
            inflation_rewards_commission_bps: init.inflation_rewards_commission_bps,
            block_revenue_commission_bps: init.block_revenue_commission_bps,
            bls_key: Some(init.authorized_voter_bls_pubkey),
            voters: BTreeMap::from([(epoch, init.authorized_voter)]),
            ..Self::default()
        }
    }

    /// Returns the state of account 0, which must be initialized.
    pub(super) fn load(context: &mut InvokeContext<'_>) -> Result<Self, InstructionError> {
        let account = context.borrow(0)?;
        match Self::read(account.key(), account.data()) {
            Err(Malformed) | Ok(None) => Err(InstructionError::InvalidAccountData),
            Ok(Some((version, state))) if version != Version::V4 && state.voters.is_empty() => {
                Err(InstructionError::UninitializedAccount)
            }
            Ok(Some((_, state))) => Ok(state),
        }
    }

    /// Returns whether account 0 can be initialized: it is zeroed, or of an old version without
    /// voters.
    pub(super) fn is_uninitialized(
        context: &mut InvokeContext<'_>,
    ) -> Result<bool, InstructionError> {
        let account = context.borrow(0)?;
        match Self::read(account.key(), account.data()) {
            Err(Malformed) => Err(InstructionError::InvalidAccountData),
            Ok(None) => Ok(true),
            Ok(Some((version, state))) => Ok(version != Version::V4 && state.voters.is_empty()),
        }
    }

    /// Writes the state to account 0, which grows to [`VOTE_ACCOUNT_BYTES`] if it is rent exempt at
    /// that size.
    pub(super) fn save(&self, context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
        let rent = context.environment().rent();
        let mut account = context.borrow(0)?;
        if account.data().len() < VOTE_ACCOUNT_BYTES {
            let is_paid = account.lamports() >= minimum_balance(&rent, VOTE_ACCOUNT_BYTES);
            if !is_paid || account.set_data_len(VOTE_ACCOUNT_BYTES).is_err() {
                return Err(InstructionError::AccountNotRentExempt);
            }
        }
        store(&mut account, &self.write())
    }

    /// Decodes the state of the vote account at `address`; `None` if it is uninitialized.
    pub(super) fn read(
        address: &Pubkey,
        data: &[u8],
    ) -> Result<Option<(Version, Self)>, Malformed> {
        let mut it = Reader::new(data);
        let version = match it.u32()? {
            0 => return Ok(None),
            VERSION_1 => Version::V1_14_11,
            VERSION_3 => Version::V3,
            VERSION_4 => Version::V4,
            _ => return Err(Malformed),
        };
        let mut state = match version {
            Version::V4 => {
                let head = VoteHead::read(&mut it)?;
                Self { bls_key: it.option(Reader::array)?, ..Self::of_head(&head) }
            }
            Version::V1_14_11 | Version::V3 => Self::of_old(address, &OldVoteHead::read(&mut it)?),
        };
        let vote = |it: &mut Reader<'_>| match version {
            Version::V1_14_11 => Ok(LandedVote { latency: 0, lockout: Lockout::read(it)? }),
            Version::V3 | Version::V4 => layout::LandedVote::read(it).map(LandedVote::from),
        };
        state.votes = it.list(vote)?.into();
        state.root = it.option(Reader::u64)?;
        let voter = |it: &mut Reader<'_>| AuthorizedVoter::read(it);
        let voters = it.list(voter)?.into_iter();
        state.voters = voters.map(|it| (it.epoch, it.authorized_voter)).collect();
        if version != Version::V4 {
            PriorVoters::read(&mut it)?;
        }
        state.epoch_credits = it.list(|it| {
            let EpochCredits { epoch, credits, previous_credits } = EpochCredits::read(it)?;
            Ok((epoch, credits, previous_credits))
        })?;
        let VoteTail { last_timestamp } = VoteTail::read(&mut it)?;
        state.last_timestamp = (last_timestamp.slot, last_timestamp.timestamp);
        Ok(Some((version, state)))
    }

    /// Returns the state with the first fields of an account of the newest version.
    fn of_head(head: &VoteHead) -> Self {
        Self {
            node: head.node_pubkey,
            withdrawer: head.authorized_withdrawer,
            inflation_rewards_collector: head.inflation_rewards_collector,
            block_revenue_collector: head.block_revenue_collector,
            inflation_rewards_commission_bps: head.inflation_rewards_commission_bps,
            block_revenue_commission_bps: head.block_revenue_commission_bps,
            pending_delegator_rewards: head.pending_delegator_rewards,
            ..Self::default()
        }
    }

    /// Returns the state with the first fields of an account at `address` of an older version.
    fn of_old(address: &Pubkey, head: &OldVoteHead) -> Self {
        Self {
            node: head.node_pubkey,
            withdrawer: head.authorized_withdrawer,
            inflation_rewards_collector: *address,
            block_revenue_collector: head.node_pubkey,
            inflation_rewards_commission_bps: basis_points(head.commission),
            block_revenue_commission_bps: FULL_COMMISSION_BPS,
            ..Self::default()
        }
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(VOTE_ACCOUNT_BYTES);
        let out = &mut bytes;
        VERSION_4.write(out);
        let head = VoteHead {
            node_pubkey: self.node,
            authorized_withdrawer: self.withdrawer,
            inflation_rewards_collector: self.inflation_rewards_collector,
            block_revenue_collector: self.block_revenue_collector,
            inflation_rewards_commission_bps: self.inflation_rewards_commission_bps,
            block_revenue_commission_bps: self.block_revenue_commission_bps,
            pending_delegator_rewards: self.pending_delegator_rewards,
        };
        head.write(out);
        self.bls_key.write(out);
        write_list(out, self.votes.iter().map(|it| layout::LandedVote::from(*it)));
        self.root.write(out);
        let voter = |(epoch, voter): (&u64, &Pubkey)| AuthorizedVoter {
            epoch: *epoch,
            authorized_voter: *voter,
        };
        write_list(out, self.voters.iter().map(voter));
        let credits = |&(epoch, credits, previous_credits): &(u64, u64, u64)| EpochCredits {
            epoch,
            credits,
            previous_credits,
        };
        write_list(out, self.epoch_credits.iter().map(credits));
        let (slot, timestamp) = self.last_timestamp;
        VoteTail { last_timestamp: BlockTimestamp { slot, timestamp } }.write(out);
        bytes
    }

    /// Returns the authorized voter of an epoch, and removes voters from before the previous epoch.
    pub(super) fn voter(&mut self, epoch: u64) -> Result<Pubkey, InstructionError> {
        let voter = self.voters.range(..=epoch).next_back().map(|(_, voter)| *voter);
        let voter = voter.ok_or(InstructionError::InvalidAccountData)?;
        self.voters.insert(epoch, voter);
        self.voters = self.voters.split_off(&epoch.saturating_sub(1));
        Ok(voter)
    }

    /// Sets the authorized voter from an epoch on.
    pub(super) fn set_voter(&mut self, epoch: u64, voter: Pubkey) -> Result<(), VoteError> {
        if self.voters.contains_key(&epoch) {
            return Err(VoteError::TooSoonToReauthorize);
        }
        self.voters.insert(epoch, voter);
        Ok(())
    }
}

/// Writes a count and so many values.
fn write_list<'a, T: Wire<'a>>(out: &mut Vec<u8>, values: impl ExactSizeIterator<Item = T>) {
    (values.len() as u64).write(out);
    values.for_each(|it| it.write(out));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> VoteState {
        let key = |byte| Pubkey::new_from_array([byte; 32]);
        let lockout = |slot| Lockout { slot, confirmation_count: 31 };
        VoteState {
            node: key(1),
            withdrawer: key(2),
            inflation_rewards_collector: key(3),
            block_revenue_collector: key(4),
            inflation_rewards_commission_bps: 5,
            block_revenue_commission_bps: 6,
            pending_delegator_rewards: 7,
            bls_key: Some([8; 48]),
            votes: (0..31).map(|slot| LandedVote { latency: 9, lockout: lockout(slot) }).collect(),
            root: Some(10),
            voters: (0..4).map(|epoch| (epoch, key(11))).collect(),
            epoch_credits: vec![(12, 13, 14); 64],
            last_timestamp: (15, -16),
        }
    }

    #[test]
    fn the_largest_state_fits_into_an_account_and_round_trips() {
        let bytes = full().write();
        assert!(bytes.len() <= VOTE_ACCOUNT_BYTES, "{}", bytes.len());
        let read = VoteState::read(&Pubkey::default(), &bytes);
        assert_eq!(read, Ok(Some((Version::V4, full()))));
        for len in 0..bytes.len() {
            assert_eq!(VoteState::read(&Pubkey::default(), &bytes[..len]), Err(Malformed));
        }
    }

    #[test]
    fn a_voter_stays_authorized_until_the_epoch_of_the_next_one() {
        let mut state = full();
        let [first, last] = [1, 2].map(|byte| Pubkey::new_from_array([byte; 32]));
        state.voters = BTreeMap::from([(3, first), (9, last)]);
        assert_eq!(state.voter(2), Err(InstructionError::InvalidAccountData));
        assert_eq!(state.voter(5), Ok(first));
        assert_eq!(state.voters.keys().copied().collect::<Vec<_>>(), [5, 9]);
        assert_eq!(state.set_voter(9, first), Err(VoteError::TooSoonToReauthorize));
        assert_eq!(state.voter(10), Ok(last));
    }
}
