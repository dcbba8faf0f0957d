//! Checks of a program's ELF file at deployment.

use selkie_svm::{
    Feature, InstructionError, InvokeContext, LoadError, Loader, Program, ProgramEntry, Pubkey,
    Purpose, Ungated, elf_environment,
};

use super::state::{BUFFER_HEADER_BYTES, PROGRAM_DATA_HEADER_BYTES};
use crate::checks::refuse;

/// The lowest sBPF version of a program that can be made immutable (SIMD-0500).
const VERSION_MIN_FINAL: u32 = 3;

/// The location of an ELF file: the instruction account that holds it, after a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct File {
    index: usize,
    header: usize,
    loader: Loader,
    /// Whether the file is new or already deployed.
    purpose: Purpose,
}

impl File {
    /// Returns the file in buffer account `index`.
    pub(super) fn of_buffer(index: usize) -> Self {
        Self {
            index,
            header: BUFFER_HEADER_BYTES,
            loader: Loader::V3,
            purpose: Purpose::Deployment,
        }
    }

    /// Returns the file in programdata account `index`.
    pub(super) fn of_program_data(index: usize) -> Self {
        Self {
            index,
            header: PROGRAM_DATA_HEADER_BYTES,
            loader: Loader::V3,
            purpose: Purpose::Redeployment,
        }
    }

    /// Returns the file in program account `index` after `header` bytes, for loaders that store a
    /// program in one account.
    pub(super) fn of_program(index: usize, header: usize, loader: Loader) -> Self {
        Self { index, header, loader, purpose: Purpose::Deployment }
    }
}

/// Loads and verifies a file by the rules for deployment, and deploys the program. It can be
/// invoked from the next slot on.
pub(super) fn deploy(
    context: &mut InvokeContext<'_>,
    program: Pubkey,
    file: File,
) -> Result<(), InstructionError> {
    let features = context.environment().features;
    let environment = elf_environment(features, file.purpose);
    let account = context.borrow(file.index)?;
    let elf = account.data().get(file.header..).ok_or(InstructionError::AccountDataTooSmall)?;
    if let Err(error) = Program::load(elf, file.loader, &environment) {
        let why = match error {
            LoadError::Verify(error) => format!("Verifier error: {error}"),
            error => error.to_string(),
        };
        return refuse(context, why, InstructionError::InvalidAccountData);
    }
    context.set_program(program, ProgramEntry::DelayVisibility);
    Ok(())
}

/// Checks that a program may become immutable: not if its sBPF version is deprecated (SIMD-0500).
pub(super) fn check_final(
    context: &mut InvokeContext<'_>,
    index: usize,
) -> Result<(), InstructionError> {
    if !context.has(Feature::DisableSbpfV0V1V2Deployment) {
        return Ok(());
    }
    let account = context.borrow(index)?;
    // The version is in `e_flags` of the ELF header; a file that is too short passes.
    let flags = account.data().get(PROGRAM_DATA_HEADER_BYTES.saturating_add(48)..);
    match flags.and_then(|it| it.first_chunk()).map(|it| u32::from_le_bytes(*it)) {
        Some(version) if version < VERSION_MIN_FINAL => {
            if context.follows(Ungated::FinalizingNamesVersion) {
                context.log(format!(
                    "Program targets SBPF V{version}, but finalizing requires SBPF V3 or newer"
                ));
            }
            Err(InstructionError::InvalidAccountData)
        }
        _ => Ok(()),
    }
}
