//! The associated token account program, and its accounts.

use selkie::programs;
use selkie_mollusk::{
    Mollusk,
    program::{create_program_account_loader_v2, loader_keys},
};
use solana_account::Account;
use solana_pubkey::Pubkey;
use spl_token_interface::state::Account as TokenAccount;

use crate::{packed_account, rent_exempt_account, token, token2022};

/// What follows the state in an associated token account of Token-2022: the account type, and the
/// empty extension `ImmutableOwner`.
const IMMUTABLE_OWNER: [u8; 5] = [2, 7, 0, 0, 0];

/// The program's address.
pub const ID: Pubkey = programs::ASSOCIATED_TOKEN.id;

/// The program's file: version 1.1.1, as on mainnet.
pub const ELF: &[u8] = programs::ASSOCIATED_TOKEN.elf();

/// Adds the program.
pub fn add_program(mollusk: &mut Mollusk) {
    mollusk.add_program_with_loader_and_elf(&ID, &loader_keys::LOADER_V2, ELF);
}

/// Returns the program's account.
#[must_use]
pub fn account() -> Account {
    create_program_account_loader_v2(ELF)
}

/// Returns the program's address and account.
#[must_use]
pub fn keyed_account() -> (Pubkey, Account) {
    (ID, account())
}

/// Creates an associated token account of the token program: its address, and the account with the
/// minimum balance.
#[must_use]
pub fn create_account_for_associated_token_account(
    token_account_data: TokenAccount,
) -> (Pubkey, Account) {
    let address = associated_address(&token_account_data, &token::ID);
    (address, packed_account(token_account_data, token::ID))
}

/// Creates an associated token account of Token-2022, whose owner is immutable: its address, and the
/// account with the minimum balance.
#[must_use]
pub fn create_account_for_associated_token_2022_account(
    token_account_data: TokenAccount,
) -> (Pubkey, Account) {
    let address = associated_address(&token_account_data, &token2022::ID);
    let mut data = packed_account(token_account_data, token2022::ID).data;
    data.extend(IMMUTABLE_OWNER);
    (address, rent_exempt_account(data, token2022::ID))
}

fn associated_address(of: &TokenAccount, token_program: &Pubkey) -> Pubkey {
    let seeds = [of.owner.as_ref(), token_program.as_ref(), of.mint.as_ref()];
    Pubkey::find_program_address(&seeds, &ID).0
}
