//! `selkie batch import`: items of recorded transactions.

mod node;

use std::io::Write as _;

use anyhow::Result;
use selkie_batch::import::{Imported, Importer, recorded_files};
use selkie_isa::plural::count;
use serde_json::json;

use crate::{
    args::batch::BatchImportArgs,
    ui::{BAD, DIM, GOOD, STRONG, Status, Ui},
};

/// How many reasons are shown.
const SHOWN: usize = 10;

pub(super) fn run(ui: &mut Ui, args: &BatchImportArgs) -> Result<Status> {
    let files = if args.paths.is_empty() { Vec::new() } else { recorded_files(&args.paths)? };
    let mut importer = Importer::new(&args.out, args.rows)?;
    files.iter().try_for_each(|file| importer.add_file(file))?;
    if let Some(url) = &args.url {
        node::add(url, &mut importer)?;
    }
    report(ui, &importer.finish()?)
}

fn report(ui: &mut Ui, imported: &Imported) -> Result<Status> {
    let Imported { items, doubled, differing, differences, later, skipped } = imported;
    let status = Status::of(*items > 0);
    if ui.json {
        let skipped = skipped.iter().map(|(reason, (count, first))| {
            json!({ "reason": reason, "count": count, "first": first.display().to_string() })
        });
        ui.object(&json!({
            "items": items,
            "doubled": doubled,
            "differing": differing,
            "differences": differences,
            "recordedBefore": later,
            "skipped": skipped.collect::<Vec<_>>(),
        }))?;
        return Ok(status);
    }
    let style = if *items > 0 { GOOD } else { BAD };
    writeln!(ui.out, "{style}{}{style:#}", count(*items, "item"))?;
    if *doubled > 0 {
        writeln!(ui.out, "  {DIM}{doubled} more were recorded twice{DIM:#}")?;
    }
    for (rule, number) in later {
        writeln!(ui.out, "  {DIM}{number} were recorded before this rule: {rule}{DIM:#}")?;
    }
    for (reason, (number, first)) in skipped.iter().take(SHOWN) {
        writeln!(ui.out, "  {DIM}{number} left out, as {}: {reason}{DIM:#}", first.display())?;
    }
    if *differing > 0 {
        let now =
            "are executed otherwise than recorded, so that their results will not be as expected";
        writeln!(ui.out, "{BAD}{}{BAD:#} {now}:", count(*differing, "item"))?;
        for line in differences {
            writeln!(ui.out, "  {line}")?;
        }
    }
    if *items > 0 {
        writeln!(ui.out, "run them: {STRONG}selkie batch run{STRONG:#}")?;
    }
    Ok(status)
}
