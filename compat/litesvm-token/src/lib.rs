//! The API of LiteSVM's token helpers on [Selkie](selkie): each sends the transaction of one instruction
//! of a token program.
//!
//! ```toml
//! [dev-dependencies]
//! litesvm = { package = "selkie-litesvm", path = "../selkie/compat/litesvm" }
//! litesvm-token = { package = "selkie-litesvm-token", path = "../selkie/compat/litesvm-token" }
//! ```
//!
//! ```
//! use selkie_litesvm::LiteSVM;
//! use selkie_litesvm_token::{
//!     CreateAssociatedTokenAccount, CreateMint, MintTo, get_spl_account, spl_token::state::Account,
//! };
//! use solana_keypair::{Keypair, Signer};
//!
//! let mut svm = LiteSVM::new();
//! let alice = Keypair::new();
//! svm.airdrop(&alice.pubkey(), 1_000_000_000).unwrap();
//! let mint = CreateMint::new(&mut svm, &alice).decimals(6).send().unwrap();
//! let tokens = CreateAssociatedTokenAccount::new(&mut svm, &alice, &mint).send().unwrap();
//! MintTo::new(&mut svm, &alice, &mint, &tokens, 1_000).send().unwrap();
//! assert_eq!(get_spl_account::<Account>(&svm, &tokens).unwrap().amount, 1_000);
//! ```
//!
//! With the feature `token-2022` they speak to Token-2022, unless `token_program_id` names another
//! program. The payer is also the owner or authority; `owner` and `multisig` set another.

#![allow(clippy::result_large_err, reason = "the error is that of LiteSVM")]

mod request;

mod create;
mod delegate;
mod manage;
#[cfg(not(feature = "token-2022"))]
mod native_mint;
#[cfg(feature = "token-2022")]
#[path = "native_mint_2022.rs"]
mod native_mint;
mod supply;
mod transfer;

use selkie_convert::Address;
use selkie_litesvm::{LiteSVM, types::FailedTransactionMetadata};
use solana_program_pack::{IsInitialized, Pack};
use solana_transaction_error::TransactionError;
#[cfg(all(feature = "sdk-2", not(any(feature = "until-0-6", feature = "token-2022"))))]
pub use spl_token;
#[cfg(all(feature = "until-0-6", not(feature = "token-2022")))]
pub use spl_token_7 as spl_token;
#[cfg(feature = "token-2022")]
pub use spl_token_2022_interface as spl_token;
#[cfg(all(feature = "sdk-3", not(any(feature = "sdk-2", feature = "token-2022"))))]
pub use spl_token_interface as spl_token;
#[cfg(not(any(feature = "sdk-3", feature = "token-2022")))]
pub use spl_token_interface_3 as spl_token;

pub use crate::{
    create::{
        CreateAccount, CreateAssociatedTokenAccount, CreateAssociatedTokenAccountIdempotent,
        CreateMint, CreateMultisig,
    },
    delegate::{Approve, ApproveChecked, Revoke},
    manage::{CloseAccount, FreezeAccount, SetAuthority, SyncNative, ThawAccount},
    native_mint::*,
    supply::{Burn, BurnChecked, MintTo, MintToChecked},
    transfer::{Transfer, TransferChecked},
};

/// The program to which the helpers speak by default.
pub const TOKEN_ID: Address = spl_token::ID;

/// Returns the state of a mint, a token account or a multisignature account, without extensions.
///
/// # Errors
/// If there is no such account, or its data are no such state.
pub fn get_spl_account<T: Pack + IsInitialized>(
    svm: &LiteSVM,
    account: &Address,
) -> Result<T, FailedTransactionMetadata> {
    let account = svm.get_account(account).ok_or_else(|| FailedTransactionMetadata {
        err: TransactionError::AccountNotFound,
        meta: Default::default(),
    })?;
    let state = account.data.get(..T::LEN).unwrap_or(&account.data);
    Ok(T::unpack(state)?)
}
