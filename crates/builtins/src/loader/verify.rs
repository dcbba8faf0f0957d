//! Files are checked before they become programs.

use selkie_svm::{
    Feature, InstructionError, InvokeContext, LoadError, Loader, Program, ProgramEntry, Pubkey,
    Purpose, elf_environment,
};

use super::state::{BUFFER_HEADER_BYTES, PROGRAM_DATA_HEADER_BYTES};
use crate::checks::refuse;

/// The versions of programs that can be deployed for good (SIMD-0500).
const VERSION_MIN_FINAL: u32 = 3;

/// Which account holds a file, and from which byte on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct File {
    place: usize,
    header: usize,
    loader: Loader,
    /// Whether it is new, or was deployed before.
    purpose: Purpose,
}

impl File {
    /// The file of the buffer at a place.
    pub(super) fn of_buffer(place: usize) -> Self {
        Self {
            place,
            header: BUFFER_HEADER_BYTES,
            loader: Loader::V3,
            purpose: Purpose::Deployment,
        }
    }

    /// The file of the program data at a place.
    pub(super) fn of_program_data(place: usize) -> Self {
        Self {
            place,
            header: PROGRAM_DATA_HEADER_BYTES,
            loader: Loader::V3,
            purpose: Purpose::Redeployment,
        }
    }

    /// The file of the account at a place, behind a header, for a loader that keeps a program in
    /// one account.
    pub(super) fn of_program(place: usize, header: usize, loader: Loader) -> Self {
        Self { place, header, loader, purpose: Purpose::Deployment }
    }
}

/// Checks a file by the rules for new programs. From here on the program exists, but nobody can
/// call it before the next slot.
pub(super) fn deploy(
    context: &mut InvokeContext<'_>,
    program: Pubkey,
    file: File,
) -> Result<(), InstructionError> {
    let features = context.environment().features;
    let environment = elf_environment(features, file.purpose);
    let account = context.borrow(file.place)?;
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

/// Whether a program's file may stay as it is for ever: not if it is of a version that is on its
/// way out (SIMD-0500).
pub(super) fn check_final(
    context: &mut InvokeContext<'_>,
    place: usize,
) -> Result<(), InstructionError> {
    if !context.has(Feature::DisableSbpfV0V1V2Deployment) {
        return Ok(());
    }
    let account = context.borrow(place)?;
    // The version is in the flags of the file's header; a file without one is not asked.
    let flags = account.data().get(PROGRAM_DATA_HEADER_BYTES.saturating_add(48)..);
    match flags.and_then(|it| it.first_chunk()).map(|it| u32::from_le_bytes(*it)) {
        Some(version) if version < VERSION_MIN_FINAL => Err(InstructionError::InvalidAccountData),
        _ => Ok(()),
    }
}
