//! What a syscall costs, as data.
//!
//! The runtime charges by the same values that are displayed here, so that a text cannot say
//! anything else than what is charged.

use core::{
    fmt::{self, Display, Formatter},
    num::NonZeroU64,
};

/// What a syscall costs, in compute units, on top of the one that the call instruction costs.
///
/// It displays as one line: `100 + 100 per slice + 1 per byte`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// What is charged before the syscall looks at anything.
    pub entry: Amount,
    /// What the syscall charges itself, after checks or once it knows how much there is to do.
    pub parts: &'static [Part],
}

/// A charge: the sum of its fields. It saturates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Amount {
    /// Compute units that are charged in any case.
    pub base: u64,
    /// Compute units that depend on a quantity.
    pub rate: Option<Rate>,
    /// Compute units that depend on a number of items.
    pub series: Option<Series>,
}

/// A charge in proportion to a quantity: `max(minimum, factor * of / divisor)`, rounded down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    /// The quantity. In [`Cost::entry`] it is the name of an argument.
    pub of: &'static str,
    /// What the quantity is multiplied by.
    pub factor: u64,
    /// What the product is divided by.
    pub divisor: NonZeroU64,
    /// The least that is charged.
    pub minimum: u64,
}

/// A charge for the first of several items, and for each one after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Series {
    /// What an item is.
    pub of: &'static str,
    /// Compute units for the first item; they are charged for no item, too.
    pub first: u64,
    /// Compute units for each further item.
    pub each: u64,
}

/// A charge that a syscall takes itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Charged once.
    Once(Amount),
    /// Charged for every item.
    Each {
        /// What an item is.
        of: &'static str,
        /// What one item costs.
        amount: Amount,
    },
    /// One of several amounts, depending on the arguments.
    OneOf(&'static [Case]),
    /// A cost that has its own function in [`cost`](crate::cost).
    Formula {
        /// The formula. Each `{}` stands for the next one of the numbers.
        text: &'static str,
        /// The constants of the formula.
        numbers: &'static [u64],
        /// The least that it can yield.
        minimum: u64,
    },
}

/// One of several amounts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// What the cases of a group have in common; empty if it is nothing.
    pub group: &'static str,
    /// When the amount is charged.
    pub name: &'static str,
    /// What is charged.
    pub amount: Amount,
}

impl Cost {
    /// No cost but that of the call instruction.
    pub const FREE: Self = Self::on_entry(Amount::ZERO);

    /// A cost that is charged as a whole before the syscall looks at anything.
    #[must_use]
    pub const fn on_entry(entry: Amount) -> Self {
        Self { entry, parts: &[] }
    }

    /// A cost that the syscall charges itself, after its first checks.
    #[must_use]
    pub const fn after_checks(parts: &'static [Part]) -> Self {
        Self { entry: Amount::ZERO, parts }
    }

    /// The same cost, and what the syscall charges itself.
    #[must_use]
    pub const fn and(self, parts: &'static [Part]) -> Self {
        Self { parts, ..self }
    }

    /// Returns the fewest compute units that a call which succeeds is charged.
    #[must_use]
    pub fn minimum(&self) -> u64 {
        let parts = self.parts.iter().map(Part::minimum);
        parts.fold(self.entry.minimum(), u64::saturating_add)
    }

    /// Whether every call costs the same.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.entry.is_fixed() && self.parts.iter().all(Part::is_fixed)
    }
}

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self::fixed(0);

    /// A number of compute units.
    #[must_use]
    pub const fn fixed(base: u64) -> Self {
        Self { base, rate: None, series: None }
    }

    /// Compute units that depend on a quantity alone.
    #[must_use]
    pub const fn rate(rate: Rate) -> Self {
        Self::ZERO.plus(rate)
    }

    /// Compute units that depend on a number of items alone.
    #[must_use]
    pub const fn series(series: Series) -> Self {
        Self { series: Some(series), ..Self::ZERO }
    }

    /// The same amount and compute units that depend on a quantity.
    #[must_use]
    pub const fn plus(self, rate: Rate) -> Self {
        Self { rate: Some(rate), ..self }
    }

    /// Returns the compute units for `quantity`, the quantity of the rate, and `items`, the number of
    /// items of the series. What the amount does not depend on is ignored.
    #[inline]
    #[must_use]
    pub fn compute_units(self, quantity: u64, items: u64) -> u64 {
        let rate = self.rate.map_or(0, |rate| rate.compute_units(quantity));
        let series = self.series.map_or(0, |series| series.compute_units(items));
        self.base.saturating_add(rate).saturating_add(series)
    }

    fn minimum(&self) -> u64 {
        self.compute_units(0, 0)
    }

    fn is_fixed(&self) -> bool {
        self.rate.is_none() && self.series.is_none()
    }
}

impl Rate {
    /// One compute unit for every `divisor` of `of`.
    ///
    /// # Panics
    /// If `divisor` is 0.
    #[must_use]
    pub const fn new(of: &'static str, divisor: u64) -> Self {
        let divisor = NonZeroU64::new(divisor).expect("a rate divides by a positive number");
        Self { of, factor: 1, divisor, minimum: 0 }
    }

    /// The same rate, but at least `minimum` compute units.
    #[must_use]
    pub const fn at_least(self, minimum: u64) -> Self {
        Self { minimum, ..self }
    }

    /// The same rate of a multiple of the quantity.
    #[must_use]
    pub const fn times(self, factor: u64) -> Self {
        Self { factor, ..self }
    }

    /// Returns the compute units for `quantity`.
    #[inline]
    #[must_use]
    pub fn compute_units(self, quantity: u64) -> u64 {
        self.minimum.max(quantity.saturating_mul(self.factor) / self.divisor)
    }
}

impl Series {
    /// Returns the compute units for `items` items.
    #[inline]
    #[must_use]
    pub const fn compute_units(self, items: u64) -> u64 {
        self.first.saturating_add(self.each.saturating_mul(items.saturating_sub(1)))
    }
}

impl Part {
    fn minimum(&self) -> u64 {
        match self {
            Self::Once(amount) => amount.minimum(),
            Self::Each { .. } => 0,
            Self::OneOf(cases) => {
                cases.iter().map(|case| case.amount.minimum()).min().unwrap_or_default()
            }
            Self::Formula { minimum, .. } => *minimum,
        }
    }

    fn is_fixed(&self) -> bool {
        matches!(self, Self::Once(amount) if amount.is_fixed())
    }
}

impl Display for Cost {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.entry != Amount::ZERO || self.parts.is_empty() {
            write!(f, "{}", self.entry)?;
            if !self.parts.is_empty() {
                f.write_str(" + ")?;
            }
        }
        for (index, part) in self.parts.iter().enumerate() {
            let separator = if index == 0 { "" } else { " + " };
            write!(f, "{separator}{part}")?;
        }
        Ok(())
    }
}

impl Display for Amount {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { base, rate, series } = self;
        let fixed = base.saturating_add(series.map_or(0, |series| series.first));
        let mut separator = "";
        if fixed > 0 || rate.is_none() {
            write!(f, "{fixed}")?;
            separator = " + ";
        }
        if let Some(Series { of, each, .. }) = series {
            write!(f, "{separator}{each} per {of} after the first")?;
        }
        match rate {
            Some(rate) => write!(f, "{separator}{rate}"),
            None => Ok(()),
        }
    }
}

impl Display for Rate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { of, factor, divisor, minimum } = self;
        let mut quantity = (*of).to_owned();
        if *factor != 1 {
            quantity = format!("{factor} * {quantity}");
        }
        if divisor.get() != 1 {
            quantity = format!("{quantity} / {divisor}");
        }
        if *minimum > 0 {
            quantity = format!("max({minimum}, {quantity})");
        }
        f.write_str(&quantity)
    }
}

impl Display for Part {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Once(amount) => amount.fmt(f),
            Self::Each { of, amount } => write!(f, "{amount} per {of}"),
            Self::OneOf(cases) => write_cases(f, cases),
            Self::Formula { text, numbers, .. } => {
                let mut numbers = numbers.iter();
                for (index, text) in text.split("{}").enumerate() {
                    if index > 0
                        && let Some(number) = numbers.next()
                    {
                        write!(f, "{number}")?;
                    }
                    f.write_str(text)?;
                }
                Ok(())
            }
        }
    }
}

/// Writes `G1: add 1, multiply 2; G2: add 3`, or `add 1, multiply 2` without groups.
fn write_cases(f: &mut Formatter<'_>, cases: &[Case]) -> fmt::Result {
    for (index, case) in cases.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| cases.get(index));
        let is_same_group = before.is_some_and(|before| before.group == case.group);
        f.write_str(match (before, is_same_group) {
            (None, _) => "",
            (Some(_), true) => ", ",
            (Some(_), false) => "; ",
        })?;
        if !is_same_group && !case.group.is_empty() {
            write!(f, "{}: ", case.group)?;
        }
        write!(f, "{} {}", case.name, case.amount)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_charges_the_first_item_even_if_there_is_none() {
        let series = Series { of: "pair", first: 10, each: 3 };
        for (items, compute_units) in [(0, 10), (1, 10), (3, 16), (u64::MAX, u64::MAX)] {
            assert_eq!(series.compute_units(items), compute_units, "{items}");
        }
    }

    #[test]
    fn a_rate_rounds_down_and_charges_its_minimum() {
        let rate = Rate::new("len", 250).times(2).at_least(10);
        for (len, compute_units) in [(0, 10), (1374, 10), (1375, 11), (1499, 11), (1500, 12)] {
            assert_eq!(rate.compute_units(len), compute_units, "{len}");
        }
        assert_eq!(rate.compute_units(u64::MAX), u64::MAX / 250);
    }

    #[test]
    fn an_amount_is_the_sum_of_its_fields() {
        let series = Series { of: "pair", first: 10, each: 3 };
        let amount = Amount { base: 100, ..Amount::series(series) }.plus(Rate::new("len", 1));
        assert_eq!(amount.compute_units(7, 3), 100 + 7 + 16);
        assert_eq!(Amount::fixed(5).compute_units(7, 3), 5);
        assert_eq!(amount.to_string(), "110 + 3 per pair after the first + len");
    }

    #[test]
    fn costs_are_displayed_as_sums() {
        const SLICE: Amount = Amount::rate(Rate::new("len", 2).at_least(10));
        const PARTS: &[Part] =
            &[Part::Once(Amount::fixed(7)), Part::Each { of: "slice", amount: SLICE }];
        for (cost, text) in [
            (Cost::FREE, "0"),
            (Cost::on_entry(Amount::rate(Rate::new("len", 1))), "len"),
            (Cost::on_entry(Amount::fixed(1)).and(PARTS), "1 + 7 + max(10, len / 2) per slice"),
            (Cost::after_checks(PARTS), "7 + max(10, len / 2) per slice"),
        ] {
            assert_eq!(cost.to_string(), text);
        }
        let formula = Part::Formula { text: "({} + n) / {}", numbers: &[1, 2], minimum: 0 };
        assert_eq!(formula.to_string(), "(1 + n) / 2");
    }

    #[test]
    fn cases_are_displayed_by_group() {
        const fn case(group: &'static str, name: &'static str, base: u64) -> Case {
            Case { group, name, amount: Amount::fixed(base) }
        }
        const CASES: &[Case] =
            &[case("G1", "a", 1), case("G1", "b", 2), case("G2", "a", 3), case("", "c", 4)];
        let cost = Cost::after_checks(&[Part::OneOf(CASES)]);
        assert_eq!(cost.to_string(), "G1: a 1, b 2; G2: a 3; c 4");
        assert_eq!((cost.minimum(), cost.is_fixed()), (1, false));
    }

    #[test]
    fn a_minimum_is_what_the_cheapest_call_costs() {
        const PARTS: &[Part] =
            &[Part::Once(Amount::fixed(7)), Part::Each { of: "slice", amount: Amount::fixed(10) }];
        let cost = Cost::on_entry(Amount::fixed(1)).and(PARTS);
        assert_eq!((cost.minimum(), cost.is_fixed()), (8, false));
        let cost = Cost::on_entry(Amount::fixed(100));
        assert_eq!((cost.minimum(), cost.is_fixed()), (100, true));
        let cost = Cost::on_entry(Amount::rate(Rate::new("len", 1).at_least(100)));
        assert_eq!((cost.minimum(), cost.is_fixed()), (100, false));
    }
}
