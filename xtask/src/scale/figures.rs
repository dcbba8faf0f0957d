//! What engines cost, and how fast batches are beside LiteSVM's Python binding.

use anyhow::Result;

use super::{build, command_line, package, record, work};
use crate::{
    repository,
    steps::{step, succeed},
    venv::Venv,
    wheel,
};

/// Extras of the package, with what is measured in an environment with each.
const FIGURES: &[(&str, &[&str])] = &[
    ("arrow", &["transfers", "memory", "loop", "command"]),
    ("arrow,solders", &["litesvm"]),
    ("spark", &["spark", "spark_folder"]),
    ("sail", &["sail"]),
    ("ray", &["ray"]),
];

/// How many items are in a file.
const ITEMS_PER_FILE: &str = "2000";
/// How many transfers there are, and how many items whose signatures were verified before.
const TRANSFERS: &str = "100000";
const VERIFIED: &str = "20000";

/// Measures all figures, with so many items. Nothing else should run on the machine.
pub(super) fn run(count: &str) -> Result<()> {
    let (recorder, command) = (build("lto")?, command_line("lto"));
    let items = record(&recorder, &[count, ITEMS_PER_FILE])?;
    let transfers = record(&recorder, &[TRANSFERS, ITEMS_PER_FILE, "transfers"])?;
    let verified = record(&recorder, &[VERIFIED, ITEMS_PER_FILE, "verified"])?;
    let wheel = wheel::build(&repository().join("target/wheels"))?;
    for (extra, figures) in FIGURES {
        let venv = Venv::at(&work().join(extra.replace(',', "-")))?;
        venv.install_wheel(&wheel, extra)?;
        let mut python = venv.command("python");
        python.arg("scale/figures.py").args([&items, &transfers, &verified, &work(), &command]);
        step(extra, || succeed(python.args(*figures).current_dir(package())))?;
    }
    Ok(())
}
