//! Instructions of loader v3, the upgradeable loader.
//!
//! [`Svm::deploy`](crate::Svm::deploy), [`Svm::upgrade`](crate::Svm::upgrade) and so on send them
//! in the right order; use these constructors for other sequences.

pub use selkie_builtins::loader_v3::{
    BUFFER_HEADER_BYTES, EXTENSION_BYTES_MIN, PROGRAM_BYTES, PROGRAM_DATA_HEADER_BYTES, State,
};
use solana_instruction::{AccountMeta, Instruction};
use solana_pubkey::Pubkey;
use solana_sdk_ids::{bpf_loader_upgradeable, system_program, sysvar};

use crate::{program_data_key, system};

/// The address of loader v3.
pub const ID: Pubkey = bpf_loader_upgradeable::ID;

fn instruction(tag: u32, accounts: Vec<AccountMeta>, data: &[&[u8]]) -> Instruction {
    let data = [&tag.to_le_bytes()[..], &data.concat()].concat();
    Instruction { program_id: ID, accounts, data }
}

fn writable(key: &Pubkey) -> AccountMeta {
    AccountMeta::new(*key, false)
}

fn readable(key: &Pubkey) -> AccountMeta {
    AccountMeta::new_readonly(*key, false)
}

fn signer(key: &Pubkey) -> AccountMeta {
    AccountMeta::new_readonly(*key, true)
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
    [create, instruction(0, vec![writable(buffer), readable(authority)], &[])]
}

/// Writes a part of an ELF file into a buffer. The authority signs.
#[must_use]
pub fn write(buffer: &Pubkey, authority: &Pubkey, offset: u32, bytes: &[u8]) -> Instruction {
    let (offset, len) = (offset.to_le_bytes(), (bytes.len() as u64).to_le_bytes());
    instruction(1, vec![writable(buffer), signer(authority)], &[&offset, &len, bytes])
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
    let accounts = vec![
        AccountMeta::new(*payer, true),
        writable(&program_data_key(program)),
        writable(program),
        writable(buffer),
        readable(&sysvar::rent::ID),
        readable(&sysvar::clock::ID),
        readable(&system_program::ID),
        signer(authority),
    ];
    [create, instruction(2, accounts, &[&(file_bytes_max as u64).to_le_bytes()])]
}

/// Upgrades a program from a buffer; excess lamports go to `spill`. The authority signs.
#[must_use]
pub fn upgrade(
    program: &Pubkey,
    buffer: &Pubkey,
    authority: &Pubkey,
    spill: &Pubkey,
) -> Instruction {
    let accounts = vec![
        writable(&program_data_key(program)),
        writable(program),
        writable(buffer),
        writable(spill),
        readable(&sysvar::rent::ID),
        readable(&sysvar::clock::ID),
        signer(authority),
    ];
    instruction(3, accounts, &[])
}

/// Changes the authority of a buffer or programdata account; `None` makes it immutable. The
/// authority signs.
#[must_use]
pub fn set_authority(account: &Pubkey, authority: &Pubkey, new: Option<&Pubkey>) -> Instruction {
    let mut accounts = vec![writable(account), signer(authority)];
    accounts.extend(new.map(readable));
    instruction(4, accounts, &[])
}

/// Changes the authority like [`set_authority`]; the new authority signs, too.
#[must_use]
pub fn set_authority_checked(account: &Pubkey, authority: &Pubkey, new: &Pubkey) -> Instruction {
    instruction(7, vec![writable(account), signer(authority), signer(new)], &[])
}

/// Closes a buffer; its lamports go to `recipient`. The authority signs.
#[must_use]
pub fn close_buffer(buffer: &Pubkey, recipient: &Pubkey, authority: &Pubkey) -> Instruction {
    instruction(5, vec![writable(buffer), writable(recipient), signer(authority)], &[])
}

/// Closes a program permanently: its address cannot be reused. The authority signs.
#[must_use]
pub fn close_program(program: &Pubkey, recipient: &Pubkey, authority: &Pubkey) -> Instruction {
    let data = program_data_key(program);
    let accounts = vec![writable(&data), writable(recipient), signer(authority), writable(program)];
    instruction(5, accounts, &[])
}

/// Extends a programdata account, so that larger files fit. The payer signs.
#[must_use]
pub fn extend(program: &Pubkey, payer: &Pubkey, additional_bytes: u32) -> Instruction {
    let accounts = vec![
        writable(&program_data_key(program)),
        writable(program),
        readable(&system_program::ID),
        AccountMeta::new(*payer, true),
    ];
    instruction(6, accounts, &[&additional_bytes.to_le_bytes()])
}
