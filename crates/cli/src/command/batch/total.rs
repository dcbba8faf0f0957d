//! What a run has executed, and how it is shown.

use std::{collections::BTreeMap, io::Write as _, path::Path};

use anyhow::{Context as _, Result};
use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::Int64Type};
use selkie_batch::{Digest, check_results, schema::column};
use serde_json::json;

use super::is_unusable;
use crate::{
    render::count,
    ui::{BAD, DIM, GOOD, STRONG, Status, Ui},
};

/// What was executed.
#[derive(Default)]
pub(super) struct Total {
    digest: Digest,
    pub(super) compute_units: u64,
    statuses: BTreeMap<String, u64>,
    /// Items whose result is not the expected one.
    unexpected: u64,
    /// Files whose results were there already.
    pub(super) skipped: usize,
    /// The first items that are malformed or on which the engine crashed.
    unusable: Vec<String>,
}

/// How many unusable items are named.
const UNUSABLE_NAMED: usize = 5;

/// The columns that a total is made of.
pub(super) const COUNTED: [&str; 6] = [
    column::ITEM_ID,
    column::STATUS,
    column::ERROR,
    column::COMPUTE_UNITS,
    column::EFFECTS_HASH,
    column::MATCHES,
];

impl Total {
    pub(super) fn add(&mut self, results: &RecordBatch, file: &Path, first: u64) -> Result<()> {
        let context = || format!("cannot use {}", file.display());
        check_results(results, &COUNTED).with_context(context)?;
        self.digest.add(results).with_context(context)?;
        let column = |name| results.column_by_name(name).expect("the columns were checked");
        let units = column(column::COMPUTE_UNITS).as_primitive::<Int64Type>();
        let units = units.iter().flatten().map(i64::cast_unsigned);
        self.compute_units = units.fold(self.compute_units, u64::saturating_add);
        let matches = column(column::MATCHES).as_boolean();
        self.unexpected += matches.iter().filter(|it| *it == Some(false)).count() as u64;
        let (status, error) = (column(column::STATUS), column(column::ERROR));
        let (status, error) = (status.as_string::<i32>(), error.as_string::<i32>());
        for (row, status) in status.iter().enumerate() {
            let status = status.unwrap_or_default();
            *self.statuses.entry(status.to_owned()).or_default() += 1;
            if is_unusable(status) && self.unusable.len() < UNUSABLE_NAMED {
                let error = if error.is_null(row) { "" } else { error.value(row) };
                let row = first.saturating_add(row as u64);
                self.unusable.push(format!("{}, row {row}: {status}: {error}", file.display()));
            }
        }
        Ok(())
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.digest.merge(&other.digest);
        self.compute_units = self.compute_units.saturating_add(other.compute_units);
        self.unexpected += other.unexpected;
        self.skipped += other.skipped;
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.unusable.extend(other.unusable);
        self.unusable.truncate(UNUSABLE_NAMED);
    }

    fn is_fine(&self) -> bool {
        self.unexpected == 0 && self.unusable.is_empty()
    }
}

/// Shows a total.
pub(super) fn report(ui: &mut Ui, total: &Total, seconds: f64) -> Result<Status> {
    let Total { digest, compute_units, statuses, unexpected, skipped, unusable } = total;
    if ui.json {
        ui.object(&json!({
            "items": digest.items,
            "statuses": statuses,
            "compute_units": compute_units,
            "unexpected": unexpected,
            "unusable": unusable,
            "files_skipped": skipped,
            "digest": digest.to_hex(),
            "seconds": seconds,
        }))?;
        return Ok(Status::of(total.is_fine()));
    }
    writeln!(ui.out, "{STRONG}{}{STRONG:#} in {seconds:.1} s", count(digest.items, "item"))?;
    for (status, number) in statuses {
        writeln!(ui.out, "  {status:14} {number}")?;
    }
    writeln!(ui.out, "  compute units  {compute_units}")?;
    if *skipped > 0 {
        writeln!(ui.out, "  {DIM}{} had results{DIM:#}", count(*skipped, "file"))?;
    }
    for line in unusable {
        writeln!(ui.out, "{BAD}unusable{BAD:#} {line}")?;
    }
    if *unexpected > 0 {
        writeln!(ui.out, "{BAD}{} not as expected{BAD:#}", count(*unexpected, "result"))?;
    }
    let style = if total.is_fine() { GOOD } else { BAD };
    writeln!(ui.out, "digest {style}{}{style:#}", digest.to_hex())?;
    Ok(Status::of(total.is_fine()))
}
