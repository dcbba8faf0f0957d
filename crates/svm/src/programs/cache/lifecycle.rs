//! The cache's reaction to new roots and new epochs.

use std::sync::{Arc, PoisonError, atomic::Ordering};

use solana_pubkey::Pubkey;

use super::{
    BlockRelation, ProgramCache,
    entry::{Body, Version, Versions},
};
use crate::chain::features::FeatureSet;

impl ProgramCache {
    /// Removes the versions that no fork needs once a slot is the root: those of pruned forks, those that
    /// were replaced on the root's fork, and those for environments before the root's. A version that is
    /// needed after all is loaded again.
    pub fn prune(&self, root: u64, features: FeatureSet) {
        self.root.fetch_max(root, Ordering::Relaxed);
        let target = self.targets.of(features);
        for shard in &self.shards {
            let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
            let mut removed = Vec::new();
            shard.retain(|_, versions| {
                removed.extend(self.prune_versions(versions, root, target.number));
                !versions.is_empty()
            });
            drop(shard);
            let count = u64::try_from(removed.len()).unwrap_or(u64::MAX);
            self.counters.pruned.fetch_add(count, Ordering::Relaxed);
            self.note_removed(&removed);
        }
    }

    fn prune_versions(&self, versions: &mut Versions, root: u64, target: usize) -> Versions {
        use BlockRelation::{Ancestor, Equal, Unknown};
        // A slot before the root that the fork graph no longer knows was rooted.
        let is_rooted = |slot: u64| {
            slot <= root && matches!(self.relation(slot, root), Ancestor | Equal | Unknown)
        };
        let is_ahead =
            |slot: u64| slot > root && matches!(self.relation(root, slot), Ancestor | Unknown);
        let rooted = versions.iter().map(|version| version.source.deployed);
        let newest_rooted = rooted.filter(|slot| is_rooted(*slot)).max();
        let is_needed = |version: &Version| {
            let deployed = version.source.deployed;
            version.body.target.number >= target
                && (Some(deployed) == newest_rooted || is_ahead(deployed))
        };
        let (kept, removed): (Versions, Versions) = versions.drain(..).partition(is_needed);
        *versions = kept;
        removed
    }

    /// Loads currently loaded programs for the features of the next epoch, so that transactions need not
    /// wait for that at the epoch boundary. Loads at most `at_most` programs, the most used ones first,
    /// and returns how many remain.
    pub fn prepare(&self, features: FeatureSet, at_most: usize) -> usize {
        let target = self.targets.of(features);
        let mut missing = self.missing_for(target.number);
        let remaining = missing.len().saturating_sub(at_most);
        missing.sort_by_key(|(id, version)| (core::cmp::Reverse(version.body.usage().uses()), *id));
        for (id, version) in missing.into_iter().take(at_most) {
            let slot = version.body.usage().last_access();
            self.load(&id, version.source, slot, features);
        }
        remaining
    }

    /// Returns the versions that are loaded, in any order.
    pub(super) fn loaded_versions(&self) -> Vec<Version> {
        let mut loaded = Vec::new();
        for shard in self.each_shard() {
            #[allow(clippy::iter_over_hash_type, reason = "the order does not matter")]
            for versions in shard.values() {
                loaded.extend(versions.iter().filter(|it| it.body.is_loaded()).cloned());
            }
        }
        loaded
    }

    /// Returns the loaded versions that have no counterpart for a target.
    fn missing_for(&self, target: usize) -> Vec<(Pubkey, Version)> {
        let mut all_missing = Vec::new();
        for shard in self.each_shard() {
            #[allow(clippy::iter_over_hash_type, reason = "the caller sorts the list")]
            for (id, versions) in shard.iter() {
                let is_for_target = |body: &Arc<Body>| body.target.number == target;
                let loaded = versions.iter().filter(|version| version.body.is_loaded());
                let missing = loaded.filter(|version| {
                    let same = versions.iter().filter(|other| {
                        other.source.deployed == version.source.deployed
                            && other.source.loader == version.source.loader
                    });
                    !same.map(|other| &other.body).any(is_for_target)
                });
                all_missing.extend(missing.map(|version| (*id, version.clone())));
            }
        }
        all_missing
    }
}
