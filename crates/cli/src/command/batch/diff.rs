//! `selkie batch diff`: which items end differently in another run.

use std::{
    collections::HashMap,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::Int64Type};
use selkie_batch::{check_results, schema::column};
use serde_json::{Value, json};

use super::{shards, table::Table};
use crate::{
    args::batch::BatchDiffArgs,
    render::count,
    ui::{BAD, DIM, GOOD, STRONG, Status, Ui},
};

/// How many results are in memory at once. More are compared in several passes.
const RESULTS_AT_ONCE: u64 = 1_000_000;
/// How many rows are read at once.
const ROWS_AT_ONCE: usize = 8192;

const COLUMNS: [&str; 5] =
    [column::ITEM_ID, column::STATUS, column::ERROR, column::COMPUTE_UNITS, column::EFFECTS_HASH];

pub(crate) fn run(ui: &mut Ui, args: &BatchDiffArgs) -> Result<Status> {
    let (before, after) = (shards::required(&args.before)?, shards::required(&args.after)?);
    let rows = shards::rows(&before)?.max(shards::rows(&after)?);
    let passes = rows.div_ceil(RESULTS_AT_ONCE).clamp(1, 256);
    let mut diff = Diff { shown_max: args.show, ..Diff::default() };
    for pass in 0..passes {
        diff.compare(&before, &after, &|id| {
            u64::from(id.first().copied().unwrap_or_default()) * passes / 256 == pass
        })?;
    }
    if ui.json {
        ui.object(&diff.json())?;
    } else if args.markdown {
        write!(ui.out, "{}", diff.markdown())?;
    } else {
        diff.show(ui)?;
    }
    Ok(Status::of(diff.is_same()))
}

/// A result, as far as it is compared.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Outcome {
    status: String,
    error: Option<String>,
    compute_units: Option<u64>,
    effects_hash: Vec<u8>,
}

impl Outcome {
    /// Returns the status with the error.
    fn result(&self) -> String {
        let error = self.error.as_ref().map(|it| format!(" {it}"));
        format!("{}{}", self.status, error.unwrap_or_default())
    }
}

/// How an item ended differently.
struct Change {
    item_id: String,
    before: Outcome,
    after: Outcome,
}

#[derive(Default)]
struct Diff {
    shown_max: usize,
    same: u64,
    /// Items whose status or error differs.
    results: u64,
    /// Items with the same result, but other compute units.
    compute_units: u64,
    /// Items with the same result and compute units, but other accounts or fees.
    accounts: u64,
    only_before: u64,
    only_after: u64,
    units_before: u64,
    units_after: u64,
    /// How often a result became another one.
    kinds: HashMap<(String, String), u64>,
    shown: Vec<Change>,
}

impl Diff {
    fn is_same(&self) -> bool {
        self.results + self.compute_units + self.accounts + self.only_before + self.only_after == 0
    }

    /// Compares the items whose ids `is_own` accepts.
    fn compare(
        &mut self,
        before: &[PathBuf],
        after: &[PathBuf],
        is_own: &dyn Fn(&[u8]) -> bool,
    ) -> Result<()> {
        let mut known = HashMap::new();
        each(before, is_own, |id, outcome| {
            known.insert(id.to_vec(), outcome);
        })?;
        each(after, is_own, |id, after| match known.remove(id) {
            Some(before) => self.pair(id, before, after),
            None => self.only_after += 1,
        })?;
        self.only_before += known.len() as u64;
        Ok(())
    }

    fn pair(&mut self, id: &[u8], before: Outcome, after: Outcome) {
        let sum = |sum: u64, it: &Outcome| sum.saturating_add(it.compute_units.unwrap_or_default());
        self.units_before = sum(self.units_before, &before);
        self.units_after = sum(self.units_after, &after);
        if before == after {
            self.same += 1;
            return;
        }
        let (old, new) = (before.result(), after.result());
        if old != new {
            self.results += 1;
            *self.kinds.entry((old, new)).or_default() += 1;
        } else if before.compute_units != after.compute_units {
            self.compute_units += 1;
        } else {
            self.accounts += 1;
        }
        if self.shown.len() < self.shown_max {
            self.shown.push(Change { item_id: hex::encode(id), before, after });
        }
    }

    /// Returns the changes of results, the most frequent first.
    fn kinds(&self) -> Vec<(&(String, String), u64)> {
        let mut kinds: Vec<_> = self.kinds.iter().map(|(kind, count)| (kind, *count)).collect();
        kinds.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(right.0)));
        kinds
    }

    fn counts(&self) -> [(&'static str, u64); 6] {
        [
            ("same", self.same),
            ("another result", self.results),
            ("other compute units", self.compute_units),
            ("other accounts", self.accounts),
            ("only before", self.only_before),
            ("only after", self.only_after),
        ]
    }

    fn json(&self) -> Value {
        let change = |it: &Change| {
            let outcome = |it: &Outcome| {
                json!({
                    "status": it.status,
                    "error": it.error,
                    "compute_units": it.compute_units,
                    "effects_hash": hex::encode(&it.effects_hash),
                })
            };
            json!({
                "item_id": it.item_id,
                "before": outcome(&it.before),
                "after": outcome(&it.after),
            })
        };
        let kinds = self.kinds();
        let kinds = kinds.iter().map(
            |((before, after), count)| json!({ "before": before, "after": after, "items": count }),
        );
        json!({
            "same": self.same,
            "results": self.results,
            "compute_units": self.compute_units,
            "accounts": self.accounts,
            "only_before": self.only_before,
            "only_after": self.only_after,
            "compute_units_before": self.units_before,
            "compute_units_after": self.units_after,
            "changes_of_results": kinds.collect::<Vec<_>>(),
            "shown": self.shown.iter().map(change).collect::<Vec<_>>(),
        })
    }

    fn markdown(&self) -> String {
        let mut text = "| items | count |\n|---|---|\n".to_owned();
        for (name, count) in self.counts() {
            text += &format!("| {name} | {count} |\n");
        }
        let Self { units_before, units_after, .. } = self;
        text += &format!(
            "\nCompute units of items in both: {units_before} before, {units_after} after.\n"
        );
        if !self.kinds.is_empty() {
            text += "\n| result before | result after | items |\n|---|---|---|\n";
            for ((before, after), count) in self.kinds() {
                text += &format!("| `{before}` | `{after}` | {count} |\n");
            }
        }
        text
    }

    fn show(&self, ui: &mut Ui) -> Result<()> {
        for (name, number) in self.counts() {
            let style = if name == "same" || number == 0 { GOOD } else { BAD };
            writeln!(ui.out, "{style}{number:>10}{style:#} {name}")?;
        }
        let Self { units_before, units_after, .. } = self;
        writeln!(
            ui.out,
            "compute units of items in both: {units_before} before, {units_after} after"
        )?;
        for Change { item_id, before, after } in &self.shown {
            writeln!(ui.out, "{STRONG}{item_id}{STRONG:#}")?;
            for (when, outcome) in [("before", before), ("after", after)] {
                let units = outcome.compute_units.map(|it| count(it, "compute unit"));
                let units = units.unwrap_or_else(|| "no compute units".to_owned());
                writeln!(ui.out, "  {when:6} {}, {units}", outcome.result())?;
            }
        }
        let changed = self.results + self.compute_units + self.accounts;
        if let Some(more @ 1..) = changed.checked_sub(self.shown.len() as u64) {
            writeln!(ui.out, "{DIM}… and {} more{DIM:#}", count(more, "item"))?;
        }
        Ok(())
    }
}

/// Calls `then` with each result whose id `is_own` accepts.
fn each(
    files: &[PathBuf],
    is_own: &dyn Fn(&[u8]) -> bool,
    mut then: impl FnMut(&[u8], Outcome),
) -> Result<()> {
    for path in files {
        let mut table = Table::open(path, Some(&COLUMNS), ROWS_AT_ONCE)?;
        while let Some(batch) = table.next()? {
            each_row(path, &batch, is_own, &mut then)?;
        }
    }
    Ok(())
}

fn each_row(
    path: &Path,
    batch: &RecordBatch,
    is_own: &dyn Fn(&[u8]) -> bool,
    then: &mut impl FnMut(&[u8], Outcome),
) -> Result<()> {
    check_results(batch, &COLUMNS).with_context(|| format!("cannot use {}", path.display()))?;
    let [ids, status, error, units, effects] =
        COLUMNS.map(|name| batch.column_by_name(name).expect("the columns were checked"));
    let (ids, effects) = (ids.as_binary::<i32>(), effects.as_binary::<i32>());
    let (status, error) = (status.as_string::<i32>(), error.as_string::<i32>());
    let units = units.as_primitive::<Int64Type>();
    for row in (0..batch.num_rows()).filter(|row| is_own(ids.value(*row))) {
        let outcome = Outcome {
            status: status.value(row).to_owned(),
            error: error.is_valid(row).then(|| error.value(row).to_owned()),
            compute_units: units.is_valid(row).then(|| units.value(row).cast_unsigned()),
            effects_hash: effects.value(row).to_vec(),
        };
        then(ids.value(row), outcome);
    }
    Ok(())
}
