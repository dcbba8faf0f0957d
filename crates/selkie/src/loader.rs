//! Instructions of loader v3, the upgradeable loader.
//!
//! [`Svm::deploy`](crate::Svm::deploy), [`Svm::upgrade`](crate::Svm::upgrade) and so on send them
//! in the right order; use these constructors for other sequences.

pub use selkie_builtins::loader_v3::{
    BUFFER_HEADER_BYTES, EXTENSION_BYTES_MIN, PROGRAM_BYTES, PROGRAM_DATA_HEADER_BYTES, State,
};
use selkie_layout::loader::LoaderInstruction;
use solana_instruction::Instruction;
use solana_pubkey::Pubkey;

use crate::{program_data_key, system};

/// The address of loader v3.
pub const ID: Pubkey = selkie_layout::loader::V3;

fn instruction(instruction: &LoaderInstruction<'_>, keys: &[Pubkey]) -> Instruction {
    instruction.instruction(&ID, keys)
}

/// Creates a buffer account for an ELF file of `file_bytes` bytes. Payer and buffer sign.
#[must_use]
pub fn create_buffer(
    payer: &Pubkey,
    buffer: &Pubkey,
    authority: &Pubkey,
    lamports: u64,
    file_bytes: usize,
) -> [Instruction; 2] {
    let space = BUFFER_HEADER_BYTES.saturating_add(file_bytes) as u64;
    let create = system::create_account(payer, buffer, lamports, space, &ID);
    [create, instruction(&LoaderInstruction::InitializeBuffer {}, &[*buffer, *authority])]
}

/// Writes a part of an ELF file into a buffer. The authority signs.
#[must_use]
pub fn write(buffer: &Pubkey, authority: &Pubkey, offset: u32, bytes: &[u8]) -> Instruction {
    instruction(&LoaderInstruction::Write { offset, bytes }, &[*buffer, *authority])
}

/// Deploys a program from a buffer, with capacity for files of up to `file_bytes_max` bytes. Payer,
/// program and authority sign.
#[must_use]
pub fn deploy(
    payer: &Pubkey,
    program: &Pubkey,
    buffer: &Pubkey,
    authority: &Pubkey,
    program_lamports: u64,
    file_bytes_max: usize,
) -> [Instruction; 2] {
    let space = PROGRAM_BYTES as u64;
    let create = system::create_account(payer, program, program_lamports, space, &ID);
    let deploy = LoaderInstruction::DeployWithMaxDataLen { max_data_len: file_bytes_max as u64 };
    let keys = [*payer, program_data_key(program), *program, *buffer, *authority];
    [create, instruction(&deploy, &keys)]
}

/// Upgrades a program from a buffer; excess lamports go to `spill`. The authority signs.
#[must_use]
pub fn upgrade(
    program: &Pubkey,
    buffer: &Pubkey,
    authority: &Pubkey,
    spill: &Pubkey,
) -> Instruction {
    let keys = [program_data_key(program), *program, *buffer, *spill, *authority];
    instruction(&LoaderInstruction::Upgrade {}, &keys)
}

/// Changes the authority of a buffer or programdata account; `None` makes it immutable. The
/// authority signs.
#[must_use]
pub fn set_authority(account: &Pubkey, authority: &Pubkey, new: Option<&Pubkey>) -> Instruction {
    let keys: Vec<Pubkey> = [account, authority].into_iter().chain(new).copied().collect();
    instruction(&LoaderInstruction::SetAuthority {}, &keys)
}

/// Changes the authority like [`set_authority`]; the new authority signs, too.
#[must_use]
pub fn set_authority_checked(account: &Pubkey, authority: &Pubkey, new: &Pubkey) -> Instruction {
    instruction(&LoaderInstruction::SetAuthorityChecked {}, &[*account, *authority, *new])
}

/// Closes a buffer; its lamports go to `recipient`. The authority signs.
#[must_use]
pub fn close_buffer(buffer: &Pubkey, recipient: &Pubkey, authority: &Pubkey) -> Instruction {
    instruction(&LoaderInstruction::Close {}, &[*buffer, *recipient, *authority])
}

/// Closes a program permanently: its address cannot be reused. The authority signs.
#[must_use]
pub fn close_program(program: &Pubkey, recipient: &Pubkey, authority: &Pubkey) -> Instruction {
    let keys = [program_data_key(program), *recipient, *authority, *program];
    instruction(&LoaderInstruction::Close {}, &keys)
}

/// Extends a programdata account, so that larger files fit. The payer signs.
#[must_use]
pub fn extend(program: &Pubkey, payer: &Pubkey, additional_bytes: u32) -> Instruction {
    let extend = LoaderInstruction::ExtendProgram { additional_bytes };
    instruction(&extend, &[program_data_key(program), *program, *payer])
}
