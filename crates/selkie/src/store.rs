//! Where accounts are.

use selkie_programs::accounts::{Place, Places};
use selkie_svm::{AccountStore, KeyMap};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

/// Accounts by address. One without lamports is none.
///
/// Below those that were written lie the accounts of mainnet's programs, which are made when they
/// are first asked for. What was ever written at an address hides the one below.
#[derive(Clone, Default, Debug)]
pub(crate) struct Accounts {
    written: KeyMap<AccountSharedData>,
    /// The accounts of mainnet's programs at whose addresses nothing was written.
    programs: Places,
}

impl Accounts {
    /// Puts an account at an address, or takes it away; gives what was there.
    pub(crate) fn set(
        &mut self,
        key: Pubkey,
        account: Option<AccountSharedData>,
    ) -> Option<AccountSharedData> {
        let below = self.uncover(&key);
        let before = match account.filter(|account| account.lamports() > 0) {
            Some(account) => self.written.insert(key, account),
            None => self.written.remove(&key),
        };
        before.or_else(|| below.map(|place| place.account().clone()))
    }

    /// Takes away the account of one of mainnet's programs; gives which it was.
    fn uncover(&mut self, key: &Pubkey) -> Option<Place> {
        let place = self.place(key)?;
        self.programs.remove(place);
        Some(place)
    }

    /// Changes an account that was written to another one: it is copied to its place, and what was
    /// there is forgotten. Gives whether it could.
    #[inline]
    pub(crate) fn change(&mut self, key: &Pubkey, account: &AccountSharedData) -> bool {
        match self.written.get_mut(key).filter(|_| account.lamports() > 0) {
            Some(place) => {
                *place = account.clone();
                true
            }
            None => false,
        }
    }

    /// The account at an address.
    #[inline]
    pub(crate) fn get(&self, key: &Pubkey) -> Option<&AccountSharedData> {
        self.written.get(key).or_else(|| self.place(key).map(Place::account))
    }

    /// The account of one of mainnet's programs that is at an address.
    fn place(&self, key: &Pubkey) -> Option<Place> {
        // Where there are none, nothing is searched for.
        let places = Some(self.programs).filter(|places| !places.is_empty())?;
        Place::of(key).filter(|place| places.contains(*place))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.written.len().saturating_add(self.programs.len())
    }

    /// The accounts of mainnet's programs at whose addresses nothing was written.
    pub(crate) fn programs(&self) -> Places {
        self.programs
    }

    /// Puts these accounts of mainnet's programs there, and no others of them, but not where others
    /// were written.
    pub(crate) fn set_programs(&mut self, places: Places) {
        self.programs = Places::default();
        for place in places.iter().filter(|place| !self.written.contains_key(&place.key())) {
            self.programs.insert(place);
        }
    }

    /// The accounts that were written, by address.
    pub(crate) fn written(&self) -> Vec<(Pubkey, &AccountSharedData)> {
        sorted(self.written.iter().map(|(key, account)| (*key, account)))
    }

    /// All accounts, by address.
    pub(crate) fn all(&self) -> Vec<(Pubkey, &AccountSharedData)> {
        let programs = self.programs.iter().map(|place| (place.key(), place.account()));
        sorted(self.written.iter().map(|(key, account)| (*key, account)).chain(programs))
    }

    /// Those of an owner of which `keep` is true, by address.
    pub(crate) fn owned_by(
        &self,
        owner: &Pubkey,
        keep: impl Fn(&AccountSharedData) -> bool,
    ) -> Vec<(Pubkey, &AccountSharedData)> {
        let written = self.written.iter().map(|(key, account)| (*key, account));
        // Accounts that are not asked for need not be made.
        let programs = self.programs.iter().filter(|place| place.owner() == *owner);
        let programs = programs.map(|place| (place.key(), place.account()));
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
