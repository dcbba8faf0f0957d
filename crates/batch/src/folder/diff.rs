//! Which items end differently in another run.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
};

use arrow_array::{
    Array as _, ArrayRef, RecordBatch, StringArray, cast::AsArray as _, types::Int64Type,
};
use selkie::Pubkey;
use selkie_isa::failure::Context as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Result, shards, table::Table};
use crate::{columns::check_results, schema::column};

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

/// Compares the results of two runs of the same items, and keeps up to `shown` of those that differ.
///
/// # Errors
/// If a folder has no files, or one cannot be used.
pub fn diff(before: &Path, after: &Path, shown: usize) -> Result<Diff> {
    let (before, after) = (shards::required(before)?, shards::required(after)?);
    let rows = shards::rows(&before)?.max(shards::rows(&after)?);
    let passes = rows.div_ceil(RESULTS_AT_ONCE).clamp(1, 256);
    let mut diff = Diff { shown_max: shown, ..Diff::default() };
    for pass in 0..passes {
        diff.compare(&before, &after, &|id| {
            u64::from(id.first().copied().unwrap_or_default()) * passes / 256 == pass
        })?;
    }
    Ok(diff)
}

/// A result, as far as it is compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    status: String,
    error: Option<String>,
    /// The compute units, if it was executed.
    pub compute_units: Option<u64>,
    effects_hash: Vec<u8>,
    /// The accounts that the transaction wrote, each with a hash of its contents.
    written: BTreeMap<Pubkey, u64>,
}

impl Ended {
    /// Returns the status with the error.
    #[must_use]
    pub fn result(&self) -> String {
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
#[derive(Clone, Debug)]
pub struct Change {
    /// The item's id in hexadecimal.
    pub item_id: String,
    /// Its result before.
    pub before: Ended,
    /// Its result after.
    pub after: Ended,
    /// The accounts that differ afterwards.
    pub accounts: Vec<Pubkey>,
}

/// What differs. An item may count several times: with another result it usually writes other
/// accounts as well.
#[derive(Clone, Default, Debug)]
pub struct Diff {
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
    pub changed: u64,
    only_before: u64,
    only_after: u64,
    /// The compute units of items in both runs, before.
    pub units_before: u64,
    /// The compute units of items in both runs, after.
    pub units_after: u64,
    /// How often a result became another one.
    kinds: HashMap<(String, String), u64>,
    /// How often an account differed.
    by_account: HashMap<Pubkey, u64>,
    /// The first items that differ.
    pub shown: Vec<Change>,
}

impl Diff {
    /// Returns whether the same items ended in the same way.
    #[must_use]
    pub fn is_same(&self) -> bool {
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

    fn pair(&mut self, id: &[u8], before: Ended, after: Ended) {
        let sum = |sum: u64, it: &Ended| sum.saturating_add(it.compute_units.unwrap_or_default());
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
    #[must_use]
    pub fn accounts_named(&self) -> Vec<(&Pubkey, u64)> {
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

    /// Returns what is counted, each with its name.
    #[must_use]
    pub fn counts(&self) -> [(&'static str, u64); 7] {
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

    /// Returns the comparison as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let change = |it: &Change| {
            let outcome = |it: &Ended| {
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

    /// Returns the counts as Markdown tables.
    #[must_use]
    pub fn markdown(&self) -> String {
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
}

/// Calls `then` with each result whose id `is_own` accepts.
fn each(
    files: &[PathBuf],
    is_own: &dyn Fn(&[u8]) -> bool,
    mut then: impl FnMut(&[u8], Ended),
) -> Result<()> {
    for path in files {
        let columns = [&COLUMNS[..], &[column::FINDINGS]].concat();
        let mut table = Table::open(path, Some(&columns), ROWS_AT_ONCE)?;
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
    then: &mut impl FnMut(&[u8], Ended),
) -> Result<()> {
    check_results(batch, &COLUMNS).with_context(|| format!("cannot use {}", path.display()))?;
    let [ids, status, error, units, effects, post] =
        COLUMNS.map(|name| batch.column_by_name(name).expect("the columns were checked"));
    let (ids, effects) = (ids.as_binary::<i32>(), effects.as_binary::<i32>());
    let (status, error) = (status.as_string::<i32>(), error.as_string::<i32>());
    let units = units.as_primitive::<Int64Type>();
    let post = post.as_list::<i32>();
    // Results of version 1 have findings as errors.
    let findings = batch.column_by_name(column::FINDINGS).and_then(|it| it.as_string_opt::<i32>());
    let text = |of: &StringArray, row: usize| of.is_valid(row).then(|| of.value(row).to_owned());
    for row in (0..batch.num_rows()).filter(|row| is_own(ids.value(*row))) {
        let outcome = Ended {
            status: status.value(row).to_owned(),
            error: text(error, row).or_else(|| text(findings?, row)),
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
