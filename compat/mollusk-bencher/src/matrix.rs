//! Several builds of a program, side by side.

use std::path::PathBuf;

use selkie_mollusk::Mollusk;

use crate::{
    Bench, benches_folder,
    date::now,
    get_solana_version,
    result::{MolluskComputeUnitMatrixBenchResult, mx_write_results},
    run,
};

/// Writes the compute units of instructions to `mx_compute_units.md`, with a column for each of several
/// programs in the place of the same address.
#[derive(Debug)]
pub struct MolluskComputeUnitMatrixBencher<'a> {
    mollusk: &'a mut Mollusk,
    program_names: Vec<&'a str>,
    benches: Vec<Bench<'a>>,
    must_pass: bool,
    out_dir: PathBuf,
}

impl<'a> MolluskComputeUnitMatrixBencher<'a> {
    /// Creates one that writes to the folder `benches` of the package.
    #[must_use]
    pub fn new(mollusk: &'a mut Mollusk) -> Self {
        let (program_names, benches, out_dir) = (Vec::new(), Vec::new(), benches_folder());
        Self { mollusk, program_names, benches, must_pass: false, out_dir }
    }

    /// Sets the names of the programs' files.
    #[must_use]
    pub fn programs(mut self, names: &[&'a str]) -> Self {
        self.program_names = names.to_vec();
        self
    }

    /// Adds a row.
    #[must_use]
    pub fn bench(mut self, bench: Bench<'a>) -> Self {
        self.benches.push(bench);
        self
    }

    /// Sets whether an instruction that fails is a panic (default: `false`).
    #[must_use]
    pub fn must_pass(mut self, must_pass: bool) -> Self {
        self.must_pass = must_pass;
        self
    }

    /// Sets the folder.
    #[must_use]
    pub fn out_dir(mut self, out_dir: &str) -> Self {
        self.out_dir = PathBuf::from(out_dir);
        self
    }

    /// Runs the instructions with each program, and writes the table.
    ///
    /// # Panics
    /// If a program is not found, an instruction fails that must pass, or the file cannot be read or
    /// written.
    pub fn execute(&mut self) {
        let mut columns = Vec::new();
        for program_name in &self.program_names {
            if let Some((_, instruction, _)) = self.benches.first() {
                self.mollusk.add_program(&instruction.program_id, program_name);
            }
            let mut column = MolluskComputeUnitMatrixBenchResult::new(program_name);
            for (name, instruction, accounts) in &self.benches {
                let result = run(self.mollusk, instruction, accounts, self.must_pass);
                column.add_result(name, result);
            }
            columns.push(column);
        }
        mx_write_results(&self.out_dir, &now(), &get_solana_version(), &columns);
    }
}
