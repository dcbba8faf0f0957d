//! `selkie batch verify`.

use std::{collections::HashSet, io::Write as _, path::PathBuf};

use anyhow::{Context as _, Result};
use arrow_array::cast::AsArray as _;
use selkie_batch::{Digest, check_results, schema::column};
use serde_json::json;

use super::{
    shards::{self, ITEMS},
    table::Table,
};
use crate::{
    args::batch::BatchVerifyArgs,
    render::count,
    ui::{BAD, GOOD, Status, Ui},
};

/// How many ids are in memory at once. More are compared in several passes.
const IDS_AT_ONCE: u64 = 4_000_000;
/// How many rows are read at once.
const ROWS_AT_ONCE: usize = 8192;

pub(crate) fn run(ui: &mut Ui, args: &BatchVerifyArgs) -> Result<Status> {
    let results = shards::required(&args.results)?;
    let (digest, unexpected) = digest(&results)?;
    let distinct = distinct(&results)?;
    let mut problems = Vec::new();
    if distinct != digest.items {
        let doubled = digest.items.saturating_sub(distinct);
        problems.push(format!("{} more than once", count(doubled, "item")));
    }
    if unexpected > 0 {
        problems.push(format!("{} not as expected", count(unexpected, "result")));
    }
    if let Some(items) = &args.items {
        let expected = shards::rows(&shards::required(&items.join(ITEMS))?)?;
        if expected != digest.items {
            problems.push(format!(
                "{} for {}",
                count(digest.items, "result"),
                count(expected, "item")
            ));
        }
    }
    let hex = digest.to_hex();
    if let Some(wanted) = args.digest.as_ref().filter(|it| **it != hex) {
        problems.push(format!("the digest should be {wanted}"));
    }
    if ui.json {
        ui.object(&json!({
            "items": digest.items,
            "distinct": distinct,
            "unexpected": unexpected,
            "digest": hex,
            "problems": problems,
        }))?;
    } else {
        let style = if problems.is_empty() { GOOD } else { BAD };
        writeln!(ui.out, "{}, {distinct} distinct", count(digest.items, "result"))?;
        problems.iter().try_for_each(|it| writeln!(ui.out, "{BAD}{it}{BAD:#}"))?;
        writeln!(ui.out, "digest {style}{hex}{style:#}")?;
    }
    Ok(Status::of(problems.is_empty()))
}

/// Returns the digest of all results, and how many are not as expected.
fn digest(files: &[PathBuf]) -> Result<(Digest, u64)> {
    const COLUMNS: [&str; 3] = [column::ITEM_ID, column::EFFECTS_HASH, column::MATCHES];
    let (mut digest, mut unexpected) = (Digest::default(), 0);
    for path in files {
        let context = || format!("cannot use {}", path.display());
        let mut table = Table::open(path, Some(&COLUMNS), ROWS_AT_ONCE)?;
        while let Some(batch) = table.next()? {
            check_results(&batch, &COLUMNS).with_context(context)?;
            digest.add(&batch).with_context(context)?;
            let matches = batch.column_by_name(column::MATCHES).expect("the columns were checked");
            let failed = matches.as_boolean().iter().filter(|it| *it == Some(false));
            unexpected += failed.count() as u64;
        }
    }
    Ok((digest, unexpected))
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
