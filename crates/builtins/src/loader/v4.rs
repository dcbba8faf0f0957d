//! Loader v4 (SIMD-0167): a program is one account, which its authority can retract, change and
//! redeploy until it is finalized.
//!
//! Agave had it from 2.1 on, changed it until 2.3 and removed it before 4.0. This is the last
//! version, with checks in agave's order (`loader_v4/src/lib.rs`).

use core::cmp::Ordering;

use selkie_layout::loader::{LoaderV4Instruction, PROGRAM_V4, ProgramV4};
use selkie_svm::{InstructionError, InvokeContext, Loader, ProgramEntry};

use super::verify::{self, File};
use crate::{
    checks::{check_distinct, clock, is_signer, minimum_balance, refuse, rent},
    wire::store,
};

/// The cost of every instruction of loader v4.
pub(crate) const V4_COMPUTE_UNITS: u64 = 2000;

/// The length in bytes of a program account's header; the ELF file follows.
const HEADER_BYTES: usize = PROGRAM_V4.bytes;
/// The number of slots after a deployment before the program can be retracted or redeployed.
const COOLDOWN_SLOTS: u64 = 1;

const PROGRAM: usize = 0;
const AUTHORITY: usize = 1;
/// The third account: the source of a copy, the recipient of lamports, the new authority or the
/// next version, depending on the instruction.
const OTHER: usize = 2;

/// The statuses of a program, as its account stores them. Other numbers equal none of them.
const RETRACTED: u64 = 0;
const DEPLOYED: u64 = 1;
const FINALIZED: u64 = 2;

fn read_state(data: &[u8]) -> Result<ProgramV4, InstructionError> {
    ProgramV4::at_start_of(data).ok_or(InstructionError::AccountDataTooSmall)
}

fn store_state(state: &ProgramV4, context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    store(&mut context.borrow(PROGRAM)?, &state.bytes())
}

pub(crate) fn process_v4(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    let data = context.instruction().data.clone();
    let instruction = LoaderV4Instruction::read(&data);
    match instruction.map_err(|_| InstructionError::InvalidInstructionData)? {
        LoaderV4Instruction::Write { offset, bytes } => write(context, offset, bytes),
        LoaderV4Instruction::Copy { destination_offset, source_offset, length } => {
            copy(context, destination_offset, source_offset, length)
        }
        LoaderV4Instruction::SetProgramLength { new_size } => set_program_length(context, new_size),
        LoaderV4Instruction::Deploy {} => deploy(context),
        LoaderV4Instruction::Retract {} => retract(context),
        LoaderV4Instruction::TransferAuthority {} => transfer_authority(context),
        LoaderV4Instruction::Finalize {} => finalize(context),
    }
}

fn write(
    context: &mut InvokeContext<'_>,
    offset: u32,
    bytes: &[u8],
) -> Result<(), InstructionError> {
    check_retracted(context)?;
    write_at(context, offset, bytes)
}

/// Copies bytes of another program's file, or of any account that a loader owns.
fn copy(
    context: &mut InvokeContext<'_>,
    to: u32,
    from: u32,
    len: u32,
) -> Result<(), InstructionError> {
    check_both(context)?;
    check_distinct(context, PROGRAM, OTHER)?;
    check_retracted(context)?;
    let source = context.borrow(OTHER)?;
    let Some(header) = Loader::of(source.owner()).map(Loader::header_bytes) else {
        return refuse(context, "Source is not a program", InstructionError::InvalidArgument);
    };
    let start = header.saturating_add(bytes_of(from));
    let Some(bytes) = source.data().get(start..start.saturating_add(bytes_of(len))) else {
        return refuse(context, "Read out of bounds", InstructionError::AccountDataTooSmall);
    };
    let bytes = bytes.to_vec();
    write_at(context, to, &bytes)
}

/// Initializes, resizes or closes a program account. Lamports beyond rent exemption go to the
/// recipient account, if there is one.
fn set_program_length(context: &mut InvokeContext<'_>, len: u32) -> Result<(), InstructionError> {
    check_both(context)?;
    let is_new = context.borrow(PROGRAM)?.data().len() < HEADER_BYTES;
    if is_new {
        check_owned(context)?;
        check_writable_and_signed(context)?;
    } else {
        check_retracted(context)?;
    }
    let new_len = if len == 0 { 0 } else { HEADER_BYTES.saturating_add(bytes_of(len)) };
    let required = if len == 0 { 0 } else { minimum_balance(&rent(context)?, new_len).max(1) };
    let lamports = context.borrow(PROGRAM)?.lamports();
    match lamports.cmp(&required) {
        Ordering::Less => {
            let why = format!("Insufficient lamports, {required} are required");
            return refuse(context, why, InstructionError::InsufficientFunds);
        }
        // The program account itself does not count as a recipient.
        Ordering::Greater if check_distinct(context, PROGRAM, OTHER).is_ok() => {
            if !context.instruction_account(OTHER)?.is_writable {
                let why = "Recipient is not writeable";
                return refuse(context, why, InstructionError::InvalidArgument);
            }
            let surplus = lamports.saturating_sub(required);
            context.borrow(PROGRAM)?.sub_lamports(surplus)?;
            context.borrow(OTHER)?.add_lamports(surplus)?;
        }
        Ordering::Greater if len == 0 => {
            let why = "Closing a program requires a recipient account";
            return refuse(context, why, InstructionError::InvalidArgument);
        }
        Ordering::Greater | Ordering::Equal => {}
    }
    context.borrow(PROGRAM)?.set_data_len(new_len)?;
    if is_new && len != 0 {
        let rent = context.environment().rent();
        context.borrow(PROGRAM)?.set_executable(&rent, true)?;
        let authority = context.key(AUTHORITY)?;
        store_state(&ProgramV4 { slot: 0, authority, status: RETRACTED }, context)?;
    }
    Ok(())
}

fn deploy(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    let state = check_program(context)?;
    let slot = clock(context)?.slot;
    // There is no cooldown before the first deployment.
    if state.slot != 0 {
        check_cooldown(context, &state, slot)?;
    }
    if state.status != RETRACTED {
        let why = "Destination program is not retracted";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    let program_id = context.key(PROGRAM)?;
    let file = File::of_program(PROGRAM, HEADER_BYTES, Loader::V4);
    verify::deploy(context, program_id, file)?;
    store_state(&ProgramV4 { slot, status: DEPLOYED, ..state }, context)
}

fn retract(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    let state = check_program(context)?;
    let slot = clock(context)?.slot;
    check_cooldown(context, &state, slot)?;
    if state.status != DEPLOYED {
        let why = "Program is not deployed";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    store_state(&ProgramV4 { status: RETRACTED, ..state }, context)?;
    let program_id = context.key(PROGRAM)?;
    context.set_program(program_id, ProgramEntry::Closed);
    Ok(())
}

fn transfer_authority(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    check_both(context)?;
    let authority = context.key(OTHER)?;
    let state = check_program(context)?;
    if !is_signer(context, OTHER)? {
        let why = "New authority did not sign";
        return refuse(context, why, InstructionError::MissingRequiredSignature);
    }
    if state.authority == authority {
        return refuse(context, "No change", InstructionError::InvalidArgument);
    }
    store_state(&ProgramV4 { authority, ..state }, context)
}

/// Makes the program immutable, and records the address of its next version, which may be itself.
fn finalize(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    let state = check_program(context)?;
    if state.status != DEPLOYED {
        let why = "Program must be deployed to be finalized";
        return refuse(context, why, InstructionError::InvalidArgument);
    }
    let next = context.borrow(OTHER)?;
    if !next.is_owned() {
        let why = "Next version is not owned by loader";
        return refuse(context, why, InstructionError::InvalidAccountOwner);
    }
    let state_of_next = read_state(next.data())?;
    if state_of_next.authority != state.authority {
        let why = "Next version has a different authority";
        return refuse(context, why, InstructionError::IncorrectAuthority);
    }
    if state_of_next.status == FINALIZED {
        return refuse(context, "Next version is finalized", InstructionError::Immutable);
    }
    let next = context.key(OTHER)?;
    store_state(&ProgramV4 { authority: next, status: FINALIZED, ..state }, context)
}

/// Checks that the instruction has a program and an authority account, before any permission check.
fn check_both(context: &InvokeContext<'_>) -> Result<(), InstructionError> {
    context.instruction_account(PROGRAM)?;
    context.instruction_account(AUTHORITY)?;
    Ok(())
}

/// Returns the state of the program, after checking that its authority signed and may change it.
fn check_program(context: &mut InvokeContext<'_>) -> Result<ProgramV4, InstructionError> {
    check_both(context)?;
    check_owned(context)?;
    let state = read_state(context.borrow(PROGRAM)?.data())?;
    check_writable_and_signed(context)?;
    if state.authority != context.key(AUTHORITY)? {
        let why = "Incorrect authority provided";
        return refuse(context, why, InstructionError::IncorrectAuthority);
    }
    if state.status == FINALIZED {
        return refuse(context, "Program is finalized", InstructionError::Immutable);
    }
    Ok(state)
}

fn check_owned(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    if context.borrow(PROGRAM)?.is_owned() {
        return Ok(());
    }
    refuse(context, "Program not owned by loader", InstructionError::InvalidAccountOwner)
}

fn check_writable_and_signed(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    if !context.borrow(PROGRAM)?.is_writable() {
        return refuse(context, "Program is not writeable", InstructionError::InvalidArgument);
    }
    if !is_signer(context, AUTHORITY)? {
        let why = "Authority did not sign";
        return refuse(context, why, InstructionError::MissingRequiredSignature);
    }
    Ok(())
}

/// Checks that the program may be written to: only a retracted one, which cannot be invoked.
fn check_retracted(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    if check_program(context)?.status == RETRACTED {
        return Ok(());
    }
    refuse(context, "Program is not retracted", InstructionError::InvalidArgument)
}

fn check_cooldown(
    context: &mut InvokeContext<'_>,
    state: &ProgramV4,
    slot: u64,
) -> Result<(), InstructionError> {
    if state.slot.saturating_add(COOLDOWN_SLOTS) <= slot {
        return Ok(());
    }
    let why = "Program was deployed recently, cooldown still in effect";
    refuse(context, why, InstructionError::InvalidArgument)
}

fn write_at(
    context: &mut InvokeContext<'_>,
    offset: u32,
    bytes: &[u8],
) -> Result<(), InstructionError> {
    let start = HEADER_BYTES.saturating_add(bytes_of(offset));
    let mut program = context.borrow(PROGRAM)?;
    let target = program.data_mut()?.get_mut(start..start.saturating_add(bytes.len()));
    let Some(target) = target else {
        return refuse(context, "Write out of bounds", InstructionError::AccountDataTooSmall);
    };
    target.copy_from_slice(bytes);
    Ok(())
}

fn bytes_of(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
