//! Instructions of the system program.
//!
//! Included so that tests need no further crate for them.

use solana_instruction::{AccountMeta, Instruction};
use solana_pubkey::Pubkey;
use solana_sdk_ids::{system_program, sysvar};

/// The address of the system program.
pub const ID: Pubkey = system_program::ID;

/// Size of a nonce account, in bytes.
pub const NONCE_BYTES: usize = selkie_svm::nonce::NONCE_BYTES;

fn instruction(accounts: Vec<AccountMeta>, data: &[&[u8]]) -> Instruction {
    Instruction { program_id: ID, accounts, data: data.concat() }
}

/// Creates an account of `space` bytes with `lamports`, owned by `owner`. Both accounts sign.
#[must_use]
pub fn create_account(
    from: &Pubkey,
    to: &Pubkey,
    lamports: u64,
    space: u64,
    owner: &Pubkey,
) -> Instruction {
    let accounts = vec![AccountMeta::new(*from, true), AccountMeta::new(*to, true)];
    let (lamports, space) = (lamports.to_le_bytes(), space.to_le_bytes());
    instruction(accounts, &[&0_u32.to_le_bytes(), &lamports, &space, owner.as_ref()])
}

/// Changes the owner of an account. The account signs.
#[must_use]
pub fn assign(account: &Pubkey, owner: &Pubkey) -> Instruction {
    let accounts = vec![AccountMeta::new(*account, true)];
    instruction(accounts, &[&1_u32.to_le_bytes(), owner.as_ref()])
}

/// Transfers lamports. The sender signs.
#[must_use]
pub fn transfer(from: &Pubkey, to: &Pubkey, lamports: u64) -> Instruction {
    let accounts = vec![AccountMeta::new(*from, true), AccountMeta::new(*to, false)];
    instruction(accounts, &[&2_u32.to_le_bytes(), &lamports.to_le_bytes()])
}

/// Allocates `space` bytes of data in an account. The account signs.
#[must_use]
pub fn allocate(account: &Pubkey, space: u64) -> Instruction {
    let accounts = vec![AccountMeta::new(*account, true)];
    instruction(accounts, &[&8_u32.to_le_bytes(), &space.to_le_bytes()])
}

/// Creates a nonce account. Both accounts sign; `authority` may advance the nonce.
#[must_use]
#[allow(deprecated, reason = "nonces look at the sysvar of recent blockhashes")]
pub fn create_nonce_account(
    from: &Pubkey,
    nonce: &Pubkey,
    authority: &Pubkey,
    lamports: u64,
) -> Vec<Instruction> {
    let accounts = vec![
        AccountMeta::new(*nonce, false),
        AccountMeta::new_readonly(sysvar::recent_blockhashes::ID, false),
        AccountMeta::new_readonly(sysvar::rent::ID, false),
    ];
    vec![
        create_account(from, nonce, lamports, NONCE_BYTES as u64, &ID),
        instruction(accounts, &[&6_u32.to_le_bytes(), authority.as_ref()]),
    ]
}

/// Advances a nonce: the first instruction of a transaction with a durable nonce.
#[must_use]
#[allow(deprecated, reason = "nonces look at the sysvar of recent blockhashes")]
pub fn advance_nonce_account(nonce: &Pubkey, authority: &Pubkey) -> Instruction {
    let accounts = vec![
        AccountMeta::new(*nonce, false),
        AccountMeta::new_readonly(sysvar::recent_blockhashes::ID, false),
        AccountMeta::new_readonly(*authority, true),
    ];
    instruction(accounts, &[&4_u32.to_le_bytes()])
}
