//! The accounts of a case.

use std::{collections::BTreeMap, sync::Arc};

use solana_account::AccountSharedData;
use solana_pubkey::Pubkey;

/// An account with its address.
pub type KeyedAccount = (Pubkey, AccountSharedData);

/// Accounts by address: own ones, over a list that many cases share.
///
/// An account without lamports does not exist, and hides a shared one at its address.
#[derive(Clone, Default, Debug)]
pub struct Accounts {
    /// Sorted by address, which are distinct.
    shared: Arc<[KeyedAccount]>,
    /// Likewise.
    own: Vec<KeyedAccount>,
}

impl Accounts {
    /// Returns the accounts of a list that cases share, whose addresses are sorted and distinct.
    #[must_use]
    pub fn over(shared: Arc<[KeyedAccount]>) -> Self {
        debug_assert!(
            shared.is_sorted_by(|(left, _), (right, _)| left < right),
            "shared accounts are sorted and distinct"
        );
        Self { shared, own: Vec::new() }
    }

    /// Returns the account at an address, with or without lamports.
    #[inline]
    #[must_use]
    pub fn get(&self, key: &Pubkey) -> Option<&AccountSharedData> {
        find(&self.own, key).or_else(|| find(&self.shared, key))
    }

    /// Returns the own account at an address, to be changed: a copy of the shared one, or an empty one, if
    /// there is none yet.
    pub fn get_mut(&mut self, key: Pubkey) -> &mut AccountSharedData {
        let index = match self.own.binary_search_by(|(known, _)| known.cmp(&key)) {
            Ok(index) => index,
            Err(index) => {
                let account = find(&self.shared, &key).cloned().unwrap_or_default();
                self.own.insert(index, (key, account));
                index
            }
        };
        &mut self.own[index].1
    }

    /// Sets the account at an address.
    pub fn set(&mut self, key: Pubkey, account: AccountSharedData) {
        match self.own.binary_search_by(|(known, _)| known.cmp(&key)) {
            Ok(index) => self.own[index].1 = account,
            Err(index) => self.own.insert(index, (key, account)),
        }
    }

    /// Returns all accounts, sorted by address.
    pub fn iter(&self) -> impl Iterator<Item = (&Pubkey, &AccountSharedData)> {
        let all: BTreeMap<_, _> =
            self.shared.iter().chain(&self.own).map(|(key, account)| (key, account)).collect();
        all.into_iter()
    }
}

fn find<'a>(sorted: &'a [KeyedAccount], key: &Pubkey) -> Option<&'a AccountSharedData> {
    let index = sorted.binary_search_by(|(known, _)| known.cmp(key)).ok()?;
    sorted.get(index).map(|(_, account)| account)
}

/// Sorts accounts by address. Of several at one address the last counts.
#[must_use]
pub fn sorted(accounts: impl IntoIterator<Item = KeyedAccount>) -> Vec<KeyedAccount> {
    let mut accounts: Vec<KeyedAccount> = accounts.into_iter().collect();
    accounts.reverse();
    accounts.sort_by_key(|(key, _)| *key);
    accounts.dedup_by_key(|(key, _)| *key);
    accounts
}

/// Of several accounts at one address the last counts.
impl FromIterator<KeyedAccount> for Accounts {
    fn from_iter<I: IntoIterator<Item = KeyedAccount>>(accounts: I) -> Self {
        Self { shared: Arc::default(), own: sorted(accounts) }
    }
}

impl Extend<KeyedAccount> for Accounts {
    fn extend<I: IntoIterator<Item = KeyedAccount>>(&mut self, accounts: I) {
        accounts.into_iter().for_each(|(key, account)| self.set(key, account));
    }
}

#[cfg(test)]
mod tests {
    use solana_account::{Account, ReadableAccount as _, WritableAccount as _};

    use super::*;

    fn entry(key: u8, lamports: u64) -> KeyedAccount {
        let account = Account { lamports, ..Account::default() };
        (Pubkey::new_from_array([key; 32]), account.into())
    }

    fn balances(accounts: &Accounts) -> Vec<(u8, u64)> {
        accounts.iter().map(|(key, it)| (key.as_ref()[0], it.lamports())).collect()
    }

    #[test]
    fn the_last_account_at_an_address_counts() {
        let accounts: Accounts = [entry(2, 1), entry(1, 2), entry(2, 3)].into_iter().collect();
        assert_eq!(balances(&accounts), [(1, 2), (2, 3)]);
    }

    #[test]
    fn own_accounts_hide_shared_ones_and_leave_them_as_they_are() {
        let shared: Arc<[KeyedAccount]> = Arc::from(sorted([entry(3, 3), entry(1, 1)]));
        let mut accounts = Accounts::over(Arc::clone(&shared));
        accounts.get_mut(entry(1, 0).0).set_lamports(9);
        accounts.get_mut(entry(2, 0).0).set_lamports(8);
        accounts.extend([entry(3, 0)]);
        assert_eq!(balances(&accounts), [(1, 9), (2, 8), (3, 0)]);
        assert_eq!(balances(&Accounts::over(shared)), [(1, 1), (3, 3)]);
    }
}
