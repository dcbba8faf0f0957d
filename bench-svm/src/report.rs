//! Figures as a table.

use core::fmt::Write as _;

/// What two took for the same.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    /// What the first took, in microseconds; `None` if it was not asked.
    pub(crate) theirs: Option<f64>,
    /// What the second took, in microseconds.
    pub(crate) ours: f64,
    /// Compute units of a transaction, the same on both sides.
    pub(crate) units: Option<u64>,
    pub(crate) goals: &'static [Goal],
}

/// What a row is to reach.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// To be so many times as fast as the other.
    Ratio(f64),
    /// To take no more than so many times what another row takes: what makes the two differ must
    /// not matter.
    Like(&'static str, f64),
}

impl Line {
    fn ratio(&self) -> Option<f64> {
        Some(self.theirs? / self.ours)
    }

    /// The goals, each with a mark if it is missed.
    fn verdict(&self, lines: &[Self]) -> String {
        let verdicts = self.goals.iter().map(|goal| {
            let (text, reached) = match *goal {
                Goal::Ratio(least) => {
                    (format!(">= {least}"), self.ratio().map(|ratio| ratio >= least))
                }
                Goal::Like(name, most) => {
                    let other = lines.iter().find(|line| line.name == name);
                    let reached = other.map(|other| self.ours <= other.ours * most);
                    (format!("<= {most} x `{name}`"), reached)
                }
            };
            format!("{text}{}", if reached == Some(false) { " missed" } else { "" })
        });
        verdicts.collect::<Vec<_>>().join(", ")
    }
}

/// All lines, below a head that names the two.
pub(crate) fn table(names: [&str; 2], lines: &[Line]) -> String {
    let mut text = String::new();
    if lines.is_empty() {
        return text;
    }
    let [first, second] = names;
    let _ =
        writeln!(text, "{:<39} {:>6} {first:>11} {second:>11} {:>7}  goal", "us", "units", "ratio");
    for line in lines {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let row = format!(
            "{:<39} {:>6} {:>11} {:>11.3} {:>7}  {}",
            line.name,
            or_none(line.units.map(|it| it.to_string())),
            or_none(line.theirs.map(|it| format!("{it:.3}"))),
            line.ours,
            or_none(line.ratio().map(|it| format!("{it:.2}"))),
            line.verdict(lines),
        );
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}
