//! `selkie batch diff`.

use std::io::Write as _;

use anyhow::Result;
use selkie::Pubkey;
use selkie_batch::folder::{self, Change, Diff};
use selkie_isa::plural::count;

use crate::{
    args::batch::BatchDiffArgs,
    ui::{BAD, DIM, GOOD, STRONG, Status, Ui},
};

/// How many accounts of an item are named.
const ACCOUNTS_NAMED: usize = 10;

pub(super) fn run(ui: &mut Ui, args: &BatchDiffArgs) -> Result<Status> {
    let diff = folder::diff(&args.before, &args.after, args.show)?;
    if ui.json {
        ui.object(&diff.json())?;
    } else if args.markdown {
        write!(ui.out, "{}", diff.markdown())?;
    } else {
        show(ui, &diff)?;
    }
    Ok(Status::of(diff.is_same()))
}

fn show(ui: &mut Ui, diff: &Diff) -> Result<()> {
    for (name, number) in diff.counts() {
        let style = if name == "same" || number == 0 { GOOD } else { BAD };
        writeln!(ui.out, "{style}{number:>10}{style:#} {name}")?;
    }
    let Diff { units_before, units_after, .. } = diff;
    writeln!(ui.out, "compute units of items in both: {units_before} before, {units_after} after")?;
    for (key, number) in diff.accounts_named() {
        writeln!(ui.out, "  {key} differs in {}", count(number, "item"))?;
    }
    for Change { item_id, before, after, accounts } in &diff.shown {
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
    if let Some(more @ 1..) = diff.changed.checked_sub(diff.shown.len() as u64) {
        writeln!(ui.out, "{DIM}… and {} more{DIM:#}", count(more, "item"))?;
    }
    Ok(())
}
