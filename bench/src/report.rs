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
}

impl Row {
    fn ratio(&self) -> f64 {
        self.anchor / self.ours
    }
}

fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = ratios.fold((0.0, 0.0), |(sum, count), it| (sum + it.ln(), count + 1.0));
    f64::exp(sum / count)
}

/// The rows by group, each with its geometric mean; then that of all rows of groups in `overall`.
pub(crate) fn table(rows: &[Row], peer: &str, overall: &[&str]) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{:<34} {peer:>12} {:>12} {:>8}", "", "selkie", "ratio");
    for group in rows.chunk_by(|a, b| a.group == b.group) {
        for Row { group, name, unit, anchor, ours } in group {
            let name = format!("{group} {name}");
            let ratio = anchor / ours;
            let _ = writeln!(text, "{name:<25} {unit:>8} {anchor:>12.3} {ours:>12.3} {ratio:>8.2}");
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
pub(crate) fn json(rows: &[Row], peer: &str) -> String {
    let rows: Vec<String> = rows
        .iter()
        .map(|Row { group, name, unit, anchor, ours }| {
            format!(
                "{{\"group\":\"{group}\",\"name\":\"{name}\",\"unit\":\"{unit}\",\
                 \"anchor\":{anchor:.4},\"ours\":{ours:.4}}}"
            )
        })
        .collect();
    format!("{{\"peer\":\"{peer}\",\"rows\":[{}]}}\n", rows.join(","))
}
