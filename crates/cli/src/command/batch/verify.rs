//! `selkie batch verify`.

use std::io::Write as _;

use anyhow::Result;
use selkie_batch::folder::{self, Verification};
use selkie_isa::plural::count;
use serde_json::json;

use crate::{
    args::batch::BatchVerifyArgs,
    ui::{BAD, GOOD, Status, Ui},
};

pub(super) fn run(ui: &mut Ui, args: &BatchVerifyArgs) -> Result<Status> {
    let found = folder::verify(&args.results, args.items.as_deref(), args.allow_unusable)?;
    let Verification { digest, distinct, unexpected, unusable, mut problems } = found;
    let hex = digest.to_hex();
    if let Some(wanted) = args.digest.as_ref().filter(|it| **it != hex) {
        problems.push(format!("the digest should be {wanted}"));
    }
    if ui.json {
        ui.object(&json!({
            "items": digest.items,
            "distinct": distinct,
            "unexpected": unexpected,
            "unusable": unusable,
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
