//! The loaded programs of the cache, and their eviction.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use solana_pubkey::Pubkey;

use super::{
    CacheOptions, ProgramCache, count,
    entry::{Body, Version},
};

use crate::programs::usage::Total;

/// The number of programs of which the one with the lowest score is evicted. Comparing all would find a
/// slightly better one, at a cost that grows with their number.
const CANDIDATES: usize = 16;

/// The programs that are loaded.
#[derive(Default, Debug)]
pub(super) struct Residents {
    list: Mutex<List>,
    /// The memory that they use.
    pub(super) total: Total,
}

#[derive(Default, Debug)]
struct List {
    residents: Vec<Resident>,
    /// The index of the next candidate.
    next: usize,
}

#[derive(Debug)]
struct Resident {
    id: Pubkey,
    body: Arc<Body>,
    /// The instruction slots of the program: the measure of what loading it costs.
    slots: u64,
}

impl Resident {
    /// Returns the memory that the program uses, in bytes.
    fn bytes(&self) -> usize {
        let program = self.body.program.get().and_then(Option::as_ref);
        program.map_or(0, |program| program.loaded_bytes())
    }
}

impl Residents {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn len(&self) -> usize {
        self.list().residents.len()
    }

    pub(super) fn remove(&self, removed: &[Version]) {
        if removed.is_empty() {
            return;
        }
        let is_removed =
            |it: &Resident| removed.iter().any(|gone| Arc::ptr_eq(&gone.body, &it.body));
        self.list().residents.retain(|resident| !is_removed(resident));
    }

    /// Adds a program, and returns those to evict for it.
    fn add(&self, new: Resident, options: &CacheOptions) -> Vec<Resident> {
        let mut list = self.list();
        let mut evicted = Vec::new();
        // Evicts before it adds, so that the new program is not a candidate.
        while list.residents.len() >= options.entries_max.max(1) {
            evicted.extend(list.take_least());
        }
        if self.total.get() > options.bytes_max {
            evicted.extend(self.shrink(&mut list, new.bytes(), 0, options.bytes_max));
        }
        list.residents.push(new);
        evicted
    }

    /// Recounts the memory of all programs plus `other_bytes`, and returns the programs to evict so that
    /// it is at most `bytes_max`, or `residents_min` programs remain.
    fn shrink(
        &self,
        list: &mut List,
        other_bytes: usize,
        residents_min: usize,
        bytes_max: usize,
    ) -> Vec<Resident> {
        let before = self.total.get();
        let mut bytes: usize =
            other_bytes.saturating_add(list.residents.iter().map(Resident::bytes).sum());
        let mut evicted = Vec::new();
        while bytes > bytes_max && list.residents.len() > residents_min {
            let Some(resident) = list.take_least() else { break };
            bytes = bytes.saturating_sub(resident.bytes());
            evicted.push(resident);
        }
        self.total.correct(before, bytes);
        evicted
    }
}

impl List {
    /// Removes the candidate with the lowest score.
    fn take_least(&mut self) -> Option<Resident> {
        let len = self.residents.len();
        let candidates = (0..CANDIDATES.min(len)).map(|step| {
            let index = self.next.wrapping_add(step).checked_rem(len);
            index.unwrap_or_default()
        });
        let score = |index: &usize| {
            self.residents.get(*index).map_or(0, |it| it.body.usage().score(it.slots))
        };
        let least = candidates.min_by_key(score)?;
        self.next = self.next.wrapping_add(CANDIDATES).checked_rem(len).unwrap_or_default();
        Some(self.residents.swap_remove(least))
    }
}

impl ProgramCache {
    /// Adds a program that was loaded, and evicts others if necessary.
    pub(super) fn add_resident(&self, id: &Pubkey, body: &Arc<Body>, slots: u64) {
        let new = Resident { id: *id, body: Arc::clone(body), slots };
        for evicted in self.residents.add(new, &self.options) {
            self.unload(&evicted);
        }
        let mut shard = self.write(id);
        let mut versions = shard.get_mut(id).into_iter().flatten();
        if let Some(version) = versions.find(|version| Arc::ptr_eq(&version.body, body)) {
            version.program = body.program.get().cloned().flatten();
        } else {
            // The version was replaced while the program was being loaded: no look-up can find it.
            drop(shard);
            self.residents.remove_body(body);
        }
    }

    /// Evicts programs until the others fit into the limit, after their machine code has grown.
    #[cold]
    pub(super) fn shrink(&self) {
        let bytes_max = self.options.bytes_max;
        let evicted = self.residents.shrink(&mut self.residents.list(), 0, 1, bytes_max);
        for evicted in evicted {
            self.unload(&evicted);
        }
    }

    fn unload(&self, evicted: &Resident) {
        let is_it = |version: &&Version| Arc::ptr_eq(&version.body, &evicted.body);
        let shard = self.read(&evicted.id);
        let version = shard.get(&evicted.id).into_iter().flatten().find(is_it).cloned();
        drop(shard);
        // Freezing the program takes time, in which the shard stays unlocked for look-ups.
        let Some(version) = version else { return };
        let unloaded = Arc::new(version.body.unloaded(version.source.file()));
        let mut shard = self.write(&evicted.id);
        let mut versions = shard.get_mut(&evicted.id).into_iter().flatten();
        if let Some(version) = versions.find(|it| Arc::ptr_eq(&it.body, &evicted.body)) {
            (version.body, version.program) = (unloaded, None);
            count(&self.counters.evictions);
        }
    }
}

impl Residents {
    fn remove_body(&self, body: &Arc<Body>) {
        self.list().residents.retain(|resident| !Arc::ptr_eq(&resident.body, body));
    }
}
