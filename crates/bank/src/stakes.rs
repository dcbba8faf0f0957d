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

use selkie_builtins::vote_account::{VOTE_ACCOUNT_BYTES, VoteAccount};
use selkie_layout::stake::{DELEGATED_STATE, Delegated, Stake};
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

/// The epoch stakes of a cluster, as `sol_get_epoch_stake` returns them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Stakes {
    /// Stake in addition to that of stake accounts. It is effective in every epoch and part of
    /// every total.
    pub additional: EpochStake,
    /// The stakes by the epoch in which they count. They are taken when the leader schedule of that
    /// epoch is computed, usually at the start of the previous epoch.
    pub epochs: BTreeMap<u64, EpochStake>,
    /// What these vote accounts said at that time.
    pub terms: BTreeMap<u64, BTreeMap<Pubkey, Terms>>,
}

/// What a vote account said when the stakes of an epoch were taken. It holds for the rewards and fees of
/// that epoch, so that a validator cannot raise commissions shortly before.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Terms {
    /// The commission of inflation rewards, in basis points.
    pub commission_bps: u16,
    /// The leader's part of the fees of its blocks, in basis points (SIMD-0123).
    pub block_commission_bps: u16,
    /// Who receives it (SIMD-0232).
    pub block_collector: Pubkey,
    /// The lamports that delegators were still to receive of fees.
    pub pending_rewards: u64,
}

impl Stakes {
    /// Creates the stakes of a cluster that always had this stake, for the last of these epochs.
    #[must_use]
    pub fn constant(stake: EpochStake, epochs: RangeInclusive<u64>) -> Self {
        let remembered = oldest_kept(*epochs.end()).max(*epochs.start())..=*epochs.end();
        let epochs = remembered.map(|epoch| (epoch, stake.clone())).collect();
        Self { additional: stake, epochs, ..Self::default() }
    }

    /// Returns the stake of an epoch; the additional stake if the epoch is unknown.
    #[must_use]
    pub fn of(&self, epoch: u64) -> &EpochStake {
        self.epochs.get(&epoch).unwrap_or(&self.additional)
    }

    /// Returns the stake that programs see in an epoch (`sol_get_epoch_stake`): that of its start, which
    /// counts for the leaders of the next epoch (agave: `Bank::current_epoch_stakes`).
    #[must_use]
    pub fn current(&self, epoch: u64) -> &EpochStake {
        self.epochs.get(&epoch.saturating_add(1)).unwrap_or_else(|| self.of(epoch))
    }

    /// Records the stake of an epoch unless it is known, and drops old epochs.
    fn record(&mut self, epoch: u64, accounts: &StakeAccounts, stake: impl FnOnce() -> EpochStake) {
        if !self.epochs.contains_key(&epoch) {
            let oldest = oldest_kept(epoch);
            self.epochs.retain(|epoch, _| *epoch >= oldest);
            self.terms.retain(|epoch, _| *epoch >= oldest);
            let stake = stake();
            self.terms.insert(epoch, accounts.terms(&stake));
            self.epochs.insert(epoch, stake);
        }
    }

    /// Returns what a vote account said when the stakes of an epoch were recorded.
    pub(crate) fn terms(&self, epoch: u64, voter: &Pubkey) -> Option<&Terms> {
        self.terms.get(&epoch)?.get(voter)
    }

    /// Returns the commission of a vote account for the rewards of an epoch: that of when the stakes of
    /// the epoch were recorded, else that of when those of the next one were (SIMD-0249).
    pub(crate) fn commission(&self, epoch: u64, voter: &Pubkey) -> Option<u16> {
        let of = |epoch: u64| self.terms(epoch, voter).map(|it| it.commission_bps);
        of(epoch).or_else(|| of(epoch.saturating_add(1)))
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
            let accounts = accounts();
            let history = sysvars::read_stake_history(history);
            let stake = accounts.at(epoch, &history, &self.additional);
            (first..=last).for_each(|epoch| self.record(epoch, &accounts, || stake.clone()));
        }
    }

    /// Returns whether advancing from the first to the second slot requires no computation.
    pub(crate) fn covers(&self, schedule: &EpochSchedule, slots: &Range<u64>) -> bool {
        schedule.get_epoch(slots.start) >= schedule.get_epoch(slots.end)
            && self.epochs.contains_key(&schedule.get_leader_schedule_epoch(slots.end))
    }

    /// Advances from the first to the second slot as if every slot had a block, with unchanged
    /// accounts.
    ///
    /// Returns the data of the stake history sysvar if an epoch has ended. The history then has an
    /// entry for every epoch; entries that are missing because the clock was set are filled in.
    pub fn pass(
        &mut self,
        accounts: &StakeAccounts,
        history: &[u8],
        schedule: &EpochSchedule,
        slots: Range<u64>,
    ) -> Option<Vec<u8>> {
        if self.covers(schedule, &slots) {
            return None;
        }
        let (before, after) = (schedule.get_epoch(slots.start), schedule.get_epoch(slots.end));
        let additional = self.additional.clone();
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
                self.record(leader_epoch, accounts, || accounts.at(epoch, &history, &additional));
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
    /// The stake accounts that are delegated.
    pub(crate) stakes: Vec<StakeAccount>,
    /// The vote accounts, and their lamports.
    pub(crate) votes: BTreeMap<Pubkey, (VoteAccount, u64)>,
    /// The vote accounts that count, if not all do.
    voters: BTreeSet<Pubkey>,
    /// Whether vote accounts need a ticket to count ([`Feature::ValidatorAdmissionTicket`]).
    needs_tickets: bool,
    is_fixed_point: bool,
}

/// A delegated stake account.
#[derive(Clone, Debug)]
pub(crate) struct StakeAccount {
    pub(crate) key: Pubkey,
    pub(crate) delegation: Delegation,
    pub(crate) credits_observed: u64,
    pub(crate) lamports: u64,
    /// The length of its data.
    pub(crate) bytes: usize,
}

impl StakeAccounts {
    /// Reads the stake accounts and vote accounts among `accounts`.
    ///
    /// A vote account counts in `sol_get_epoch_stake` if it has a BLS key, is rent-exempt, and can pay
    /// for its `admission` to an epoch, in lamports, besides what its delegators are still to receive
    /// (agave: `clone_and_filter_for_vat`, SIMD-0357, SIMD-0123). Without
    /// [`Feature::ValidatorAdmissionTicket`] all do. In the stake history all delegations count.
    #[must_use]
    pub fn new<'a>(
        accounts: impl IntoIterator<Item = (&'a Pubkey, &'a AccountSharedData)>,
        features: FeatureSet,
        rent: &Rent,
        admission: u64,
    ) -> Self {
        let minimum = minimum_balance(rent, VOTE_ACCOUNT_BYTES).saturating_add(admission);
        let mut all = Self {
            stakes: Vec::new(),
            votes: BTreeMap::new(),
            voters: BTreeSet::new(),
            needs_tickets: features.has(Feature::ValidatorAdmissionTicket),
            is_fixed_point: features.has(Feature::UpgradeBpfStakeProgramToV5_1),
        };
        for (key, account) in accounts {
            let (lamports, bytes) = (account.lamports(), account.data().len());
            if lamports == 0 {
                continue;
            }
            if *account.owner() == stake::ID {
                let row = |(delegation, credits_observed)| StakeAccount {
                    key: *key,
                    delegation,
                    credits_observed,
                    lamports,
                    bytes,
                };
                all.stakes.extend(delegation(account.data()).map(row));
            } else if *account.owner() == vote::ID
                && let Some(vote) = VoteAccount::read(key, account.data())
            {
                let has_key = bytes == VOTE_ACCOUNT_BYTES && vote.has_bls_key();
                let shares = features.has(Feature::BlockRevenueSharing);
                let pending = if shares { vote.pending_rewards() } else { 0 };
                if has_key && lamports.saturating_sub(pending) >= minimum {
                    all.voters.insert(*key);
                }
                all.votes.insert(*key, (vote, lamports));
            }
        }
        all
    }

    /// Returns whether a vote account has what the admission to an epoch requires, besides stake.
    pub(crate) fn is_admissible(&self, voter: &Pubkey) -> bool {
        self.voters.contains(voter)
    }

    /// Returns the effective stake in an epoch of a stake account with these data.
    pub(crate) fn effective(data: &[u8], epoch: u64, history: &StakeHistory) -> u64 {
        let stake = |(it, _): (Delegation, u64)| it.stake_v2(epoch, history, NEW_RATE_SINCE);
        delegation(data).map_or(0, stake)
    }

    /// Returns whether these are the data of a delegated stake account.
    pub(crate) fn is_delegated(data: &[u8]) -> bool {
        delegation(data).is_some()
    }

    /// Returns what vote accounts with stake say.
    fn terms(&self, stake: &EpochStake) -> BTreeMap<Pubkey, Terms> {
        let terms = |vote: &VoteAccount| {
            let (block_commission_bps, block_collector) = vote.block_revenue();
            Terms {
                commission_bps: vote.commission_bps(),
                block_commission_bps,
                block_collector: *block_collector,
                pending_rewards: vote.pending_rewards(),
            }
        };
        let voters = stake.vote_accounts.keys();
        voters.filter_map(|key| Some((*key, terms(&self.votes.get(key)?.0)))).collect()
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
        let mut settled = if self.stakes.is_empty() { MAX_ENTRIES } else { 0 };
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
        let statuses = self.stakes.iter().map(|it| self.status(&it.delegation, epoch, history));
        statuses.fold(additional, StakeHistoryEntry::saturating_add)
    }

    #[allow(deprecated, reason = "what is deprecated is what clusters without the feature do")]
    pub(crate) fn status(
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
        let delegations = self.stakes.iter().map(|it| &it.delegation);
        let changes = delegations.flat_map(|it| [it.activation_epoch, it.deactivation_epoch]);
        changes.filter(|change| *change >= epoch).min().unwrap_or(u64::MAX)
    }

    /// Returns the effective stake that is delegated to each vote account in an epoch, also to those
    /// that do not count or do not exist.
    pub(crate) fn delegated(&self, epoch: u64, history: &StakeHistory) -> BTreeMap<Pubkey, u64> {
        let mut voters: BTreeMap<Pubkey, u64> = BTreeMap::new();
        for StakeAccount { delegation, .. } in &self.stakes {
            let effective = self.status(delegation, epoch, history).effective;
            let sum = voters.entry(delegation.voter_pubkey).or_default();
            *sum = sum.saturating_add(effective);
        }
        voters
    }

    /// Returns the vote accounts that are admitted to an epoch, with their stake.
    pub(crate) fn admitted(&self, epoch: u64, history: &StakeHistory) -> BTreeMap<Pubkey, u64> {
        let mut voters = self.delegated(epoch, history);
        if !self.needs_tickets {
            return voters;
        }
        voters.retain(|voter, stake| *stake > 0 && self.voters.contains(voter));
        keep_largest(&mut voters, VOTE_ACCOUNTS_MAX);
        voters
    }

    /// Returns the stake of vote accounts in an epoch.
    pub(crate) fn at(
        &self,
        epoch: u64,
        history: &StakeHistory,
        additional: &EpochStake,
    ) -> EpochStake {
        let mut stake = additional.clone();
        for (voter, effective) in self.admitted(epoch, history) {
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

/// Decodes the delegation of a stake account, and the credits that it has observed; `None` if it has
/// none.
fn delegation(data: &[u8]) -> Option<(Delegation, u64)> {
    let account = Delegated::at_start_of(data).filter(|it| it.state == DELEGATED_STATE)?;
    let Stake { delegation, credits_observed } = account.stake;
    let delegation = Delegation {
        voter_pubkey: delegation.voter,
        stake: delegation.stake,
        activation_epoch: delegation.activation_epoch,
        deactivation_epoch: delegation.deactivation_epoch,
        ..Delegation::default()
    };
    Some((delegation, credits_observed))
}
