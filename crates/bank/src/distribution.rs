//! Rewards in the blocks of an epoch: computed and begun in its first one, distributed in those after it
//! (agave 4.4: `partitioned_epoch_rewards/distribution.rs`).

use std::collections::BTreeMap;

use selkie_builtins::vote_account::take_pending_rewards;
use selkie_layout::stake::{CREDITS_OBSERVED, DEACTIVATION_EPOCH, DELEGATED_STAKE};
use selkie_svm::{
    AccountSharedData, Feature, Pubkey, ReadableAccount, RewardKind,
    sysvars::{EpochRewards, minimum_balance},
};
use solana_account::WritableAccount;
use solana_sdk_ids::{incinerator, stake, sysvar, vote};
use solana_stake_history::StakeHistory;

use crate::{
    advance::Advance,
    alpenglow::{self, active_since},
    head::HeadAccounts,
    rewards::{
        Calculation, DELEGATED_STAKES, EpochInflation, EpochKind, Inflation, Inputs, Pending,
        Reward, Rules, SKIP_INACTIVE, StakeReward, VOTE_REWARDS, VoteRewards, admission, credited,
        delegated_stakes, doubled_since, inflation_since, read_delegated_stakes,
    },
    stakes::StakeAccounts,
    step::{Between, Distribution},
    sysvars, time,
};

impl<A: HeadAccounts> Advance<'_, A> {
    fn rules(&self) -> Rules {
        let has = |feature| self.features.has(feature);
        Rules {
            delays_commissions: has(Feature::DelayCommissionUpdates),
            has_basis_points: has(Feature::CommissionRateInBasisPoints),
            has_collectors: has(Feature::CustomCommissionCollector),
            adjusts_for_rent: has(Feature::RelaxMinBalanceCheck),
            skips_inactive: active_since(self.accounts, &SKIP_INACTIVE).is_some(),
            shares_fees: has(Feature::BlockRevenueSharing),
        }
    }

    /// Returns how an epoch was agreed on (agave: `AlpenglowEpochType`).
    fn kind(&self, epoch: u64) -> EpochKind {
        let Some(genesis) = alpenglow::genesis_slot(self.accounts) else {
            return EpochKind::Tower;
        };
        let migration = self.schedule.get_epoch(genesis);
        if migration != epoch {
            return if migration < epoch { EpochKind::Alpenglow } else { EpochKind::Tower };
        }
        let first = self.schedule.get_first_slot_in_epoch(epoch);
        let tower = genesis.saturating_sub(first).saturating_add(1);
        let alpenglow = self.schedule.get_slots_in_epoch(epoch).saturating_sub(tower);
        EpochKind::Migration { tower, alpenglow }
    }

    /// Returns the inflation of an epoch in lamports, if the supply is `capitalization`.
    fn inflation(&self, capitalization: u64, rewarded: u64) -> u64 {
        let inflation = Inflation {
            schedule: &self.schedule,
            slot_times: &self.slot_times,
            epoch: self.schedule.get_epoch(self.slot),
            since: inflation_since(self.accounts),
            doubled_since: doubled_since(self.accounts),
        };
        inflation.of(capitalization, rewarded)
    }

    /// Returns the lamports of all accounts, and the additional stake, which no account holds.
    pub(crate) fn capitalization(&self) -> u64 {
        self.accounts.capitalization().saturating_add(self.stakes.additional.total)
    }

    /// Computes the rewards of the epoch that has ended. After the migration, notes the stakes by which
    /// vote accounts share what they earned.
    pub(crate) fn calculate_rewards(&mut self, stakes: &StakeAccounts) -> Calculation {
        let epoch = self.schedule.get_epoch(self.before.slot);
        let history = self.stake_history();
        let admitted = stakes.admitted(epoch.saturating_add(1), &history);
        let mut delegated = stakes.delegated(epoch, &history);
        let kind = self.kind(epoch);
        let inflation = if kind == EpochKind::Tower {
            self.inflation(self.capitalization(), epoch)
        } else {
            delegated.retain(|voter, _| admitted.contains_key(voter));
            let account = delegated_stakes(epoch, &delegated, &self.rent);
            self.put(DELEGATED_STAKES, account);
            let recorded = VoteRewards::read(self.accounts).and_then(|all| all.of(epoch));
            recorded.map_or(0, |it| it.lamports)
        };
        let calculation =
            self.inputs(epoch, inflation, stakes, [&admitted, &delegated]).calculate();
        Calculation { delegated, ..calculation }
    }

    /// Returns what the rewards of an epoch are computed from: its inflation, the vote accounts that are
    /// admitted to the next one, and the effective stake of each in the rewarded one.
    fn inputs<'b>(
        &'b self,
        epoch: u64,
        inflation: u64,
        accounts: &'b StakeAccounts,
        [admitted, delegated]: [&'b BTreeMap<Pubkey, u64>; 2],
    ) -> Inputs<'b> {
        Inputs {
            epoch,
            kind: self.kind(epoch),
            inflation,
            accounts,
            stakes: &self.before.stakes,
            history: self.stake_history(),
            rent: &self.rent,
            admitted,
            delegated,
            rules: self.rules(),
        }
    }

    fn stake_history(&self) -> StakeHistory {
        sysvars::read_stake_history(&self.data(&sysvar::stake_history::ID))
    }

    /// Lets the vote accounts that are newly admitted to epochs pay for it: to the incinerator, which
    /// burns it at the end of the block (agave: `maybe_burn_vat_from_staked_accounts`; SIMD-0357).
    pub(crate) fn pay_admission(&mut self, stakes: &StakeAccounts) {
        let price = admission(self.accounts, &self.slot_times, self.slot);
        if price == 0 {
            return;
        }
        let known = &self.before.stakes.epochs;
        let new = self.stakes.epochs.iter().filter(|(epoch, _)| !known.contains_key(epoch));
        let voters = new.flat_map(|(_, stake)| stake.vote_accounts.keys().copied());
        let voters: Vec<Pubkey> = voters.filter(|voter| stakes.is_admissible(voter)).collect();
        let mut total = 0_u64;
        for voter in voters {
            let Some(mut account) = self.account(&voter) else { continue };
            if account.checked_sub_lamports(price).is_ok() {
                let (kind, balance) = (RewardKind::AdmissionDebit, account.lamports());
                let mut debit = Reward::received(voter, kind, price, balance);
                debit.lamports = debit.lamports.saturating_neg();
                self.rewards.push(debit);
                self.put(voter, account);
                total = total.saturating_add(price);
            }
        }
        if total > 0 {
            let mut account = self.account(&incinerator::ID).unwrap_or_default();
            account.set_lamports(account.lamports().saturating_add(total));
            self.put(incinerator::ID, account);
        }
    }

    /// Pays the commissions, and starts the distribution to stake accounts. If its blocks have passed,
    /// or the step says so, they are paid at once. `supply` is the capitalization of the parent.
    pub(crate) fn begin_rewards(
        &mut self,
        calculation: &Calculation,
        stakes: &StakeAccounts,
        supply: u64,
    ) {
        let of_fees = self.sweep(stakes, &calculation.delegated);
        let (paid, burned) = self.pay_commissions(calculation);
        let rewards = EpochRewards {
            distribution_starting_block_height: self.first_height().saturating_add(1),
            num_partitions: self.partitions(calculation.stakes.len()),
            parent_blockhash: self.end.blockhash,
            total_points: calculation.points,
            total_rewards: calculation.inflation,
            distributed_rewards: paid.saturating_add(burned),
            active: true,
        };
        self.set_sysvar(sysvar::epoch_rewards::ID, sysvars::epoch_rewards(&rewards));
        self.change_undistributed(|lamports| lamports.saturating_add(of_fees));
        let epoch = self.schedule.get_epoch(self.before.slot);
        self.pending = Some(Pending::new(epoch, &calculation.stakes, &rewards));
        self.update_vote_rewards(supply.saturating_add(paid), calculation);
        let (_, index) = self.schedule.get_epoch_and_slot_index(self.slot);
        let has_passed = index > 0 && self.step.between != Between::Skipped;
        if has_passed || self.step.distribution == Distribution::AtOnce {
            self.distribute(0..usize::MAX);
            self.finish_distribution();
        }
    }

    /// Returns the block height of the epoch's first block.
    fn first_height(&self) -> u64 {
        let (_, index) = self.schedule.get_epoch_and_slot_index(self.slot);
        let passed = if self.step.between == Between::Empty { index } else { 0 };
        self.block_height.saturating_sub(passed)
    }

    /// Returns in how many blocks some stake accounts are rewarded: at most a tenth of the epoch.
    fn partitions(&self, stakes: usize) -> u64 {
        let epoch = self.schedule.get_epoch(self.slot);
        if self.schedule.warmup && epoch < self.schedule.first_normal_epoch {
            return 1;
        }
        let per_block = self.slot_times.at(self.slot).rewards_per_block;
        let blocks = stakes.div_ceil(per_block) as u64;
        blocks.clamp(1, (self.schedule.slots_per_epoch / 10).max(1))
    }

    /// Returns the lamports paid, and those sent to the incinerator or burned.
    fn pay_commissions(&mut self, calculation: &Calculation) -> (u64, u64) {
        let (mut paid, mut burned) = (0_u64, 0_u64);
        for (key, commission) in &calculation.commissions {
            burned = burned.saturating_add(commission.burned);
            let account = self.account(key).unwrap_or_default();
            let credited = if commission.is_vote_account {
                let mut account = account;
                account.checked_add_lamports(commission.lamports).ok().map(|()| account)
            } else {
                credited(key, account, commission.lamports, self.features, &self.rent)
            };
            let Some(account) = credited else {
                burned = burned.saturating_add(commission.lamports);
                continue;
            };
            let (kind, balance) = (RewardKind::Voting, account.lamports());
            let reward = Reward::received(*key, kind, commission.lamports, balance);
            self.rewards.push(Reward { commission_bps: commission.bps, ..reward });
            self.put(*key, account);
            let sum = if *key == incinerator::ID { &mut burned } else { &mut paid };
            *sum = sum.saturating_add(commission.lamports);
        }
        (paid, burned)
    }

    /// Takes what vote accounts hold of fees for their delegators, and returns it. A validator without stake
    /// in the rewarded epoch keeps it (SIMD-0123; agave: `sweep_vote_account`).
    fn sweep(&mut self, stakes: &StakeAccounts, delegated: &BTreeMap<Pubkey, u64>) -> u64 {
        if !self.features.has(Feature::BlockRevenueSharing) {
            return 0;
        }
        let mut total = 0_u64;
        for voter in stakes.votes.keys() {
            let account = self.account(voter).filter(|it| *it.owner() == vote::ID);
            let Some(mut account) = account else { continue };
            let pending = take_pending_rewards(account.data_as_mut_slice()).unwrap_or(0);
            if pending == 0 {
                continue;
            }
            if delegated.get(voter) != Some(&0) {
                account.set_lamports(account.lamports().saturating_sub(pending));
                total = total.saturating_add(pending);
            }
            self.put(*voter, account);
        }
        total
    }

    /// Changes the lamports of the account of [`EpochRewards`], which holds the fees that stakes are still
    /// to receive.
    fn change_undistributed(&mut self, change: impl FnOnce(u64) -> u64) {
        let Some(mut account) = self.account(&sysvar::epoch_rewards::ID) else { return };
        let lamports = change(account.lamports());
        if lamports != account.lamports() {
            account.set_lamports(lamports);
            self.put(sysvar::epoch_rewards::ID, account);
        }
    }

    /// Notes what validators can earn in the epoch that begins, once the gate of Alpenglow is active.
    fn update_vote_rewards(&mut self, supply: u64, calculation: &Calculation) {
        if active_since(self.accounts, &alpenglow::GATE).is_none() {
            return;
        }
        let epoch = self.schedule.get_epoch(self.slot);
        let supply = supply.saturating_add(calculation.stake_lamports());
        let slots = self.schedule.slots_per_epoch;
        let current = EpochInflation { lamports: self.inflation(supply, epoch), slots, epoch };
        let previous = VoteRewards::read(self.accounts).map(|all| all.current);
        let account = VoteRewards { current, previous }.account(&self.rent);
        self.put(VOTE_REWARDS, account);
    }

    /// Distributes what is due in this block, and in those that have passed since the parent: the
    /// partition of each block height.
    pub(crate) fn continue_rewards(&mut self) {
        let Some(rewards) = self.epoch_rewards().filter(|rewards| rewards.active) else { return };
        let start = rewards.distribution_starting_block_height;
        // Blocks that do not count in the height have the parent's, and pay the next partition all the same.
        let first = self.before.block_height.saturating_add(1);
        let height = first.max(self.block_height);
        if height < start {
            return;
        }
        let index =
            |height: u64| usize::try_from(height.saturating_sub(start)).unwrap_or(usize::MAX);
        let paid = self.pending.as_ref().map_or(0, |it| it.paid).max(index(first));
        let due = index(height).max(paid).saturating_add(1);
        self.distribute(paid..due);
        if due as u64 >= rewards.num_partitions {
            self.finish_distribution();
        }
    }

    /// Pays the stake accounts of some partitions.
    fn distribute(&mut self, partitions: core::ops::Range<usize>) {
        let Some(pending) = &mut self.pending else { return };
        pending.paid = partitions.end;
        let pending = pending.clone();
        let end = partitions.end.min(pending.partitions.len());
        let due = pending.partitions.get(partitions.start.min(end)..end).unwrap_or_default();
        let history = self.stake_history();
        let epoch = self.schedule.get_epoch(self.slot);
        let (mut total, mut of_fees) = (0_u64, 0_u64);
        for reward in due.iter().flatten() {
            total = total.saturating_add(reward.lamports);
            of_fees = of_fees.saturating_add(reward.of_fees);
            let received = reward.lamports.saturating_add(reward.of_fees);
            let Some(account) = self.rewarded(reward, pending.epoch) else { continue };
            if received > 0 {
                let kind = match StakeAccounts::effective(account.data(), epoch, &history) {
                    0 => RewardKind::DeactivatedStake,
                    _ => RewardKind::Staking,
                };
                let paid = Reward::received(reward.key, kind, received, account.lamports());
                self.rewards.push(Reward { commission_bps: reward.commission_bps, ..paid });
            }
            self.put(reward.key, account);
        }
        if let Some(mut rewards) = self.epoch_rewards() {
            rewards.distributed_rewards = rewards.distributed_rewards.saturating_add(total);
            self.set_sysvar(sysvar::epoch_rewards::ID, sysvars::epoch_rewards(&rewards));
            self.change_undistributed(|lamports| lamports.saturating_sub(of_fees));
        }
    }

    /// Returns a stake account with its reward; `None` if it is no longer a delegated one, and the reward
    /// is burned.
    fn rewarded(&self, reward: &StakeReward, epoch: u64) -> Option<AccountSharedData> {
        let mut account = self.account(&reward.key).filter(|it| *it.owner() == stake::ID)?;
        if !StakeAccounts::is_delegated(account.data()) {
            return None;
        }
        account.checked_add_lamports(reward.lamports.checked_add(reward.of_fees)?).ok()?;
        let (mut delegated, mut deactivation) = (reward.stake, reward.deactivation_epoch);
        if self.features.has(Feature::RelaxMinBalanceCheck) {
            let minimum = minimum_balance(&self.rent, account.data().len());
            delegated = delegated.min(account.lamports().saturating_sub(minimum));
            if delegated == 0 && reward.stake != 0 {
                deactivation = epoch;
            }
        }
        let data = account.data_as_mut_slice();
        DELEGATED_STAKE.put(data, &delegated)?;
        DEACTIVATION_EPOCH.put(data, &deactivation)?;
        CREDITS_OBSERVED.put(data, &reward.credits_observed)?;
        Some(account)
    }

    /// Ends the distribution. Fees that were not distributed are burned.
    fn finish_distribution(&mut self) {
        if self.features.has(Feature::BlockRevenueSharing) {
            self.change_undistributed(|_| 1);
        }
        if let Some(rewards) = self.epoch_rewards() {
            let data = sysvars::epoch_rewards(&EpochRewards { active: false, ..rewards });
            self.set_sysvar(sysvar::epoch_rewards::ID, data);
        }
        self.pending = None;
    }

    fn epoch_rewards(&self) -> Option<EpochRewards> {
        sysvars::read_epoch_rewards(&self.data(&sysvar::epoch_rewards::ID))
    }

    /// Computes again what was still to be distributed, for a chain that continues from a state (agave:
    /// `recalculate_stake_rewards`).
    pub(crate) fn recall_rewards(&mut self) {
        if self.pending.is_some() || !self.epoch_rewards().is_some_and(|it| it.active) {
            return;
        }
        let Some(rewards) = self.epoch_rewards() else { return };
        let mut stakes = self.stake_accounts();
        let epoch = time::schedule(&self.before.environment.sysvars).get_epoch(self.before.slot);
        let epoch = epoch.saturating_sub(1);
        // The vote accounts were admitted when the distribution began, by what they held and said then.
        let leader_epoch = self.schedule.get_leader_schedule_epoch(self.before.slot);
        let admitted = self.stakes.of(leader_epoch).vote_accounts.clone();
        for (voter, (vote, _)) in &mut stakes.votes {
            vote.forget_credits_after(epoch);
            if let Some(terms) = self.stakes.terms(leader_epoch, voter) {
                vote.set_terms(terms.commission_bps, terms.pending_rewards);
            }
        }
        let delegated = read_delegated_stakes(self.accounts, epoch).unwrap_or_default();
        let inputs = self.inputs(epoch, rewards.total_rewards, &stakes, [&admitted, &delegated]);
        let is_nothing_due = inputs.kind != EpochKind::Alpenglow && rewards.total_points == 0;
        let calculation = if is_nothing_due {
            Calculation::default()
        } else {
            inputs.calculate_by(rewards.total_points)
        };
        self.pending = Some(Pending::new(epoch, &calculation.stakes, &rewards));
    }
}
