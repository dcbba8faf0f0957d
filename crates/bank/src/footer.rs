//! The footer of a block under Alpenglow: it moves the clock to the block's end, and vote accounts change
//! as its certificates say (agave: `update_clock_from_footer` of `runtime/src/bank.rs`,
//! `block_component_processor/vote_reward.rs`).

use std::collections::{BTreeMap, BTreeSet};

use selkie_builtins::vote_account::VoteAccount;
use selkie_svm::{
    Account, AccountSharedData, AccountStore, EpochStake, Pubkey, ReadableAccount, sysvars::Clock,
};
use solana_sdk_ids::{sysvar, vote};

use crate::{
    alpenglow::{self, Certified, Footer},
    head::{Head, HeadAccounts, data_of, set_sysvar},
    rewards::{EpochInflation, VoteRewards},
    sysvars, time,
};

/// What a vote account earns for a vote, by the stakes of the rewarded slot.
struct Earnings<'a> {
    inflation: EpochInflation,
    stakes: &'a EpochStake,
    migration_epoch: u64,
}

impl Earnings<'_> {
    /// Returns what a voter earns for itself, and for the leader.
    fn of(&self, voter: &Pubkey) -> (u64, u64) {
        let stake = self.stakes.vote_accounts.get(voter).copied().unwrap_or(0);
        let product = u128::from(self.inflation.lamports).saturating_mul(stake.into());
        let all = u128::from(self.inflation.slots).saturating_mul(self.stakes.total.into());
        let lamports = product.checked_div(all).unwrap_or(0);
        let lamports = u64::try_from(lamports).unwrap_or(u64::MAX);
        (lamports / 2, lamports.saturating_sub(lamports / 2))
    }

    fn add(&self, vote: &mut VoteAccount, lamports: u64) {
        if lamports > 0 {
            vote.add_credits(self.inflation.epoch, lamports, Some(self.migration_epoch));
        }
    }
}

impl Head {
    /// Changes the vote accounts of a footer's certificates: votes, roots, and the lamports that they earned
    /// as credits. Nothing changes before Alpenglow.
    pub(crate) fn update_votes(&self, footer: &Footer, accounts: &mut impl HeadAccounts) {
        if !self.environment.is_alpenglow {
            return;
        }
        let time = alpenglow::nanoseconds(accounts).unwrap_or(0);
        let certificates = [&footer.rewarded, &footer.finalized];
        let voters = certificates.into_iter().flatten().flat_map(|it| &it.voters);
        let voters: BTreeSet<Pubkey> = voters.copied().collect();
        let earnings = footer.rewarded.as_ref().and_then(|it| self.earnings(it.slot, accounts));
        let (mut changed, mut of_leader) = (BTreeMap::new(), 0_u64);
        for voter in voters {
            let Some((account, mut vote)) = read_vote(accounts, &voter) else { continue };
            let has = |it: &&Certified| it.voters.contains(&voter);
            if let Some(it) = footer.rewarded.as_ref().filter(has) {
                vote.record_vote(it.slot, self.second_of(it.slot, time));
                if let Some(earnings) = &earnings {
                    let (own, leader) = earnings.of(&voter);
                    earnings.add(&mut vote, own);
                    of_leader = of_leader.saturating_add(leader);
                }
            }
            if let Some(it) = footer.finalized.as_ref().filter(has) {
                vote.record_root(it.slot);
                vote.record_vote(it.slot, self.second_of(it.slot, time));
            }
            changed.insert(voter, (account, vote));
        }
        if let Some(earnings) = earnings.filter(|_| of_leader > 0) {
            let known = changed.remove(&footer.leader);
            if let Some((account, mut vote)) = known.or_else(|| read_vote(accounts, &footer.leader))
            {
                earnings.add(&mut vote, of_leader);
                changed.insert(footer.leader, (account, vote));
            }
        }
        for (key, (account, vote)) in changed {
            let Some(data) = vote.write(account.data().len()) else { continue };
            let lamports = account.lamports();
            let account = Account {
                lamports,
                data,
                owner: vote::ID,
                executable: false,
                rent_epoch: u64::MAX,
            };
            accounts.put(key, account.into());
        }
    }

    /// Returns by what the votes for a slot are rewarded; `None` without inflation.
    fn earnings(&self, slot: u64, accounts: &impl AccountStore) -> Option<Earnings<'_>> {
        let schedule = time::schedule(&self.environment.sysvars);
        let inflation = VoteRewards::read(accounts)?.of(schedule.get_epoch(self.slot))?;
        let migration_epoch = schedule.get_epoch(alpenglow::genesis_slot(accounts)?);
        let stakes = self.stakes.of(schedule.get_epoch(slot));
        Some(Earnings { inflation, stakes, migration_epoch })
    }

    /// Returns the second at which a slot ended, if the block ends at a time in nanoseconds.
    fn second_of(&self, slot: u64, time: i64) -> i64 {
        let later = self.slot_times.duration(slot.saturating_add(1)..=self.slot);
        let time = time.saturating_sub(i64::try_from(later).unwrap_or(i64::MAX));
        time / alpenglow::NANOSECONDS
    }

    /// Returns the time, in nanoseconds, with which the block ends if the leader's clock shows `now`:
    /// `now` within the bounds, or one slot time for each slot since the parent. `None` before
    /// Alpenglow.
    fn footer_time(
        &self,
        now: Option<i64>,
        clock: &Clock,
        accounts: &impl AccountStore,
    ) -> Option<i64> {
        let parent =
            self.environment.is_alpenglow.then(|| alpenglow::time_of(accounts, clock)).flatten()?;
        let elapsed = self.slot_times.duration(self.parent_slot.saturating_add(1)..=self.slot);
        let bounds = alpenglow::time_bounds(parent, elapsed);
        let time = now.unwrap_or_else(|| alpenglow::after(parent, elapsed));
        Some(time.min(*bounds.end()).max(*bounds.start()))
    }

    /// Moves the clock to the end of the block (agave: `update_clock_from_footer`).
    pub(crate) fn end_clock(&self, now: Option<i64>, accounts: &mut impl HeadAccounts) {
        let clock = sysvars::read_clock(&data_of(accounts, &sysvar::clock::ID));
        let Some(mut clock) = clock else { return };
        let Some(time) = self.footer_time(now, &clock, accounts) else { return };
        clock.unix_timestamp = alpenglow::second(time);
        let schedule = time::schedule(&self.environment.sysvars);
        if schedule.get_epoch(self.parent_slot) != schedule.get_epoch(self.slot) {
            clock.epoch_start_timestamp = clock.unix_timestamp;
        }
        let rent = self.environment.rent();
        set_sysvar(accounts, sysvar::clock::ID, sysvars::clock(&clock), &rent);
        accounts.put(alpenglow::CLOCK, alpenglow::clock_account(time));
    }
}

/// Returns a vote account with its state.
fn read_vote(
    accounts: &impl AccountStore,
    key: &Pubkey,
) -> Option<(AccountSharedData, VoteAccount)> {
    let account = accounts.account(key).filter(|account| *account.owner() == vote::ID)?;
    let vote = VoteAccount::read(key, account.data())?;
    Some((account, vote))
}
