//! The first memo program.

use selkie::programs;
use selkie_mollusk::{
    Mollusk,
    program::{create_program_account_loader_v1, loader_keys},
};
use solana_account::Account;
use solana_pubkey::Pubkey;

/// The program's address.
pub const ID: Pubkey = programs::MEMO_V1.id;

/// The program's file: version 1.0.0, as on mainnet.
pub const ELF: &[u8] = programs::MEMO_V1.elf();

/// Adds the program.
pub fn add_program(mollusk: &mut Mollusk) {
    mollusk.add_program_with_loader_and_elf(&ID, &loader_keys::LOADER_V1, ELF);
}

/// Returns the program's account.
#[must_use]
pub fn account() -> Account {
    create_program_account_loader_v1(ELF)
}

/// Returns the program's address and account.
#[must_use]
pub fn keyed_account() -> (Pubkey, Account) {
    (ID, account())
}
