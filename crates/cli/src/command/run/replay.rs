//! Saves what `selkie run` runs as a replay.

use std::path::Path;

use anyhow::{Context as _, Result};
use selkie::{Svm, fixture::Fixture};
use selkie_replay::ReplayFile;
use selkie_svm::{ComputeBudget, Loader};

use super::surroundings;
use crate::{args::RunArgs, files, program::ProgramFile, scenario::Scenario, ui::Ui};

/// Writes the instruction with its programs and accounts to a file. `svm` has the features, names and
/// accounts of the cluster.
pub(super) fn save(
    ui: &mut Ui,
    path: &Path,
    args: &RunArgs,
    file: &ProgramFile,
    scenario: &Scenario,
    svm: Svm,
) -> Result<()> {
    let budget = ComputeBudget { compute_unit_limit: args.limit, heap_bytes: args.heap };
    let mut svm = svm.with_instruction_budget(budget);
    let Scenario { instruction, accounts } = scenario;
    let id = instruction.program_id;
    let loader: Loader = args.loader.into();
    let added = svm.add_program_with_loader(id, file.elf.as_slice(), loader);
    added.context("cannot save a replay")?;
    for (key, other) in surroundings::other_programs(ui, args)? {
        svm.add_program(key, other.elf.as_slice()).context("cannot save a replay")?;
    }
    let name = args.program.file_name().unwrap_or_default().to_string_lossy();
    let own = accounts.iter().filter(|(key, _)| *key != id).cloned().collect::<Vec<_>>();
    let fixture =
        Fixture::record_instructions(&svm, &name, core::slice::from_ref(instruction), &own);
    let mut replay = ReplayFile::from(fixture);
    if let Some(debug) = file.debug_path() {
        replay =
            replay.with_symbols(std::path::absolute(debug).unwrap_or_else(|_| debug.to_owned()));
    }
    files::write(path, replay.to_string())
}
