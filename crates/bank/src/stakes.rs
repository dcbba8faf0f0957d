//! Stakes: what delegations amount to, from epoch to epoch (agave: `runtime/src/stakes.rs`, and
//! `update_epoch_stakes` of `bank.rs`).
//!
//! How much of one delegation is effective, activating or deactivating is computed by
//! `solana-stake-interface`, the same code that validators run: by fixed-point arithmetic with
//! [`Feature::UpgradeBpfStakeProgramToV5_1`], by floating-point arithmetic without it. In each epoch
//! 9 % of the cluster's effective stake may change, as on mainnet and in the stake program itself.
//! A cluster without the feature `reduce_stake_warmup_cooldown`, where 25 % may, is not modeled.

use core::ops::{Range, RangeInclusive};
use std::collections::{BTreeMap, BTreeSet};

use selkie_builtins::vote_account::{VOTE_ACCOUNT_BYTES, bls_key};
use selkie_svm::{
    AccountSharedData, EpochStake, Feature, FeatureSet, Pubkey, ReadableAccount,
    sysvars::{EpochSchedule, Rent, minimum_balance},
};
use solana_sdk_ids::{stake, vote};
use solana_stake_history::{MAX_ENTRIES, StakeHistory, StakeHistoryEntry};
use solana_stake_interface::state::Delegation;

use crate::sysvars;

/// The epoch since which 9 % of the stake may change in an epoch (`reduce_stake_warmup_cooldown`).
/// The stake program has the same number.
const NEW_RATE_SINCE: Option<u64> = Some(0);

/// The stakes of so many epochs are remembered (agave: `MAX_LEADER_SCHEDULE_STAKES`).
const EPOCHS_REMEMBERED: u64 = 5;

/// So many vote accounts count, those with the most stake (SIMD-0357).
const VOTE_ACCOUNTS_MAX: usize = 2000;

/// The state of a stake account that is delegated (SDK: `StakeStateV2::Stake`), and its bytes: the
/// state's number, 120 bytes of authorities and lockup, the delegation, the credits observed, flags.
const DELEGATED: [u8; 4] = [2, 0, 0, 0];
const DELEGATION_AT: usize = 124;
const DELEGATED_BYTES: usize = 197;

/// The stakes that a cluster remembers: what `sol_get_epoch_stake` answers in which epoch.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Stakes {
    /// Stake that no account shows. It is effective in every epoch, and counts wherever the stake
    /// of accounts does.
    pub besides: EpochStake,
    /// The stakes by the epoch in which they count: those of accounts as they were when the leader
    /// schedule of that epoch was made, usually at the start of the epoch before.
    pub epochs: BTreeMap<u64, EpochStake>,
}

impl Stakes {
    /// The stakes of a cluster that always had this stake, known for the last of these epochs.
    #[must_use]
    pub fn constant(stake: EpochStake, epochs: RangeInclusive<u64>) -> Self {
        let remembered = oldest_remembered(*epochs.end()).max(*epochs.start())..=*epochs.end();
        let epochs = remembered.map(|epoch| (epoch, stake.clone())).collect();
        Self { besides: stake, epochs }
    }

    /// The stake that counts in an epoch. Where it is not known, it is what no account shows.
    #[must_use]
    pub fn of(&self, epoch: u64) -> &EpochStake {
        self.epochs.get(&epoch).unwrap_or(&self.besides)
    }

    /// Notes the stake that will count in an epoch, unless that is known, and forgets old epochs.
    pub(crate) fn note(&mut self, epoch: u64, stake: impl FnOnce() -> EpochStake) {
        if !self.epochs.contains_key(&epoch) {
            let oldest = oldest_remembered(epoch);
            self.epochs.retain(|epoch, _| *epoch >= oldest);
            self.epochs.insert(epoch, stake());
        }
    }

    /// Notes what a cluster in this slot must know and this one does not, as for a new cluster.
    pub(crate) fn complete(
        &mut self,
        accounts: impl FnOnce() -> StakeAccounts,
        history: &[u8],
        schedule: &EpochSchedule,
        slot: u64,
    ) {
        let (epoch, last) = (schedule.get_epoch(slot), schedule.get_leader_schedule_epoch(slot));
        let first = epoch.max(oldest_remembered(last));
        if (first..=last).any(|epoch| !self.epochs.contains_key(&epoch)) {
            let stake = accounts().at(epoch, &sysvars::read_stake_history(history), &self.besides);
            (first..=last).for_each(|epoch| self.note(epoch, || stake.clone()));
        }
    }

    /// Whether nothing has to be computed if time passes between two slots.
    #[must_use]
    pub fn covers(&self, schedule: &EpochSchedule, slots: &Range<u64>) -> bool {
        schedule.get_epoch(slots.start) >= schedule.get_epoch(slots.end)
            && self.epochs.contains_key(&schedule.get_leader_schedule_epoch(slots.end))
    }

    /// Lets time pass between two slots, with a block in each slot on the way, while accounts stay
    /// what they are. `accounts` is asked only where stakes must be computed.
    ///
    /// Returns the data of the sysvar of stakes if an epoch has ended. It has an entry for every
    /// epoch then: epochs that it lacks, because the clock was set by hand, are filled in.
    pub fn pass(
        &mut self,
        accounts: impl FnOnce() -> StakeAccounts,
        history: &[u8],
        schedule: &EpochSchedule,
        slots: Range<u64>,
    ) -> Option<Vec<u8>> {
        if self.covers(schedule, &slots) {
            return None;
        }
        let (before, after) = (schedule.get_epoch(slots.start), schedule.get_epoch(slots.end));
        let (accounts, besides) = (accounts(), self.besides.clone());
        let mut history = sysvars::read_stake_history(history);
        let oldest = before.saturating_sub(MAX_ENTRIES as u64);
        let missing = history.first().map_or(oldest, |newest| newest.epoch.saturating_add(1));
        let missing = missing.max(oldest);
        accounts.end_epochs(&mut history, missing..before, &besides);
        // What was noted longer ago would be forgotten.
        let first = before.max(after.saturating_sub(EPOCHS_REMEMBERED));
        accounts.end_epochs(&mut history, before..first, &besides);
        for epoch in first..=after {
            let begins = Some(schedule.get_first_slot_in_epoch(epoch)).filter(|_| epoch > before);
            let ends = schedule.get_last_slot_in_epoch(epoch).min(slots.end);
            for slot in begins.into_iter().chain([ends]) {
                let leader_epoch = schedule.get_leader_schedule_epoch(slot);
                self.note(leader_epoch, || accounts.at(epoch, &history, &besides));
            }
            let ended = epoch..epoch.saturating_add(1).min(after);
            accounts.end_epochs(&mut history, ended, &besides);
        }
        (before < after).then(|| sysvars::stake_history(&history))
    }
}

/// The oldest epoch whose stake is remembered once that of this epoch is known.
fn oldest_remembered(newest: u64) -> u64 {
    newest.saturating_sub(EPOCHS_REMEMBERED.saturating_sub(1))
}

/// What the accounts of a cluster say of stakes.
#[derive(Clone, Debug)]
pub struct StakeAccounts {
    delegations: Vec<Delegation>,
    /// The vote accounts whose stake counts.
    voters: BTreeSet<Pubkey>,
    is_fixed_point: bool,
}

impl StakeAccounts {
    /// Reads the stake accounts and vote accounts among these accounts.
    ///
    /// The stake of a vote account counts in `sol_get_epoch_stake` if it has a BLS key and the rent
    /// minimum of a vote account (agave: `clone_and_filter_for_vat`, SIMD-0357). In the stake
    /// history all delegations count.
    #[must_use]
    pub fn new<'a>(
        accounts: impl IntoIterator<Item = (&'a Pubkey, &'a AccountSharedData)>,
        features: FeatureSet,
        rent: &Rent,
    ) -> Self {
        let minimum = minimum_balance(rent, VOTE_ACCOUNT_BYTES);
        let mut all = Self {
            delegations: Vec::new(),
            voters: BTreeSet::new(),
            is_fixed_point: features.has(Feature::UpgradeBpfStakeProgramToV5_1),
        };
        for (key, account) in accounts {
            if *account.owner() == stake::ID {
                all.delegations.extend(delegation(account.data()));
            } else if *account.owner() == vote::ID
                && account.lamports() >= minimum
                && bls_key(key, account.data()).is_some()
            {
                all.voters.insert(*key);
            }
        }
        all
    }

    /// Whether [`StakeAccounts::new`] reads accounts of this owner.
    #[must_use]
    pub fn is_owner(owner: &Pubkey) -> bool {
        *owner == stake::ID || *owner == vote::ID
    }

    /// Ends these epochs one after the other: the history has an entry for each then.
    pub(crate) fn end_epochs(
        &self,
        history: &mut StakeHistory,
        epochs: Range<u64>,
        besides: &EpochStake,
    ) {
        let mut epoch = epochs.start;
        let mut settled = if self.delegations.is_empty() { MAX_ENTRIES } else { 0 };
        while epoch < epochs.end {
            let entry = self.entry(epoch, history, besides);
            history.add(epoch, entry.clone());
            epoch = epoch.saturating_add(1);
            let is_settled = entry.activating == 0 && entry.deactivating == 0;
            settled = if is_settled { settled.saturating_add(1) } else { 0 };
            // If nothing has changed for longer than the history goes back, nothing will until a
            // delegation begins or ends: epochs need not be computed one by one.
            if settled > MAX_ENTRIES {
                let until = self.next_change(epoch).min(epochs.end);
                let listed = until.saturating_sub(MAX_ENTRIES as u64).max(epoch)..until;
                listed.for_each(|epoch| history.add(epoch, entry.clone()));
                epoch = until;
            }
        }
    }

    /// The stake of an epoch, of which the history may know nothing yet.
    fn entry(&self, epoch: u64, history: &StakeHistory, besides: &EpochStake) -> StakeHistoryEntry {
        let besides = StakeHistoryEntry::with_effective(besides.total);
        let statuses = self.delegations.iter().map(|it| self.status(it, epoch, history));
        statuses.fold(besides, StakeHistoryEntry::saturating_add)
    }

    #[allow(deprecated, reason = "what is deprecated is what clusters without the feature do")]
    fn status(
        &self,
        delegation: &Delegation,
        epoch: u64,
        history: &StakeHistory,
    ) -> StakeHistoryEntry {
        if self.is_fixed_point {
            delegation.stake_activating_and_deactivating_v2(epoch, history, NEW_RATE_SINCE)
        } else {
            delegation.stake_activating_and_deactivating(epoch, history, NEW_RATE_SINCE)
        }
    }

    /// The first epoch from this one on in which a delegation begins or ends.
    fn next_change(&self, epoch: u64) -> u64 {
        let changes =
            self.delegations.iter().flat_map(|it| [it.activation_epoch, it.deactivation_epoch]);
        changes.filter(|change| *change >= epoch).min().unwrap_or(u64::MAX)
    }

    /// The stake of vote accounts in an epoch, as it will count once it is noted.
    pub(crate) fn at(
        &self,
        epoch: u64,
        history: &StakeHistory,
        besides: &EpochStake,
    ) -> EpochStake {
        let mut voters: BTreeMap<Pubkey, u64> = BTreeMap::new();
        for delegation in &self.delegations {
            let effective = self.status(delegation, epoch, history).effective;
            if effective > 0 && self.voters.contains(&delegation.voter_pubkey) {
                let sum = voters.entry(delegation.voter_pubkey).or_default();
                *sum = sum.saturating_add(effective);
            }
        }
        keep_largest(&mut voters, VOTE_ACCOUNTS_MAX);
        let mut stake = besides.clone();
        for (voter, effective) in voters {
            stake.total = stake.total.saturating_add(effective);
            let sum = stake.vote_accounts.entry(voter).or_default();
            *sum = sum.saturating_add(effective);
        }
        stake
    }
}

/// Leaves at most so many vote accounts. Of those with the same stake all stay or none (SIMD-0357).
fn keep_largest(voters: &mut BTreeMap<Pubkey, u64>, max: usize) {
    let mut stakes: Vec<u64> = voters.values().copied().collect();
    stakes.sort_unstable_by(|one, other| other.cmp(one));
    if let Some(first_out) = stakes.get(max).copied() {
        voters.retain(|_, stake| *stake > first_out);
    }
}

/// The delegation of a stake account, if it has one.
fn delegation(data: &[u8]) -> Option<Delegation> {
    if data.len() < DELEGATED_BYTES || !data.starts_with(&DELEGATED) {
        return None;
    }
    let (voter, rest) = data.get(DELEGATION_AT..)?.split_first_chunk::<32>()?;
    let (numbers, _) = rest.as_chunks::<8>();
    let number = |place: usize| numbers.get(place).map(|bytes| u64::from_le_bytes(*bytes));
    Some(Delegation {
        voter_pubkey: Pubkey::new_from_array(*voter),
        stake: number(0)?,
        activation_epoch: number(1)?,
        deactivation_epoch: number(2)?,
        ..Delegation::default()
    })
}
