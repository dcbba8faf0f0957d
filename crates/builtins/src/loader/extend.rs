//! The `ExtendProgram` instruction of loader v3: makes a programdata account longer.

use selkie_layout::system::transfer;
use selkie_svm::{Feature, InstructionError, InvokeContext, Pubkey, cost::ACCOUNT_BYTES_MAX};

use super::{
    state::{self, State},
    verify::{self, File},
};
use crate::{
    checks::{check_distinct, clock, minimum_balance, refuse, rent},
    wire::store,
};

const PROGRAM_DATA: usize = 0;
const PROGRAM: usize = 1;
const PAYER: usize = 3;

/// The minimum number of bytes by which a program is extended. Fewer are accepted only if they
/// extend it to exactly the maximum account length (SIMD-0431).
pub const EXTENSION_BYTES_MIN: usize = 10_240;

/// Extends the programdata account. No authority is required.
pub(super) fn extend(
    context: &mut InvokeContext<'_>,
    additional_bytes: u32,
) -> Result<(), InstructionError> {
    if additional_bytes == 0 {
        let why = "Additional bytes must be greater than 0";
        return refuse(context, why, InstructionError::InvalidInstructionData);
    }
    let program_id = check_accounts(context)?;
    let additional = usize::try_from(additional_bytes).unwrap_or(usize::MAX);
    let len = new_len(context, additional)?;
    let slot_now = clock(context)?.slot;
    let State::ProgramData { slot, authority } = state::at(context, PROGRAM_DATA)? else {
        let why = "ProgramData state is invalid";
        return refuse(context, why, InstructionError::InvalidAccountData);
    };
    if slot == slot_now {
        let why = "Program was extended in this block already";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    if authority.is_none() {
        let why = "Cannot extend ProgramData accounts that are not upgradeable";
        return refuse(context, why, InstructionError::Immutable);
    }

    let balance = context.borrow(PROGRAM_DATA)?.lamports();
    let payment = minimum_balance(&rent(context)?, len).max(1).saturating_sub(balance);
    if payment > 0 {
        let transfer = transfer(&context.key(PAYER)?, &context.key(PROGRAM_DATA)?, payment);
        context.native_invoke(&transfer, &[])?;
    }
    context.borrow(PROGRAM_DATA)?.set_data_len(len)?;
    verify::deploy(context, program_id, File::of_program_data(PROGRAM_DATA))?;
    let state = State::ProgramData { slot: slot_now, authority };
    store(&mut context.borrow(PROGRAM_DATA)?, &state.write())?;
    context.log(format!("Extended ProgramData account by {additional_bytes} bytes"));
    Ok(())
}

fn check_accounts(context: &mut InvokeContext<'_>) -> Result<Pubkey, InstructionError> {
    let program_data = context.borrow(PROGRAM_DATA)?;
    let expected = *program_data.key();
    let is_writable = program_data.is_writable();
    if !program_data.is_owned() {
        let why = "ProgramData owner is invalid";
        return refuse(context, why, InstructionError::InvalidAccountOwner);
    }
    if !is_writable {
        let why = "ProgramData is not writable";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    check_distinct(context, PROGRAM, PROGRAM_DATA)?;
    let program = context.borrow(PROGRAM)?;
    let key = *program.key();
    if !program.is_writable() {
        let why = "Program account is not writable";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    if !program.is_owned() {
        let why = "Program account not owned by loader";
        return refuse(context, why, InstructionError::InvalidAccountOwner);
    }
    let State::Program { program_data } = state::of(&program)? else {
        let why = "Invalid Program account";
        return refuse(context, why, InstructionError::InvalidAccountData);
    };
    if program_data != expected {
        let why = "Program account does not match ProgramData account";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    Ok(key)
}

fn new_len(context: &mut InvokeContext<'_>, additional: usize) -> Result<usize, InstructionError> {
    let len = context.borrow(PROGRAM_DATA)?.data().len();
    let new_len = len.saturating_add(additional);
    if new_len > ACCOUNT_BYTES_MAX {
        let why = format!(
            "Extended ProgramData length of {new_len} bytes exceeds max account data length of \
             {ACCOUNT_BYTES_MAX} bytes"
        );
        return refuse(context, why, InstructionError::InvalidRealloc);
    }
    let is_too_little = additional < EXTENSION_BYTES_MIN && new_len != ACCOUNT_BYTES_MAX;
    if is_too_little && context.has(Feature::LoaderV3MinimumExtendProgramSize) {
        let why = format!(
            "ExtendProgram requires a minimum of {EXTENSION_BYTES_MIN} additional bytes or to \
             extend to maximum size, but only {additional} were requested"
        );
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    Ok(new_len)
}
