//! Functions that had another signature or another name up to LiteSVM 0.6.

use std::{io, path::Path};

use selkie_convert::{Address, to_address};

use crate::LiteSVM;

impl LiteSVM {
    /// Adds a program of loader v3 from a file.
    ///
    /// # Errors
    /// If the file cannot be read.
    ///
    /// # Panics
    /// If it is not a valid program.
    pub fn add_program_from_file(
        &mut self,
        program_id: Address,
        path: impl AsRef<Path>,
    ) -> io::Result<()> {
        let path = path.as_ref();
        std::fs::metadata(path)?;
        // By its path, beside which debug information is found.
        match self.svm_mut().add_program(to_address(&program_id), path) {
            Ok(_) => Ok(()),
            Err(selkie::ProgramError::Read(_, error)) => Err(error),
            Err(error) => panic!("program {program_id}: {error}"),
        }
    }

    /// Adds a program of loader v3.
    ///
    /// # Panics
    /// If the file is not a valid program.
    pub fn add_program(&mut self, program_id: Address, program_bytes: &[u8]) {
        let added = self.svm_mut().add_program(to_address(&program_id), program_bytes);
        added.unwrap_or_else(|error| panic!("program {program_id}: {error}"));
    }

    /// Adds mainnet's programs, as [`LiteSVM::with_default_programs`] does.
    #[must_use]
    pub fn with_spl_programs(self) -> Self {
        self.with_default_programs()
    }
}
