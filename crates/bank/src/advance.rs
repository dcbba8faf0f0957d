//! The start of a slot: what happens before its first transaction (agave:
//! `prepare_for_block_execution`).

use core::ops::Range;
use std::sync::Arc;

use selkie_svm::{
    AccountSharedData, BlockhashQueue, Builtins, Environment, EpochStake, FeatureSet, Pubkey,
    cost::BLOCKHASHES_VALID,
    sysvars::{Clock, EpochSchedule, Rent, Sysvars},
};
use solana_hash::Hash;
use solana_sdk_ids::sysvar;

use crate::{
    alpenglow,
    head::{BlockEnd, Head, HeadAccounts, data_of, set_sysvar},
    rewards::{self, Pending, Reward},
    slot_time::SlotTimes,
    stakes::{StakeAccounts, Stakes},
    step::{Between, Step},
    sysvars, time,
};

/// The head of a slot under construction.
pub(crate) struct Advance<'h, A> {
    pub(crate) before: &'h Head,
    pub(crate) step: &'h Step,
    pub(crate) end: BlockEnd,
    pub(crate) schedule: EpochSchedule,
    pub(crate) slot: u64,
    pub(crate) block_height: u64,
    pub(crate) features: FeatureSet,
    pub(crate) builtins: Builtins,
    pub(crate) rent: Rent,
    pub(crate) stakes: Arc<Stakes>,
    pub(crate) slot_times: SlotTimes,
    pub(crate) is_alpenglow: bool,
    pub(crate) pending: Option<Pending>,
    pub(crate) rewards: Vec<Reward>,
    pub(crate) accounts: &'h mut A,
}

impl Head {
    /// Goes on to a later slot, of whose parent this is the head and `end` the end: clock, slot hashes,
    /// blockhashes, features, stakes and rewards become what they are before its first transaction.
    /// Every epoch that begins on the way begins.
    #[must_use]
    pub fn advance(
        &self,
        end: BlockEnd,
        slot: u64,
        step: &Step,
        blockhashes: &mut BlockhashQueue,
        accounts: &mut impl HeadAccounts,
    ) -> Self {
        let passed = self.slot.saturating_add(1)..slot;
        let blocks_passed = match step.between {
            Between::Empty => passed.end.saturating_sub(passed.start),
            Between::Skipped | Between::Idle => 0,
        };
        let blocks = blocks_passed.saturating_add(step.counts.into());
        let mut advance = Advance {
            before: self,
            step,
            end,
            schedule: time::schedule(&self.environment.sysvars),
            slot,
            block_height: self.block_height.saturating_add(blocks),
            features: self.environment.features,
            builtins: self.environment.builtins.clone(),
            rent: self.environment.rent(),
            stakes: Arc::clone(&self.stakes),
            slot_times: self.slot_times.clone(),
            is_alpenglow: self.environment.is_alpenglow,
            pending: self.pending.clone(),
            rewards: Vec::new(),
            accounts,
        };
        let blockhash = advance.prepare(passed, blockhashes);
        advance.finish(blockhash)
    }
}

impl<A: HeadAccounts> Advance<'_, A> {
    /// Updates accounts and stakes. Returns the last blockhash before the slot.
    fn prepare(&mut self, passed: Range<u64>, blockhashes: &mut BlockhashQueue) -> Hash {
        let epoch_before = self.schedule.get_epoch(self.before.slot);
        let begins_epoch = epoch_before < self.schedule.get_epoch(self.slot);
        let is_cut_off = begins_epoch && self.step.between == Between::Skipped;
        self.recall_rewards();
        // What an epoch could not pay in its blocks is lost, as in agave.
        if !is_cut_off {
            self.continue_rewards();
        }
        let supply = if begins_epoch { self.capitalization() } else { 0 };
        if begins_epoch {
            self.activate_features(self.boundary());
            let milliseconds = self.slot_times.milliseconds();
            self.slot_times = SlotTimes::new(milliseconds, &self.schedule, self.accounts);
        } else if self.step.activates_features {
            self.activate_features(self.slot);
        }
        self.pass_epochs(begins_epoch, supply);
        let blockhash = self.pass_slots(passed, blockhashes);
        self.set_clock();
        self.update_last_restart_slot();
        self.migrate();
        blockhash
    }

    /// Adds the parent to the slot hashes, and what the slots since then count as: to them, to the slot
    /// history and to the blockhashes. Returns the last blockhash.
    fn pass_slots(&mut self, passed: Range<u64>, blockhashes: &mut BlockhashQueue) -> Hash {
        let passed = match self.step.between {
            Between::Skipped => 0..0,
            Between::Idle | Between::Empty => passed,
        };
        let hashes = self.data(&sysvar::slot_hashes::ID);
        let (parent, hash) = (self.before.slot, &self.end.hash);
        let hashes = sysvars::slot_hashes_passing(&hashes, parent, hash, passed.clone());
        self.set_sysvar(sysvar::slot_hashes::ID, hashes);
        let mut blockhash = self.end.blockhash;
        let Some(last) = passed.clone().next_back() else { return blockhash };
        let history = sysvars::slot_history_passing(&self.data(&sysvar::slot_history::ID), last);
        self.set_sysvar(sysvar::slot_history::ID, history);
        if self.step.between == Between::Empty {
            let oldest = passed.end.saturating_sub(BLOCKHASHES_VALID as u64).max(passed.start);
            for slot in oldest..passed.end {
                blockhash = time::next_blockhash(&blockhash, slot);
                blockhashes.register(blockhash);
            }
            let price = self.before.environment.lamports_per_signature;
            let list = sysvars::recent_blockhashes(blockhashes.blockhashes().rev(), price);
            self.set_sysvar(sysvar::recent_blockhashes::ID, list);
        }
        blockhash
    }

    fn set_clock(&mut self) {
        if self.is_alpenglow && self.continue_clock().is_some() {
            return;
        }
        let before = self.before.environment.sysvars.clock().unwrap_or_default();
        let (schedule, milliseconds) = (&self.schedule, self.before.slot_times.milliseconds());
        let mut clock = time::clock_after(&before, self.slot, schedule, milliseconds);
        if let Some(timestamp) = self.step.unix_timestamp {
            time::set_timestamp(&mut clock, &before, timestamp, schedule, milliseconds);
        }
        if self.step.between == Between::Skipped && clock.epoch != before.epoch {
            // The epoch's first block is this one, whichever slot it is in.
            clock.epoch_start_timestamp = clock.unix_timestamp;
        }
        self.set_sysvar(sysvar::clock::ID, sysvars::clock(&clock));
    }

    /// Lets the clock of a block show when the block before it ended (agave:
    /// `update_clock_slot_for_alpenglow`). Slots that passed as if they had blocks ended as well: the last
    /// one at the step's timestamp, without one each after the time of a slot. Returns `None` if the
    /// clock shows no time that *alpenclock* could hold.
    fn continue_clock(&mut self) -> Option<()> {
        let before = sysvars::read_clock(&self.data(&sysvar::clock::ID))?;
        let parent = alpenglow::time_of(self.accounts, &before)?;
        let passed = match self.step.between {
            Between::Skipped => 0,
            Between::Idle | Between::Empty => {
                self.slot.saturating_sub(self.before.slot).saturating_sub(1)
            }
        };
        let first = self.slot.saturating_sub(passed);
        let duration = |until: u64| match until.checked_sub(1) {
            Some(last) => self.slot_times.duration(first..=last),
            None => 0,
        };
        let time = match self.step.unix_timestamp {
            Some(seconds) if seconds > before.unix_timestamp => {
                seconds.checked_mul(1_000_000_000)?
            }
            Some(_) => parent,
            None => alpenglow::after(parent, duration(self.slot)),
        };
        let epoch = self.schedule.get_epoch(self.slot);
        let begin = self.schedule.get_first_slot_in_epoch(epoch);
        let epoch_start_timestamp = if epoch == before.epoch {
            before.epoch_start_timestamp
        } else if begin < self.slot && passed > 0 {
            // The epoch's first block passed: its footer set the time.
            let since =
                self.slot_times.duration(begin.saturating_add(1)..=self.slot.saturating_sub(1));
            let since = i64::try_from(since).unwrap_or(i64::MAX);
            alpenglow::second(time.saturating_sub(since).max(parent))
        } else {
            alpenglow::second(time)
        };
        if time != parent {
            self.put(alpenglow::CLOCK, alpenglow::clock_account(time));
        }
        let clock = Clock {
            slot: self.slot,
            epoch_start_timestamp,
            epoch,
            leader_schedule_epoch: self.schedule.get_leader_schedule_epoch(self.slot),
            unix_timestamp: alpenglow::second(time),
        };
        self.set_sysvar(sysvar::clock::ID, sysvars::clock(&clock));
        Some(())
    }

    /// Writes the genesis certificate if the block is the first of Alpenglow (agave:
    /// `set_alpenglow_genesis_certificate`).
    fn migrate(&mut self) {
        let is_due = || {
            let since = alpenglow::active_since(self.accounts, &alpenglow::GATE);
            since.is_some_and(|it| self.slot >= it.saturating_add(alpenglow::MIGRATION_SLOTS))
        };
        if self.is_alpenglow || !(self.step.migrates || is_due()) {
            return;
        }
        let certificate = alpenglow::certificate(self.before.slot, &self.end.hash);
        self.put(alpenglow::CERTIFICATE, certificate);
        self.is_alpenglow = true;
    }

    fn update_last_restart_slot(&mut self) {
        let forks = &self.before.hard_forks;
        let last = forks.iter().rev().find(|fork| **fork <= self.slot).copied().unwrap_or(0);
        let data = sysvars::last_restart_slot(last);
        if self.data(&sysvar::last_restart_slot::ID) != data {
            self.set_sysvar(sysvar::last_restart_slot::ID, data);
        }
    }

    /// Returns the finished head, whose sysvars are read from their accounts.
    fn finish(self, blockhash: Hash) -> Head {
        let environment = Environment {
            features: self.features,
            sysvars: self.sysvars(),
            epoch_stake: self.epoch_stake(),
            is_alpenglow: self.is_alpenglow,
            builtins: self.builtins,
            blockhash,
            ..Environment::clone(&self.before.environment)
        };
        let passes = self.step.between != Between::Skipped;
        let parent_slot = if passes { self.slot.saturating_sub(1) } else { self.before.slot };
        Head {
            slot: self.slot,
            parent_slot,
            block_height: self.block_height,
            environment: Arc::new(environment),
            stakes: self.stakes,
            slot_times: self.slot_times,
            pending: self.pending,
            rewards: self.rewards,
            hard_forks: Arc::clone(&self.before.hard_forks),
        }
    }

    /// Returns the stake of the slot's epoch.
    fn epoch_stake(&self) -> EpochStake {
        let epoch = self.schedule.get_epoch(self.slot);
        if epoch == self.schedule.get_epoch(self.before.slot) {
            return self.before.environment.epoch_stake.clone();
        }
        self.stakes.current(epoch).clone()
    }

    /// Reads the stake and vote accounts.
    pub(crate) fn stake_accounts(&self) -> StakeAccounts {
        let found = self.accounts.owned_by(StakeAccounts::is_owner);
        let found = found.iter().map(|(key, account)| (key, account));
        let admission = rewards::admission(self.accounts, &self.slot_times, self.slot);
        StakeAccounts::new(found, self.features, &self.rent, admission)
    }

    pub(crate) fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.accounts.account(key)
    }

    /// Returns the data of an account, empty if it does not exist.
    pub(crate) fn data(&self, key: &Pubkey) -> Vec<u8> {
        data_of(self.accounts, key)
    }

    pub(crate) fn put(&mut self, key: Pubkey, account: AccountSharedData) {
        self.accounts.put(key, account);
    }

    pub(crate) fn set_sysvar(&mut self, id: Pubkey, data: Vec<u8>) {
        set_sysvar(self.accounts, id, data, &self.rent);
    }

    /// Decodes the sysvars from their accounts.
    fn sysvars(&self) -> Sysvars {
        let mut sysvars = Sysvars::empty();
        for id in Sysvars::ids() {
            if let Some(account) = self.account(&id) {
                // An account with invalid data counts as missing.
                let _ = sysvars.set(id, selkie_svm::ReadableAccount::data(&account));
            }
        }
        sysvars
    }
}
