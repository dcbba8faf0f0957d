//! The tables of measured times in README.md and docs/performance.md, made from `docs/figures.tsv`.

use std::{fmt::Write as _, fs};

use anyhow::{Context, Result, bail};

use crate::repository;

/// The documents that have such tables.
pub(crate) const DOCUMENTS: &[&str] = &["README.md", "docs/performance.md"];

const FILE: &str = "docs/figures.tsv";
const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- end of figures -->";

/// The name, in a document, of the table that has a row of every other table.
const ALL: &str = "all";

/// The tables in README's order, and beside what they measure.
const TABLES: &[(&str, &str)] = &[
    ("litesvm", "LiteSVM 0.18.1"),
    ("jit", "`solana-sbpf` 0.26.0"),
    ("interpreter", "`solana-sbpf` 0.26.0"),
];

/// Which cell of a row is the ratio of minima.
const RATIO: usize = 3;

/// A row of a table.
struct Row<'a> {
    table: &'a str,
    /// What README calls it, if it is there.
    summary: Option<&'a str>,
    cells: Vec<&'a str>,
}

/// Returns a document with its tables as the figures say.
pub(crate) fn document(name: &str) -> Result<String> {
    let read = |name: &str| fs::read_to_string(repository().join(name)).context(name.to_owned());
    let figures = read(FILE)?;
    with_tables(&read(name)?, &rows(&figures)?).context(name.to_owned())
}

fn rows(text: &str) -> Result<Vec<Row<'_>>> {
    let lines = text.lines().filter(|it| !it.starts_with('#'));
    let row = |line| {
        let cells: Vec<&str> = str::split(line, '\t').collect();
        let [table, summary, cells @ ..] = cells.as_slice() else {
            bail!("{FILE}: `{line}` has no cells\nhelp: separate columns by tabs");
        };
        if !TABLES.iter().any(|(name, _)| name == table) || cells.len() <= RATIO {
            bail!("{FILE}: `{line}` is of no known table, or has no ratio");
        }
        let summary = (*summary != "-").then_some(*summary);
        Ok(Row { table, summary, cells: cells.to_vec() })
    };
    lines.map(row).collect()
}

/// Replaces what is between the markers.
fn with_tables(document: &str, rows: &[Row<'_>]) -> Result<String> {
    let mut parts = document.split(BEGIN);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->").context("a marker has no end")?;
        let (_, after) = rest.split_once(END).context("the table of figures has no end")?;
        let table = if name == ALL { summary(rows) } else { table(name, rows)? };
        text += &format!("{BEGIN}{name} -->\n\n{table}\n{END}{after}");
    }
    Ok(text)
}

fn table(name: &str, rows: &[Row<'_>]) -> Result<String> {
    let mut rows = rows.iter().filter(|it| it.table == name);
    let headings = rows.next().with_context(|| format!("{FILE} has no table `{name}`"))?;
    let mut text = line(&headings.cells) + &"|---".repeat(headings.cells.len()) + "|\n";
    for row in rows {
        if row.cells.len() != headings.cells.len() {
            bail!("{FILE}: `{}` has another number of cells than its table", row.cells.join(" "));
        }
        text += &line(&row.cells);
    }
    Ok(text)
}

/// Writes a row; an empty cell is one space wide.
fn line(cells: &[&str]) -> String {
    let mut text = String::from("|");
    for cell in cells {
        // Writing to a string cannot fail.
        let _ = if cell.is_empty() { write!(text, " |") } else { write!(text, " {cell} |") };
    }
    text + "\n"
}

fn summary(rows: &[Row<'_>]) -> String {
    let mut text = String::from("| beside | what | times as fast |\n|---|---|---|\n");
    let mut last = "";
    for (name, beside) in TABLES {
        for row in rows.iter().filter(|it| it.table == *name) {
            let (Some(summary), Some(ratio)) = (row.summary, row.cells.get(RATIO)) else {
                continue;
            };
            text += &line(&[if last == *beside { "" } else { beside }, summary, ratio]);
            last = beside;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_are_made_from_the_same_rows() {
        let figures = "# text\njit\t-\tJIT\tpeer\tSelkie\tratio\njit\tkernels\tk\t–\t–\t3.67\n";
        let rows = rows(figures).expect("they are well-formed");
        let document = format!("a\n{BEGIN}all -->{END}\nb\n{BEGIN}jit -->\nold\n{END}\nc\n");
        let made = with_tables(&document, &rows).expect("it has both tables");
        assert!(made.contains("| `solana-sbpf` 0.26.0 | kernels | 3.67 |\n"), "{made}");
        assert!(made.contains("| k | – | – | 3.67 |\n"), "{made}");
        assert!(!made.contains("old") && made.ends_with("\nc\n"), "{made}");
        assert_eq!(with_tables(&made, &rows).expect("it has both tables"), made);
    }
}
