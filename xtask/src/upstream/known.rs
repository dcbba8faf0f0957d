//! `xtask/upstream/known.tsv`: differences from agave that are known, with the reason.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};

/// The rows, and which of them explained something.
pub(super) struct Known {
    rows: Vec<(Row, bool)>,
}

struct Row {
    kind: String,
    name: String,
    /// The value in agave's sources; another value is another difference. `*` is any value.
    value: String,
    /// The release of agave by which Selkie should have it; `-` if it never needs it.
    until: String,
    why: String,
}

const HEADER: &str = "kind\tname\tvalue\tuntil\twhy";

impl Known {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    /// Reads the table. Every row needs a reason, and no two rows may be of one value.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        ensure!(lines.next() == Some(HEADER), "line 1 is not `{HEADER}`, with tabs");
        let mut rows: Vec<(Row, bool)> = Vec::new();
        for (number, line) in (2..).zip(lines) {
            let columns: Vec<&str> = line.split('\t').collect();
            let [kind, name, value, until, why] = columns[..] else {
                anyhow::bail!("line {number} has {} columns, not 5", columns.len());
            };
            ensure!(!why.trim().is_empty(), "line {number} has no reason");
            let is_same =
                |(it, _): &(Row, bool)| (&*it.kind, &*it.name, &*it.value) == (kind, name, value);
            ensure!(!rows.iter().any(is_same), "line {number} repeats {kind} {name}");
            let [kind, name, value, until, why] =
                [kind, name, value, until, why].map(str::to_owned);
            rows.push((Row { kind, name, value, until, why }, false));
        }
        Ok(Self { rows })
    }

    /// Returns why a difference is known, and notes that its row is used.
    pub(super) fn explain(&mut self, kind: &str, name: &str, value: &str) -> Option<String> {
        let is_it = |(it, _): &&mut (Row, bool)| {
            it.kind == kind && it.name == name && (it.value == value || it.value == "*")
        };
        let (row, is_used) = self.rows.iter_mut().find(is_it)?;
        *is_used = true;
        let until =
            if row.until == "-" { String::new() } else { format!(" (until {})", row.until) };
        Some(row.why.clone() + &until)
    }

    /// The rows that explained nothing: another release needs them, or none any more.
    pub(super) fn unused(&self) -> impl Iterator<Item = String> {
        let unused = self.rows.iter().filter(|(_, is_used)| !is_used);
        unused.map(|(row, _)| format!("{} {} {}", row.kind, row.name, row.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_table_is_read() {
        Known::parse(include_str!("../../upstream/known.tsv")).unwrap();
    }

    #[test]
    fn rows_are_of_one_value_unless_it_is_a_star() {
        let text = format!("{HEADER}\ngate\ta\tX\t4.5\tnot yet\nmethod\tb\t*\t-\tno votes\n");
        let mut known = Known::parse(&text).unwrap();
        assert_eq!(known.explain("gate", "a", "X").unwrap(), "not yet (until 4.5)");
        assert_eq!(known.explain("gate", "a", "Y"), None);
        assert_eq!(known.unused().collect::<Vec<_>>(), ["method b *"]);
        assert_eq!(known.explain("method", "b", "7").unwrap(), "no votes");
    }

    #[test]
    fn malformed_rows_are_refused() {
        for (rows, expected) in [
            ("gate\ta\tX\t4.5\n", "line 2 has 4 columns, not 5"),
            ("gate\ta\tX\t4.5\t\n", "line 2 has no reason"),
            ("gate\ta\tX\t-\tb\ngate\ta\tX\t-\tc\n", "line 3 repeats gate a"),
        ] {
            let error = Known::parse(&format!("{HEADER}\n{rows}")).err().unwrap();
            assert_eq!(error.to_string(), expected);
        }
    }
}
