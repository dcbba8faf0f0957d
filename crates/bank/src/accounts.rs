//! The accounts of all forks.
//!
//! Each address has a short list of versions, one per bank that wrote to it, newest last. A bank
//! sees the newest version of its ancestors, so creating a bank copies nothing, and dropping one
//! removes its versions. Rooting squashes the versions of the chain into one: an address that does
//! not change between two roots has one version and costs nothing.
//!
//! An account with 0 lamports does not exist, but hides the ancestors' versions until it is rooted.

use std::{
    collections::{HashMap, HashSet},
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use foldhash::fast::FixedState;
use selkie_svm::{AccountSharedData, AccountStore, Pubkey, ReadableAccount};

use crate::{
    ancestors::{Ancestors, BankId},
    head::HeadAccounts,
};

/// The number of shards: threads that access different addresses rarely contend.
const SHARDS: usize = 64;

/// The accounts of all banks.
#[derive(Debug)]
pub(crate) struct Accounts {
    shards: Box<[RwLock<Shard>]>,
}

type Shard = HashMap<Pubkey, Versions, FixedState>;

/// An account as a bank wrote it.
#[derive(Debug)]
struct Version {
    bank: BankId,
    account: AccountSharedData,
}

/// The versions of an account. Most accounts have a single one, which needs no allocation.
#[derive(Debug)]
struct Versions {
    newest: Version,
    /// The other versions, oldest first.
    older: Vec<Version>,
}

impl Versions {
    fn visible(&self, ancestors: &Ancestors) -> Option<&AccountSharedData> {
        if ancestors.contains(self.newest.bank) {
            return Some(&self.newest.account);
        }
        let end = self.older.partition_point(|version| version.bank <= ancestors.bank());
        let older = self.older.get(..end).unwrap_or_default();
        let version = older.iter().rev().find(|version| ancestors.contains(version.bank))?;
        Some(&version.account)
    }

    /// Returns the newest version of the ancestors, without the bank's own version.
    fn before(&self, ancestors: &Ancestors) -> Option<&AccountSharedData> {
        let is_before = |it: &&Version| it.bank != ancestors.bank() && ancestors.contains(it.bank);
        let newest_first = core::iter::once(&self.newest).chain(self.older.iter().rev());
        newest_first.into_iter().find(is_before).map(|version| &version.account)
    }

    fn put(&mut self, version: Version) {
        use core::cmp::Ordering;
        match version.bank.cmp(&self.newest.bank) {
            Ordering::Equal => self.newest = version,
            Ordering::Greater => {
                let before = core::mem::replace(&mut self.newest, version);
                self.older.push(before);
            }
            Ordering::Less => {
                match self.older.binary_search_by_key(&version.bank, |older| older.bank) {
                    Ok(index) => self.older[index] = version,
                    Err(index) => self.older.insert(index, version),
                }
            }
        }
    }

    /// Removes a bank's version; returns whether none is left.
    fn remove(&mut self, bank: BankId) -> bool {
        if self.newest.bank != bank {
            self.older.retain(|version| version.bank != bank);
            return false;
        }
        match self.older.pop() {
            Some(before) => {
                self.newest = before;
                false
            }
            None => true,
        }
    }

    /// Keeps only the newest version up to the root, or none if it has 0 lamports; returns whether
    /// none is left. Versions of dead forks must have been removed before.
    fn squash(&mut self, root: BankId) -> bool {
        let is_rooted = |version: &Version| version.bank <= root;
        if is_rooted(&self.newest) {
            self.older = Vec::new();
            return self.newest.account.lamports() == 0;
        }
        let rooted = self.older.partition_point(is_rooted);
        let last = rooted.checked_sub(1).and_then(|last| self.older.get(last));
        let is_deleted = last.is_some_and(|last| last.account.lamports() == 0);
        let gone = if is_deleted { rooted } else { rooted.saturating_sub(1) };
        self.older.drain(..gone);
        if self.older.is_empty() {
            self.older = Vec::new();
        }
        false
    }

    fn count(&self) -> usize {
        self.older.len().saturating_add(1)
    }
}

impl Default for Accounts {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| RwLock::default()).collect() }
    }
}

impl Accounts {
    /// Returns the account that a bank sees, possibly with 0 lamports.
    pub(crate) fn get(&self, key: &Pubkey, ancestors: &Ancestors) -> Option<AccountSharedData> {
        self.with(key, ancestors, |account| account.cloned())
    }

    /// Runs `then` with the account that a bank sees, which may have 0 lamports. Its part of the accounts
    /// is locked in the meantime.
    fn with<R>(
        &self,
        key: &Pubkey,
        ancestors: &Ancestors,
        then: impl FnOnce(Option<&AccountSharedData>) -> R,
    ) -> R {
        let shard = read(self.shard(key));
        then(shard.get(key).and_then(|versions| versions.visible(ancestors)))
    }

    /// Returns the account that a bank's parent sees, possibly with 0 lamports.
    pub(crate) fn before(&self, key: &Pubkey, ancestors: &Ancestors) -> Option<AccountSharedData> {
        let shard = read(self.shard(key));
        shard.get(key)?.before(ancestors).cloned()
    }

    /// Writes a bank's version of an account.
    pub(crate) fn put(&self, key: Pubkey, bank: BankId, account: AccountSharedData) {
        use std::collections::hash_map::Entry;
        let version = Version { bank, account };
        match write(self.shard(&key)).entry(key) {
            Entry::Occupied(mut versions) => versions.get_mut().put(version),
            Entry::Vacant(entry) => {
                entry.insert(Versions { newest: version, older: Vec::new() });
            }
        }
    }

    /// Removes a bank's version of an account.
    pub(crate) fn remove(&self, key: &Pubkey, bank: BankId) {
        self.change(key, |versions| versions.remove(bank));
    }

    /// Squashes the versions of the root and its ancestors into one.
    pub(crate) fn squash(&self, key: &Pubkey, root: BankId) {
        self.change(key, |versions| versions.squash(root));
    }

    fn change(&self, key: &Pubkey, change: impl FnOnce(&mut Versions) -> bool) {
        let mut shard = write(self.shard(key));
        if shard.get_mut(key).is_some_and(change) {
            shard.remove(key);
        }
    }

    /// Returns every account that a bank sees, sorted by address.
    pub(crate) fn all(&self, ancestors: &Ancestors) -> Vec<(Pubkey, AccountSharedData)> {
        self.filtered(ancestors, |_| true)
    }

    /// Returns the accounts that a bank sees and that pass the filter, sorted by address.
    pub(crate) fn filtered(
        &self,
        ancestors: &Ancestors,
        passes: impl Fn(&AccountSharedData) -> bool,
    ) -> Vec<(Pubkey, AccountSharedData)> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let shard = read(shard);
            let visible = shard.iter().filter_map(|(key, versions)| {
                let account = versions.visible(ancestors)?;
                (account.lamports() > 0 && passes(account)).then(|| (*key, account.clone()))
            });
            all.extend(visible);
        }
        all.sort_unstable_by_key(|(key, _)| *key);
        all
    }

    /// Returns the number of versions of all accounts.
    pub(crate) fn versions(&self) -> usize {
        let of_shard = |shard: &Shard| shard.values().map(Versions::count).sum::<usize>();
        self.shards.iter().map(|shard| of_shard(&read(shard))).sum()
    }

    fn shard(&self, key: &Pubkey) -> &RwLock<Shard> {
        // Well-known addresses differ in a few bytes only, so all bytes are mixed.
        const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
        let (words, _) = key.as_array().as_chunks::<8>();
        let mixed = words.iter().fold(0, |mixed: u64, word| {
            (mixed.rotate_left(17) ^ u64::from_le_bytes(*word)).wrapping_mul(MULTIPLIER)
        });
        let index = usize::try_from(mixed >> 32).unwrap_or_default() % SHARDS;
        &self.shards[index]
    }
}

fn read(shard: &RwLock<Shard>) -> RwLockReadGuard<'_, Shard> {
    shard.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(shard: &RwLock<Shard>) -> RwLockWriteGuard<'_, Shard> {
    shard.write().unwrap_or_else(PoisonError::into_inner)
}

/// The accounts that one bank sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) accounts: &'a Accounts,
    pub(crate) ancestors: &'a Ancestors,
}

impl AccountStore for View<'_> {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.with_account(key, |account| account.cloned())
    }

    fn with_account<R>(
        &self,
        key: &Pubkey,
        then: impl FnOnce(Option<&AccountSharedData>) -> R,
    ) -> R {
        let exists = |account: &&AccountSharedData| account.lamports() > 0;
        self.accounts.with(key, self.ancestors, |account| then(account.filter(exists)))
    }
}

/// The accounts that a bank sees, and may change.
pub(crate) struct BankAccounts<'a> {
    accounts: &'a Accounts,
    ancestors: &'a Ancestors,
    changed: &'a mut HashSet<Pubkey, FixedState>,
}

impl<'a> BankAccounts<'a> {
    /// Lets the newest of the ancestors change accounts, and notes the addresses in `changed`.
    pub(crate) fn new(
        accounts: &'a Accounts,
        ancestors: &'a Ancestors,
        changed: &'a mut HashSet<Pubkey, FixedState>,
    ) -> Self {
        Self { accounts, ancestors, changed }
    }
}

impl AccountStore for BankAccounts<'_> {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        View { accounts: self.accounts, ancestors: self.ancestors }.account(key)
    }
}

impl HeadAccounts for BankAccounts<'_> {
    fn put(&mut self, key: Pubkey, account: AccountSharedData) {
        self.changed.insert(key);
        self.accounts.put(key, self.ancestors.bank(), account);
    }

    fn owned_by(&self, is_owner: fn(&Pubkey) -> bool) -> Vec<(Pubkey, AccountSharedData)> {
        self.accounts.filtered(self.ancestors, |account| is_owner(account.owner()))
    }

    fn capitalization(&self) -> u64 {
        let all = self.accounts.all(self.ancestors);
        all.iter().map(|(_, account)| account.lamports()).fold(0, u64::saturating_add)
    }

    fn may_have_changed(&self, key: &Pubkey) -> bool {
        self.changed.contains(key)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use selkie_svm::Account;

    use super::*;

    fn key(number: u64) -> Pubkey {
        let mut bytes = [7; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        Pubkey::new_from_array(bytes)
    }

    fn account(lamports: u64) -> AccountSharedData {
        Account { lamports, ..Account::default() }.into()
    }

    /// A deterministic pseudo-random number generator.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(self.0 >> 33).unwrap() % end
        }
    }

    /// A bank in the model: a copy of all its accounts, and those that it wrote itself.
    #[derive(Clone)]
    struct Model {
        ancestors: Ancestors,
        parent: BankId,
        all: BTreeMap<Pubkey, u64>,
        written: BTreeMap<Pubkey, u64>,
    }

    /// The index under test, and the model.
    struct Checked {
        accounts: Accounts,
        alive: BTreeMap<BankId, Model>,
        root: BankId,
        made: u64,
    }

    impl Checked {
        fn pick(&self, numbers: &mut Numbers) -> BankId {
            *self.alive.keys().nth(numbers.below(self.alive.len())).unwrap()
        }

        fn make(&mut self, parent: BankId) {
            self.made += 1;
            let (id, of_parent) = (BankId(self.made), &self.alive[&parent]);
            let model = Model {
                ancestors: of_parent.ancestors.child(id, self.root),
                parent,
                all: of_parent.all.clone(),
                written: BTreeMap::new(),
            };
            self.alive.insert(id, model);
        }

        fn write(&mut self, bank: BankId, key: Pubkey, lamports: u64) {
            self.accounts.put(key, bank, account(lamports));
            let model = self.alive.get_mut(&bank).unwrap();
            model.written.insert(key, lamports);
            if lamports > 0 {
                model.all.insert(key, lamports)
            } else {
                model.all.remove(&key)
            };
        }

        /// Returns whether a bank may be written to, i.e. has no children that see its accounts.
        fn is_open(&self, bank: BankId) -> bool {
            bank != self.root && self.alive.values().all(|model| model.parent != bank)
        }

        fn mark_dead(&mut self, is_dead: impl Fn(&Model) -> bool) {
            let gone: Vec<BankId> =
                self.alive.iter().filter(|(_, model)| is_dead(model)).map(|(id, _)| *id).collect();
            for id in gone {
                let model = self.alive.remove(&id).unwrap();
                model.written.keys().for_each(|key| self.accounts.remove(key, id));
            }
        }

        fn set_root(&mut self, root: BankId) {
            let of_root = self.alive[&root].ancestors.clone();
            self.mark_dead(|model| {
                !model.ancestors.contains(root) && !of_root.contains(model.ancestors.bank())
            });
            let chain: Vec<BankId> =
                self.alive.keys().copied().filter(|id| of_root.contains(*id)).collect();
            for id in chain {
                let model = self.alive.get_mut(&id).unwrap();
                let written = core::mem::take(&mut model.written);
                written.keys().for_each(|key| self.accounts.squash(key, root));
                if id != root {
                    self.alive.remove(&id);
                }
            }
            self.root = root;
        }

        fn check_all(&self) {
            for model in self.alive.values() {
                let all = self.accounts.all(&model.ancestors);
                let all = all.iter().map(|(key, account)| (*key, account.lamports()));
                assert!(all.eq(model.all.iter().map(|(key, lamports)| (*key, *lamports))));
            }
        }

        /// Checks that the root has one version per account, and every other bank one per address
        /// it wrote to.
        fn check_versions(&self) {
            let written: usize = self.alive.values().map(|model| model.written.len()).sum();
            let rooted = self.alive[&self.root].all.len();
            assert_eq!(self.accounts.versions(), rooted + written);
        }
    }

    #[test]
    fn each_bank_sees_what_a_full_copy_of_its_accounts_would_have() {
        const OPERATIONS: usize = 200_000;
        const KEYS: usize = 60;
        let mut numbers = Numbers(1);
        let root = BankId(1);
        let model = Model {
            ancestors: Ancestors::root(root),
            parent: BankId(0),
            all: BTreeMap::new(),
            written: BTreeMap::new(),
        };
        let mut checked = Checked {
            accounts: Accounts::default(),
            alive: BTreeMap::from([(root, model)]),
            root,
            made: 1,
        };
        let mut deepest = 0;
        for operation in 0..OPERATIONS {
            let bank = checked.pick(&mut numbers);
            let key = key(numbers.below(KEYS) as u64);
            match numbers.below(100) {
                0..=4 if checked.alive.len() < 80 => {
                    // Prefers long chains to many short forks.
                    let newest = *checked.alive.keys().last().unwrap();
                    checked.make(if numbers.below(3) == 0 { bank } else { newest });
                    deepest = deepest.max(checked.alive.len());
                }
                5..=39 => {
                    let lamports = numbers.below(4) as u64 * (operation as u64 + 1);
                    if checked.is_open(bank) {
                        checked.write(bank, key, lamports);
                    }
                }
                40 if bank != checked.root && numbers.below(3) == 0 => {
                    checked.mark_dead(|model| model.ancestors.contains(bank));
                }
                41 if numbers.below(8) == 0 => checked.set_root(bank),
                42 if numbers.below(20) == 0 => checked.check_all(),
                43 if numbers.below(5) == 0 => checked.check_versions(),
                _ => {
                    let model = &checked.alive[&bank];
                    let found = checked.accounts.get(&key, &model.ancestors);
                    let found = found.map(|account| account.lamports()).filter(|it| *it > 0);
                    assert_eq!(found, model.all.get(&key).copied(), "operation {operation}");
                    if model.written.contains_key(&key) && checked.alive.contains_key(&model.parent)
                    {
                        let before = checked.accounts.before(&key, &model.ancestors);
                        let before = before.map(|it| it.lamports()).filter(|it| *it > 0);
                        assert_eq!(before, checked.alive[&model.parent].all.get(&key).copied());
                    }
                }
            }
        }
        assert!(deepest > 40 && checked.made > 1000, "{deepest} {}", checked.made);
        checked.set_root(*checked.alive.keys().last().unwrap());
        let root = checked.root;
        checked.mark_dead(|model| model.ancestors.bank() != root);
        checked.check_all();
        checked.check_versions();
    }
}
