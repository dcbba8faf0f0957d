//! Indexes of accounts by owner and, for token accounts, by token owner, mint and delegate.
//!
//! An entry says that an account has a property in some live version, so readers check what they find
//! in the version that they see. Entries are counted: each block adds those of its versions that the
//! versions before lacked, a root releases those of the versions it replaced, and reverting a block
//! releases those that it added.

use std::collections::{BTreeMap, HashMap};

use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

use crate::token::TokenAccount;

/// A property of an account that is indexed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Kind {
    Owner,
    TokenOwner,
    Mint,
    Delegate,
}

/// What token accounts are looked up by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenIndex {
    /// The owner of the tokens.
    Owner,
    /// The mint.
    Mint,
    /// The delegate.
    Delegate,
}

/// The indexes.
#[derive(Default, Debug)]
pub(crate) struct Index {
    accounts: HashMap<(Kind, Pubkey), BTreeMap<Pubkey, u32>>,
}

/// The entries that a block added, and those that become obsolete once it is the root.
#[derive(Default, Debug)]
pub(crate) struct IndexChange {
    added: Vec<Entry>,
    obsolete: Vec<Entry>,
}

/// A property, its value, and the account that has it.
type Entry = (Kind, Pubkey, Pubkey);

impl Index {
    /// Adds an account that exists from the start.
    pub(crate) fn add_first(&mut self, key: &Pubkey, account: &AccountSharedData) {
        entries(key, Some(account)).into_iter().for_each(|entry| self.add(entry));
    }

    /// Adds the entries of a block: its accounts, each with the version before it.
    pub(crate) fn apply<'a>(
        &mut self,
        accounts: impl IntoIterator<
            Item = (&'a Pubkey, Option<AccountSharedData>, &'a AccountSharedData),
        >,
    ) -> IndexChange {
        let mut change = IndexChange::default();
        for (key, before, after) in accounts {
            let (before, after) = (entries(key, before.as_ref()), entries(key, Some(after)));
            change.added.extend(after.iter().filter(|entry| !before.contains(entry)));
            change.obsolete.extend(before.iter().filter(|entry| !after.contains(entry)));
        }
        change.added.iter().for_each(|entry| self.add(*entry));
        change
    }

    /// Releases the entries of versions that a root replaced.
    pub(crate) fn root(&mut self, change: &IndexChange) {
        change.obsolete.iter().for_each(|entry| self.release(*entry));
    }

    /// Releases the entries that a block added.
    pub(crate) fn revert(&mut self, change: &IndexChange) {
        change.added.iter().for_each(|entry| self.release(*entry));
    }

    /// Returns the accounts that may have this owner, by address.
    pub(crate) fn of_owner(&self, owner: &Pubkey) -> Vec<Pubkey> {
        self.find(Kind::Owner, owner)
    }

    /// Returns the token accounts that may have this property, by address.
    pub(crate) fn token_accounts(&self, by: TokenIndex, key: &Pubkey) -> Vec<Pubkey> {
        let kind = match by {
            TokenIndex::Owner => Kind::TokenOwner,
            TokenIndex::Mint => Kind::Mint,
            TokenIndex::Delegate => Kind::Delegate,
        };
        self.find(kind, key)
    }

    fn find(&self, kind: Kind, value: &Pubkey) -> Vec<Pubkey> {
        let found = self.accounts.get(&(kind, *value));
        found.map(|accounts| accounts.keys().copied().collect()).unwrap_or_default()
    }

    fn add(&mut self, (kind, value, key): Entry) {
        let count = self.accounts.entry((kind, value)).or_default().entry(key).or_default();
        *count = count.saturating_add(1);
    }

    fn release(&mut self, (kind, value, key): Entry) {
        let Some(accounts) = self.accounts.get_mut(&(kind, value)) else { return };
        let Some(count) = accounts.get_mut(&key) else { return };
        *count = count.saturating_sub(1);
        if *count == 0 {
            accounts.remove(&key);
        }
        if accounts.is_empty() {
            self.accounts.remove(&(kind, value));
        }
    }
}

/// Returns the entries of an account; none if it does not exist.
fn entries(key: &Pubkey, account: Option<&AccountSharedData>) -> Vec<Entry> {
    let Some(account) = account.filter(|account| account.lamports() > 0) else {
        return Vec::new();
    };
    let mut entries = vec![(Kind::Owner, *account.owner(), *key)];
    if let Some(token) = TokenAccount::read(account) {
        entries.push((Kind::TokenOwner, token.owner, *key));
        entries.push((Kind::Mint, token.mint, *key));
        entries.extend(token.delegate.map(|delegate| (Kind::Delegate, delegate, *key)));
    }
    entries
}

#[cfg(test)]
mod tests {
    use solana_account::Account;

    use super::*;

    fn account(owner: u8) -> AccountSharedData {
        let owner = Pubkey::new_from_array([owner; 32]);
        Account { lamports: 1, owner, ..Account::default() }.into()
    }

    #[test]
    fn an_account_is_found_while_any_live_version_has_the_owner() {
        let mut index = Index::default();
        let key = Pubkey::new_from_array([9; 32]);
        let owner = |owner: u8| Pubkey::new_from_array([owner; 32]);
        index.add_first(&key, &account(1));
        let first = index.apply([(&key, Some(account(1)), &account(2))]);
        let second = index.apply([(&key, Some(account(2)), &account(1))]);
        assert_eq!((index.of_owner(&owner(1)), index.of_owner(&owner(2))), (vec![key], vec![key]));
        index.root(&first);
        assert_eq!(index.of_owner(&owner(1)), [key]);
        index.revert(&second);
        assert_eq!((index.of_owner(&owner(1)), index.of_owner(&owner(2))), (vec![], vec![key]));
    }
}
