//! Proves that results are complete: their number, distinct ids and expectations.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use arrow_array::{RecordBatch, cast::AsArray as _};
use selkie_isa::{
    failure::{Context as _, OrFailure as _},
    plural::count,
};
use serde_json::{Value, json};

use super::{
    Result, is_unusable,
    shards::{self, ITEMS},
    table::Table,
};
use crate::{columns::check_results, digest::Digest, schema::column};

/// How many ids are in memory at once. More are compared in several passes.
const IDS_AT_ONCE: u64 = 4_000_000;
/// How many rows are read at once.
const ROWS_AT_ONCE: usize = 8192;

const COLUMNS: [&str; 4] = [column::ITEM_ID, column::STATUS, column::EFFECTS_HASH, column::MATCHES];

/// What files of results contain, and what is wrong with them.
#[derive(Clone, Debug)]
pub struct Verification {
    /// The digest of the results, which has their number.
    pub digest: Digest,
    /// How many items have a result.
    pub distinct: u64,
    /// Results that are not the expected ones.
    pub unexpected: u64,
    /// Items that are malformed or on which the engine crashed.
    pub unusable: u64,
    /// A sentence for all that is missing, doubled or not as expected.
    pub problems: Vec<String>,
}

impl Verification {
    /// Returns what was found as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "items": self.digest.items,
            "distinct": self.distinct,
            "unexpected": self.unexpected,
            "unusable": self.unusable,
            "digest": self.digest.to_hex(),
            "problems": self.problems,
        })
    }
}

/// Checks that each item has one result, which is the expected one. `items` is the folder of items that
/// were run, whose ids are compared with those of the results.
///
/// # Errors
/// If a folder has no files, or one cannot be used.
pub fn verify(results: &Path, items: Option<&Path>, allows_unusable: bool) -> Result<Verification> {
    let results = shards::required(results)?;
    let found = Found::read(&results)?;
    let distinct = distinct(&results)?;
    let mut problems = found.problems(distinct, allows_unusable);
    if let Some(items) = items {
        let expected = ids(&shards::required(&items.join(ITEMS))?)?;
        problems.extend(found.compare(&expected));
    }
    let Found { digest, unexpected, unusable, .. } = found;
    Ok(Verification { digest, distinct, unexpected, unusable, problems })
}

/// What files of results contain.
#[derive(Default)]
struct Found {
    digest: Digest,
    /// The digest of the ids alone.
    ids: Digest,
    /// Results that are not the expected ones.
    unexpected: u64,
    /// Items that are malformed or on which the engine crashed.
    unusable: u64,
}

impl Found {
    fn read(files: &[PathBuf]) -> Result<Self> {
        let mut found = Self::default();
        for path in files {
            let mut table = Table::open(path, Some(&COLUMNS), ROWS_AT_ONCE)?;
            while let Some(batch) = table.next()? {
                found.add(&batch).with_context(|| format!("cannot use {}", path.display()))?;
            }
        }
        Ok(found)
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        check_results(batch, &COLUMNS).or_failure()?;
        self.digest.add(batch).or_failure()?;
        add_ids(&mut self.ids, batch);
        let column = |name| batch.column_by_name(name).expect("the columns were checked");
        let matches = column(column::MATCHES).as_boolean().iter();
        self.unexpected += matches.filter(|it| *it == Some(false)).count() as u64;
        let statuses = column(column::STATUS).as_string::<i32>().iter();
        self.unusable += statuses.flatten().filter(|it| is_unusable(it)).count() as u64;
        Ok(())
    }

    /// Returns what is wrong with the results themselves.
    fn problems(&self, distinct: u64, allows_unusable: bool) -> Vec<String> {
        let mut problems = Vec::new();
        if distinct != self.digest.items {
            let doubled = self.digest.items.saturating_sub(distinct);
            problems.push(format!("{} more than once", count(doubled, "item")));
        }
        if self.unexpected > 0 {
            problems.push(format!("{} not as expected", count(self.unexpected, "result")));
        }
        if self.unusable > 0 && !allows_unusable {
            let unusable = count(self.unusable, "item");
            problems.push(format!("{unusable} malformed, or the engine crashed on them"));
        }
        problems
    }

    /// Returns how the ids differ from those of the items.
    fn compare(&self, items: &Digest) -> Option<String> {
        if self.ids.items != items.items {
            let (results, items) = (count(self.ids.items, "result"), count(items.items, "item"));
            return Some(format!("{results} for {items}"));
        }
        (self.ids != *items).then(|| "the results are those of other items".to_owned())
    }
}

/// Returns the digest of the ids in files of items.
pub(super) fn ids(files: &[PathBuf]) -> Result<Digest> {
    let mut digest = Digest::default();
    for path in files {
        let mut table = Table::open(path, Some(&[column::ITEM_ID]), ROWS_AT_ONCE)?;
        while let Some(batch) = table.next()? {
            check_results(&batch, &[column::ITEM_ID])
                .with_context(|| format!("cannot use {}", path.display()))?;
            add_ids(&mut digest, &batch);
        }
    }
    Ok(digest)
}

fn add_ids(digest: &mut Digest, batch: &RecordBatch) {
    let ids = batch.column_by_name(column::ITEM_ID).expect("the columns were checked");
    let ids = ids.as_binary::<i32>().iter();
    ids.for_each(|id| digest.add_result(id.unwrap_or_default(), &[]));
}

/// Counts the different ids. Each pass over the files counts those of one range of first bytes.
fn distinct(files: &[PathBuf]) -> Result<u64> {
    let passes = shards::rows(files)?.div_ceil(IDS_AT_ONCE).clamp(1, 256);
    let mut distinct = 0;
    for pass in 0..passes {
        let mut ids = HashSet::new();
        for path in files {
            let mut table = Table::open(path, Some(&[column::ITEM_ID]), ROWS_AT_ONCE)?;
            while let Some(batch) = table.next()? {
                check_results(&batch, &[column::ITEM_ID])
                    .with_context(|| format!("cannot use {}", path.display()))?;
                let column = batch.column(0).as_binary::<i32>();
                let own = column.iter().flatten().filter(|id| {
                    let first = id.first().copied().unwrap_or_default();
                    u64::from(first) * passes / 256 == pass
                });
                ids.extend(own.map(<[u8]>::to_vec));
            }
        }
        distinct += ids.len() as u64;
    }
    Ok(distinct)
}
