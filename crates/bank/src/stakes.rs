//! Stakes: the effective stake of delegations, per epoch (agave: `runtime/src/stakes.rs`, and
//! `update_epoch_stakes` of `bank.rs`).
//!
//! `solana-stake-interface`, which validators use as well, computes how much of a delegation is
//! effective, activating or deactivating: in fixed-point arithmetic with
//! [`Feature::UpgradeBpfStakeProgramToV5_1`], in floating-point arithmetic without it. Up to 9 % of
//! the cluster's effective stake may change per epoch, as on mainnet and in the stake program
//! itself. Clusters without the feature `reduce_stake_warmup_cooldown`, where 25 % may, are not
//! modeled.

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

/// About the stake of mainnet, in lamports: 400 million SOL. A cluster without stake accounts needs such an
/// additional stake, or no delegation would warm up: only 9 % of the effective stake may per epoch.
pub const MAINNET_STAKE: u64 = 400_000_000_000_000_000;

/// The epoch since which the rate is 9 % per epoch (`reduce_stake_warmup_cooldown`). The stake
/// program uses the same epoch.
const NEW_RATE_SINCE: Option<u64> = Some(0);

/// For how many epochs stakes are kept (agave: `MAX_LEADER_SCHEDULE_STAKES`).
const EPOCHS_KEPT: u64 = 5;

/// The maximum number of vote accounts that count: those with the most stake (SIMD-0357).
const VOTE_ACCOUNTS_MAX: usize = 2000;

/// The discriminant of a delegated stake account (SDK: `StakeStateV2::Stake`), and the layout: the
/// discriminant, 120 bytes of authorities and lockup, the delegation, the credits observed, flags.
const DELEGATED: [u8; 4] = [2, 0, 0, 0];
const DELEGATION_OFFSET: usize = 124;
const DELEGATED_BYTES: usize = 197;

/// The epoch stakes of a cluster, as `sol_get_epoch_stake` returns them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Stakes {
    /// Stake in addition to that of stake accounts. It is effective in every epoch and part of
    /// every total.
    pub additional: EpochStake,
    /// The stakes by the epoch in which they count. They are taken when the leader schedule of that
    /// epoch is computed, usually at the start of the previous epoch.
    pub epochs: BTreeMap<u64, EpochStake>,
}

impl Stakes {
    /// Creates the stakes of a cluster that always had this stake, for the last of these epochs.
    #[must_use]
    pub fn constant(stake: EpochStake, epochs: RangeInclusive<u64>) -> Self {
        let remembered = oldest_kept(*epochs.end()).max(*epochs.start())..=*epochs.end();
        let epochs = remembered.map(|epoch| (epoch, stake.clone())).collect();
        Self { additional: stake, epochs }
    }

    /// Returns the stake of an epoch; the additional stake if the epoch is unknown.
    #[must_use]
    pub fn of(&self, epoch: u64) -> &EpochStake {
        self.epochs.get(&epoch).unwrap_or(&self.additional)
    }

    /// Records the stake of an epoch unless it is known, and drops old epochs.
    pub(crate) fn record(&mut self, epoch: u64, stake: impl FnOnce() -> EpochStake) {
        if !self.epochs.contains_key(&epoch) {
            let oldest = oldest_kept(epoch);
            self.epochs.retain(|epoch, _| *epoch >= oldest);
            self.epochs.insert(epoch, stake());
        }
    }

    /// Records the stakes that a bank in this slot needs and that are missing, as for a new
    /// cluster.
    pub(crate) fn complete(
        &mut self,
        accounts: impl FnOnce() -> StakeAccounts,
        history: &[u8],
        schedule: &EpochSchedule,
        slot: u64,
    ) {
        let (epoch, last) = (schedule.get_epoch(slot), schedule.get_leader_schedule_epoch(slot));
        let first = epoch.max(oldest_kept(last));
        if (first..=last).any(|epoch| !self.epochs.contains_key(&epoch)) {
            let stake =
                accounts().at(epoch, &sysvars::read_stake_history(history), &self.additional);
            (first..=last).for_each(|epoch| self.record(epoch, || stake.clone()));
        }
    }

    /// Returns whether advancing from the first to the second slot requires no computation.
    pub(crate) fn covers(&self, schedule: &EpochSchedule, slots: &Range<u64>) -> bool {
        schedule.get_epoch(slots.start) >= schedule.get_epoch(slots.end)
            && self.epochs.contains_key(&schedule.get_leader_schedule_epoch(slots.end))
    }

    /// Advances from the first to the second slot as if every slot had a block, with unchanged
    /// accounts. Calls `accounts` only if stakes have to be computed.
    ///
    /// Returns the data of the stake history sysvar if an epoch has ended. The history then has an
    /// entry for every epoch; entries that are missing because the clock was set are filled in.
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
        let (accounts, additional) = (accounts(), self.additional.clone());
        let mut history = sysvars::read_stake_history(history);
        let missing = missing(&history, before);
        accounts.end_epochs(&mut history, missing, &additional);
        // Earlier stakes would be dropped again.
        let first = before.max(after.saturating_sub(EPOCHS_KEPT));
        accounts.end_epochs(&mut history, before..first, &additional);
        for epoch in first..=after {
            let begins = (epoch > before).then(|| schedule.get_first_slot_in_epoch(epoch));
            let ends = schedule.get_last_slot_in_epoch(epoch).min(slots.end);
            for slot in begins.into_iter().chain([ends]) {
                let leader_epoch = schedule.get_leader_schedule_epoch(slot);
                self.record(leader_epoch, || accounts.at(epoch, &history, &additional));
            }
            let ended = epoch..epoch.saturating_add(1).min(after);
            accounts.end_epochs(&mut history, ended, &additional);
        }
        (before < after).then(|| sysvars::stake_history(&history))
    }

    /// Returns the data of the stake history sysvar with an entry for every epoch before `epoch`, if
    /// the newest ones are missing. Calls `accounts` only then.
    pub fn complete_history(
        &self,
        accounts: impl FnOnce() -> StakeAccounts,
        history: &[u8],
        epoch: u64,
    ) -> Option<Vec<u8>> {
        let mut history = sysvars::read_stake_history(history);
        let missing = missing(&history, epoch);
        if missing.is_empty() {
            return None;
        }
        accounts().end_epochs(&mut history, missing, &self.additional);
        Some(sysvars::stake_history(&history))
    }
}

/// Returns the epochs before `epoch` of which a history lacks entries, as far as it reaches back.
fn missing(history: &StakeHistory, epoch: u64) -> Range<u64> {
    let oldest = epoch.saturating_sub(MAX_ENTRIES as u64);
    let next = history.first().map_or(oldest, |newest| newest.epoch.saturating_add(1));
    next.max(oldest)..epoch
}

/// Returns the oldest epoch that is kept once `newest` is known.
fn oldest_kept(newest: u64) -> u64 {
    newest.saturating_sub(EPOCHS_KEPT.saturating_sub(1))
}

/// The delegations and vote accounts of a cluster.
#[derive(Clone, Debug)]
pub struct StakeAccounts {
    delegations: Vec<Delegation>,
    /// The vote accounts that count.
    voters: BTreeSet<Pubkey>,
    is_fixed_point: bool,
}

impl StakeAccounts {
    /// Reads the stake accounts and vote accounts among `accounts`.
    ///
    /// A vote account counts in `sol_get_epoch_stake` if it has a BLS key and is rent-exempt
    /// (agave: `clone_and_filter_for_vat`, SIMD-0357). In the stake history all delegations count.
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

    /// Returns whether [`StakeAccounts::new`] reads accounts of this owner.
    #[must_use]
    pub fn is_owner(owner: &Pubkey) -> bool {
        *owner == stake::ID || *owner == vote::ID
    }

    /// Adds an entry to the history for each of the epochs, in order.
    pub(crate) fn end_epochs(
        &self,
        history: &mut StakeHistory,
        epochs: Range<u64>,
        additional: &EpochStake,
    ) {
        let mut epoch = epochs.start;
        let mut settled = if self.delegations.is_empty() { MAX_ENTRIES } else { 0 };
        while epoch < epochs.end {
            let entry = self.entry(epoch, history, additional);
            history.add(epoch, entry.clone());
            epoch = epoch.saturating_add(1);
            let is_settled = entry.activating == 0 && entry.deactivating == 0;
            settled = if is_settled { settled.saturating_add(1) } else { 0 };
            // If nothing changed for longer than the history reaches back, nothing will until a
            // delegation begins or ends: skip to that epoch.
            if settled > MAX_ENTRIES {
                let until = self.next_change(epoch).min(epochs.end);
                let listed = until.saturating_sub(MAX_ENTRIES as u64).max(epoch)..until;
                listed.for_each(|epoch| history.add(epoch, entry.clone()));
                epoch = until;
            }
        }
    }

    /// Returns the entry of an epoch, given a history up to the previous one.
    fn entry(
        &self,
        epoch: u64,
        history: &StakeHistory,
        additional: &EpochStake,
    ) -> StakeHistoryEntry {
        let additional = StakeHistoryEntry::with_effective(additional.total);
        let statuses = self.delegations.iter().map(|it| self.status(it, epoch, history));
        statuses.fold(additional, StakeHistoryEntry::saturating_add)
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

    /// Returns the first epoch from `epoch` on in which a delegation begins or ends.
    fn next_change(&self, epoch: u64) -> u64 {
        let changes =
            self.delegations.iter().flat_map(|it| [it.activation_epoch, it.deactivation_epoch]);
        changes.filter(|change| *change >= epoch).min().unwrap_or(u64::MAX)
    }

    /// Returns the stake of vote accounts in an epoch.
    pub(crate) fn at(
        &self,
        epoch: u64,
        history: &StakeHistory,
        additional: &EpochStake,
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
        let mut stake = additional.clone();
        for (voter, effective) in voters {
            stake.total = stake.total.saturating_add(effective);
            let sum = stake.vote_accounts.entry(voter).or_default();
            *sum = sum.saturating_add(effective);
        }
        stake
    }
}

/// Keeps at most `max` vote accounts. Of several with the same stake either all are kept or none
/// (SIMD-0357).
fn keep_largest(voters: &mut BTreeMap<Pubkey, u64>, max: usize) {
    let mut stakes: Vec<u64> = voters.values().copied().collect();
    stakes.sort_unstable_by(|one, other| other.cmp(one));
    if let Some(first_out) = stakes.get(max).copied() {
        voters.retain(|_, stake| *stake > first_out);
    }
}

/// Decodes the delegation of a stake account; `None` if it has none.
fn delegation(data: &[u8]) -> Option<Delegation> {
    if data.len() < DELEGATED_BYTES || !data.starts_with(&DELEGATED) {
        return None;
    }
    let (voter, rest) = data.get(DELEGATION_OFFSET..)?.split_first_chunk::<32>()?;
    let (numbers, _) = rest.as_chunks::<8>();
    let number = |index: usize| numbers.get(index).map(|bytes| u64::from_le_bytes(*bytes));
    Some(Delegation {
        voter_pubkey: Pubkey::new_from_array(*voter),
        stake: number(0)?,
        activation_epoch: number(1)?,
        deactivation_epoch: number(2)?,
        ..Delegation::default()
    })
}
