//! The API of Mollusk's token program helpers on [Selkie](selkie).
//!
//! ```toml
//! [dev-dependencies]
//! mollusk-svm = { package = "selkie-mollusk", path = "../selkie/compat/mollusk" }
//! mollusk-svm-programs-token = { package = "selkie-mollusk-token", path = "../selkie/compat/mollusk-token" }
//! ```
//!
//! ```
//! use selkie_mollusk::{Mollusk, result::Check};
//! use selkie_mollusk_token::token;
//! use solana_account::Account;
//! use solana_instruction::{AccountMeta, Instruction};
//! use solana_pubkey::Pubkey;
//! use spl_token_interface::state::{Account as TokenAccount, AccountState};
//!
//! let mut mollusk = Mollusk::default();
//! token::add_program(&mut mollusk);
//! let (mint, owner) = (Pubkey::new_unique(), Pubkey::new_unique());
//! let (source, destination) = (Pubkey::new_unique(), Pubkey::new_unique());
//! let with = |amount| {
//!     let state = AccountState::Initialized;
//!     token::create_account_for_token_account(TokenAccount {
//!         mint,
//!         owner,
//!         amount,
//!         state,
//!         ..TokenAccount::default()
//!     })
//! };
//! let transfer = Instruction {
//!     program_id: token::ID,
//!     accounts: vec![
//!         AccountMeta::new(source, false),
//!         AccountMeta::new(destination, false),
//!         AccountMeta::new_readonly(owner, true),
//!     ],
//!     data: [&[3][..], &30_u64.to_le_bytes()].concat(),
//! };
//! let accounts = [(source, with(100)), (destination, with(0)), (owner, Account::default())];
//! let left = 70_u64.to_le_bytes();
//! let checks = [Check::success(), Check::account(&source).data_slice(64, &left).build()];
//! mollusk.process_and_validate_instruction(&transfer, &accounts, &checks);
//! ```

pub mod associated_token;
pub mod token;
pub mod token2022;

use solana_account::Account;
use solana_program_pack::Pack;
use solana_pubkey::Pubkey;
use solana_rent::Rent;

/// Creates an account with a packed state and the minimum balance.
fn packed_account<T: Pack>(state: T, owner: Pubkey) -> Account {
    let mut data = vec![0; T::LEN];
    state.pack_into_slice(&mut data);
    rent_exempt_account(data, owner)
}

/// Creates an account with the minimum balance.
fn rent_exempt_account(data: Vec<u8>, owner: Pubkey) -> Account {
    let lamports = Rent::default().minimum_balance(data.len());
    Account { lamports, data, owner, executable: false, rent_epoch: 0 }
}
