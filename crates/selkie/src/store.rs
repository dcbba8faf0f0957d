//! Where accounts are.

use core::ops::Deref;

use selkie_svm::KeyMap;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

/// Accounts by address. One without lamports is none.
#[derive(Clone, Default, Debug)]
pub(crate) struct Accounts(KeyMap<AccountSharedData>);

impl Accounts {
    /// Puts an account at an address, or takes it away; gives what was there.
    pub(crate) fn set(
        &mut self,
        key: Pubkey,
        account: Option<AccountSharedData>,
    ) -> Option<AccountSharedData> {
        match account.filter(|account| account.lamports() > 0) {
            Some(account) => self.0.insert(key, account),
            None => self.0.remove(&key),
        }
    }

    /// Changes an account that is there to another one: it is copied to its place, and what was there
    /// is forgotten. Gives whether it could.
    #[inline]
    pub(crate) fn change(&mut self, key: &Pubkey, account: &AccountSharedData) -> bool {
        match self.0.get_mut(key).filter(|_| account.lamports() > 0) {
            Some(place) => {
                *place = account.clone();
                true
            }
            None => false,
        }
    }

    /// Those of which `keep` is true, by address.
    pub(crate) fn sorted(
        &self,
        keep: impl Fn(&Pubkey, &AccountSharedData) -> bool,
    ) -> Vec<(Pubkey, &AccountSharedData)> {
        let kept = self.0.iter().filter(|(key, account)| keep(key, account));
        let mut kept: Vec<_> = kept.map(|(key, account)| (*key, account)).collect();
        kept.sort_unstable_by_key(|(key, _)| *key);
        kept
    }
}

impl Deref for Accounts {
    type Target = KeyMap<AccountSharedData>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
