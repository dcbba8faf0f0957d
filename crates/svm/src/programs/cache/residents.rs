//! Which programs are loaded, and which one has to go.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use solana_pubkey::Pubkey;

use super::{
    CacheOptions, ProgramCache, count,
    entry::{Body, Version},
};

use crate::programs::usage::Total;

/// Of how many the one that is worth least has to go. To compare all would find a slightly better
/// one, and cost more the more there are.
const CANDIDATES: usize = 16;

/// The programs that are loaded.
#[derive(Default, Debug)]
pub(super) struct Residents {
    list: Mutex<List>,
    /// Bytes that they take.
    pub(super) total: Total,
}

#[derive(Default, Debug)]
struct List {
    residents: Vec<Resident>,
    /// Where the next candidates are.
    hand: usize,
}

#[derive(Debug)]
struct Resident {
    id: Pubkey,
    body: Arc<Body>,
    /// What it costs to load it.
    slots: u64,
}

impl Resident {
    /// Bytes that it takes.
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

    pub(super) fn remove(&self, gone: &[Version]) {
        if gone.is_empty() {
            return;
        }
        let is_gone = |it: &Resident| gone.iter().any(|gone| Arc::ptr_eq(&gone.body, &it.body));
        self.list().residents.retain(|resident| !is_gone(resident));
    }

    /// Takes one in, and gives those that have to go.
    fn add(&self, new: Resident, options: &CacheOptions) -> Vec<Resident> {
        let mut list = self.list();
        let mut gone = Vec::new();
        // Room is made first, so that the new one is no candidate.
        while list.residents.len() >= options.entries_max.max(1) {
            gone.extend(list.take_least());
        }
        if self.total.get() > options.bytes_max {
            gone.extend(self.shrink(&mut list, new.bytes(), 0, options.bytes_max));
        }
        list.residents.push(new);
        gone
    }

    /// Counts what all take, besides so many bytes of others, and gives those that have to go so that
    /// it is no more than `bytes_max`, if `least` may stay at any rate.
    fn shrink(
        &self,
        list: &mut List,
        others: usize,
        least: usize,
        bytes_max: usize,
    ) -> Vec<Resident> {
        let before = self.total.get();
        let mut bytes: usize =
            others.saturating_add(list.residents.iter().map(Resident::bytes).sum());
        let mut gone = Vec::new();
        while bytes > bytes_max && list.residents.len() > least {
            let Some(resident) = list.take_least() else { break };
            bytes = bytes.saturating_sub(resident.bytes());
            gone.push(resident);
        }
        self.total.correct(before, bytes);
        gone
    }
}

impl List {
    fn take_least(&mut self) -> Option<Resident> {
        let len = self.residents.len();
        let candidates = (0..CANDIDATES.min(len)).map(|step| {
            let place = self.hand.wrapping_add(step).checked_rem(len);
            place.unwrap_or_default()
        });
        let score = |place: &usize| {
            self.residents.get(*place).map_or(0, |it| it.body.usage().score(it.slots))
        };
        let least = candidates.min_by_key(score)?;
        self.hand = self.hand.wrapping_add(CANDIDATES).checked_rem(len).unwrap_or_default();
        Some(self.residents.swap_remove(least))
    }
}

impl ProgramCache {
    /// Notes that a program is loaded; another one may have to go.
    pub(super) fn settle_in(&self, id: &Pubkey, body: &Arc<Body>, slots: u64) {
        let new = Resident { id: *id, body: Arc::clone(body), slots };
        for gone in self.residents.add(new, &self.options) {
            self.unload(&gone);
        }
        let mut shard = self.write(id);
        let mut versions = shard.get_mut(id).into_iter().flatten();
        if let Some(version) = versions.find(|version| Arc::ptr_eq(&version.body, body)) {
            version.program = body.program.get().cloned().flatten();
        } else {
            // It was replaced while it was loaded, and nobody would find it any more.
            drop(shard);
            self.residents.remove_body(body);
        }
    }

    /// Drops programs until the others take no more than they may: machine code has grown.
    #[cold]
    pub(super) fn shrink(&self) {
        let bytes_max = self.options.bytes_max;
        let gone = self.residents.shrink(&mut self.residents.list(), 0, 1, bytes_max);
        for gone in gone {
            self.unload(&gone);
        }
    }

    fn unload(&self, gone: &Resident) {
        let is_it = |version: &&Version| Arc::ptr_eq(&version.body, &gone.body);
        let shard = self.read(&gone.id);
        let found = shard.get(&gone.id).into_iter().flatten().find(is_it).cloned();
        drop(shard);
        // Meanwhile others look programs up.
        let Some(found) = found else { return };
        let unloaded = Arc::new(found.body.unloaded(found.source.file()));
        let mut shard = self.write(&gone.id);
        let mut versions = shard.get_mut(&gone.id).into_iter().flatten();
        if let Some(version) = versions.find(|it| Arc::ptr_eq(&it.body, &gone.body)) {
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
