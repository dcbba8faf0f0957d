//! Loaders v1 and v2: a program is one account, written in chunks and then finalized.
//!
//! Mainnet has disabled the instructions of each by a feature; programs deployed before keep
//! running. The program account itself must sign, so only its creator can write to it.

use selkie_layout::loader::OldLoaderInstruction;
use selkie_svm::{Feature, InstructionError, InvokeContext, Loader};

use super::{
    verify::{self, File},
    write_at,
};
use crate::checks::{is_signer, refuse};

/// The cost of every instruction of loader v1.
pub(crate) const V1_COMPUTE_UNITS: u64 = 1140;
/// The cost of every instruction of loader v2.
pub(crate) const V2_COMPUTE_UNITS: u64 = 570;

const PROGRAM: usize = 0;

pub(crate) fn process_v1(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    if context.has(Feature::DisableDeprecatedLoader) {
        let why = "Deprecated loader is no longer supported";
        return refuse(context, why, InstructionError::UnsupportedProgramId);
    }
    process(context, Loader::V1)
}

pub(crate) fn process_v2(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    if context.has(Feature::DisableBpfLoaderInstructions) {
        let why = "BPF loader management instructions are no longer supported";
        return refuse(context, why, InstructionError::UnsupportedProgramId);
    }
    process(context, Loader::V2)
}

fn process(context: &mut InvokeContext<'_>, loader: Loader) -> Result<(), InstructionError> {
    if !context.borrow(PROGRAM)?.is_owned() {
        let why = "Executable account not owned by the BPF loader";
        return refuse(context, why, InstructionError::IncorrectProgramId);
    }
    let data = context.instruction().data.clone();
    let instruction = OldLoaderInstruction::read(&data);
    match instruction.map_err(|_| InstructionError::InvalidInstructionData)? {
        OldLoaderInstruction::Write { offset, bytes } => {
            check_signed(context, "Program account did not sign")?;
            check_not_final(context)?;
            write_at(context, usize::try_from(offset).unwrap_or(usize::MAX), bytes)
        }
        OldLoaderInstruction::Finalize {} => {
            check_signed(context, "key[0] did not sign the transaction")?;
            finalize(context, loader)
        }
    }
}

fn finalize(context: &mut InvokeContext<'_>, loader: Loader) -> Result<(), InstructionError> {
    let program_id = context.key(PROGRAM)?;
    verify::deploy(context, program_id, File::of_program(PROGRAM, 0, loader))?;
    let rent = context.environment().rent();
    context.borrow(PROGRAM)?.set_executable(&rent, true)?;
    context.log(format!("Finalized account {program_id:?}"));
    Ok(())
}

fn check_signed(context: &mut InvokeContext<'_>, why: &str) -> Result<(), InstructionError> {
    if is_signer(context, PROGRAM)? {
        return Ok(());
    }
    refuse(context, why, InstructionError::MissingRequiredSignature)
}

/// Checks that the program account is not executable. While these loaders were in use, the runtime
/// itself protected the data of executable accounts; since SIMD-0162 it no longer does.
fn check_not_final(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    if context.borrow(PROGRAM)?.is_executable() {
        return Err(InstructionError::ExecutableDataModified);
    }
    Ok(())
}
