//! Reports of compute units per test case, and a check that fails when they grow.
//!
//! ```
//! use selkie::{address, system, compute_units::ComputeUnitsReport, Account, Svm};
//!
//! let svm = Svm::new();
//! let rich = (address("alice"), Account { lamports: 10, ..Account::default() });
//! let transfer = system::transfer(&address("alice"), &address("bob"), 4);
//!
//! let mut report = ComputeUnitsReport::new();
//! report.add("transfer", &svm.process_instruction(&transfer, &[rich]));
//! assert!(report.to_string().contains("| transfer | 150 |"));
//!
//! let saved = ComputeUnitsReport::parse("| case | compute units |\n|---|--:|\n| transfer | 140 |\n")?;
//! assert!(report.against(&saved).contains("| transfer | 150 | +10 (+7.1 %) |"));
//! assert_eq!(report.regressions(&saved, 5.0).len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In a test, `report.check_file("compute_units.md", 0.0)` writes the file if it does not exist, and
//! otherwise fails if a case uses more compute units than the file says.
//! `SELKIE_UPDATE_COMPUTE_UNITS=1` overwrites the file.

use core::fmt::{self, Write};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

use selkie_isa::input;

use crate::receipt::Receipt;

/// Compute units of named test cases.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ComputeUnitsReport(Vec<Measurement>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Measurement {
    name: String,
    /// Compute units used, or the error of a case that failed.
    compute_units: Result<u64, CaseError>,
}

/// The error that a case failed with, as the report has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaseError(pub String);

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for CaseError {}

/// A case that uses more compute units than before, or failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Regression {
    /// The case's name.
    pub name: String,
    /// Compute units before, if the case was in the saved report.
    pub before: Option<u64>,
    /// Compute units now, or the error.
    pub now: Result<u64, CaseError>,
}

impl fmt::Display for Regression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.now, self.before) {
            (Err(why), _) => write!(f, "{}: {why}", self.name),
            (Ok(now), Some(before)) => {
                write!(f, "{}: {now} compute units, {}", self.name, delta(before, *now))
            }
            (Ok(now), None) => write!(f, "{}: {now} compute units", self.name),
        }
    }
}

/// A comparison with a saved report that failed.
#[non_exhaustive]
pub enum ComputeUnitsError {
    /// The file cannot be read or written.
    File(PathBuf, io::Error),
    /// A line of the saved report is not a table row; lines count from 1.
    Format(usize),
    /// Some cases use more compute units, or failed.
    Regressions(Vec<Regression>),
}

impl fmt::Display for ComputeUnitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => write!(f, "cannot use {}: {error}", path.display()),
            Self::Format(line) => write!(f, "line {line} is not a row of the table"),
            Self::Regressions(all) => {
                f.write_str("compute units grew")?;
                all.iter().try_for_each(|one| write!(f, "\n  {one}"))?;
                f.write_str("\nhelp: SELKIE_UPDATE_COMPUTE_UNITS=1 overwrites the saved report")
            }
        }
    }
}

impl core::error::Error for ComputeUnitsError {}

impl ComputeUnitsReport {
    /// Creates an empty report.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a case with the compute units of a receipt.
    pub fn add(&mut self, name: &str, receipt: &Receipt) -> &mut Self {
        let compute_units = receipt.result.clone().map_err(|error| CaseError(error.to_string()));
        let name = name.replace(['|', '\n'], "/");
        self.0.push(Measurement {
            name,
            compute_units: compute_units.map(|()| receipt.compute_units),
        });
        self
    }

    /// Parses a report in the format of `Display` or [`ComputeUnitsReport::against`].
    ///
    /// # Errors
    /// If a line of the table is not a row.
    pub fn parse(text: &str) -> Result<Self, ComputeUnitsError> {
        let lines = (1_usize..).zip(text.lines()).filter(|(_, line)| line.starts_with('|'));
        // Skip the heading and the line below it.
        let rows = lines.skip(2).map(|(number, line)| {
            let mut cells = line.trim_matches('|').split('|').map(str::trim);
            let name = cells.next().filter(|name| !name.is_empty());
            let (name, cell) = name.zip(cells.next()).ok_or(ComputeUnitsError::Format(number))?;
            let compute_units =
                cell.replace(',', "").parse().map_err(|_| CaseError(cell.to_owned()));
            Ok(Measurement { name: name.to_owned(), compute_units })
        });
        rows.collect::<Result<_, _>>().map(Self)
    }

    fn compute_units(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|case| case.name == name)?.compute_units.as_ref().ok().copied()
    }

    /// Renders the report as Markdown, compared with a saved one.
    #[must_use]
    pub fn against(&self, saved: &Self) -> String {
        let mut text = "| case | compute units | change |\n|---|--:|--:|\n".to_owned();
        for Measurement { name, compute_units } in &self.0 {
            let _ = match compute_units {
                Ok(compute_units) => {
                    let before = saved.compute_units(name);
                    let change =
                        before.map_or("new".to_owned(), |before| delta(before, *compute_units));
                    writeln!(text, "| {name} | {compute_units} | {change} |")
                }
                Err(why) => writeln!(text, "| {name} | failed | {why} |"),
            };
        }
        let is_gone = |case: &&Measurement| !self.0.iter().any(|it| it.name == case.name);
        for case in saved.0.iter().filter(is_gone) {
            let _ = writeln!(text, "| {} | | gone |", case.name);
        }
        text
    }

    /// Returns the cases that use over `percent` more compute units than in the saved report, and
    /// those that failed.
    #[must_use]
    pub fn regressions(&self, saved: &Self, percent: f64) -> Vec<Regression> {
        let cases = self.0.iter().filter_map(|Measurement { name, compute_units }| {
            let before = saved.compute_units(name);
            let is_worse = match (compute_units, before) {
                (Ok(now), Some(before)) => now > &before && growth(before, *now) > percent,
                (Ok(_), None) => false,
                (Err(_), _) => true,
            };
            is_worse.then(|| Regression { name: name.clone(), before, now: compute_units.clone() })
        });
        cases.collect()
    }

    /// Compares with the report in a file. Writes the file if it does not exist or if
    /// `SELKIE_UPDATE_COMPUTE_UNITS` is set.
    ///
    /// # Errors
    /// If a case regressed by over `percent`, or if the file cannot be read, parsed or written.
    #[allow(clippy::disallowed_methods, reason = "the variable is documented")]
    pub fn check_file(
        &self,
        path: impl AsRef<Path>,
        percent: f64,
    ) -> Result<(), ComputeUnitsError> {
        let path = path.as_ref();
        let failed = |error| ComputeUnitsError::File(path.to_owned(), error);
        let is_asked_for = std::env::var_os("SELKIE_UPDATE_COMPUTE_UNITS").is_some();
        let saved = match input::text(path, input::TEXT_BYTES_MAX) {
            Ok(text) if !is_asked_for => Self::parse(&text)?,
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {
                fs::write(path, self.to_string()).map_err(failed)?;
                Self::default()
            }
        };
        let regressions = self.regressions(&saved, percent);
        if regressions.is_empty() {
            Ok(())
        } else {
            Err(ComputeUnitsError::Regressions(regressions))
        }
    }
}

/// Prints the report as Markdown.
impl fmt::Display for ComputeUnitsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("| case | compute units |\n|---|--:|\n")?;
        self.0.iter().try_for_each(|Measurement { name, compute_units }| match compute_units {
            Ok(compute_units) => writeln!(f, "| {name} | {compute_units} |"),
            Err(_) => writeln!(f, "| {name} | failed |"),
        })
    }
}

#[allow(clippy::cast_precision_loss, reason = "a tenth of a percent is precise enough")]
fn growth(before: u64, now: u64) -> f64 {
    (now as f64 - before as f64) / (before as f64) * 100.0
}

fn delta(before: u64, now: u64) -> String {
    let change = i128::from(now).saturating_sub(i128::from(before));
    if change == 0 || before == 0 {
        return format!("{change:+}");
    }
    format!("{change:+} ({:+.1} %)", growth(before, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(cases: &[(&str, Result<u64, &str>)]) -> ComputeUnitsReport {
        let case = |(name, compute_units): &(&str, Result<u64, &str>)| Measurement {
            name: (*name).to_owned(),
            compute_units: compute_units.map_err(|why| CaseError(why.to_owned())),
        };
        ComputeUnitsReport(cases.iter().map(case).collect())
    }

    #[test]
    fn a_parsed_report_equals_the_printed_one() {
        let report = report(&[("a", Ok(1)), ("b c", Ok(2_000_000)), ("d", Err("failed"))]);
        assert_eq!(ComputeUnitsReport::parse(&report.to_string()).unwrap(), report);
        assert!(matches!(
            ComputeUnitsReport::parse("|a|\n|-|\n|b|"),
            Err(ComputeUnitsError::Format(3))
        ));
    }

    #[test]
    fn cases_beyond_the_tolerance_are_regressions() {
        let saved =
            report(&[("less", Ok(10)), ("same", Ok(10)), ("more", Ok(1000)), ("gone", Ok(1))]);
        let now = report(&[
            ("less", Ok(9)),
            ("same", Ok(10)),
            ("more", Ok(1010)),
            ("new", Ok(5)),
            ("bad", Err("it failed")),
        ]);
        let expected = "| case | compute units | change |\n|---|--:|--:|\n| less | 9 | -1 (-10.0 %) |\n\
                        | same | 10 | +0 |\n| more | 1010 | +10 (+1.0 %) |\n| new | 5 | new |\n\
                        | bad | failed | it failed |\n| gone | | gone |\n";
        assert_eq!(now.against(&saved), expected);
        let names = |percent| -> Vec<String> {
            now.regressions(&saved, percent).into_iter().map(|it| it.name).collect()
        };
        assert_eq!(
            (names(0.5), names(1.0)),
            (vec!["more".to_owned(), "bad".to_owned()], vec!["bad".to_owned()])
        );
        assert_eq!(
            now.regressions(&saved, 0.0)[0].to_string(),
            "more: 1010 compute units, +10 (+1.0 %)"
        );
    }

    #[test]
    fn check_file_writes_a_missing_report_and_then_compares() {
        let path = std::env::temp_dir().join(format!("selkie-units-{}.md", std::process::id()));
        report(&[("a", Ok(10))]).check_file(&path, 0.0).unwrap();
        report(&[("a", Ok(9))]).check_file(&path, 0.0).unwrap();
        let error = report(&[("a", Ok(11))]).check_file(&path, 0.0).unwrap_err();
        fs::remove_file(&path).unwrap();
        assert!(error.to_string().contains("a: 11 compute units, +1 (+10.0 %)"), "{error}");
    }
}
