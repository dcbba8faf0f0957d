//! The footer of a block under Alpenglow, which moves the clock to the block's end (agave:
//! `update_clock_from_footer` of `runtime/src/bank.rs`).

use selkie_svm::{AccountStore, sysvars::Clock};
use solana_sdk_ids::sysvar;

use crate::{
    alpenglow,
    head::{Head, HeadAccounts, data_of, set_sysvar},
    sysvars, time,
};

impl Head {
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
