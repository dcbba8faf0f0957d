//! The programs that a transaction or an instruction can run, found in the program cache.

use std::{collections::BTreeMap, sync::Arc};

use solana_account::AccountSharedData;
use solana_pubkey::Pubkey;

use crate::{
    chain::{
        account::{AccountStore, is_same},
        features::FeatureSet,
    },
    programs::{
        cache::{Holder, ProgramCache},
        program::{Program, ProgramEntry},
    },
};

/// The programs that instructions can reach.
#[derive(Clone, Default, Debug)]
pub struct Programs(BTreeMap<Pubkey, Arc<Program>>);

impl Programs {
    /// Inserts a program at an address, and replaces the one before.
    pub fn insert(&mut self, id: Pubkey, program: impl Into<Arc<Program>>) {
        self.0.insert(id, program.into());
    }

    /// Returns the program at an address.
    #[must_use]
    pub fn get(&self, id: &Pubkey) -> Option<&Arc<Program>> {
        self.0.get(id)
    }
}

/// The programs of a transaction's accounts before it is executed. They are few, so a linear search
/// finds them.
///
/// Within a batch, programs of one transaction are kept for the next. A flag says so, and not a second
/// type: a look-up searches the same list, whether a program in it is new or kept.
#[derive(Default, Debug)]
pub struct TransactionPrograms {
    programs: Vec<Named>,
    keeps: bool,
}

/// A program of this transaction, or of an earlier one of the batch.
#[derive(Debug)]
struct Named {
    id: Pubkey,
    entry: ProgramEntry,
    /// Whether the program is one of this transaction's accounts.
    is_named: bool,
    /// If the program is kept: the account of its file, and the look-ups that the cache has not counted.
    kept: Option<(Holder<'static>, u64)>,
}

/// The number of programs up to which they are kept for the next transaction.
const KEPT_MAX: usize = 32;

impl TransactionPrograms {
    /// No programs.
    pub(crate) const NONE: &'static Self = &Self::new();

    pub(crate) const fn new() -> Self {
        Self { programs: Vec::new(), keeps: false }
    }

    /// Creates an empty set that keeps programs for other transactions with the same cache, slot and
    /// features, so that threads do not contend for the cache's counters. Look-ups are counted at the end
    /// of the batch, except for versions that were removed from the cache by then.
    pub(crate) fn for_batch() -> Self {
        Self { keeps: true, ..Self::new() }
    }

    /// Adds a program that was loaded for the transaction.
    #[inline]
    pub fn insert(&mut self, id: Pubkey, entry: ProgramEntry) {
        self.programs.push(Named { id, entry, is_named: true, kept: None });
    }

    /// Returns the program at an address.
    #[inline]
    pub(crate) fn get(&self, id: &Pubkey) -> Option<&ProgramEntry> {
        let is_it = |named: &&Named| is_same(&named.id, id) && named.is_named;
        self.programs.iter().find(is_it).map(|named| &named.entry)
    }

    /// Removes the programs of the last transaction, except for those that are kept.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.programs.retain_mut(|named| {
            named.is_named = false;
            named.kept.is_some()
        });
    }

    /// Adds the program of an account that a loader owns, from the cache.
    #[inline]
    pub(crate) fn find(
        &mut self,
        id: &Pubkey,
        account: &AccountSharedData,
        accounts: &impl AccountStore,
        cache: &ProgramCache,
        slot: u64,
        features: FeatureSet,
    ) {
        if self.keeps
            && let Some(index) = self.programs.iter().position(|named| is_same(&named.id, id))
        {
            if let Some(Named { is_named, kept: Some((holder, uses)), .. }) =
                self.programs.get_mut(index)
                && holder.is_still_of(account, accounts)
            {
                *is_named = true;
                *uses = uses.saturating_add(1);
                return;
            }
            self.programs.swap_remove(index).count_uses(slot);
        }
        let Some(entry) = cache.get(id, account, accounts, slot, features) else {
            return;
        };
        let may_keep = self.keeps && self.programs.len() < KEPT_MAX;
        let is_kept = may_keep && matches!(entry, ProgramEntry::Loaded(_));
        let holder = if is_kept { Holder::find(account, accounts) } else { None };
        let kept = holder.map(|holder| (holder.into_owned(), 0));
        self.programs.push(Named { id: *id, entry, is_named: true, kept });
    }

    /// Adds the look-ups of kept programs to their usage.
    pub(crate) fn count_uses(self, slot: u64) {
        self.programs.into_iter().for_each(|named| named.count_uses(slot));
    }
}

impl Named {
    fn count_uses(self, slot: u64) {
        if let (ProgramEntry::Loaded(program), Some((_, uses @ 1..))) = (self.entry, self.kept) {
            program.usage.note(slot, uses);
        }
    }
}

#[cfg(test)]
mod tests {
    use selkie_elf::write::{Image, write};
    use selkie_isa::Version;
    use solana_account::Account;

    use super::*;
    use crate::chain::account::Loader;

    #[test]
    fn a_kept_program_is_found_only_by_transactions_that_name_it() {
        // mov64 r0, 0; exit
        let text = [0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];
        let data = write(&Image::of_text(Version::V3, &text));
        let owner = Loader::V2.address();
        let account = Account { lamports: 1, data, owner, ..Account::default() }.into();
        let (id, cache) = (Pubkey::new_from_array([7; 32]), ProgramCache::new());
        let (accounts, features) = (BTreeMap::new(), FeatureSet::mainnet());
        let mut programs = TransactionPrograms::for_batch();
        for _ in 0..3 {
            assert!(programs.get(&id).is_none());
            programs.find(&id, &account, &accounts, &cache, 0, features);
            assert!(matches!(programs.get(&id), Some(ProgramEntry::Loaded(_))));
            programs.clear();
        }
        assert_eq!(cache.statistics().hits, 0);
        programs.count_uses(1);
        let statistics = cache.statistics();
        assert_eq!((statistics.hits, statistics.misses), (2, 1));
    }
}
