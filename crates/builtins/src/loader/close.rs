//! The `Close` instruction of loader v3: closes a buffer or a program, and pays out its lamports.

use selkie_layout::loader::UNINITIALIZED_BYTES;
use selkie_svm::{InstructionError, InvokeContext, ProgramEntry, Pubkey, Ungated};

use super::{
    AuthorityMessages, check_authority,
    state::{self, State},
};
use crate::{
    checks::{clock, refuse},
    wire::store,
};

const CLOSED: usize = 0;
const RECIPIENT: usize = 1;
const AUTHORITY: usize = 2;
const PROGRAM: usize = 3;

pub(super) fn close(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    context.check_accounts(2)?;
    let key = context.key(CLOSED)?;
    if key == context.key(RECIPIENT)? {
        let why = "Recipient is the same as the account being closed";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    let state = state::at(context, CLOSED)?;
    if !context.follows(Ungated::CloseResizesLast) {
        context.borrow(CLOSED)?.set_data_len(UNINITIALIZED_BYTES)?;
    }
    match state {
        State::Uninitialized => {
            pay_out(context)?;
            context.log(format!("Closed Uninitialized {key}"));
        }
        State::Buffer { authority } => {
            context.check_accounts(3)?;
            close_with_authority(context, authority)?;
            context.log(format!("Closed Buffer {key}"));
        }
        State::ProgramData { slot, authority } => {
            context.check_accounts(4)?;
            let program = close_program(context, key, slot, authority)?;
            context.log(format!("Closed Program {program}"));
        }
        State::Program { .. } => {
            let why = "Account does not support closing";
            return refuse(context, why, InstructionError::InvalidArgument);
        }
    }
    Ok(())
}

/// Closes a program's programdata account. The program account remains and refers to the closed
/// account, so its address cannot be used again.
fn close_program(
    context: &mut InvokeContext<'_>,
    key: Pubkey,
    slot: u64,
    authority: Option<Pubkey>,
) -> Result<Pubkey, InstructionError> {
    let program = context.borrow(PROGRAM)?;
    let (program_id, is_owned) = (*program.key(), program.is_owned());
    if !program.is_writable() {
        let why = "Program account is not writable";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    if !is_owned {
        let why = "Program account not owned by loader";
        return refuse(context, why, InstructionError::IncorrectProgramId);
    }
    if clock(context)?.slot == slot {
        let why = "Program was deployed in this block already";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    let State::Program { program_data } = state::at(context, PROGRAM)? else {
        return refuse(context, "Invalid Program account", InstructionError::InvalidArgument);
    };
    if program_data != key {
        let why = "ProgramData account does not match ProgramData account";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    close_with_authority(context, authority)?;
    context.set_program(program_id, ProgramEntry::Closed);
    Ok(program_id)
}

fn close_with_authority(
    context: &mut InvokeContext<'_>,
    authority: Option<Pubkey>,
) -> Result<(), InstructionError> {
    check_authority(context, &AuthorityMessages::CLOSED, authority, AUTHORITY)?;
    pay_out(context)?;
    store(&mut context.borrow(CLOSED)?, &State::Uninitialized.write())
}

/// Moves the lamports of the closed account to the recipient, and resizes it.
fn pay_out(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    let lamports = context.borrow(CLOSED)?.lamports();
    context.borrow(RECIPIENT)?.add_lamports(lamports)?;
    let mut closed = context.borrow(CLOSED)?;
    closed.set_lamports(0)?;
    closed.set_data_len(UNINITIALIZED_BYTES)
}
