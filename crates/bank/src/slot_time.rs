//! How long slots last, and the limits of blocks that follow from it (agave 4.3 to 4.5:
//! `runtime/src/slot_params.rs`; SIMD-0525).
//!
//! A gate takes effect in the first slot of the epoch after the one in which it was activated.

use core::ops::RangeInclusive;

use selkie_svm::{AccountStore, Pubkey, sysvars::EpochSchedule};

use crate::alpenglow::active_since;

/// The gate that raises the limits of compute units from 60 to 100 million per block of 400 ms.
pub const RAISE_BLOCK_LIMITS_TO_100M: Pubkey =
    Pubkey::from_str_const("P1BCUMpAC7V2GRBRiJCNUgpMyWZhoqt3LKo712ePqsz");

/// What depends on the duration of a slot.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SlotParameters {
    /// The duration in milliseconds.
    pub milliseconds: u64,
    /// The number of slots in a year, by which inflation is computed.
    pub slots_per_year: f64,
    /// The limit of compute units that the transactions of a block use on one account.
    pub account_units_max: u64,
    /// The limit of compute units of a block.
    pub block_units_max: u64,
    /// The limit of account data, in bytes, that the transactions of a block allocate.
    pub allocated_bytes_max: u64,
    /// How many stake accounts are rewarded per block.
    pub rewards_per_block: usize,
    /// What a vote account pays for the admission to an epoch, in lamports (SIMD-0357).
    pub admission_lamports: u64,
}

/// Returns a row of the table: milliseconds, slots per year, millions of compute units times 10 of a
/// block, stake accounts per block.
const fn row(
    milliseconds: u64,
    slots_per_year: f64,
    tenths: u64,
    rewards: usize,
) -> SlotParameters {
    const TENTH: u64 = 100_000;
    SlotParameters {
        milliseconds,
        slots_per_year,
        account_units_max: tenths.saturating_mul(TENTH).saturating_mul(2) / 5,
        block_units_max: tenths.saturating_mul(TENTH),
        allocated_bytes_max: milliseconds.saturating_mul(250_000),
        rewards_per_block: rewards,
        admission_lamports: milliseconds.saturating_mul(4_000_000),
    }
}

/// The parameters without a gate, of slots of 400 ms.
const LEGACY: SlotParameters = row(400, 78_892_314.984, 600, 4096);

/// The gates with their parameters, in the order in which mainnet activated them.
const GATES: [(Pubkey, SlotParameters); 4] = [
    (
        Pubkey::from_str_const("iBRL5RuWhw4yqaAZu96RUULHckHTZAoe2b77qaV38JZ"),
        row(350, 90_162_645.696, 525, 3584),
    ),
    (
        Pubkey::from_str_const("iBRLL3k18HST852F1Mf3Lv83waTNQmmqvKDxvYGwQFL"),
        row(300, 105_189_753.312, 450, 3072),
    ),
    (
        Pubkey::from_str_const("iBRLMc81UjRa8fn8A6eE8bJTnRbgQoPTynM51akENCV"),
        row(250, 126_227_703.974, 375, 2560),
    ),
    (
        Pubkey::from_str_const("iBRLjhJnkmDZgNoZRDMW11d8ZV7HvsL3vAyRjZB5npW"),
        row(200, 157_784_629.968, 300, 2048),
    ),
];

/// Returns the gates of shorter slots, and the duration of each in milliseconds.
pub fn slot_time_gates() -> impl Iterator<Item = (Pubkey, u64)> {
    GATES.iter().map(|(gate, row)| (*gate, row.milliseconds))
}

/// Returns the addresses of the gates that change the duration of slots or limits of blocks.
pub(crate) fn gates() -> impl Iterator<Item = Pubkey> {
    GATES.iter().map(|(gate, _)| *gate).chain([RAISE_BLOCK_LIMITS_TO_100M])
}

impl SlotParameters {
    /// Returns the parameters of slots of this duration: a row of the table; for other durations the
    /// limits of slots of 400 ms, as a genesis with a duration of its own has.
    #[must_use]
    pub fn of(milliseconds: u64) -> Self {
        let rows = GATES.iter().map(|(_, row)| *row).chain([LEGACY]);
        let mut rows = rows.filter(|row| row.milliseconds == milliseconds);
        #[expect(clippy::cast_precision_loss, reason = "durations are far below 2^52")]
        let slots =
            |it: Self| it.slots_per_year * it.milliseconds as f64 / milliseconds.max(1) as f64;
        let other = Self { milliseconds, slots_per_year: slots(LEGACY), ..LEGACY };
        rows.next().unwrap_or(other)
    }

    /// Returns the limits of compute units for an account and for a block, with or without the gate
    /// [`RAISE_BLOCK_LIMITS_TO_100M`].
    ///
    /// ```
    /// use selkie_bank::SlotParameters;
    ///
    /// let mainnet = SlotParameters::of(200);
    /// assert_eq!(mainnet.units_max(true), (20_000_000, 50_000_000));
    /// ```
    #[must_use]
    pub fn units_max(&self, is_raised: bool) -> (u64, u64) {
        let raised = |units: u64| if is_raised { units.saturating_mul(100) / 60 } else { units };
        (raised(self.account_units_max), raised(self.block_units_max))
    }
}

/// The durations of a chain's slots: what its genesis has, and since which slot a gate changed it.
#[derive(Clone, PartialEq, Debug)]
pub struct SlotTimes {
    baseline: SlotParameters,
    /// Ascending by slot, and by shorter duration.
    changes: Vec<(u64, SlotParameters)>,
}

impl SlotTimes {
    /// Reads the gates of a chain whose genesis has slots of this duration. Gates for slots that are
    /// not shorter than what already holds change nothing.
    #[must_use]
    pub fn new(milliseconds: u64, schedule: &EpochSchedule, accounts: &impl AccountStore) -> Self {
        let baseline = SlotParameters::of(milliseconds);
        let mut changes: Vec<(u64, SlotParameters)> = Vec::new();
        for (gate, parameters) in GATES.iter().rev() {
            if parameters.milliseconds > baseline.milliseconds {
                continue;
            }
            let Some(active) = active_since(accounts, gate) else { continue };
            let epoch = schedule.get_epoch(active).saturating_add(1);
            let since = schedule.get_first_slot_in_epoch(epoch);
            if changes.last().is_none_or(|(earliest, _)| since < *earliest) {
                changes.push((since, *parameters));
            }
        }
        changes.reverse();
        Self { baseline, changes }
    }

    /// Returns the duration of slots at genesis, in milliseconds.
    #[must_use]
    pub fn milliseconds(&self) -> u64 {
        self.baseline.milliseconds
    }

    /// Returns the parameters of a slot.
    #[must_use]
    pub fn at(&self, slot: u64) -> SlotParameters {
        let change = self.changes.iter().rev().find(|(since, _)| *since <= slot);
        change.map_or(self.baseline, |(_, parameters)| *parameters)
    }

    /// Splits slots where their duration changes: the number of slots with each.
    fn parts(&self, slots: RangeInclusive<u64>) -> impl Iterator<Item = (u64, SlotParameters)> {
        let (first, end) = (*slots.start(), slots.end().saturating_add(1));
        let starts = [(0, self.baseline)].into_iter().chain(self.changes.iter().copied());
        let ends = self.changes.iter().map(|(since, _)| *since).chain([u64::MAX]);
        starts.zip(ends).filter_map(move |((since, parameters), until)| {
            let count = until.min(end).saturating_sub(since.max(first));
            (count > 0).then_some((count, parameters))
        })
    }

    /// Returns the duration of some slots, in nanoseconds.
    #[must_use]
    pub fn duration(&self, slots: RangeInclusive<u64>) -> u128 {
        let nanoseconds = |(count, it): (u64, SlotParameters)| {
            u128::from(count).saturating_mul(u128::from(it.milliseconds)).saturating_mul(1_000_000)
        };
        self.parts(slots).map(nanoseconds).fold(0, u128::saturating_add)
    }

    /// Returns the duration in years of the slots in a range whose end is excluded.
    #[expect(clippy::cast_precision_loss, reason = "as agave computes it")]
    pub(crate) fn years(&self, slots: core::ops::Range<u64>) -> f64 {
        let Some(last) = slots.end.checked_sub(1).filter(|_| slots.start < slots.end) else {
            return 0.0;
        };
        let parts = self.parts(slots.start..=last);
        parts.map(|(count, it)| count as f64 / it.slots_per_year).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use selkie_svm::{Account, AccountSharedData};
    use solana_sdk_ids::feature;

    use super::*;

    struct Gates(BTreeMap<Pubkey, AccountSharedData>);

    impl AccountStore for Gates {
        fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
            self.0.get(key).cloned()
        }
    }

    fn times(milliseconds: u64, active: &[(usize, u64)]) -> SlotTimes {
        let gate = |slot: u64| {
            let data = [&[1][..], &slot.to_le_bytes()].concat();
            Account { lamports: 1, data, owner: feature::ID, ..Account::default() }.into()
        };
        let gates = active.iter().map(|(index, slot)| (GATES[*index].0, gate(*slot)));
        let schedule = EpochSchedule::custom(100, 100, false);
        SlotTimes::new(milliseconds, &schedule, &Gates(gates.collect()))
    }

    #[test]
    fn a_gate_takes_effect_in_the_epoch_after_its_activation() {
        let times = times(400, &[(0, 100), (1, 250), (3, 250)]);
        let at = |slot| times.at(slot).milliseconds;
        assert_eq!([at(0), at(199), at(200), at(299), at(300)], [400, 400, 350, 350, 200]);
        assert_eq!(times.duration(199..=200), 750_000_000);
        let (first, last) = (5, 4);
        assert_eq!(times.duration(first..=last), 0);
        assert_eq!(times.duration(298..=301), 1_100_000_000);
        let years = 100.0 / LEGACY.slots_per_year + 100.0 / GATES[0].1.slots_per_year;
        assert!((times.years(100..300) - years).abs() < 1e-12);
    }

    #[test]
    fn a_gate_never_makes_slots_longer() {
        assert_eq!(times(200, &[(0, 0), (1, 0)]).at(1000).milliseconds, 200);
        // The shorter one was activated first.
        assert_eq!(times(400, &[(0, 300), (3, 100)]).at(1000).milliseconds, 200);
    }

    #[test]
    fn limits_follow_the_duration_of_slots() {
        let units = |milliseconds| SlotParameters::of(milliseconds).units_max(false);
        assert_eq!(units(400), (24_000_000, 60_000_000));
        assert_eq!(units(350), (21_000_000, 52_500_000));
        assert_eq!(units(250), (15_000_000, 37_500_000));
        let mainnet = SlotParameters::of(200);
        assert_eq!(mainnet.allocated_bytes_max, 50_000_000);
        assert_eq!((mainnet.admission_lamports, mainnet.rewards_per_block), (800_000_000, 2048));
        let other = SlotParameters::of(800);
        assert_eq!(other.slots_per_year.round(), 39_446_157.0);
        assert_eq!(other.block_units_max, 60_000_000);
    }
}
