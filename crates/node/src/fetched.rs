//! Which addresses were asked for at another cluster.

use std::collections::{BTreeMap, BTreeSet};

use solana_pubkey::Pubkey;

/// The addresses that were asked for at another cluster, whether they exist there or not.
#[derive(Default, Debug)]
pub(crate) struct Fetched {
    keys: BTreeSet<Pubkey>,
    /// Those whose accounts are in the block that is being made: only the ledger gets them.
    staged: BTreeSet<Pubkey>,
    /// Those that are asked for whenever they are used, and whether the accounts that they own are, too.
    streamed: BTreeMap<Pubkey, bool>,
    /// Whether they have changed since the ledger got them.
    has_changed: bool,
}

impl Fetched {
    /// Creates the set that a ledger has.
    pub(crate) fn stored(keys: Vec<Pubkey>) -> Self {
        Self { keys: keys.into_iter().collect(), ..Self::default() }
    }

    pub(crate) fn contains(&self, key: &Pubkey) -> bool {
        self.keys.contains(key)
    }

    /// Returns the addresses, sorted.
    pub(crate) fn keys(&self) -> Vec<Pubkey> {
        self.keys.iter().copied().collect()
    }

    pub(crate) fn add(&mut self, keys: &[Pubkey]) {
        self.keys.extend(keys);
        self.has_changed = true;
    }

    /// Asks for an account whenever it is used, and for those that it owns if `with_owned`.
    pub(crate) fn stream(&mut self, key: Pubkey, with_owned: bool) {
        self.streamed.insert(key, with_owned);
    }

    /// Returns the accounts that are asked for whenever they are used, sorted.
    pub(crate) fn streamed(&self) -> Vec<(Pubkey, bool)> {
        self.streamed.iter().map(|(key, with_owned)| (*key, *with_owned)).collect()
    }

    /// Returns whether an account with an owner is asked for whenever it is used.
    pub(crate) fn is_streamed(&self, key: &Pubkey, owner: Option<&Pubkey>) -> bool {
        let is_owner = |owner| self.streamed.get(owner).is_some_and(|with_owned| *with_owned);
        self.streamed.contains_key(key) || owner.is_some_and(is_owner)
    }

    /// Adds addresses for the ledger only, until [`Fetched::unstage`].
    pub(crate) fn stage(&mut self, keys: &[Pubkey]) {
        self.staged.extend(keys);
        self.has_changed = true;
    }

    /// Adds the staged addresses, or drops them if their block was not made.
    pub(crate) fn unstage(&mut self, is_made: bool) {
        let staged = core::mem::take(&mut self.staged);
        if is_made {
            self.keys.extend(staged);
        }
    }

    /// Drops addresses, so that they are asked for again.
    pub(crate) fn forget(&mut self, is_forgotten: impl Fn(&Pubkey) -> bool) {
        self.keys.retain(|key| !is_forgotten(key));
        self.has_changed = true;
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        *self = Self { has_changed: true, ..Self::default() };
    }

    /// Returns the addresses for the ledger if they have changed since the last call.
    pub(crate) fn take_changed(&mut self) -> Option<Vec<Pubkey>> {
        core::mem::take(&mut self.has_changed)
            .then(|| self.keys.union(&self.staged).copied().collect())
    }
}
