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

/// The features that double the taper (SIMD-0550): that of agave 4.3 and 4.5, and that of 4.4.0, which
/// alone has another address.
pub(crate) const DOUBLE_DISINFLATION: [Pubkey; 2] = [
    Pubkey::from_str_const("55oikhjJ2LUi1xdgJ17ueRyHFURZEw32asT3iAKfh7gg"),
    Pubkey::from_str_const("ddibiks7RHZR69QXYMCmk4EZNt6WckspTqEEWv6cS38"),
];
const DOUBLE_TAPER: f64 = 0.30;

/// Returns the slot since which the taper is doubled.
pub(crate) fn doubled_since(accounts: &impl AccountStore) -> Option<u64> {
    DOUBLE_DISINFLATION.iter().filter_map(|feature| active_since(accounts, feature)).min()
}

/// How a supply grows: by a rate that falls every year, until it reaches the last one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct InflationSchedule {
    /// The rate per year at the beginning.
    pub initial: f64,
    /// By which part it falls per year.
    pub taper: f64,
    /// The rate at which it stops falling.
    pub terminal: f64,
}

impl InflationSchedule {
    /// Returns the rate per year after some years.
    #[must_use]
    pub fn rate(&self, years: f64) -> f64 {
        (self.initial * (1.0 - self.taper).powf(years)).max(self.terminal)
    }

    /// Returns the schedule with another taper from this year on, when the rate is the same as before
    /// (agave: `apply_double_disinflation_rate`).
    fn with_taper(&self, taper: f64, years: f64) -> Self {
        Self { initial: self.rate(years) / (1.0 - taper).powf(years), taper, ..*self }
    }
}

/// The time of a chain as inflation counts it, at the start of an epoch.
pub(crate) struct Inflation<'a> {
    pub(crate) schedule: &'a EpochSchedule,
    pub(crate) slot_times: &'a SlotTimes,
    /// The epoch that begins.
    pub(crate) epoch: u64,
    /// The slot of the activation of inflation.
    pub(crate) since: u64,
    /// The slot in which the taper was doubled.
    pub(crate) doubled_since: Option<u64>,
}

/// Returns the slot since which there is inflation.
pub(crate) fn since(accounts: &impl AccountStore) -> u64 {
    SINCE.iter().filter_map(|feature| active_since(accounts, feature)).min().unwrap_or(0)
}

impl Inflation<'_> {
    /// Returns how the supply grows, and after how many years the epoch begins.
    pub(crate) fn schedule(&self) -> (InflationSchedule, f64) {
        let first = |epoch: u64| self.schedule.get_first_slot_in_epoch(epoch);
        let start = first(self.schedule.get_epoch(self.since).saturating_sub(1));
        let years = |epoch: u64| self.slot_times.years(start..first(epoch));
        let full = InflationSchedule { initial: INITIAL, taper: TAPER, terminal: TERMINAL };
        let doubled = self.doubled_since.map(|since| self.schedule.get_epoch(since));
        let schedule = match doubled.filter(|epoch| *epoch <= self.epoch) {
            Some(epoch) => full.with_taper(DOUBLE_TAPER, years(epoch)),
            None => full,
        };
        (schedule, years(self.epoch))
    }

    /// Returns the lamports that `rewarded` adds to a supply, in the year of the epoch that begins.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "as agave computes it"
    )]
    pub(crate) fn of(&self, capitalization: u64, rewarded: u64) -> u64 {
        let first = |epoch: u64| self.schedule.get_first_slot_in_epoch(epoch);
        let (schedule, years) = self.schedule();
        let rate = schedule.rate(years);
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
        let doubled = |epoch, doubled_since| {
            let (schedule, slot_times) = (&schedule, &slot_times);
            let it = Inflation { schedule, slot_times, epoch, since: 0, doubled_since };
            it.of(600_000_000_000_000_000, epoch)
        };
        let of = |epoch| doubled(epoch, None);
        // 8 % of 600 million SOL, by 365.2 epochs.
        assert_eq!(of(0) / 1_000_000_000, 131_419);
        assert_eq!(of(365) * 100 / of(0), 85);
        assert_eq!(of(9000) * 10_000 / of(0), 1874);
        // With the taper doubled after a year: as before until then, then 30 % less in a year.
        let after = Some(schedule.get_first_slot_in_epoch(365));
        assert_eq!((doubled(364, after), doubled(365, after)), (of(364), of(365)));
        assert_eq!(doubled(731, after) * 100 / of(365), 69);
        assert_eq!(doubled(9000, after), of(9000));
    }
}
