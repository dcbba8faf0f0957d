//! What a run has executed.

use std::{collections::BTreeMap, path::Path};

use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::Int64Type};
use selkie_isa::failure::Context as _;

use super::{Result, is_unusable};
use crate::{columns::check_results, digest::Digest, schema::column};

/// What was executed.
#[derive(Clone, Default, Debug)]
pub struct Total {
    /// The digest of the results, which has their number.
    pub digest: Digest,
    /// The sum of their compute units.
    pub compute_units: u64,
    /// How many results have a status, by its name.
    pub statuses: BTreeMap<String, u64>,
    /// Items whose result is not the expected one.
    pub unexpected: u64,
    /// Files whose results were there already.
    pub files_skipped: usize,
    /// The items of these files.
    pub items_skipped: u64,
    /// The first items that are malformed or on which the engine crashed, with what is wrong.
    pub unusable: Vec<String>,
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
        self.files_skipped += other.files_skipped;
        self.items_skipped = self.items_skipped.saturating_add(other.items_skipped);
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.unusable.extend(other.unusable);
        self.unusable.truncate(UNUSABLE_NAMED);
    }

    /// Returns whether every item could be executed, and ended as expected.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        self.unexpected == 0 && self.unusable.is_empty()
    }
}
