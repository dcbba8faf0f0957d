//! Files are checked before they become programs.

use selkie_svm::{
    Feature, InstructionError, InvokeContext, LoadError, Loader, Program, ProgramEntry, Pubkey,
    Purpose, elf_environment,
};

use super::state::{BUFFER_HEADER_BYTES, PROGRAM_DATA_HEADER_BYTES};
use crate::checks::refuse;

/// The versions of programs that can be deployed for good (SIMD-0500).
const VERSION_MIN_FINAL: u32 = 3;

/// Which account holds a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum File {
    /// The buffer at a place: what it holds is new.
    Buffer(usize),
    /// A program's data at a place, which were deployed before.
    ProgramData(usize),
}

/// Checks a file by the rules for new programs. From here on the program exists, but nobody can
/// call it before the next slot.
pub(super) fn deploy(
    context: &mut InvokeContext<'_>,
    program: Pubkey,
    file: File,
) -> Result<(), InstructionError> {
    let features = context.environment().features;
    let mut environment = elf_environment(features, Purpose::Deployment);
    let (place, header) = match file {
        File::Buffer(place) => (place, BUFFER_HEADER_BYTES),
        File::ProgramData(place) => (place, PROGRAM_DATA_HEADER_BYTES),
    };
    let is_new = matches!(file, File::Buffer(_));
    if is_new && features.has(Feature::DisableSbpfV0V1V2Deployment) {
        let newest = *environment.versions.end();
        environment.versions = newest..=newest;
    }
    let account = context.borrow(place)?;
    let elf = account.data().get(header..).ok_or(InstructionError::AccountDataTooSmall)?;
    if let Err(error) = Program::load(elf, Loader::V3, &environment) {
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
