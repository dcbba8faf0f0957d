//! The tables.

use std::{fmt::Write as _, fs, path::Path};

use selkie_mollusk::result::InstructionResult;

/// A row: the name of a bench, and its compute units.
#[derive(Clone, Debug)]
pub struct MolluskComputeUnitBenchResult<'a> {
    name: &'a str,
    compute_units: u64,
    /// Those of inner instructions, if they are shown apart.
    inner: Option<u64>,
}

impl<'a> MolluskComputeUnitBenchResult<'a> {
    /// Creates a row.
    #[must_use]
    #[allow(clippy::needless_pass_by_value, reason = "as in Mollusk")]
    pub fn new(name: &'a str, result: InstructionResult) -> Self {
        Self { name, compute_units: result.compute_units_consumed, inner: None }
    }

    /// Creates a row that shows the compute units of inner instructions apart.
    #[cfg(feature = "cpi-compute-units")]
    #[must_use]
    #[allow(clippy::needless_pass_by_value, reason = "as in Mollusk")]
    pub fn new_with_cpi_breakdown(name: &'a str, result: InstructionResult) -> Self {
        // Those further down are part of those of stack height 2.
        let direct = result.cpi_compute_units.iter().filter(|it| it.stack_height == 2);
        let inner = Some(direct.map(|it| it.compute_units_consumed).sum());
        Self { name, compute_units: result.compute_units_consumed, inner }
    }
}

/// A column: the compute units of every bench with one program.
#[derive(Clone, Debug)]
pub struct MolluskComputeUnitMatrixBenchResult<'a> {
    program_name: &'a str,
    rows: Vec<MolluskComputeUnitBenchResult<'a>>,
}

impl<'a> MolluskComputeUnitMatrixBenchResult<'a> {
    /// Creates an empty column.
    #[must_use]
    pub fn new(program_name: &'a str) -> Self {
        Self { program_name, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn add_result(&mut self, name: &'a str, result: InstructionResult) {
        self.rows.push(MolluskComputeUnitBenchResult::new(name, result));
    }
}

/// Writes a table before those of `compute_units.md`, unless nothing has changed since the newest.
///
/// # Panics
/// If the file cannot be read or written.
pub fn write_results(
    out_dir: &Path,
    table_header: &str,
    solana_version: &str,
    results: Vec<MolluskComputeUnitBenchResult<'_>>,
) {
    let path = out_dir.join("compute_units.md");
    let file = fs::read_to_string(&path).unwrap_or_default();
    let before = newest(&file);
    let previous = |name: &str| before.iter().find(|row| row.name == name);
    let is_same = |row: &MolluskComputeUnitBenchResult<'_>| {
        let same = |it: &MolluskComputeUnitBenchResult<'_>| {
            it.compute_units == row.compute_units && it.inner == row.inner
        };
        previous(row.name).is_some_and(same)
    };
    if results.iter().all(is_same) {
        return;
    }
    let has_inner = results.iter().any(|row| row.inner.is_some());
    let mut table = heading(table_header, solana_version, has_inner);
    for row in &results {
        let delta = delta(row, previous(row.name));
        write!(table, "| {} | {} | {delta} |", row.name, row.compute_units)
            .expect("it is a string");
        if let Some(inner) = row.inner {
            let own = row.compute_units.saturating_sub(inner);
            write!(table, " {own} | {inner} |").expect("it is a string");
        }
        table.push('\n');
    }
    prepend(&path, &table, &file);
}

fn heading(header: &str, version: &str, has_inner: bool) -> String {
    let (columns, lines) =
        if has_inner { (" Program | CPIs |", "---------|------|") } else { ("", "") };
    format!(
        "#### {header}\n\nSolana CLI Version: {version}\n\n\
         | Name | CUs | Delta |{columns}\n|------|------|-------|{lines}\n"
    )
}

/// Returns the change of a row: `--`, `+1,234`, `-5`, or that it is new.
fn delta(
    row: &MolluskComputeUnitBenchResult<'_>,
    before: Option<&MolluskComputeUnitBenchResult<'_>>,
) -> String {
    let Some(before) = before else { return "- new -".to_owned() };
    let number = thousands(row.compute_units.abs_diff(before.compute_units));
    match row.compute_units.cmp(&before.compute_units) {
        core::cmp::Ordering::Equal => "--".to_owned(),
        core::cmp::Ordering::Greater => format!("+{number}"),
        core::cmp::Ordering::Less => format!("-{number}"),
    }
}

/// Returns a number with commas between thousands.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = (0..digits.len().div_ceil(3))
        .map(|group| {
            let end = digits.len() - 3 * group;
            &digits[end.saturating_sub(3)..end]
        })
        .collect();
    groups.into_iter().rev().collect::<Vec<_>>().join(",")
}

/// Reads the rows of the first table of a file.
fn newest(file: &str) -> Vec<MolluskComputeUnitBenchResult<'_>> {
    let rows = file.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    rows.map_while(|line| {
        let mut columns = line.strip_prefix('|')?.split('|').map(str::trim);
        let (name, compute_units) = (columns.next()?, columns.next()?.parse().ok()?);
        let inner = columns.nth(2).and_then(|it| it.parse().ok());
        Some(MolluskComputeUnitBenchResult { name, compute_units, inner })
    })
    .collect()
}

/// Writes a table before those of `mx_compute_units.md`, with a column for each program.
///
/// # Panics
/// If the file cannot be read or written.
pub fn mx_write_results(
    out_dir: &Path,
    table_header: &str,
    solana_version: &str,
    results: &[MolluskComputeUnitMatrixBenchResult<'_>],
) {
    let Some(first) = results.first() else { return };
    let names: String = results.iter().map(|it| format!("| CU (`{}`) ", it.program_name)).collect();
    let lines = "|----------".repeat(results.len() + 1);
    let mut table = format!(
        "#### {table_header}\n\nSolana CLI Version: {solana_version}\n\n| Name {names}|\n{lines}|\n"
    );
    for (index, row) in first.rows.iter().enumerate() {
        let units = results.iter().filter_map(|it| it.rows.get(index));
        let units: String = units.map(|it| format!("| {} ", it.compute_units)).collect();
        writeln!(table, "| {} {units}|", row.name).expect("it is a string");
    }
    let path = out_dir.join("mx_compute_units.md");
    let file = fs::read_to_string(&path).unwrap_or_default();
    prepend(&path, &table, &file);
}

fn prepend(path: &Path, table: &str, file: &str) {
    let folder = path.parent().expect("the file is in a folder");
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, format!("{table}\n{file}")))
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, compute_units: u64) -> MolluskComputeUnitBenchResult<'_> {
        MolluskComputeUnitBenchResult { name, compute_units, inner: None }
    }

    #[test]
    fn rows_show_the_change_since_the_newest_table() {
        let table =
            heading("now", "Unknown", false) + "| a | 1000 | - new - |\n\nolder\n| a | 1 | -- |\n";
        let before = newest(&table);
        assert_eq!((before.len(), before[0].compute_units), (1, 1000));
        assert_eq!(delta(&row("a", 2500), before.first()), "+1,500");
        assert_eq!(delta(&row("a", 999), before.first()), "-1");
        assert_eq!(delta(&row("a", 1000), before.first()), "--");
        assert_eq!(delta(&row("b", 1), None), "- new -");
        assert_eq!([0, 999, 1_234_567].map(thousands), ["0", "999", "1,234,567"]);
    }
}
