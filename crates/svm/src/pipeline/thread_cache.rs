//! A per-thread cache of accounts that no transaction of a batch writes.
//!
//! All threads of a batch read the same few accounts and programs. Each clone of an account counts a
//! reference, and processors contend for the counters. So a thread caches what it has read while one
//! batch is processed, during which it cannot change. Programs are cached likewise, by
//! [`TransactionPrograms::for_batch`](crate::programs::transaction_programs::TransactionPrograms::for_batch).

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

/// The most accounts that are cached: few are used by many transactions.
const ACCOUNTS_MAX: usize = 64;

/// Accounts with more bytes of data are not copied.
const COPIED_BYTES_MAX: usize = 512;

/// Accounts that no transaction of the batch has written.
#[derive(Default, Debug)]
pub(crate) struct AccountCache(RefCell<KeyMap<AccountSharedData>>);

impl AccountCache {
    /// Calls `then` with the account of `accounts` at an address.
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

/// Returns whether an account is copied, so that it has a reference count of its own. Accounts with a
/// program's file are not: the program cache identifies a file by its address in memory.
fn is_worth_a_copy(account: &AccountSharedData) -> bool {
    let data = account.data();
    data.len() <= COPIED_BYTES_MAX
        && (Loader::of(account.owner()).is_none() || program_data_address(data).is_some())
}

fn copy(account: &AccountSharedData) -> AccountSharedData {
    Account::from(account.clone()).into()
}
