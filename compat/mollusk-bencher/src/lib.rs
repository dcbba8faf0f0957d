//! The API of Mollusk's bencher on [Selkie](selkie_mollusk): tables of compute units in Markdown,
//! with the change since the table before.
//!
//! ```toml
//! [dev-dependencies]
//! mollusk-svm-bencher = { package = "selkie-mollusk-bencher", path = "../selkie/compat/mollusk-bencher" }
//! ```

mod date;
mod matrix;
pub mod result;

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use selkie_mollusk::{
    Mollusk,
    result::{InstructionResult, ProgramResult},
};
use solana_account::Account;
use solana_instruction::Instruction;
use solana_pubkey::Pubkey;

pub use crate::matrix::MolluskComputeUnitMatrixBencher;
use crate::{
    date::now,
    result::{MolluskComputeUnitBenchResult, write_results},
};

/// A row of the table: its name, an instruction, and its accounts.
pub type Bench<'a> = (&'a str, &'a Instruction, &'a [(Pubkey, Account)]);

/// Writes the compute units of instructions to `compute_units.md`.
#[derive(Debug)]
pub struct MolluskComputeUnitBencher<'a> {
    benches: Vec<Bench<'a>>,
    mollusk: Mollusk,
    must_pass: bool,
    out_dir: PathBuf,
    #[cfg(feature = "cpi-compute-units")]
    cpi_breakdown: bool,
}

impl<'a> MolluskComputeUnitBencher<'a> {
    /// Creates one that writes to the folder `benches` of the package.
    #[must_use]
    pub fn new(mollusk: Mollusk) -> Self {
        Self {
            benches: Vec::new(),
            mollusk,
            must_pass: false,
            out_dir: benches_folder(),
            #[cfg(feature = "cpi-compute-units")]
            cpi_breakdown: false,
        }
    }

    /// Adds a row.
    #[must_use]
    pub fn bench(mut self, bench: Bench<'a>) -> Self {
        self.benches.push(bench);
        self
    }

    /// Sets whether an instruction that fails is a panic (default: `false`).
    #[must_use]
    pub const fn must_pass(mut self, must_pass: bool) -> Self {
        self.must_pass = must_pass;
        self
    }

    /// Sets whether the table shows the compute units of inner instructions apart.
    #[cfg(feature = "cpi-compute-units")]
    #[must_use]
    pub const fn cpi_breakdown(mut self, cpi_breakdown: bool) -> Self {
        self.cpi_breakdown = cpi_breakdown;
        self
    }

    /// Sets the folder.
    #[must_use]
    pub fn out_dir(mut self, out_dir: &str) -> Self {
        self.out_dir = PathBuf::from(out_dir);
        self
    }

    /// Runs the instructions, and writes a table if one differs from the table before.
    ///
    /// # Panics
    /// If an instruction fails that must pass, or the file cannot be read or written.
    pub fn execute(&mut self) {
        let mut rows = Vec::new();
        for (name, instruction, accounts) in core::mem::take(&mut self.benches) {
            let result = run(&self.mollusk, instruction, accounts, self.must_pass);
            rows.push(self.row(name, result));
        }
        write_results(&self.out_dir, &now(), &get_solana_version(), rows);
    }

    #[cfg(feature = "cpi-compute-units")]
    fn row(&self, name: &'a str, result: InstructionResult) -> MolluskComputeUnitBenchResult<'a> {
        if self.cpi_breakdown {
            return MolluskComputeUnitBenchResult::new_with_cpi_breakdown(name, result);
        }
        MolluskComputeUnitBenchResult::new(name, result)
    }

    #[cfg(not(feature = "cpi-compute-units"))]
    #[allow(clippy::unused_self, reason = "with the feature it is used")]
    fn row(&self, name: &'a str, result: InstructionResult) -> MolluskComputeUnitBenchResult<'a> {
        MolluskComputeUnitBenchResult::new(name, result)
    }
}

/// Runs an instruction.
fn run(
    mollusk: &Mollusk,
    instruction: &Instruction,
    accounts: &[(Pubkey, Account)],
    must_pass: bool,
) -> InstructionResult {
    let result = mollusk.process_instruction(instruction, accounts);
    let is_right = !must_pass || result.program_result == ProgramResult::Success;
    assert!(is_right, "the instruction must pass, but failed: {:?}", result.program_result);
    result
}

/// The folder `benches` of the package that is tested.
fn benches_folder() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    Path::new(&package).join("benches")
}

/// Returns the version of the command `solana`, or `Unknown`.
#[must_use]
pub fn get_solana_version() -> String {
    let output = Command::new("solana").arg("--version").output().ok();
    let output = output.filter(|output| output.status.success());
    output.map_or_else(
        || "Unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}
