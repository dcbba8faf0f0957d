//! Prints figures as a table.

use core::{fmt::Write as _, time::Duration};

/// The minimum and the median of repeated measurements, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    least: f64,
    median: f64,
}

impl Figure {
    /// The figure of turns that each did the same work `count` times; `None` without a turn.
    pub(crate) fn us(mut turns: Vec<Duration>, count: u64) -> Option<Self> {
        turns.sort_unstable();
        let us = |time: &Duration| time.as_secs_f64() * 1e6 / count as f64;
        Some(Self { least: us(turns.first()?), median: us(turns.get(turns.len() / 2)?) })
    }
}

/// A row of the table: two figures for the same work.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    /// `None` if LiteSVM is not measured.
    pub(crate) first: Option<Figure>,
    pub(crate) second: Figure,
    /// Compute units of a transaction, the same on both sides.
    pub(crate) compute_units: Option<u64>,
    pub(crate) goals: &'static [Goal],
}

/// The goal of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// The second figure is at least so many times better than the first.
    Ratio(f64),
    /// The second figure is at most so many times that of another row, since the difference
    /// between the two rows must not matter.
    Like(&'static str, f64),
}

impl Line {
    fn ratio(&self) -> Option<f64> {
        Some(self.first?.least / self.second.least)
    }

    fn ratio_of_medians(&self) -> Option<f64> {
        Some(self.first?.median / self.second.median)
    }

    /// The goals, each with `missed` if it is.
    fn verdict(&self, lines: &[Self]) -> String {
        let verdicts = self.goals.iter().map(|goal| {
            let (text, reached) = match *goal {
                Goal::Ratio(least) => {
                    (format!(">= {least}"), self.ratio().map(|ratio| ratio >= least))
                }
                Goal::Like(name, most) => {
                    let other = lines.iter().find(|line| line.name == name);
                    let reached = other.map(|it| self.second.least <= it.second.least * most);
                    (format!("<= {most} x `{name}`"), reached)
                }
            };
            format!("{text}{}", if reached == Some(false) { " missed" } else { "" })
        });
        verdicts.collect::<Vec<_>>().join(", ")
    }
}

/// All lines, below a head with the names of the two figures; nothing if there are no lines.
pub(crate) fn table([first, second]: [&str; 2], lines: &[Line]) -> String {
    let mut text = String::new();
    if lines.is_empty() {
        return text;
    }
    let _ = writeln!(
        text,
        "{:<41} {:>6} {first:>11} {second:>11} {:>7} {:>7}  goal",
        "us", "CU", "ratio", "median"
    );
    for line in lines {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let row = format!(
            "{:<41} {:>6} {:>11} {:>11.3} {:>7} {:>7}  {}",
            line.name,
            or_none(line.compute_units.map(|it| it.to_string())),
            or_none(line.first.map(|it| format!("{:.3}", it.least))),
            line.second.least,
            or_none(line.ratio().map(|it| format!("{it:.2}"))),
            or_none(line.ratio_of_medians().map(|it| format!("{it:.2}"))),
            line.verdict(lines),
        );
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}
