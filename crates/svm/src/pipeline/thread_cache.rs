//! What a thread has at hand of what all threads share.
//!
//! Many threads that process transactions all use the same few accounts and programs. Nobody writes
//! to those, but each clone counts its owners, and processors fight over the counters. So a thread
//! keeps what it has found for as long as that cannot change: while one batch is processed. Programs
//! are kept likewise, by [`TransactionPrograms`](crate::programs::program::TransactionPrograms).

use core::cell::RefCell;

use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

use crate::{
    chain::{
        account::{AccountStore, Loader},
        key_map::KeyMap,
    },
    programs::cache::program_data_address,
};

/// More accounts are not kept: those that many transactions use are few.
const ACCOUNTS_MAX: usize = 64;

/// Accounts with more data are not copied.
const COPIED_BYTES_MAX: usize = 512;

/// Accounts that nobody has written to since the batch began.
#[derive(Default, Debug)]
pub(crate) struct AccountsAtHand(RefCell<KeyMap<AccountSharedData>>);

impl AccountsAtHand {
    /// Shows an account, which is that of `accounts`.
    pub(crate) fn with_account<R>(
        &self,
        key: &Pubkey,
        accounts: &impl AccountStore,
        then: impl FnOnce(Option<&AccountSharedData>) -> R,
    ) -> R {
        if let Some(known) = self.0.borrow().get(key) {
            return then(Some(known));
        }
        if self.0.borrow().len() >= ACCOUNTS_MAX {
            return accounts.with_account(key, then);
        }
        let Some(found) = accounts.account(key) else { return then(None) };
        let found = if is_worth_a_copy(&found) { copy(&found) } else { found };
        let result = then(Some(&found));
        self.0.borrow_mut().insert(*key, found);
        result
    }
}

/// Whether an account gets an owner counter of its own. Not one with a program's file: a program is
/// known by where its file is.
fn is_worth_a_copy(account: &AccountSharedData) -> bool {
    let data = account.data();
    data.len() <= COPIED_BYTES_MAX
        && (Loader::of(account.owner()).is_none() || program_data_address(data).is_some())
}

fn copy(account: &AccountSharedData) -> AccountSharedData {
    Account::from(account.clone()).into()
}
