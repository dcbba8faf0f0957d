//! A buffer becomes a program.

use selkie_svm::{
    AccountMeta, Instruction, InstructionError, InvokeContext, Pubkey, cost::ACCOUNT_BYTES_MAX,
    find_program_address,
};
use solana_sdk_ids::system_program;

use super::{
    state::{BUFFER_HEADER_BYTES, PROGRAM_BYTES, PROGRAM_DATA_HEADER_BYTES, State},
    verify::{self, File},
};
use crate::{
    checks::{check_distinct, clock_at, is_signer, minimum_balance, refuse, rent_at},
    wire::store,
};

const PAYER: usize = 0;
const PROGRAM_DATA: usize = 1;
const PROGRAM: usize = 2;
const BUFFER: usize = 3;
const RENT: usize = 4;
const CLOCK: usize = 5;
const AUTHORITY: usize = 7;

pub(super) fn deploy(
    context: &mut InvokeContext<'_>,
    max_data_len: usize,
) -> Result<(), InstructionError> {
    context.check_accounts(4)?;
    let program_data = context.key(PROGRAM_DATA)?;
    let rent = rent_at(context, RENT)?;
    let clock = clock_at(context, CLOCK)?;
    context.check_accounts(8)?;
    let authority = Some(context.key(AUTHORITY)?);

    if State::at(context, PROGRAM)? != State::Uninitialized {
        let why = "Program account already initialized";
        return refuse(context, why, InstructionError::AccountAlreadyInitialized);
    }
    let program = context.borrow(PROGRAM)?;
    let (program_id, len) = (*program.key(), program.data().len());
    let is_rent_exempt = program.lamports() >= minimum_balance(&rent, len);
    if len < PROGRAM_BYTES {
        let why = "Program account too small";
        return refuse(context, why, InstructionError::AccountDataTooSmall);
    }
    if !is_rent_exempt {
        let why = "Program account not rent-exempt";
        return refuse(context, why, InstructionError::ExecutableAccountNotRentExempt);
    }

    check_buffer(context, BUFFER, AUTHORITY)?;
    let file_len = file_len(context, BUFFER)?;
    if max_data_len < file_len {
        let why = "Max data length is too small to hold Buffer data";
        return refuse(context, why, InstructionError::AccountDataTooSmall);
    }
    let len = PROGRAM_DATA_HEADER_BYTES.saturating_add(max_data_len);
    if len > ACCOUNT_BYTES_MAX {
        let why = "Max data length is too large";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    let loader = context.instruction().program_id;
    let derived = find_program_address(&[program_id.as_ref()], &loader);
    let Some((_, bump)) = derived.filter(|(address, _)| *address == program_data) else {
        let why = "ProgramData address is not derived";
        return refuse(context, why, InstructionError::InvalidArgument);
    };

    // The buffer's lamports help to pay for the new account.
    check_distinct(context, BUFFER, PAYER)?;
    let lamports = context.borrow(BUFFER)?.lamports();
    context.borrow(PAYER)?.add_lamports(lamports)?;
    context.borrow(BUFFER)?.set_lamports(0)?;
    let lamports = minimum_balance(&rent, len).max(1);
    let create = create_account(context, lamports, len as u64, &loader)?;
    context.native_invoke(&create, &[&[program_id.as_ref(), &[bump]]])?;

    verify::deploy(context, program_id, File::of_buffer(BUFFER))?;
    let state = State::ProgramData { slot: clock.slot, authority };
    store(&mut context.borrow(PROGRAM_DATA)?, &state.write())?;
    check_distinct(context, PROGRAM_DATA, BUFFER)?;
    copy_file(context, BUFFER, PROGRAM_DATA)?;
    context.borrow(BUFFER)?.set_data_len(BUFFER_HEADER_BYTES)?;

    let mut program = context.borrow(PROGRAM)?;
    store(&mut program, &State::Program { program_data }.write())?;
    program.set_executable(&rent, true)?;
    context.log(format!("Deployed program {program_id:?}"));
    Ok(())
}

/// Makes the account of the program's data. The buffer is named besides, because its lamports
/// went to the payer, and a call must find lamports in balance.
fn create_account(
    context: &InvokeContext<'_>,
    lamports: u64,
    space: u64,
    owner: &Pubkey,
) -> Result<Instruction, InstructionError> {
    let mut data = vec![0; 4];
    data.extend(lamports.to_le_bytes());
    data.extend(space.to_le_bytes());
    data.extend(owner.to_bytes());
    let accounts = vec![
        AccountMeta::new(context.key(PAYER)?, true),
        AccountMeta::new(context.key(PROGRAM_DATA)?, true),
        AccountMeta::new(context.key(BUFFER)?, false),
    ];
    Ok(Instruction { program_id: system_program::ID, accounts, data })
}

/// Whether the account at a place is a buffer that its authority lets go.
pub(super) fn check_buffer(
    context: &mut InvokeContext<'_>,
    place: usize,
    authority_place: usize,
) -> Result<(), InstructionError> {
    let buffer = context.borrow(place)?;
    if !buffer.is_writable() {
        let why = "Buffer account not writeable";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    if !buffer.is_owned() {
        let why = "Buffer account not owned by loader";
        return refuse(context, why, InstructionError::IncorrectProgramId);
    }
    let State::Buffer { authority } = State::of(&buffer)? else {
        return refuse(context, "Invalid Buffer account", InstructionError::InvalidArgument);
    };
    if authority != Some(context.key(authority_place)?) {
        let why = "Buffer and upgrade authority don't match";
        return refuse(context, why, InstructionError::IncorrectAuthority);
    }
    if !is_signer(context, authority_place)? {
        let why = "Upgrade authority did not sign";
        return refuse(context, why, InstructionError::MissingRequiredSignature);
    }
    Ok(())
}

/// How long the file in a buffer is.
pub(super) fn file_len(
    context: &mut InvokeContext<'_>,
    buffer: usize,
) -> Result<usize, InstructionError> {
    match context.borrow(buffer)?.data().len().checked_sub(BUFFER_HEADER_BYTES) {
        None | Some(0) => {
            let why = "Buffer account too small";
            refuse(context, why, InstructionError::InvalidAccountData)
        }
        Some(len) => Ok(len),
    }
}

/// Copies a buffer's file to a program's data, and clears what is behind it.
pub(super) fn copy_file(
    context: &mut InvokeContext<'_>,
    buffer: usize,
    program_data: usize,
) -> Result<(), InstructionError> {
    let source = context.borrow(buffer)?;
    let file = source.data().get(BUFFER_HEADER_BYTES..);
    let file = file.ok_or(InstructionError::AccountDataTooSmall)?.to_vec();
    let mut target = context.borrow(program_data)?;
    let place = target.data_mut()?.get_mut(PROGRAM_DATA_HEADER_BYTES..);
    let place = place.and_then(|place| place.split_at_mut_checked(file.len()));
    let (place, rest) = place.ok_or(InstructionError::AccountDataTooSmall)?;
    place.copy_from_slice(&file);
    rest.fill(0);
    Ok(())
}
