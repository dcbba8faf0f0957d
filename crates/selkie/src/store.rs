//! The chain's accounts.

use selkie_programs::accounts::{WellKnownAccount, WellKnownAccountSet};
use selkie_svm::{AccountStore, KeyMap};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

/// Accounts by address. An account with 0 lamports does not exist.
///
/// They overlay the accounts of mainnet's programs, which are created when first read. Writing an
/// address hides the account below permanently.
#[derive(Clone, Default, Debug)]
pub(crate) struct Accounts {
    written: KeyMap<AccountSharedData>,
    /// The accounts of mainnet's programs whose addresses were never written.
    programs: WellKnownAccountSet,
}

impl Accounts {
    /// Sets or deletes an account; returns the previous one.
    pub(crate) fn set(
        &mut self,
        key: Pubkey,
        account: Option<AccountSharedData>,
    ) -> Option<AccountSharedData> {
        let unwritten = self.remove_unwritten(&key);
        let before = match account.filter(|account| account.lamports() > 0) {
            Some(account) => self.written.insert(key, account),
            None => self.written.remove(&key),
        };
        before.or_else(|| unwritten.map(|it| it.account().clone()))
    }

    /// Removes the well-known account at `key`, which is about to be written.
    fn remove_unwritten(&mut self, key: &Pubkey) -> Option<WellKnownAccount> {
        let it = self.unwritten(key)?;
        self.programs.remove(it);
        Some(it)
    }

    /// Overwrites an account that was written before, dropping its previous value; returns `false`
    /// if there is none or if it would be deleted.
    #[inline]
    pub(crate) fn change(&mut self, key: &Pubkey, account: &AccountSharedData) -> bool {
        match self.written.get_mut(key).filter(|_| account.lamports() > 0) {
            Some(written) => {
                *written = account.clone();
                true
            }
            None => false,
        }
    }

    /// Returns the account at `key`.
    #[inline]
    pub(crate) fn get(&self, key: &Pubkey) -> Option<&AccountSharedData> {
        self.written.get(key).or_else(|| self.unwritten(key).map(WellKnownAccount::account))
    }

    /// Returns the well-known account at `key`, unless it was written.
    fn unwritten(&self, key: &Pubkey) -> Option<WellKnownAccount> {
        // Skip the search if there are none.
        let unwritten = Some(self.programs).filter(|set| !set.is_empty())?;
        WellKnownAccount::of(key).filter(|it| unwritten.contains(*it))
    }

    /// Returns the number of accounts.
    pub(crate) fn len(&self) -> usize {
        self.written.len().saturating_add(self.programs.len())
    }

    /// Returns the accounts of mainnet's programs whose addresses were never written.
    pub(crate) fn programs(&self) -> WellKnownAccountSet {
        self.programs
    }

    /// Replaces the well-known accounts, leaving out those whose addresses were written.
    pub(crate) fn set_programs(&mut self, programs: WellKnownAccountSet) {
        self.programs = WellKnownAccountSet::default();
        for it in programs.iter().filter(|it| !self.written.contains_key(&it.key())) {
            self.programs.insert(it);
        }
    }

    /// Returns the written accounts, sorted by address.
    pub(crate) fn written(&self) -> Vec<(Pubkey, &AccountSharedData)> {
        sorted(self.written.iter().map(|(key, account)| (*key, account)))
    }

    /// Returns all accounts, sorted by address.
    pub(crate) fn all(&self) -> Vec<(Pubkey, &AccountSharedData)> {
        let programs = self.programs.iter().map(|it| (it.key(), it.account()));
        sorted(self.written.iter().map(|(key, account)| (*key, account)).chain(programs))
    }

    /// Returns the accounts of `owner` that pass `keep`, sorted by address.
    pub(crate) fn owned_by(
        &self,
        owner: &Pubkey,
        keep: impl Fn(&AccountSharedData) -> bool,
    ) -> Vec<(Pubkey, &AccountSharedData)> {
        let written = self.written.iter().map(|(key, account)| (*key, account));
        // Compare owners first: reading an account would create it.
        let programs = self.programs.iter().filter(|it| it.owner() == *owner);
        let programs = programs.map(|it| (it.key(), it.account()));
        let is_kept =
            |(_, account): &(_, &AccountSharedData)| account.owner() == owner && keep(account);
        sorted(written.chain(programs).filter(is_kept))
    }
}

fn sorted<'a>(
    accounts: impl Iterator<Item = (Pubkey, &'a AccountSharedData)>,
) -> Vec<(Pubkey, &'a AccountSharedData)> {
    let mut accounts: Vec<_> = accounts.collect();
    accounts.sort_unstable_by_key(|(key, _)| *key);
    accounts
}

impl AccountStore for Accounts {
    #[inline]
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.get(key).cloned()
    }

    #[inline]
    fn with_account<R>(
        &self,
        key: &Pubkey,
        then: impl FnOnce(Option<&AccountSharedData>) -> R,
    ) -> R {
        then(self.get(key))
    }
}
