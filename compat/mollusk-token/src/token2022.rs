//! Token-2022, its mints and token accounts without extensions.

use selkie::programs;
use selkie_mollusk::{
    Mollusk,
    program::{create_program_account_loader_v3, loader_keys},
};
use solana_account::Account;
use solana_pubkey::Pubkey;
use spl_token_interface::state::{Account as TokenAccount, Mint};

use crate::packed_account;

/// The program's address.
pub const ID: Pubkey = programs::TOKEN_2022.id;

/// The program's file: version 10.0.0, from agave's package.
pub const ELF: &[u8] = programs::TOKEN_2022.elf();

/// Adds the program.
pub fn add_program(mollusk: &mut Mollusk) {
    mollusk.add_program_with_loader_and_elf(&ID, &loader_keys::LOADER_V3, ELF);
}

/// Returns the program's account.
#[must_use]
pub fn account() -> Account {
    create_program_account_loader_v3(&ID)
}

/// Returns the program's address and account.
#[must_use]
pub fn keyed_account() -> (Pubkey, Account) {
    (ID, account())
}

/// Creates a mint account with the minimum balance.
#[must_use]
pub fn create_account_for_mint(mint_data: Mint) -> Account {
    packed_account(mint_data, ID)
}

/// Creates a token account with the minimum balance.
#[must_use]
pub fn create_account_for_token_account(token_account_data: TokenAccount) -> Account {
    packed_account(token_account_data, ID)
}
