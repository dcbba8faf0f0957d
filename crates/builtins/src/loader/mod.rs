//! The instructions of the loaders, which deploy and manage programs.
//!
//! The runtime executes deployed programs, whatever their loader; that is not done here.
//!
//! | module | what it owns |
//! |---|---|
//! | this one, `state`, `deploy`, `upgrade`, `extend`, `close` | loader v3 |
//! | `v4` | loader v4, which mainnet never activated |
//! | `old` | loaders v1 and v2, whose instructions mainnet has disabled |
//! | `verify` | the checks of a program's ELF file, for all loaders |

mod close;
mod deploy;
mod extend;
mod old;
pub(crate) mod state;
mod upgrade;
mod v4;
mod verify;

use selkie_layout::loader::LoaderInstruction;
use selkie_svm::{Feature, InstructionError, InvokeContext, Pubkey};

pub use self::extend::EXTENSION_BYTES_MIN;
use self::state::{BUFFER_HEADER_BYTES, State};
pub(crate) use self::{
    old::{V1_COMPUTE_UNITS, V2_COMPUTE_UNITS, process_v1, process_v2},
    v4::{V4_COMPUTE_UNITS, process_v4},
};
use crate::{
    checks::{is_signer, refuse},
    wire::{Malformed, Reader, store},
};

/// The cost of every instruction of loader v3.
pub(crate) const V3_COMPUTE_UNITS: u64 = 2370;

pub(crate) fn process_v3(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    let data = context.instruction().data.clone();
    let instruction = match context.has(Feature::UnboundLoaderV3InstructionData) {
        true => read_unbound(&data),
        false => LoaderInstruction::read(&data),
    };
    match instruction.map_err(|_| InstructionError::InvalidInstructionData)? {
        LoaderInstruction::InitializeBuffer {} => initialize_buffer(context),
        LoaderInstruction::Write { offset, bytes } => write(context, offset, bytes),
        LoaderInstruction::DeployWithMaxDataLen { max_data_len } => {
            let max_data_len = usize::try_from(max_data_len)
                .map_err(|_| InstructionError::InvalidInstructionData)?;
            deploy::deploy(context, max_data_len)
        }
        LoaderInstruction::Upgrade {} => upgrade::upgrade(context),
        LoaderInstruction::SetAuthority {} => set_authority(context),
        LoaderInstruction::SetAuthorityChecked {} => set_authority_checked(context),
        LoaderInstruction::Close {} => close::close(context),
        LoaderInstruction::ExtendProgram { additional_bytes } => {
            extend::extend(context, additional_bytes)
        }
    }
}

/// Reads an instruction of any length. Only that of `Write` can exceed a packet (SIMD-0648).
fn read_unbound(data: &[u8]) -> Result<LoaderInstruction<'_>, Malformed> {
    const WRITE: u32 = 1;
    let mut reader = Reader::new(data);
    if reader.u32() != Ok(WRITE) {
        return LoaderInstruction::read(data);
    }
    let offset = reader.u32()?;
    let len = usize::try_from(reader.u64()?).map_err(|_| Malformed)?;
    Ok(LoaderInstruction::Write { offset, bytes: reader.bytes(len)? })
}

fn initialize_buffer(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    context.check_accounts(2)?;
    if state::at(context, 0)? != State::Uninitialized {
        let why = "Buffer account already initialized";
        return refuse(context, why, InstructionError::AccountAlreadyInitialized);
    }
    let authority = Some(context.key(1)?);
    store(&mut context.borrow(0)?, &State::Buffer { authority }.write())
}

fn write(
    context: &mut InvokeContext<'_>,
    offset: u32,
    bytes: &[u8],
) -> Result<(), InstructionError> {
    context.check_accounts(2)?;
    let State::Buffer { authority } = state::at(context, 0)? else {
        return refuse(context, "Invalid Buffer account", InstructionError::InvalidAccountData);
    };
    check_authority(context, &AuthorityMessages::BUFFER, authority, 1)?;
    let start = BUFFER_HEADER_BYTES.saturating_add(usize::try_from(offset).unwrap_or(usize::MAX));
    write_at(context, start, bytes)
}

/// Writes to the data of account 0.
fn write_at(
    context: &mut InvokeContext<'_>,
    start: usize,
    bytes: &[u8],
) -> Result<(), InstructionError> {
    let end = start.saturating_add(bytes.len());
    let mut account = context.borrow(0)?;
    let len = account.data_mut()?.len();
    if len < end {
        let why = format!("Write overflow: {len} < {end}");
        return refuse(context, why, InstructionError::AccountDataTooSmall);
    }
    let target = account.data_mut()?.get_mut(start..end);
    target.ok_or(InstructionError::AccountDataTooSmall)?.copy_from_slice(bytes);
    Ok(())
}

/// The log lines of a failed authority check.
#[derive(Clone, Copy, Debug)]
struct AuthorityMessages {
    immutable: &'static str,
    incorrect: &'static str,
    unsigned: &'static str,
}

impl AuthorityMessages {
    const BUFFER: Self = Self {
        immutable: "Buffer is immutable",
        incorrect: "Incorrect buffer authority provided",
        unsigned: "Buffer authority did not sign",
    };
    const PROGRAM: Self = Self {
        immutable: "Program not upgradeable",
        incorrect: "Incorrect upgrade authority provided",
        unsigned: "Upgrade authority did not sign",
    };
    const CLOSED: Self = Self {
        immutable: "Account is immutable",
        incorrect: "Incorrect authority provided",
        unsigned: "Authority did not sign",
    };
}

/// Checks that instruction account `index` is the authority and signed.
fn check_authority(
    context: &mut InvokeContext<'_>,
    messages: &AuthorityMessages,
    authority: Option<Pubkey>,
    index: usize,
) -> Result<(), InstructionError> {
    let Some(authority) = authority else {
        return refuse(context, messages.immutable, InstructionError::Immutable);
    };
    if authority != context.key(index)? {
        return refuse(context, messages.incorrect, InstructionError::IncorrectAuthority);
    }
    if !is_signer(context, index)? {
        return refuse(context, messages.unsigned, InstructionError::MissingRequiredSignature);
    }
    Ok(())
}

fn set_authority(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    context.check_accounts(2)?;
    let new = context.key(2).ok();
    let state = match state::at(context, 0)? {
        State::Buffer { authority } => {
            if new.is_none() {
                let why = "Buffer authority is not optional";
                return refuse(context, why, InstructionError::IncorrectAuthority);
            }
            check_authority(context, &AuthorityMessages::BUFFER, authority, 1)?;
            State::Buffer { authority: new }
        }
        State::ProgramData { slot, authority } => {
            check_authority(context, &AuthorityMessages::PROGRAM, authority, 1)?;
            if new.is_none() {
                verify::check_final(context, 0)?;
            }
            State::ProgramData { slot, authority: new }
        }
        State::Uninitialized | State::Program { .. } => return no_authorities(context),
    };
    store(&mut context.borrow(0)?, &state.write())?;
    context.log(format!("New authority {new:?}"));
    Ok(())
}

fn set_authority_checked(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    if !context.has(Feature::SetAuthorityChecked) {
        return Err(InstructionError::InvalidInstructionData);
    }
    context.check_accounts(3)?;
    let new = context.key(2)?;
    let (messages, authority, state) = match state::at(context, 0)? {
        State::Buffer { authority } => {
            (AuthorityMessages::BUFFER, authority, State::Buffer { authority: Some(new) })
        }
        State::ProgramData { slot, authority } => (
            AuthorityMessages::PROGRAM,
            authority,
            State::ProgramData { slot, authority: Some(new) },
        ),
        State::Uninitialized | State::Program { .. } => return no_authorities(context),
    };
    check_authority(context, &messages, authority, 1)?;
    if !is_signer(context, 2)? {
        let why = "New authority did not sign";
        return refuse(context, why, InstructionError::MissingRequiredSignature);
    }
    store(&mut context.borrow(0)?, &state.write())?;
    context.log(format!("New authority {new:?}"));
    Ok(())
}

fn no_authorities(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    let why = "Account does not support authorities";
    refuse(context, why, InstructionError::InvalidArgument)
}
