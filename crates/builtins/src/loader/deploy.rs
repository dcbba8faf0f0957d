//! The `DeployWithMaxDataLen` instruction of loader v3: makes a program of a buffer.

use selkie_layout::system;
use selkie_svm::{
    AccountMeta, Instruction, InstructionError, InvokeContext, Pubkey, cost::ACCOUNT_BYTES_MAX,
    find_program_address, sysvars::Rent,
};

use super::{
    state::{self, BUFFER_HEADER_BYTES, PROGRAM_BYTES, PROGRAM_DATA_HEADER_BYTES, State},
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

    let program_id = check_program(context, &rent)?;
    check_buffer(context, BUFFER, AUTHORITY)?;
    let len = program_data_len(context, max_data_len)?;
    create_program_data(context, program_id, minimum_balance(&rent, len).max(1), len)?;

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

/// Returns the address of the program account, which must be uninitialized, long enough and rent
/// exempt.
fn check_program(context: &mut InvokeContext<'_>, rent: &Rent) -> Result<Pubkey, InstructionError> {
    if state::at(context, PROGRAM)? != State::Uninitialized {
        let why = "Program account already initialized";
        return refuse(context, why, InstructionError::AccountAlreadyInitialized);
    }
    let program = context.borrow(PROGRAM)?;
    let (program_id, len) = (*program.key(), program.data().len());
    let is_rent_exempt = program.lamports() >= minimum_balance(rent, len);
    if len < PROGRAM_BYTES {
        let why = "Program account too small";
        return refuse(context, why, InstructionError::AccountDataTooSmall);
    }
    if !is_rent_exempt {
        let why = "Program account not rent-exempt";
        return refuse(context, why, InstructionError::ExecutableAccountNotRentExempt);
    }
    Ok(program_id)
}

/// Returns the data length of the new programdata account.
fn program_data_len(
    context: &mut InvokeContext<'_>,
    max_data_len: usize,
) -> Result<usize, InstructionError> {
    if max_data_len < file_len(context, BUFFER)? {
        let why = "Max data length is too small to hold Buffer data";
        return refuse(context, why, InstructionError::AccountDataTooSmall);
    }
    let len = PROGRAM_DATA_HEADER_BYTES.saturating_add(max_data_len);
    if len > ACCOUNT_BYTES_MAX {
        let why = "Max data length is too large";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    Ok(len)
}

/// Creates the programdata account at its derived address, with lamports of the payer, to whom the
/// buffer's lamports go first: they pay for a part of it.
fn create_program_data(
    context: &mut InvokeContext<'_>,
    program_id: Pubkey,
    lamports: u64,
    len: usize,
) -> Result<(), InstructionError> {
    let program_data = context.key(PROGRAM_DATA)?;
    let loader = context.instruction().program_id;
    let derived = find_program_address(&[program_id.as_ref()], &loader);
    let Some((_, bump)) = derived.filter(|(address, _)| *address == program_data) else {
        let why = "ProgramData address is not derived";
        return refuse(context, why, InstructionError::InvalidArgument);
    };
    check_distinct(context, BUFFER, PAYER)?;
    let buffer_lamports = context.borrow(BUFFER)?.lamports();
    context.borrow(PAYER)?.add_lamports(buffer_lamports)?;
    context.borrow(BUFFER)?.set_lamports(0)?;
    let create = create_account(context, lamports, len as u64, &loader)?;
    context.native_invoke(&create, &[&[program_id.as_ref(), &[bump]]])
}

/// Returns the instruction that creates the programdata account. It lists the buffer too: the
/// buffer's lamports went to the payer, and a CPI requires balanced lamports among its accounts.
fn create_account(
    context: &InvokeContext<'_>,
    lamports: u64,
    space: u64,
    owner: &Pubkey,
) -> Result<Instruction, InstructionError> {
    let (payer, program_data) = (context.key(PAYER)?, context.key(PROGRAM_DATA)?);
    let mut create = system::create_account(&payer, &program_data, lamports, space, owner);
    create.accounts.push(AccountMeta::new(context.key(BUFFER)?, false));
    Ok(create)
}

/// Checks that instruction account `index` is a writable buffer whose authority signed.
pub(super) fn check_buffer(
    context: &mut InvokeContext<'_>,
    index: usize,
    authority_index: usize,
) -> Result<(), InstructionError> {
    let buffer = context.borrow(index)?;
    if !buffer.is_writable() {
        let why = "Buffer account not writeable";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    if !buffer.is_owned() {
        let why = "Buffer account not owned by loader";
        return refuse(context, why, InstructionError::IncorrectProgramId);
    }
    let State::Buffer { authority } = state::of(&buffer)? else {
        return refuse(context, "Invalid Buffer account", InstructionError::InvalidArgument);
    };
    if authority != Some(context.key(authority_index)?) {
        let why = "Buffer and upgrade authority don't match";
        return refuse(context, why, InstructionError::IncorrectAuthority);
    }
    if !is_signer(context, authority_index)? {
        let why = "Upgrade authority did not sign";
        return refuse(context, why, InstructionError::MissingRequiredSignature);
    }
    Ok(())
}

/// Returns the length in bytes of the file in a buffer, which must not be empty.
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

/// Copies a buffer's file to the programdata account, and zeroes the bytes after it.
pub(super) fn copy_file(
    context: &mut InvokeContext<'_>,
    buffer: usize,
    program_data: usize,
) -> Result<(), InstructionError> {
    let source = context.borrow(buffer)?;
    let file = source.data().get(BUFFER_HEADER_BYTES..);
    let file = file.ok_or(InstructionError::AccountDataTooSmall)?.to_vec();
    let mut account = context.borrow(program_data)?;
    let target = account.data_mut()?.get_mut(PROGRAM_DATA_HEADER_BYTES..);
    let target = target.and_then(|target| target.split_at_mut_checked(file.len()));
    let (target, rest) = target.ok_or(InstructionError::AccountDataTooSmall)?;
    target.copy_from_slice(&file);
    rest.fill(0);
    Ok(())
}
