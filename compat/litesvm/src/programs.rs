//! Programs.

#[cfg(not(feature = "until-0-6"))]
use std::path::Path;

use selkie::{InstructionError, InvokeContext, Loader};
use selkie_convert::{Address, to_address};

use crate::{LiteSVM, error::LiteSVMError};

impl LiteSVM {
    /// Adds a program of loader v3 from a file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a valid program.
    #[cfg(not(feature = "until-0-6"))]
    pub fn add_program_from_file(
        &mut self,
        program_id: impl Into<Address>,
        path: impl AsRef<Path>,
    ) -> Result<(), LiteSVMError> {
        let path = path.as_ref();
        std::fs::metadata(path)?;
        // By its path, beside which debug information is found.
        let added = self.svm_mut().add_program(to_address(&program_id.into()), path);
        added.map_err(program_load)
    }

    /// Adds a program of loader v3.
    ///
    /// # Errors
    /// If the file is not a valid program.
    #[cfg(not(feature = "until-0-6"))]
    pub fn add_program(
        &mut self,
        program_id: impl Into<Address>,
        program_bytes: &[u8],
    ) -> Result<(), LiteSVMError> {
        self.svm_mut()
            .add_program(to_address(&program_id.into()), program_bytes)
            .map_err(program_load)
    }

    /// Adds a program of the loader with this address.
    ///
    /// # Errors
    /// If there is no such loader, or the file is not a valid program.
    pub fn add_program_with_loader(
        &mut self,
        program_id: impl Into<Address>,
        program_bytes: &[u8],
        loader_id: Address,
    ) -> Result<(), LiteSVMError> {
        let loader = Loader::of(&to_address(&loader_id)).ok_or_else(|| {
            LiteSVMError::InvalidLoader(format!("Unsupported loader: {loader_id}"))
        })?;
        let program_id = to_address(&program_id.into());
        let added = self.svm_mut().add_program_with_loader(program_id, program_bytes, loader);
        added.map_err(program_load)
    }

    /// Adds a builtin program. It is a Rust closure, which consumes compute units itself; LiteSVM
    /// takes a function of agave's virtual machine.
    pub fn add_builtin(
        &mut self,
        program_id: Address,
        entrypoint: impl Fn(&mut InvokeContext<'_>) -> Result<(), InstructionError>
        + Send
        + Sync
        + 'static,
    ) {
        self.svm_mut().add_builtin(to_address(&program_id), "builtin", entrypoint);
    }
}

fn program_load(error: selkie::ProgramError) -> LiteSVMError {
    match error {
        selkie::ProgramError::Read(_, error) => LiteSVMError::InvalidPath(error),
        error => LiteSVMError::ProgramLoad(error.to_string()),
    }
}
