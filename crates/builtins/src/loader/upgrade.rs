//! The `Upgrade` instruction of loader v3: replaces a program's file by that of a buffer.

use selkie_svm::{Feature, InstructionError, InvokeContext, Pubkey, cost::ACCOUNT_BYTES_MAX};

use super::{
    AuthorityMessages, check_authority,
    deploy::{check_buffer, copy_file, file_len},
    state::{self, BUFFER_HEADER_BYTES, PROGRAM_DATA_HEADER_BYTES, State},
    verify::{self, File},
};
use crate::{
    checks::{check_distinct, clock_at, minimum_balance, refuse, rent_at},
    wire::store,
};

const PROGRAM_DATA: usize = 0;
const PROGRAM: usize = 1;
const BUFFER: usize = 2;
const SPILL: usize = 3;
const RENT: usize = 4;
const CLOCK: usize = 5;
const AUTHORITY: usize = 6;

pub(super) fn upgrade(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    context.check_accounts(3)?;
    let rent = rent_at(context, RENT)?;
    let clock = clock_at(context, CLOCK)?;
    context.check_accounts(7)?;

    let program_id = check_program(context)?;
    check_buffer(context, BUFFER, AUTHORITY)?;
    let buffer_lamports = context.borrow(BUFFER)?.lamports();
    let file_len = file_len(context, BUFFER)?;
    let len = program_data_len(context, file_len)?;
    let required = minimum_balance(&rent, len).max(1);
    let lamports = context.borrow(PROGRAM_DATA)?.lamports().saturating_add(buffer_lamports);
    if lamports < required {
        let why = "Buffer account balance too low to fund upgrade";
        return refuse(context, why, InstructionError::InsufficientFunds);
    }
    let State::ProgramData { slot, authority } = state::at(context, PROGRAM_DATA)? else {
        let why = "Invalid ProgramData account";
        return refuse(context, why, InstructionError::InvalidAccountData);
    };
    if clock.slot == slot {
        let why = "Program was deployed in this block already";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    check_authority(context, &AuthorityMessages::PROGRAM, authority, AUTHORITY)?;

    verify::deploy(context, program_id, File::of_buffer(BUFFER))?;
    let mut program_data = context.borrow(PROGRAM_DATA)?;
    if program_data.data().len() != len {
        program_data.set_data_len(len)?;
    }
    store(&mut program_data, &State::ProgramData { slot: clock.slot, authority }.write())?;
    check_distinct(context, PROGRAM_DATA, BUFFER)?;
    copy_file(context, BUFFER, PROGRAM_DATA)?;

    // Lamports beyond rent exemption go to the spill account.
    check_distinct(context, SPILL, PROGRAM_DATA)?;
    check_distinct(context, SPILL, BUFFER)?;
    context.borrow(SPILL)?.add_lamports(lamports.saturating_sub(required))?;
    context.borrow(BUFFER)?.set_lamports(0)?;
    context.borrow(PROGRAM_DATA)?.set_lamports(required)?;
    context.borrow(BUFFER)?.set_data_len(BUFFER_HEADER_BYTES)?;
    context.log(format!("Upgraded program {program_id:?}"));
    Ok(())
}

fn check_program(context: &mut InvokeContext<'_>) -> Result<Pubkey, InstructionError> {
    let expected = context.key(PROGRAM_DATA)?;
    let program = context.borrow(PROGRAM)?;
    let key = *program.key();
    if !program.is_writable() {
        let why = "Program account not writeable";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    if !program.is_owned() {
        let why = "Program account not owned by loader";
        return refuse(context, why, InstructionError::IncorrectProgramId);
    }
    let State::Program { program_data } = state::of(&program)? else {
        let why = "Invalid Program account";
        return refuse(context, why, InstructionError::InvalidAccountData);
    };
    if program_data != expected {
        let why = "Program and ProgramData account mismatch";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    Ok(key)
}

/// Returns the new length of the programdata account: its current one, or with SIMD-0433 the one
/// that the file needs.
fn program_data_len(
    context: &mut InvokeContext<'_>,
    file_len: usize,
) -> Result<usize, InstructionError> {
    let needed = PROGRAM_DATA_HEADER_BYTES.saturating_add(file_len);
    if context.has(Feature::LoaderV3SetProgramDataToElfLength) {
        if needed > ACCOUNT_BYTES_MAX {
            let why = format!(
                "Resized ProgramData length of {needed} bytes exceeds max account data length"
            );
            return refuse(context, why, InstructionError::InvalidAccountData);
        }
        return Ok(needed);
    }
    let len = context.borrow(PROGRAM_DATA)?.data().len();
    if len < needed {
        let why = "ProgramData account not large enough";
        return refuse(context, why, InstructionError::AccountDataTooSmall);
    }
    Ok(len)
}
