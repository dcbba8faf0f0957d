//! New roots and new epochs.

use std::sync::{Arc, PoisonError, atomic::Ordering};

use solana_pubkey::Pubkey;

use super::{
    BlockRelation, ProgramCache,
    entry::{Body, Version, Versions},
};
use crate::chain::features::FeatureSet;

impl ProgramCache {
    /// Lets go what no fork needs once a slot is the root: versions of forks that are gone, those
    /// that the root's fork has replaced, and those of environments that were there before the
    /// root's. Nothing that is wanted is lost by this, only found again.
    pub fn prune(&self, root: u64, features: FeatureSet) {
        self.root.fetch_max(root, Ordering::Relaxed);
        let target = self.targets.of(features);
        for shard in &self.shards {
            let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
            let mut gone = Vec::new();
            shard.retain(|_, versions| {
                gone.extend(self.prune_versions(versions, root, target.number));
                !versions.is_empty()
            });
            drop(shard);
            let count = u64::try_from(gone.len()).unwrap_or(u64::MAX);
            self.counters.pruned.fetch_add(count, Ordering::Relaxed);
            self.forget(&gone);
        }
    }

    fn prune_versions(&self, versions: &mut Versions, root: u64, target: usize) -> Versions {
        use BlockRelation::{Ancestor, Equal, Unknown};
        // A slot before the root that nobody knows any more was rooted once.
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
        let (kept, gone): (Versions, Versions) = versions.drain(..).partition(is_needed);
        *versions = kept;
        gone
    }

    /// Loads programs against the environment that features will make, before they are switched
    /// on: at the boundary of the epoch nobody has to wait. At most so many are loaded now; gives
    /// how many are left.
    ///
    /// Programs that are loaded now are prepared, the most used ones first.
    pub fn prepare(&self, features: FeatureSet, at_most: usize) -> usize {
        let target = self.targets.of(features);
        let mut wanted = self.unprepared(target.number);
        let left = wanted.len().saturating_sub(at_most);
        wanted.sort_by_key(|(id, version)| (core::cmp::Reverse(version.body.usage().uses()), *id));
        for (id, version) in wanted.into_iter().take(at_most) {
            let slot = version.body.usage().last_access();
            self.load(&id, version.source, slot, features);
        }
        left
    }

    /// Versions that are loaded.
    pub(super) fn loaded_versions(&self) -> Vec<Version> {
        let mut loaded = Vec::new();
        for shard in self.each_shard() {
            #[allow(clippy::iter_over_hash_type, reason = "nobody can tell the order")]
            for versions in shard.values() {
                loaded.extend(versions.iter().filter(|it| it.body.is_loaded()).cloned());
            }
        }
        loaded
    }

    /// Programs that are loaded, and not for a target.
    fn unprepared(&self, target: usize) -> Vec<(Pubkey, Version)> {
        let mut wanted = Vec::new();
        for shard in self.each_shard() {
            #[allow(clippy::iter_over_hash_type, reason = "the list is sorted by who asked")]
            for (id, versions) in shard.iter() {
                let is_for_it = |body: &Arc<Body>| body.target.number == target;
                let loaded = versions.iter().filter(|version| version.body.is_loaded());
                let missing = loaded.filter(|version| {
                    let same = versions.iter().filter(|other| {
                        other.source.deployed == version.source.deployed
                            && other.source.loader == version.source.loader
                    });
                    !same.map(|other| &other.body).any(is_for_it)
                });
                wanted.extend(missing.map(|version| (*id, version.clone())));
            }
        }
        wanted
    }
}
