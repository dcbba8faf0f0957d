//! Prints figures as a table, and as JSON.

use core::{fmt::Write as _, ops::Add, time::Duration};

/// The minimum and the median of repeated measurements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    pub(crate) least: f64,
    pub(crate) median: f64,
}

impl Figure {
    /// Minimum and median of some times, in nanoseconds.
    pub(crate) fn ns(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let ns = |index: usize| times[index].as_secs_f64() * 1e9;
        Self { least: ns(0), median: ns(times.len() / 2) }
    }

    /// A figure that every measurement gives.
    pub(crate) fn exact(value: f64) -> Self {
        Self { least: value, median: value }
    }

    pub(crate) fn map(self, convert: impl Fn(f64) -> f64) -> Self {
        Self { least: convert(self.least), median: convert(self.median) }
    }
}

impl Add for Figure {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { least: self.least + other.least, median: self.median + other.median }
    }
}

/// The figures of both engines for the same work.
pub(crate) struct Row {
    /// Rows of one group share a geometric mean.
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) anza: Figure,
    pub(crate) selkie: Figure,
    /// `None` where there is no goal, and unless both engines are JITs.
    pub(crate) goal: Option<Goal>,
}

/// The goal of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// Selkie is at least so many times as fast as anza's engine.
    Ratio(f64),
    /// Selkie's figure is at most this.
    AtMost(f64),
}

impl Row {
    fn ratio(&self) -> f64 {
        self.anza.least / self.selkie.least
    }

    fn ratio_of_medians(&self) -> f64 {
        self.anza.median / self.selkie.median
    }

    /// The goal, and `missed` if it is.
    fn verdict(&self) -> String {
        let (text, reached) = match self.goal {
            None => return String::new(),
            Some(Goal::Ratio(ratio)) => (format!(">= {ratio}"), self.ratio() >= ratio),
            Some(Goal::AtMost(most)) => (format!("<= {most}"), self.selkie.least <= most),
        };
        format!("{text:<8}{}", if reached { "" } else { "missed" })
    }
}

fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = ratios.fold((0.0, 0.0), |(sum, count), it| (sum + it.ln(), count + 1.0));
    f64::exp(sum / count)
}

/// The rows by group, each with its geometric mean; then that of all rows of groups in `overall`.
pub(crate) fn table(rows: &[Row], peer: &str, engine: &str, overall: &[&str]) -> String {
    let mut text = String::new();
    let goal = if rows.iter().any(|row| row.goal.is_some()) { "goal" } else { "" };
    let head = format!("{:<34} {peer:>12} {engine:>12} {:>8} {:>8} {goal}", "", "ratio", "median");
    let _ = writeln!(text, "{}", head.trim_end());
    for group in rows.chunk_by(|a, b| a.group == b.group) {
        for row in group {
            let _ = writeln!(text, "{}", line(row).trim_end());
        }
        let _ = writeln!(text, "{}", mean_line(&group[0].group, group.iter()));
    }
    let picked = || rows.iter().filter(|row| overall.contains(&row.group.as_str()));
    if picked().next().is_some() {
        let _ = writeln!(text, "{}", mean_line(&overall.join("+"), picked()));
    }
    text
}

fn line(row: &Row) -> String {
    let Row { group, name, unit, anza, selkie, .. } = row;
    let name = format!("{group} {name}");
    let (anza, selkie) = (anza.least, selkie.least);
    let (ratio, median, verdict) = (row.ratio(), row.ratio_of_medians(), row.verdict());
    format!("{name:<25} {unit:>8} {anza:>12.3} {selkie:>12.3} {ratio:>8.2} {median:>8.2} {verdict}")
}

fn mean_line<'r>(name: &str, rows: impl Iterator<Item = &'r Row> + Clone) -> String {
    let mean = geometric_mean(rows.clone().map(Row::ratio));
    let median = geometric_mean(rows.map(Row::ratio_of_medians));
    format!("{:<59} {mean:>8.2} {median:>8.2}", format!("{name} geometric mean"))
}

/// One object with all rows.
pub(crate) fn json(rows: &[Row], peer: &str, engine: &str) -> String {
    let rows: Vec<String> = rows.iter().map(json_row).collect();
    format!("{{\"peer\":\"{peer}\",\"engine\":\"{engine}\",\"rows\":[{}]}}\n", rows.join(","))
}

fn json_row(Row { group, name, unit, anza, selkie, goal }: &Row) -> String {
    let goal = match goal {
        None => String::new(),
        Some(Goal::Ratio(ratio)) => format!(",\"ratio_min\":{ratio}"),
        Some(Goal::AtMost(most)) => format!(",\"selkie_max\":{most}"),
    };
    let figures = |side: &str, it: &Figure| {
        format!("\"{side}\":{:.4},\"{side}_median\":{:.4}", it.least, it.median)
    };
    format!(
        "{{\"group\":\"{group}\",\"name\":\"{name}\",\"unit\":\"{unit}\",{},{}{goal}}}",
        figures("anza", anza),
        figures("selkie", selkie),
    )
}
