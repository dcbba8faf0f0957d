//! What each stake account and each validator earns for an epoch (agave 4.4:
//! `partitioned_epoch_rewards/calculation.rs`, `inflation_rewards/`).
//!
//! In an epoch of votes, a stake earns points: its effective stake times the credits that its vote
//! account earned since the stake was rewarded last; the inflation is split by points. In an epoch of
//! Alpenglow the credits of a vote account are lamports already, which its stakes share. In the epoch of
//! the migration both add up.

use std::collections::BTreeMap;

use selkie_builtins::vote_account::{EpochCredits, MIGRATION_MARKER, VoteAccount};
use selkie_svm::{
    Pubkey,
    sysvars::{Rent, minimum_balance},
};
use solana_stake_history::{StakeHistory, StakeHistoryEntry};

use crate::stakes::{StakeAccount, StakeAccounts, Stakes};

pub(crate) const BASIS_POINTS: u16 = 10_000;

/// How the rewarded epoch was agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EpochKind {
    Tower,
    /// The epoch of the migration, with its numbers of slots before and after.
    Migration {
        tower: u64,
        alpenglow: u64,
    },
    Alpenglow,
}

/// What rewards are computed from.
pub(crate) struct Inputs<'a> {
    pub(crate) epoch: u64,
    pub(crate) kind: EpochKind,
    /// The inflation of the epoch, in lamports.
    pub(crate) inflation: u64,
    pub(crate) accounts: &'a StakeAccounts,
    pub(crate) stakes: &'a Stakes,
    /// The history with the entry of the rewarded epoch.
    pub(crate) history: StakeHistory,
    pub(crate) rent: &'a Rent,
    /// The vote accounts that are admitted to the epoch that begins: others earn nothing.
    pub(crate) admitted: &'a BTreeMap<Pubkey, u64>,
    /// The effective stake in the rewarded epoch of each of them.
    pub(crate) delegated: &'a BTreeMap<Pubkey, u64>,
    pub(crate) rules: Rules,
}

/// The features on which rewards depend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Commissions hold from the second epoch after a change (SIMD-0249).
    pub(crate) delays_commissions: bool,
    /// Commissions have basis points, not percents (SIMD-0291).
    pub(crate) has_basis_points: bool,
    /// Validators choose who receives the commission (SIMD-0232).
    pub(crate) has_collectors: bool,
    /// Delegations are no larger than the account's lamports without its rent (SIMD-0392).
    pub(crate) adjusts_for_rent: bool,
    /// Stakes that are neither effective nor activating are left alone (SIMD-0599).
    pub(crate) skips_inactive: bool,
    /// Stakes receive what vote accounts hold of fees for them (SIMD-0123).
    pub(crate) shares_fees: bool,
}

/// The rewards of an epoch.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Calculation {
    /// The lamports that are split, and the points by which they are. Both are 0 if nothing is due.
    pub(crate) inflation: u64,
    pub(crate) points: u128,
    pub(crate) stakes: Vec<StakeReward>,
    pub(crate) commissions: BTreeMap<Pubkey, Commission>,
    /// The effective stake of vote accounts in the rewarded epoch; after the migration of those that are
    /// admitted to the one that begins.
    pub(crate) delegated: BTreeMap<Pubkey, u64>,
}

/// What a stake account receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StakeReward {
    pub(crate) key: Pubkey,
    pub(crate) lamports: u64,
    /// And of fees of blocks.
    pub(crate) of_fees: u64,
    /// The new fields of the delegation.
    pub(crate) stake: u64,
    pub(crate) deactivation_epoch: u64,
    pub(crate) credits_observed: u64,
    /// The commission of its vote account, as the block records it.
    pub(crate) commission_bps: Option<u16>,
}

/// What the receiver of a commission receives.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Commission {
    pub(crate) lamports: u64,
    pub(crate) burned: u64,
    /// Whether it is the vote account itself.
    pub(crate) is_vote_account: bool,
    /// As the block records it.
    pub(crate) bps: Option<u16>,
}

/// The points of a stake.
struct Points {
    tower: u128,
    alpenglow: u128,
    credits_observed: u64,
    /// Whether the observed credits change without a reward.
    skips: bool,
}

/// What a stake earns: itself, its validator, and the credits that it has observed.
struct Earned {
    stake: u64,
    commission: u64,
    credits_observed: u64,
}

impl Calculation {
    pub(crate) fn stake_lamports(&self) -> u64 {
        self.stakes.iter().map(|it| it.lamports).fold(0, u64::saturating_add)
    }

    fn add_commission(&mut self, key: Pubkey, new: Commission) {
        let Commission { lamports, is_vote_account, .. } = new;
        let Some(all) = self.commissions.get_mut(&key) else {
            self.commissions.insert(key, new);
            return;
        };
        match (all.is_vote_account, is_vote_account) {
            // A vote account may only receive its own commission; that of others is burned.
            (true, false) => all.burned = all.burned.saturating_add(lamports),
            (false, true) => {
                *all = Commission { burned: all.burned.saturating_add(all.lamports), ..new };
            }
            _ => all.lamports = all.lamports.saturating_add(lamports),
        }
    }
}

impl Inputs<'_> {
    pub(crate) fn calculate(&self) -> Calculation {
        if self.kind == EpochKind::Alpenglow {
            return self.calculate_by(0);
        }
        match self.points() {
            0 => Calculation::default(),
            points => self.calculate_by(points),
        }
    }

    /// Computes the rewards given the points of all stakes.
    pub(crate) fn calculate_by(&self, points: u128) -> Calculation {
        let mut all = Calculation { inflation: self.inflation, points, ..Calculation::default() };
        for stake in &self.accounts.stakes {
            let status = self.accounts.status(&stake.delegation, self.epoch, &self.history);
            let is_inactive = status.effective == 0 && status.activating == 0;
            if !(self.rules.skips_inactive && is_inactive) {
                self.reward(stake, &status, &mut all);
            }
        }
        all
    }

    /// Returns the vote account of a stake, if it is admitted.
    fn vote(&self, stake: &StakeAccount) -> Option<&VoteAccount> {
        let key = &stake.delegation.voter_pubkey;
        let vote = self.accounts.votes.get(key).map(|(vote, _)| vote);
        vote.filter(|_| self.admitted.contains_key(key))
    }

    /// Returns the points of all stakes, by which the inflation of an epoch of votes is split. The
    /// additional stake earns as many credits as the best vote account did in the epoch.
    fn points(&self) -> u128 {
        let of = |stake: &StakeAccount| {
            let status = self.accounts.status(&stake.delegation, self.epoch, &self.history);
            let is_inactive = status.effective == 0 && status.activating == 0;
            let vote = self.vote(stake).filter(|_| !(self.rules.skips_inactive && is_inactive));
            vote.map_or(0, |vote| self.points_of(stake, vote, EpochKind::Tower).tower)
        };
        let points = self.accounts.stakes.iter().map(of).fold(0, u128::saturating_add);
        let additional = u128::from(self.stakes.additional.total);
        let votes = self.accounts.votes.values().map(|(vote, _)| vote);
        let earned = |vote: &VoteAccount| {
            let entry = vote.epoch_credits().iter().find(|it| it.0 == self.epoch);
            entry.map_or(0, |(_, end, start)| end.saturating_sub(*start))
        };
        let best = votes.map(earned).max().unwrap_or(0);
        points.saturating_add(additional.saturating_mul(best.into()))
    }

    fn points_of(&self, stake: &StakeAccount, vote: &VoteAccount, kind: EpochKind) -> Points {
        let observed = stake.credits_observed;
        let of = |tower, alpenglow, credits_observed| Points {
            tower,
            alpenglow,
            credits_observed,
            skips: false,
        };
        if vote.credits() < observed {
            // The vote account was closed and created again.
            return Points { skips: true, ..of(0, 0, vote.credits()) };
        }
        if vote.credits() == observed {
            return of(0, 0, observed);
        }
        let credits = vote.epoch_credits();
        match kind {
            EpochKind::Tower => {
                let (points, observed) = self.tower_points(stake, credits);
                of(points, 0, observed)
            }
            EpochKind::Alpenglow => match self.alpenglow_points(stake, credits.last()) {
                Ok((points, observed)) => of(0, points, observed),
                Err(observed) => Points { skips: true, ..of(0, 0, observed) },
            },
            EpochKind::Migration { .. } => {
                let (tower, before) = self.tower_points(stake, credits);
                let marker = credits.iter().position(|it| *it == MIGRATION_MARKER);
                let entry = marker.and_then(|at| credits.get(at.saturating_add(1)));
                match self.alpenglow_points(stake, entry) {
                    Ok((points, after)) => of(tower, points, before.max(after)),
                    Err(observed) => Points { skips: true, ..of(0, 0, observed) },
                }
            }
        }
    }

    fn effective(&self, stake: &StakeAccount, epoch: u64) -> u128 {
        self.accounts.status(&stake.delegation, epoch, &self.history).effective.into()
    }

    /// Returns the points of the credits before the migration, and the credits observed then.
    fn tower_points(&self, stake: &StakeAccount, credits: &[EpochCredits]) -> (u128, u64) {
        let (mut points, mut observed) = (0_u128, stake.credits_observed);
        for entry in credits.iter().take_while(|it| **it != MIGRATION_MARKER) {
            let earned = u128::from(earned(stake, *entry, &mut observed));
            points = points.saturating_add(self.effective(stake, entry.0).saturating_mul(earned));
        }
        (points, observed)
    }

    /// Returns the lamports of a stake among those of its vote account in the rewarded epoch, and the
    /// credits observed then; only these if it is unknown how much stake shares them.
    fn alpenglow_points(
        &self,
        stake: &StakeAccount,
        entry: Option<&EpochCredits>,
    ) -> Result<(u128, u64), u64> {
        let mut observed = stake.credits_observed;
        let Some(entry) = entry.filter(|it| it.0 == self.epoch) else { return Ok((0, observed)) };
        let earned = u128::from(earned(stake, *entry, &mut observed));
        let amount = self.effective(stake, entry.0);
        if earned == 0 || amount == 0 {
            return Ok((0, observed));
        }
        let total = self.delegated.get(&stake.delegation.voter_pubkey).copied().unwrap_or(0);
        let points = earned.saturating_mul(amount).checked_div(total.into());
        points.map(|points| (points, observed)).ok_or(observed)
    }

    /// Adds the reward of a stake, and the commission.
    fn reward(&self, stake: &StakeAccount, status: &StakeHistoryEntry, all: &mut Calculation) {
        let vote = self.vote(stake);
        let earned = vote.and_then(|vote| self.earned(stake, vote, status, all.points));
        let lamports = earned.as_ref().map_or(0, |it| it.stake);
        let delegated = stake.delegation.stake.saturating_add(lamports);
        let needs_change = || {
            let is_inactive = status.effective == 0 && status.activating == 0;
            let minimum = minimum_balance(self.rent, stake.bytes);
            let free = stake.lamports.saturating_add(lamports).saturating_sub(minimum);
            !is_inactive && delegated.min(free) != stake.delegation.stake
        };
        let of_fees = if self.rules.shares_fees { self.of_fees(stake, status) } else { 0 };
        let is_due = earned.is_some() || self.rules.adjusts_for_rent && needs_change();
        if !is_due && of_fees == 0 {
            return;
        }
        let voter = stake.delegation.voter_pubkey;
        let observed = earned.as_ref().map_or(stake.credits_observed, |it| it.credits_observed);
        let bps = vote.map_or(0, |vote| self.commission(&voter, vote));
        let bps = (is_due && !self.rules.has_collectors).then_some(bps);
        all.stakes.push(StakeReward {
            key: stake.key,
            lamports,
            of_fees,
            stake: delegated,
            deactivation_epoch: stake.delegation.deactivation_epoch,
            credits_observed: observed,
            commission_bps: bps,
        });
        if is_due {
            // Agave records a commission of nothing as well, also if the vote account is not admitted.
            let chosen = vote.filter(|_| self.rules.has_collectors).map(VoteAccount::collector);
            let collector = chosen.copied().unwrap_or(voter);
            let is_vote_account = vote.is_some() && collector == voter;
            let lamports = earned.map_or(0, |it| it.commission);
            all.add_commission(collector, Commission { lamports, burned: 0, is_vote_account, bps });
        }
    }

    /// Returns the part of a stake in the fees that its vote account holds for its delegators. In epochs of
    /// votes they are not paid (agave: `calculate_block_reward`).
    fn of_fees(&self, stake: &StakeAccount, status: &StakeHistoryEntry) -> u64 {
        let Some(vote) = self.vote(stake).filter(|_| self.kind != EpochKind::Tower) else {
            return 0;
        };
        let total = self.delegated.get(&stake.delegation.voter_pubkey).copied().unwrap_or(0);
        let pending = vote.pending_rewards();
        let product = u128::from(pending).saturating_mul(status.effective.into());
        let part = product.checked_div(total.into()).unwrap_or(0);
        u64::try_from(part).unwrap_or(u64::MAX).min(pending)
    }

    /// Returns what a stake earns; `None` if it is not rewarded and observes no credits.
    fn earned(
        &self,
        stake: &StakeAccount,
        vote: &VoteAccount,
        status: &StakeHistoryEntry,
        all_points: u128,
    ) -> Option<Earned> {
        let points = self.points_of(stake, vote, self.kind);
        let bps = self.commission(&stake.delegation.voter_pubkey, vote);
        let credits_observed = points.credits_observed;
        let nothing = Earned { stake: 0, commission: 0, credits_observed };
        let is_new = stake.delegation.activation_epoch == self.epoch;
        if points.skips || self.inflation == 0 || is_new {
            return Some(nothing);
        }
        let is_tower = self.kind == EpochKind::Tower;
        let is_active = status.effective != 0 || status.activating != 0;
        let observes = points.credits_observed != stake.credits_observed;
        let skipped = (!is_tower && is_active && observes).then_some(nothing);
        let share = |points: u128| {
            points.saturating_mul(self.inflation.into()).checked_div(all_points).unwrap_or(0)
        };
        let lamports = match self.kind {
            EpochKind::Tower => share(points.tower),
            EpochKind::Alpenglow => points.alpenglow,
            EpochKind::Migration { tower, alpenglow } => {
                let slots = u128::from(tower).saturating_add(alpenglow.into());
                let before = share(points.tower).saturating_mul(tower.into());
                before.checked_div(slots).unwrap_or(0).saturating_add(points.alpenglow)
            }
        };
        let lamports = u64::try_from(lamports).unwrap_or(u64::MAX);
        if lamports == 0 {
            return skipped;
        }
        let (commission, reward) = split(bps.min(BASIS_POINTS), lamports, is_tower);
        let is_split = bps != 0 && bps < BASIS_POINTS;
        if is_tower && is_split && (commission == 0 || reward == 0) {
            // Both wait until there is a lamport for each.
            return None;
        }
        Some(Earned { stake: reward, commission, credits_observed })
    }

    fn commission(&self, voter: &Pubkey, vote: &VoteAccount) -> u16 {
        let delayed = || self.stakes.commission(self.epoch, voter);
        let delayed = if self.rules.delays_commissions { delayed() } else { None };
        let bps = delayed.unwrap_or_else(|| vote.commission_bps());
        if self.rules.has_basis_points { bps } else { (bps / 100).min(255).saturating_mul(100) }
    }
}

/// Returns the credits of an epoch that a stake has not observed, and lets `observed` include them.
fn earned(stake: &StakeAccount, (_, end, start): EpochCredits, observed: &mut u64) -> u64 {
    let before = stake.credits_observed;
    let earned = if before < start {
        end.saturating_sub(start)
    } else if before < end {
        end.saturating_sub(*observed)
    } else {
        0
    };
    *observed = end.max(*observed);
    earned
}

/// Splits lamports into a commission and the rest. In epochs of votes a remainder is lost, else it is
/// part of the commission.
fn split(bps: u16, lamports: u64, loses_remainder: bool) -> (u64, u64) {
    let rest = part(lamports, BASIS_POINTS.saturating_sub(bps));
    if loses_remainder {
        (part(lamports, bps), rest)
    } else {
        (lamports.saturating_sub(rest), rest)
    }
}

/// Returns so many basis points of lamports, rounded down.
pub(crate) fn part(lamports: u64, bps: u16) -> u64 {
    let part = u128::from(lamports).saturating_mul(bps.into());
    let part = part.checked_div(BASIS_POINTS.into()).unwrap_or_default();
    u64::try_from(part).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remainder_is_lost_or_part_of_the_commission() {
        assert_eq!(split(333, 1000, true), (33, 966));
        assert_eq!(split(333, 1000, false), (34, 966));
        assert_eq!(split(0, 7, false), (0, 7));
        assert_eq!(split(BASIS_POINTS, 7, true), (7, 0));
    }

    #[test]
    fn a_vote_account_does_not_receive_the_commission_of_others() {
        let key = Pubkey::new_from_array([1; 32]);
        for order in [[false, true], [true, false]] {
            let mut all = Calculation::default();
            let of = |own: bool| Commission {
                lamports: if own { 5 } else { 3 },
                is_vote_account: own,
                ..Commission::default()
            };
            order.into_iter().for_each(|own| all.add_commission(key, of(own)));
            let expected = Commission { burned: 3, ..of(true) };
            assert_eq!(all.commissions[&key], expected);
        }
    }
}
