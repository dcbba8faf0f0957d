//! Encoding of vote accounts: three versions are read, the newest is written (SIMD-0185).

use std::collections::{BTreeMap, VecDeque};

use selkie_layout::vote::{Lockout, VoteInit, VoteInitV2};
use selkie_svm::{InstructionError, InvokeContext, Pubkey};

use super::{error::VoteError, votes::LandedVote};
use crate::{
    checks::minimum_balance,
    wire::{Malformed, Reader, store},
};

pub use selkie_layout::vote::ACCOUNT_BYTES as VOTE_ACCOUNT_BYTES;

/// The length of the prior voters, which the newest version has dropped: 32 times a key and two
/// epochs, then an index. A flag byte follows.
const PRIOR_VOTERS_BYTES: usize = 32 * 48 + 8;

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
    pub(super) bls_key: Option<[u8; 48]>,
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
            1 => Version::V1_14_11,
            2 => Version::V3,
            3 => Version::V4,
            _ => return Err(Malformed),
        };
        let mut state = Self { node: it.pubkey()?, withdrawer: it.pubkey()?, ..Self::default() };
        if version == Version::V4 {
            state.inflation_rewards_collector = it.pubkey()?;
            state.block_revenue_collector = it.pubkey()?;
            state.inflation_rewards_commission_bps = it.u16()?;
            state.block_revenue_commission_bps = it.u16()?;
            state.pending_delegator_rewards = it.u64()?;
            state.bls_key = it.option(Reader::array)?;
        } else {
            state.inflation_rewards_collector = *address;
            state.block_revenue_collector = state.node;
            state.inflation_rewards_commission_bps = basis_points(it.u8()?);
            state.block_revenue_commission_bps = FULL_COMMISSION_BPS;
        }
        let vote = |it: &mut Reader<'_>| {
            let latency = if version == Version::V1_14_11 { 0 } else { it.u8()? };
            let lockout = Lockout { slot: it.u64()?, confirmation_count: it.u32()? };
            Ok(LandedVote { latency, lockout })
        };
        state.votes = it.list(vote)?.into();
        state.root = it.option(Reader::u64)?;
        state.voters = it.list(|it| Ok((it.u64()?, it.pubkey()?)))?.into_iter().collect();
        if version != Version::V4 {
            it.bytes(PRIOR_VOTERS_BYTES)?;
            if it.u8()? > 1 {
                return Err(Malformed);
            }
        }
        state.epoch_credits = it.list(|it| Ok((it.u64()?, it.u64()?, it.u64()?)))?;
        state.last_timestamp = (it.u64()?, it.i64()?);
        Ok(Some((version, state)))
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(VOTE_ACCOUNT_BYTES);
        let mut write = |field: &[u8]| bytes.extend_from_slice(field);
        write(&3_u32.to_le_bytes());
        let keys = [
            &self.node,
            &self.withdrawer,
            &self.inflation_rewards_collector,
            &self.block_revenue_collector,
        ];
        keys.into_iter().for_each(|key| write(key.as_ref()));
        write(&self.inflation_rewards_commission_bps.to_le_bytes());
        write(&self.block_revenue_commission_bps.to_le_bytes());
        write(&self.pending_delegator_rewards.to_le_bytes());
        write(&[self.bls_key.is_some().into()]);
        write(self.bls_key.as_ref().map_or(&[], |key| key.as_slice()));
        write(&(self.votes.len() as u64).to_le_bytes());
        for LandedVote { latency, lockout } in &self.votes {
            write(&[*latency]);
            write(&lockout.slot.to_le_bytes());
            write(&lockout.confirmation_count.to_le_bytes());
        }
        write(&[self.root.is_some().into()]);
        write(self.root.map(u64::to_le_bytes).as_ref().map_or(&[], |root| root.as_slice()));
        write(&(self.voters.len() as u64).to_le_bytes());
        for (epoch, voter) in &self.voters {
            write(&epoch.to_le_bytes());
            write(voter.as_ref());
        }
        write(&(self.epoch_credits.len() as u64).to_le_bytes());
        for (epoch, credits, before) in &self.epoch_credits {
            [epoch, credits, before].into_iter().for_each(|it| write(&it.to_le_bytes()));
        }
        write(&self.last_timestamp.0.to_le_bytes());
        write(&self.last_timestamp.1.to_le_bytes());
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
