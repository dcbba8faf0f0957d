//! `selkie batch diff`: which items end differently in another run.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use arrow_array::{Array as _, ArrayRef, RecordBatch, cast::AsArray as _, types::Int64Type};
use selkie::Pubkey;
use selkie_batch::{check_results, schema::column};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{shards, table::Table};
use crate::{
    args::batch::BatchDiffArgs,
    render::count,
    ui::{BAD, DIM, GOOD, STRONG, Status, Ui},
};

/// How many results are in memory at once. More are compared in several passes.
const RESULTS_AT_ONCE: u64 = 500_000;
/// How many rows are read at once.
const ROWS_AT_ONCE: usize = 8192;

/// How many accounts are counted, and how many of them are named.
const ACCOUNTS_COUNTED: usize = 100_000;
const ACCOUNTS_NAMED: usize = 10;

const COLUMNS: [&str; 6] = [
    column::ITEM_ID,
    column::STATUS,
    column::ERROR,
    column::COMPUTE_UNITS,
    column::EFFECTS_HASH,
    column::POST,
];

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
    /// The accounts that the transaction wrote, each with a hash of its contents.
    written: BTreeMap<Pubkey, u64>,
}

impl Outcome {
    /// Returns the status with the error.
    fn result(&self) -> String {
        let error = self.error.as_ref().map(|it| format!(" {it}"));
        format!("{}{}", self.status, error.unwrap_or_default())
    }

    /// Returns the accounts that are different after the other run.
    fn changed_accounts(&self, other: &Self) -> Vec<Pubkey> {
        let keys = self.written.keys().chain(other.written.keys());
        let keys: BTreeSet<&Pubkey> = keys.collect();
        let differs = |key: &&&Pubkey| self.written.get(**key) != other.written.get(**key);
        keys.iter().filter(differs).map(|key| **key).collect()
    }
}

/// How an item ended differently.
struct Change {
    item_id: String,
    before: Outcome,
    after: Outcome,
    accounts: Vec<Pubkey>,
}

/// What differs. An item may count several times: with another result it usually writes other
/// accounts as well.
#[derive(Default)]
struct Diff {
    shown_max: usize,
    same: u64,
    /// Items whose status or error differs.
    results: u64,
    /// Items whose compute units differ.
    compute_units: u64,
    /// Items of which an account differs afterwards.
    accounts: u64,
    /// Items that differ in something else: the size of what they loaded.
    others: u64,
    /// Items that differ in any way.
    changed: u64,
    only_before: u64,
    only_after: u64,
    units_before: u64,
    units_after: u64,
    /// How often a result became another one.
    kinds: HashMap<(String, String), u64>,
    /// How often an account differed.
    by_account: HashMap<Pubkey, u64>,
    shown: Vec<Change>,
}

impl Diff {
    fn is_same(&self) -> bool {
        self.changed + self.only_before + self.only_after == 0
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
        self.changed += 1;
        let (old, new) = (before.result(), after.result());
        let accounts = before.changed_accounts(&after);
        let units_differ = before.compute_units != after.compute_units;
        self.compute_units += u64::from(units_differ);
        self.accounts += u64::from(!accounts.is_empty());
        self.others += u64::from(old == new && !units_differ && accounts.is_empty());
        if old != new {
            self.results += 1;
            *self.kinds.entry((old, new)).or_default() += 1;
        }
        for key in &accounts {
            if self.by_account.len() < ACCOUNTS_COUNTED || self.by_account.contains_key(key) {
                *self.by_account.entry(*key).or_default() += 1;
            }
        }
        if self.shown.len() < self.shown_max {
            self.shown.push(Change { item_id: hex::encode(id), before, after, accounts });
        }
    }

    /// Returns the accounts that differ most often.
    fn accounts_named(&self) -> Vec<(&Pubkey, u64)> {
        let mut all: Vec<_> = self.by_account.iter().map(|(key, count)| (key, *count)).collect();
        all.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(right.0)));
        all.truncate(ACCOUNTS_NAMED);
        all
    }

    /// Returns the changes of results, the most frequent first.
    fn kinds(&self) -> Vec<(&(String, String), u64)> {
        let mut kinds: Vec<_> = self.kinds.iter().map(|(kind, count)| (kind, *count)).collect();
        kinds.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(right.0)));
        kinds
    }

    fn counts(&self) -> [(&'static str, u64); 7] {
        [
            ("same", self.same),
            ("another result", self.results),
            ("other compute units", self.compute_units),
            ("other accounts", self.accounts),
            ("other sizes of loaded data", self.others),
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
                "accounts": it.accounts.iter().map(Pubkey::to_string).collect::<Vec<_>>(),
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
            "loaded_data": self.others,
            "changed": self.changed,
            "only_before": self.only_before,
            "only_after": self.only_after,
            "compute_units_before": self.units_before,
            "compute_units_after": self.units_after,
            "changed_accounts": self.accounts_named().iter().map(|(key, count)| {
                json!({ "account": key.to_string(), "items": count })
            }).collect::<Vec<_>>(),
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
        if !self.by_account.is_empty() {
            text += "\n| account that differs | items |\n|---|---|\n";
            for (key, count) in self.accounts_named() {
                text += &format!("| `{key}` | {count} |\n");
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
        for (key, number) in self.accounts_named() {
            writeln!(ui.out, "  {key} differs in {}", count(number, "item"))?;
        }
        for Change { item_id, before, after, accounts } in &self.shown {
            writeln!(ui.out, "{STRONG}{item_id}{STRONG:#}")?;
            for (when, outcome) in [("before", before), ("after", after)] {
                let units = outcome.compute_units.map(|it| count(it, "compute unit"));
                let units = units.unwrap_or_else(|| "no compute units".to_owned());
                writeln!(ui.out, "  {when:6} {}, {units}", outcome.result())?;
            }
            let named: Vec<String> =
                accounts.iter().take(ACCOUNTS_NAMED).map(Pubkey::to_string).collect();
            if !named.is_empty() {
                let more = accounts.len() - named.len();
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                writeln!(ui.out, "  differs {}{more}", named.join(", "))?;
            }
        }
        if let Some(more @ 1..) = self.changed.checked_sub(self.shown.len() as u64) {
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
    let [ids, status, error, units, effects, post] =
        COLUMNS.map(|name| batch.column_by_name(name).expect("the columns were checked"));
    let (ids, effects) = (ids.as_binary::<i32>(), effects.as_binary::<i32>());
    let (status, error) = (status.as_string::<i32>(), error.as_string::<i32>());
    let units = units.as_primitive::<Int64Type>();
    let post = post.as_list::<i32>();
    for row in (0..batch.num_rows()).filter(|row| is_own(ids.value(*row))) {
        let outcome = Outcome {
            status: status.value(row).to_owned(),
            error: error.is_valid(row).then(|| error.value(row).to_owned()),
            compute_units: units.is_valid(row).then(|| units.value(row).cast_unsigned()),
            effects_hash: effects.value(row).to_vec(),
            written: written(&post.value(row)),
        };
        then(ids.value(row), outcome);
    }
    Ok(())
}

/// Returns the accounts that a transaction wrote, each with a hash of its contents.
fn written(accounts: &ArrayRef) -> BTreeMap<Pubkey, u64> {
    let accounts = accounts.as_struct();
    let column = |name| accounts.column_by_name(name).expect("the columns were checked");
    let binary = |name| column(name).as_binary::<i32>();
    let (keys, owners, data) =
        (binary(column::PUBKEY), binary(column::OWNER), binary(column::DATA_HASH));
    let lamports = column(column::LAMPORTS).as_primitive::<Int64Type>();
    let executable = column(column::EXECUTABLE).as_boolean();
    let content = |row: usize| {
        let mut hasher = Sha256::new();
        hasher.update(lamports.value(row).to_le_bytes());
        hasher.update([executable.value(row).into()]);
        hasher.update(owners.value(row));
        hasher.update(data.value(row));
        let hash: [u8; 32] = hasher.finalize().into();
        u64::from_le_bytes(*hash.first_chunk().expect("it is longer"))
    };
    (0..accounts.len())
        .filter_map(|row| Some((Pubkey::try_from(keys.value(row)).ok()?, content(row))))
        .collect()
}
