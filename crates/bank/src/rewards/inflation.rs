//! Inflation: how many lamports an epoch adds (agave: `solana-inflation`, and
//! `calculate_epoch_inflation_rewards` of `runtime/src/bank.rs`).

use selkie_svm::{AccountStore, Pubkey, sysvars::EpochSchedule};

use crate::{alpenglow::active_since, slot_time::SlotTimes};

/// The rate of the first year, by which part it falls per year, and the rate at which it stops.
const INITIAL: f64 = 0.08;
const TAPER: f64 = 0.15;
const TERMINAL: f64 = 0.015;

/// The features since whose activation there is inflation: mainnet's, which a vote enabled, and that of
/// other clusters.
const SINCE: [Pubkey; 2] = [
    Pubkey::from_str_const("7XRJcS5Ud5vxGB54JbK9N2vBZVwnwdBNeJW1ibRgD9gx"),
    Pubkey::from_str_const("DT4n6ABDqs6w4bnfwrXT9rsprcPf6cdDga1egctaPkLC"),
];

/// The time of a chain as inflation counts it, at the start of an epoch.
pub(crate) struct Inflation<'a> {
    pub(crate) schedule: &'a EpochSchedule,
    pub(crate) slot_times: &'a SlotTimes,
    /// The epoch that begins.
    pub(crate) epoch: u64,
    /// The slot of the activation of inflation.
    pub(crate) since: u64,
}

/// Returns the slot since which there is inflation.
pub(crate) fn since(accounts: &impl AccountStore) -> u64 {
    SINCE.iter().filter_map(|feature| active_since(accounts, feature)).min().unwrap_or(0)
}

impl Inflation<'_> {
    /// Returns the lamports that `rewarded` adds to a supply, in the year of the epoch that begins.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "as agave computes it"
    )]
    pub(crate) fn of(&self, capitalization: u64, rewarded: u64) -> u64 {
        let first = |epoch: u64| self.schedule.get_first_slot_in_epoch(epoch);
        let start = first(self.schedule.get_epoch(self.since).saturating_sub(1));
        let year = self.slot_times.years(start..first(self.epoch));
        let rate = (INITIAL * (1.0 - TAPER).powf(year)).max(TERMINAL);
        let slots = self.schedule.get_slots_in_epoch(rewarded) as f64;
        let duration = slots / self.slot_times.at(first(rewarded)).slots_per_year;
        (rate * capitalization as f64 * duration) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NoAccounts;

    impl AccountStore for NoAccounts {
        fn account(&self, _: &Pubkey) -> Option<selkie_svm::AccountSharedData> {
            None
        }
    }

    #[test]
    fn the_rate_falls_by_fifteen_percent_a_year() {
        let schedule = EpochSchedule::without_warmup();
        let slot_times = SlotTimes::new(200, &schedule, &NoAccounts);
        let of = |epoch| {
            let it = Inflation { schedule: &schedule, slot_times: &slot_times, epoch, since: 0 };
            it.of(600_000_000_000_000_000, epoch)
        };
        // 8 % of 600 million SOL, by 365.2 epochs.
        assert_eq!(of(0) / 1_000_000_000, 131_419);
        assert_eq!(of(365) * 100 / of(0), 85);
        assert_eq!(of(9000) * 10_000 / of(0), 1874);
    }
}
