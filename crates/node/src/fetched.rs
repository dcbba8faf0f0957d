//! Which addresses were asked for at another cluster.

use std::collections::BTreeSet;

use solana_pubkey::Pubkey;

/// The addresses that were asked for at another cluster, whether they exist there or not.
#[derive(Default, Debug)]
pub(crate) struct Fetched {
    keys: BTreeSet<Pubkey>,
    /// Those whose accounts are in the block that is being made: only the ledger gets them.
    staged: BTreeSet<Pubkey>,
    /// Whether they have changed since the ledger got them.
    has_changed: bool,
}

impl Fetched {
    /// Creates the set that a ledger has.
    pub(crate) fn stored(keys: Vec<Pubkey>) -> Self {
        Self { keys: keys.into_iter().collect(), staged: BTreeSet::new(), has_changed: false }
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

    /// Returns the addresses for the ledger if they have changed since the last call.
    pub(crate) fn take_changed(&mut self) -> Option<Vec<Pubkey>> {
        core::mem::take(&mut self.has_changed)
            .then(|| self.keys.union(&self.staged).copied().collect())
    }
}
