//! Accounts as every fork has them.
//!
//! An address has a short list: what each bank that wrote there left behind, newest last. A bank
//! sees the newest of its ancestors, so making a bank copies nothing and dropping one takes away
//! what it wrote. Rooting leaves one version of what was written on the way: whatever is not
//! changed between two roots has one version, and costs nothing.
//!
//! An account without lamports is none, but hides those of ancestors until it is rooted.

use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use foldhash::fast::FixedState;
use selkie_svm::{AccountSharedData, AccountStore, Pubkey, ReadableAccount};

use crate::ancestors::{Ancestors, BankId};

/// Threads that touch different addresses seldom meet.
const SHARDS: usize = 64;

/// The accounts of all banks.
#[derive(Debug)]
pub(crate) struct Accounts {
    shards: Box<[RwLock<Shard>]>,
}

type Shard = HashMap<Pubkey, Versions, FixedState>;

/// What a bank left at an address.
#[derive(Debug)]
struct Version {
    bank: BankId,
    account: AccountSharedData,
}

/// What is at an address, by the banks that wrote it. Most addresses have one version, for which
/// nothing is allocated.
#[derive(Debug)]
struct Versions {
    newest: Version,
    /// Oldest first.
    older: Vec<Version>,
}

impl Versions {
    fn visible(&self, ancestors: &Ancestors) -> Option<&AccountSharedData> {
        if ancestors.contains(self.newest.bank) {
            return Some(&self.newest.account);
        }
        let end = self.older.partition_point(|version| version.bank <= ancestors.own());
        let older = self.older.get(..end).unwrap_or_default();
        let version = older.iter().rev().find(|version| ancestors.contains(version.bank))?;
        Some(&version.account)
    }

    /// What is visible but for the bank's own version.
    fn before(&self, ancestors: &Ancestors) -> Option<&AccountSharedData> {
        let is_before = |it: &&Version| it.bank != ancestors.own() && ancestors.contains(it.bank);
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
                    Ok(place) => self.older[place] = version,
                    Err(place) => self.older.insert(place, version),
                }
            }
        }
    }

    /// Takes a bank's version away; gives whether nothing is left.
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

    /// Leaves one version of those up to the root, or none if it is no account; gives whether
    /// nothing is left. Those of dead forks are gone before.
    fn squash(&mut self, root: BankId) -> bool {
        let is_rooted = |version: &Version| version.bank <= root;
        if is_rooted(&self.newest) {
            self.older = Vec::new();
            return self.newest.account.lamports() == 0;
        }
        let rooted = self.older.partition_point(is_rooted);
        let last = rooted.checked_sub(1).and_then(|last| self.older.get(last));
        let is_nothing = last.is_some_and(|last| last.account.lamports() == 0);
        let gone = if is_nothing { rooted } else { rooted.saturating_sub(1) };
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
    /// What a bank sees at an address, be it without lamports.
    pub(crate) fn get(&self, key: &Pubkey, ancestors: &Ancestors) -> Option<AccountSharedData> {
        let shard = read(self.shard(key));
        shard.get(key)?.visible(ancestors).cloned()
    }

    /// What a bank's parent sees at an address, be it without lamports.
    pub(crate) fn before(&self, key: &Pubkey, ancestors: &Ancestors) -> Option<AccountSharedData> {
        let shard = read(self.shard(key));
        shard.get(key)?.before(ancestors).cloned()
    }

    /// What a bank leaves at an address.
    pub(crate) fn put(&self, key: Pubkey, bank: BankId, account: AccountSharedData) {
        use std::collections::hash_map::Entry;
        let version = Version { bank, account };
        match write(self.shard(&key)).entry(key) {
            Entry::Occupied(mut versions) => versions.get_mut().put(version),
            Entry::Vacant(place) => {
                place.insert(Versions { newest: version, older: Vec::new() });
            }
        }
    }

    /// Takes away what a bank left at an address.
    pub(crate) fn remove(&self, key: &Pubkey, bank: BankId) {
        self.change(key, |versions| versions.remove(bank));
    }

    /// Leaves one version of what the root and its ancestors wrote to an address.
    pub(crate) fn squash(&self, key: &Pubkey, root: BankId) {
        self.change(key, |versions| versions.squash(root));
    }

    fn change(&self, key: &Pubkey, change: impl FnOnce(&mut Versions) -> bool) {
        let mut shard = write(self.shard(key));
        if shard.get_mut(key).is_some_and(change) {
            shard.remove(key);
        }
    }

    /// Every account that a bank sees, by address.
    pub(crate) fn all(&self, ancestors: &Ancestors) -> Vec<(Pubkey, AccountSharedData)> {
        self.filtered(ancestors, |_| true)
    }

    /// The accounts that a bank sees and that pass the filter, by address.
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

    /// How many versions there are, of all addresses.
    pub(crate) fn versions(&self) -> usize {
        let of_shard = |shard: &Shard| shard.values().map(Versions::count).sum::<usize>();
        self.shards.iter().map(|shard| of_shard(&read(shard))).sum()
    }

    fn shard(&self, key: &Pubkey) -> &RwLock<Shard> {
        // Well-known addresses differ in some bytes only; all must count.
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let (words, _) = key.as_array().as_chunks::<8>();
        let mixed = words.iter().fold(0, |mixed: u64, word| {
            (mixed.rotate_left(17) ^ u64::from_le_bytes(*word)).wrapping_mul(ODD)
        });
        let place = usize::try_from(mixed >> 32).unwrap_or_default() % SHARDS;
        &self.shards[place]
    }
}

fn read(shard: &RwLock<Shard>) -> RwLockReadGuard<'_, Shard> {
    shard.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(shard: &RwLock<Shard>) -> RwLockWriteGuard<'_, Shard> {
    shard.write().unwrap_or_else(PoisonError::into_inner)
}

/// The accounts as one bank sees them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) accounts: &'a Accounts,
    pub(crate) ancestors: &'a Ancestors,
}

impl AccountStore for View<'_> {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.accounts.get(key, self.ancestors).filter(|account| account.lamports() > 0)
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

    /// A sequence of numbers that look random and are always the same.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(self.0 >> 33).unwrap() % end
        }
    }

    /// A bank as the model has it: all of its accounts, and what was written by itself.
    #[derive(Clone)]
    struct Model {
        ancestors: Ancestors,
        parent: BankId,
        all: BTreeMap<Pubkey, u64>,
        written: BTreeMap<Pubkey, u64>,
    }

    /// The index, and what it ought to be.
    struct Both {
        accounts: Accounts,
        alive: BTreeMap<BankId, Model>,
        root: BankId,
        made: u64,
    }

    impl Both {
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

        /// Whether a bank has children, whose view must not change any more.
        fn is_open(&self, bank: BankId) -> bool {
            bank != self.root && self.alive.values().all(|model| model.parent != bank)
        }

        fn bury(&mut self, is_dead: impl Fn(&Model) -> bool) {
            let gone: Vec<BankId> =
                self.alive.iter().filter(|(_, model)| is_dead(model)).map(|(id, _)| *id).collect();
            for id in gone {
                let model = self.alive.remove(&id).unwrap();
                model.written.keys().for_each(|key| self.accounts.remove(key, id));
            }
        }

        fn set_root(&mut self, root: BankId) {
            let of_root = self.alive[&root].ancestors.clone();
            self.bury(|model| {
                !model.ancestors.contains(root) && !of_root.contains(model.ancestors.own())
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

        /// The root has a version of each of its accounts; every other bank has one of each
        /// address that it wrote to.
        fn check_versions(&self) {
            let written: usize = self.alive.values().map(|model| model.written.len()).sum();
            let rooted = self.alive[&self.root].all.len();
            assert_eq!(self.accounts.versions(), rooted + written);
        }
    }

    #[test]
    fn the_index_is_what_a_copy_for_each_bank_would_be() {
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
        let mut both = Both {
            accounts: Accounts::default(),
            alive: BTreeMap::from([(root, model)]),
            root,
            made: 1,
        };
        let mut deepest = 0;
        for operation in 0..OPERATIONS {
            let bank = both.pick(&mut numbers);
            let key = key(numbers.below(KEYS) as u64);
            match numbers.below(100) {
                0..=4 if both.alive.len() < 80 => {
                    // Chains rather than bushes.
                    let newest = *both.alive.keys().last().unwrap();
                    both.make(if numbers.below(3) == 0 { bank } else { newest });
                    deepest = deepest.max(both.alive.len());
                }
                5..=39 => {
                    let lamports = numbers.below(4) as u64 * (operation as u64 + 1);
                    if both.is_open(bank) {
                        both.write(bank, key, lamports);
                    }
                }
                40 if bank != both.root && numbers.below(3) == 0 => {
                    both.bury(|model| model.ancestors.contains(bank));
                }
                41 if numbers.below(8) == 0 => both.set_root(bank),
                42 if numbers.below(20) == 0 => both.check_all(),
                43 if numbers.below(5) == 0 => both.check_versions(),
                _ => {
                    let model = &both.alive[&bank];
                    let found = both.accounts.get(&key, &model.ancestors);
                    let found = found.map(|account| account.lamports()).filter(|it| *it > 0);
                    assert_eq!(found, model.all.get(&key).copied(), "operation {operation}");
                    if model.written.contains_key(&key) && both.alive.contains_key(&model.parent) {
                        let before = both.accounts.before(&key, &model.ancestors);
                        let before = before.map(|it| it.lamports()).filter(|it| *it > 0);
                        assert_eq!(before, both.alive[&model.parent].all.get(&key).copied());
                    }
                }
            }
        }
        assert!(deepest > 40 && both.made > 1000, "{deepest} {}", both.made);
        both.set_root(*both.alive.keys().last().unwrap());
        let root = both.root;
        both.bury(|model| model.ancestors.own() != root);
        both.check_all();
        both.check_versions();
    }
}
