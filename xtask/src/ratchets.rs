//! Figures that may only get better: `xtask/ratchets.tsv` records them, `cargo xtask tidy` compares,
//! and `cargo xtask tidy --tighten` records better ones.

use std::{collections::BTreeMap, fs};

use anyhow::{Context, Result};

use crate::{figures::Part, files::Files, repository};

const FILE: &str = "xtask/ratchets.tsv";

/// By part of the repository and figure.
type Ratchets = BTreeMap<(String, String), usize>;

/// Compares figures with those on record.
pub(crate) fn findings(files: &Files, parts: &[Part]) -> Vec<String> {
    compare(&recorded(files.get(FILE).unwrap_or_default()), &current(parts))
}

/// Records the figures that are better than those on record, and those that are new.
pub(crate) fn tighten(files: &Files, parts: &[Part]) -> Result<()> {
    let recorded = recorded(files.get(FILE).unwrap_or_default());
    let mut text = String::from("# May only get smaller: `cargo xtask tidy --tighten`.\n");
    for ((part, figure), value) in current(parts) {
        let key = (part, figure);
        let value = recorded.get(&key).map_or(value, |&it| it.min(value));
        let (part, figure) = key;
        text.push_str(&format!("{part}\t{figure}\t{value}\n"));
    }
    fs::write(repository().join(FILE), text).context(FILE)
}

fn current(parts: &[Part]) -> Ratchets {
    let figures = parts.iter().flat_map(|part| {
        part.ratchets().into_iter().map(|(figure, it)| ((part.name.to_owned(), figure), it))
    });
    figures.collect()
}

fn recorded(text: &str) -> Ratchets {
    let rows = text.lines().filter_map(|line| {
        let mut columns = line.split('\t');
        let key = (columns.next()?.to_owned(), columns.next()?.to_owned());
        Some((key, columns.next()?.parse().ok()?))
    });
    rows.collect()
}

fn compare(recorded: &Ratchets, current: &Ratchets) -> Vec<String> {
    let mut findings = Vec::new();
    for (key @ (part, figure), value) in current {
        // A figure that is not on record was 0, such as that of cycles.
        let limit = recorded.get(key).copied().unwrap_or(0);
        if *value > limit {
            findings.push(format!("{part}: {figure}: {value}, at most {limit} is allowed"));
        }
    }
    for (key @ (part, figure), limit) in recorded {
        let value = current.get(key).copied().unwrap_or(0);
        if value < *limit {
            findings.push(format!(
                "{part}: {figure}: {value}; lower the ratchet from {limit} with `cargo xtask \
                 tidy --tighten`"
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(recorded: usize, current: usize, findings: &[&str]) {
        let ratchets = |it| Ratchets::from([(("product".to_owned(), "figure".to_owned()), it)]);
        assert_eq!(compare(&ratchets(recorded), &ratchets(current)), findings);
    }

    #[test]
    fn a_worse_figure_is_found() {
        check(1, 2, &["product: figure: 2, at most 1 is allowed"]);
        check(2, 2, &[]);
    }

    #[test]
    fn a_better_figure_must_be_recorded() {
        check(
            2,
            1,
            &["product: figure: 1; lower the ratchet from 2 with `cargo xtask tidy --tighten`"],
        );
    }

    #[test]
    fn records_are_read() {
        let key = ("product".to_owned(), "file lines, max".to_owned());
        assert_eq!(recorded("# a\nproduct\tfile lines, max\t7\n"), Ratchets::from([(key, 7)]));
    }
}
