//! Prints figures beside their goals.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// What a figure should be; nothing fails if it is not.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    AtLeast(f64),
    Below(f64),
    None,
}

impl Goal {
    fn shown(self, figure: f64) -> String {
        let (text, reached) = match self {
            Self::AtLeast(least) => (format!(">= {least}"), figure >= least),
            Self::Below(most) => (format!("< {most}"), figure < most),
            Self::None => return String::new(),
        };
        format!("{text}{}", if reached { "" } else { " missed" })
    }
}

/// A figure.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    pub(crate) goal: Goal,
}

impl Figure {
    /// Creates a figure.
    pub(crate) fn new(name: impl Into<String>, value: f64, unit: &'static str, goal: Goal) -> Self {
        Self { name: name.into(), value, unit, goal }
    }
}

/// Returns the figures as a table.
pub(crate) fn table(figures: &[Figure]) -> String {
    let mut text = format!("{:<58} {:>11} {:<6} goal\n", "", "figure", "unit");
    for figure in figures {
        let Figure { name, value, unit, goal } = figure;
        let row = format!("{name:<58} {value:>11.2} {unit:<6} {}", goal.shown(*value));
        // A string takes everything.
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}

/// Returns the figures as JSON.
pub(crate) fn json(figures: &[Figure]) -> Value {
    let row = |it: &Figure| json!({ "name": it.name, "value": it.value, "unit": it.unit });
    figures.iter().map(row).collect()
}

/// Returns the value below which a share of all values is, `0.5` for the median.
pub(crate) fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "of a few values")]
    let place = (last as f64 * share).round() as usize;
    values.get(place).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values() {
        let mut values = [3.0, 1.0, 2.0];
        assert_eq!(percentile(&mut values, 0.5), 2.0);
        assert_eq!(percentile(&mut values, 0.99), 3.0);
        assert!(percentile(&mut [], 0.5).is_nan());
    }

    #[test]
    fn missed_goals_say_so() {
        assert_eq!(Goal::Below(5.0).shown(4.0), "< 5");
        assert_eq!(Goal::AtLeast(5.0).shown(4.0), ">= 5 missed");
    }
}
