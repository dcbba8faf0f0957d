//! The mint of wrapped SOL, of the token program.

use selkie_litesvm::LiteSVM;
use solana_account::Account;
use solana_program_pack::Pack;

use crate::spl_token::{self, native_mint, state::Mint};

/// Sets the account of the mint of wrapped SOL.
pub fn create_native_mint(svm: &mut LiteSVM) {
    let mint = Mint { decimals: native_mint::DECIMALS, is_initialized: true, ..Mint::default() };
    let mut data = vec![0; Mint::LEN];
    mint.pack_into_slice(&mut data);
    let lamports = svm.minimum_balance_for_rent_exemption(data.len());
    let account =
        Account { lamports, data, owner: spl_token::ID, executable: false, rent_epoch: 0 };
    svm.set_account(native_mint::ID, account).expect("it is neither a sysvar nor a program");
}
