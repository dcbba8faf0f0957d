//! `selkie batch verify`.

use std::io::Write as _;

use anyhow::Result;
use selkie_batch::folder::{self, Verification};
use selkie_isa::plural::count;

use crate::{
    args::batch::BatchVerifyArgs,
    ui::{BAD, GOOD, Status, Ui},
};

pub(super) fn run(ui: &mut Ui, args: &BatchVerifyArgs) -> Result<Status> {
    let mut found = folder::verify(&args.results, args.items.as_deref(), args.allow_unusable)?;
    let hex = found.digest.to_hex();
    if let Some(wanted) = args.digest.as_ref().filter(|it| **it != hex) {
        found.problems.push(format!("the digest should be {wanted}"));
    }
    if ui.json {
        ui.object(&found.json())?;
    } else {
        let Verification { digest, distinct, problems, .. } = &found;
        let style = if problems.is_empty() { GOOD } else { BAD };
        writeln!(ui.out, "{}, {distinct} distinct", count(digest.items, "result"))?;
        problems.iter().try_for_each(|it| writeln!(ui.out, "{BAD}{it}{BAD:#}"))?;
        writeln!(ui.out, "digest {style}{hex}{style:#}")?;
    }
    Ok(Status::of(found.problems.is_empty()))
}
