//! Figures as a table for people, and as JSON.

use core::fmt::Write as _;

/// What two engines took for the same.
pub(crate) struct Row {
    /// The group of rows that one mean is taken of.
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) anchor: f64,
    pub(crate) ours: f64,
    /// What is to be reached; `None` where nothing is, or where it is no JIT beside a JIT.
    pub(crate) goal: Option<Goal>,
}

/// What a row is to reach.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// To be so many times as fast as the anchor.
    Ratio(f64),
    /// To come to no more than this.
    AtMost(f64),
}

impl Row {
    fn ratio(&self) -> f64 {
        self.anchor / self.ours
    }

    /// The goal, and a mark if it is missed.
    fn verdict(&self) -> String {
        let (text, reached) = match self.goal {
            None => return String::new(),
            Some(Goal::Ratio(ratio)) => (format!(">= {ratio}"), self.ratio() >= ratio),
            Some(Goal::AtMost(most)) => (format!("<= {most}"), self.ours <= most),
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
    let head = format!("{:<34} {peer:>12} {engine:>12} {:>8} {goal}", "", "ratio");
    let _ = writeln!(text, "{}", head.trim_end());
    for group in rows.chunk_by(|a, b| a.group == b.group) {
        for row in group {
            let Row { group, name, unit, anchor, ours, .. } = row;
            let name = format!("{group} {name}");
            let (ratio, verdict) = (row.ratio(), row.verdict());
            let line =
                format!("{name:<25} {unit:>8} {anchor:>12.3} {ours:>12.3} {ratio:>8.2} {verdict}");
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let (name, mean) = (&group[0].group, geometric_mean(group.iter().map(Row::ratio)));
        let _ = writeln!(text, "{:<59} {mean:>8.2}", format!("{name} geometric mean"));
    }
    let picked = rows.iter().filter(|row| overall.contains(&row.group.as_str()));
    let mean = geometric_mean(picked.map(Row::ratio));
    if mean.is_finite() {
        let _ =
            writeln!(text, "{:<59} {mean:>8.2}", format!("{} geometric mean", overall.join("+")));
    }
    text
}

/// One object with all rows.
pub(crate) fn json(rows: &[Row], peer: &str, engine: &str) -> String {
    let rows: Vec<String> = rows
        .iter()
        .map(|Row { group, name, unit, anchor, ours, goal }| {
            let goal = match goal {
                None => String::new(),
                Some(Goal::Ratio(ratio)) => format!(",\"ratio_min\":{ratio}"),
                Some(Goal::AtMost(most)) => format!(",\"ours_max\":{most}"),
            };
            format!(
                "{{\"group\":\"{group}\",\"name\":\"{name}\",\"unit\":\"{unit}\",\
                 \"anchor\":{anchor:.4},\"ours\":{ours:.4}{goal}}}"
            )
        })
        .collect();
    format!("{{\"peer\":\"{peer}\",\"engine\":\"{engine}\",\"rows\":[{}]}}\n", rows.join(","))
}
