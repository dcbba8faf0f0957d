//! Where a [`MolluskContext`](crate::MolluskContext) keeps accounts.

use std::collections::HashMap;

use solana_account::Account;
use solana_pubkey::Pubkey;

/// A store of accounts.
pub trait AccountStore {
    /// Returns the account that stands for one that is not in the store.
    fn default_account(&self, _pubkey: &Pubkey) -> Account {
        Account::default()
    }

    /// Returns an account.
    fn get_account(&self, pubkey: &Pubkey) -> Option<Account>;

    /// Stores an account.
    fn store_account(&mut self, pubkey: Pubkey, account: Account);
}

impl AccountStore for HashMap<Pubkey, Account> {
    fn get_account(&self, pubkey: &Pubkey) -> Option<Account> {
        self.get(pubkey).cloned()
    }

    fn store_account(&mut self, pubkey: Pubkey, account: Account) {
        self.insert(pubkey, account);
    }
}
