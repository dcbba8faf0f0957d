//! The program cache: programs that were made ready to run, so that transactions find them in
//! moments.
//!
//! A program has *versions*: one for each deployment that some fork may still run, and for each
//! environment that it was loaded against. A look-up names the program by its account, as the fork
//! in question has it, and finds the version
//!
//! - of the slot that the account says it was deployed in, if that slot is on the fork
//!   ([`ForkGraph`]),
//! - of the environment that the features make,
//! - and of the very same file.
//!
//! The last rule is what makes the cache safe: whatever becomes of slots and forks, and whoever
//! sets accounts by hand, an entry is used for no file but that which it was made of. A file is
//! known by where its bytes are, which costs nothing to compare, and compared by content only if
//! they have moved.
//!
//! What is looked up and not there is loaded once, however many threads ask: the first one loads
//! it, others wait. At most [`CacheOptions::entries_max`] programs stay loaded, which take no more than
//! [`CacheOptions::bytes_max`] with their machine code; those that are worth the least are dropped, and
//! loaded again without being verified again.
//!
//! | module | what it owns |
//! |---|---|
//! | `source` | where a program's file is, and since when |
//! | `target` | what programs are loaded against |
//! | `entry` | versions, and what they are to whoever looks |
//! | `residents` | which programs are loaded, and which one has to go |
//! | `lifecycle` | new roots and new epochs |
//! | `store` | the second level, which outlives the process |
//! | `fork_graph` | how slots descend from each other |

mod entry;
mod fork_graph;
mod lifecycle;
mod residents;
mod source;
mod store;
mod target;

use std::{
    collections::hash_map::Entry,
    sync::{
        Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use selkie_vm::Verified;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;
use solana_sdk_ids::native_loader;

pub(crate) use self::source::Holder;
use self::{
    entry::{Body, Version, Versions},
    residents::Residents,
    source::Source,
    target::{Target, Targets},
};
pub use self::{
    entry::{CachedProgram, EntryKind},
    fork_graph::{BlockRelation, ForkGraph, OneFork},
    source::{
        LOADER_V4_HEADER_BYTES, PROGRAM_DATA_HEADER_BYTES, ProgramFile, VISIBILITY_DELAY,
        program_data_address, program_data_slot,
    },
    store::{ProgramStore, Stored, Wanted},
};
use crate::{
    chain::{
        account::{AccountStore, Loader},
        features::FeatureSet,
        key_map::KeyMap,
    },
    programs::{
        bindings::CustomSyscalls,
        file::LoadError,
        program::{Program, ProgramEntry},
        usage::Share,
    },
};

/// Threads that look for different programs seldom meet.
const SHARDS: usize = 64;

/// How many versions are known for each one that may be loaded.
const TRACKED_FOR_LOADED: usize = 16;

/// How much a cache holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheOptions {
    /// How many programs stay loaded (agave: `MAX_LOADED_ENTRY_COUNT`, 512 at first and 1024
    /// today).
    pub entries_max: usize,
    /// How many bytes they take, decoded and as machine code, until some are dropped. One program may
    /// take more. Programs that run meanwhile stay until they end.
    pub bytes_max: usize,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self { entries_max: 1024, bytes_max: 1 << 30 }
    }
}

/// What a cache has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CacheStatistics {
    /// Look-ups that found their program loaded.
    pub hits: u64,
    /// Look-ups that had to load it.
    pub misses: u64,
    /// Look-ups that waited for another one to load it.
    pub waits: u64,
    /// Of the misses, those whose program had been loaded before and was dropped to make room.
    pub reloads: u64,
    /// Of the misses, those whose program an earlier process had made ready.
    pub restored: u64,
    /// Of the misses, those whose file was refused.
    pub refused: u64,
    /// Programs that were dropped to make room.
    pub evictions: u64,
    /// Versions that no fork needs any more.
    pub pruned: u64,
    /// Programs that are loaded now.
    pub loaded: usize,
    /// Bytes that these take, decoded and as machine code.
    pub loaded_bytes: usize,
}

#[derive(Default, Debug)]
struct Counters {
    misses: AtomicU64,
    waits: AtomicU64,
    reloads: AtomicU64,
    restored: AtomicU64,
    refused: AtomicU64,
    evictions: AtomicU64,
    pruned: AtomicU64,
    /// Uses of versions that are gone.
    forgotten_uses: AtomicU64,
}

type Shard = KeyMap<Versions>;

/// Programs that were made ready to run, by address.
#[derive(Debug)]
pub struct ProgramCache {
    shards: [RwLock<Shard>; SHARDS],
    targets: Targets,
    options: CacheOptions,
    forks: OnceLock<Weak<dyn ForkGraph>>,
    /// Everything up to here is on every fork.
    root: AtomicU64,
    residents: Residents,
    /// What outlives the process.
    store: Option<Arc<dyn ProgramStore>>,
    counters: Counters,
}

impl Default for ProgramCache {
    fn default() -> Self {
        Self::new()
    }
}

impl ProgramCache {
    /// Nothing is cached.
    #[must_use]
    pub fn new() -> Self {
        Self::with_options(CacheOptions::default())
    }

    /// Nothing is cached, and more or less than usual will be.
    #[must_use]
    pub fn with_options(options: CacheOptions) -> Self {
        Self {
            shards: core::array::from_fn(|_| RwLock::default()),
            targets: Targets::default(),
            options,
            forks: OnceLock::new(),
            root: AtomicU64::new(0),
            residents: Residents::default(),
            store: None,
            counters: Counters::default(),
        }
    }

    /// Nothing is cached; what will be can call these, too.
    #[must_use]
    pub fn with_syscalls(syscalls: CustomSyscalls) -> Self {
        Self { targets: Targets::with_syscalls(syscalls), ..Self::new() }
    }

    /// The syscalls that programs have besides those of clusters.
    #[must_use]
    pub fn syscalls(&self) -> &CustomSyscalls {
        &self.targets.syscalls
    }

    /// Makes look-ups heed forks. Without this there is one chain only.
    ///
    /// # Errors
    /// If it was done before: a cache belongs to one set of forks.
    pub fn set_fork_graph(&self, forks: Weak<dyn ForkGraph>) -> Result<(), Weak<dyn ForkGraph>> {
        self.forks.set(forks)
    }

    /// The program of an account that a loader owns; `None` if no program was ever deployed there,
    /// or if it was closed.
    pub fn get(
        &self,
        id: &Pubkey,
        account: &AccountSharedData,
        accounts: &impl AccountStore,
        slot: u64,
        features: FeatureSet,
    ) -> Option<ProgramEntry> {
        if self.residents.total.get() > self.options.bytes_max {
            self.shrink();
        }
        let holder = Holder::find(account, accounts)?;
        if let Some(found) = self.find(id, &holder, slot, features) {
            return Some(found);
        }
        let source = holder.read()?;
        if source.is_delayed(slot) {
            return Some(ProgramEntry::DelayVisibility);
        }
        let program = self.load(id, source.into_owned(), slot, features);
        Some(program.map_or(ProgramEntry::FailedVerification, ProgramEntry::Loaded))
    }

    /// What the program at an account is to whoever looks it up now. Nothing is loaded, and it
    /// does not count as use.
    pub fn kind(
        &self,
        id: &Pubkey,
        account: &AccountSharedData,
        accounts: &impl AccountStore,
        slot: u64,
        features: FeatureSet,
    ) -> EntryKind {
        if *account.owner() == native_loader::ID {
            return EntryKind::Builtin;
        }
        let Some(source) = Source::find(account, accounts) else { return EntryKind::Closed };
        if source.is_delayed(slot) {
            return EntryKind::DelayVisibility;
        }
        let target = self.targets.of(features);
        let versions = self.shard(id).read().unwrap_or_else(PoisonError::into_inner);
        let known = versions.get(id).and_then(|versions| {
            let mut right = versions.iter().filter(|version| {
                Arc::ptr_eq(&version.body.target, &target) && is_of(version, &source)
            });
            right.next().map(|version| version.describe(*id).kind)
        });
        known.unwrap_or(EntryKind::Unloaded)
    }

    /// A program as it would be cached; nothing is cached.
    ///
    /// # Errors
    /// If the file is refused.
    pub fn try_load(
        &self,
        elf: &[u8],
        loader: Loader,
        features: FeatureSet,
    ) -> Result<Program, LoadError> {
        load_file(elf, loader, &self.targets.of(features))
    }

    /// How many programs are known, loaded or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.each_shard().map(|shard| shard.len()).sum()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every version that is known, by address and deployment.
    #[must_use]
    pub fn programs(&self) -> Vec<CachedProgram> {
        let mut programs = Vec::new();
        for shard in self.each_shard() {
            #[allow(clippy::iter_over_hash_type, reason = "the list is sorted below")]
            for (id, versions) in shard.iter() {
                programs.extend(versions.iter().map(|version| version.describe(*id)));
            }
        }
        programs.sort_by_key(|program| (program.id, program.deployed));
        programs
    }

    /// What the cache has done so far.
    #[must_use]
    pub fn statistics(&self) -> CacheStatistics {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.counters;
        let (misses, waits) = (of(&counters.misses), of(&counters.waits));
        let programs = self.programs();
        let uses: u64 = programs.iter().map(|program| program.uses).sum();
        let uses = uses.saturating_add(of(&counters.forgotten_uses));
        CacheStatistics {
            hits: uses.saturating_sub(misses).saturating_sub(waits),
            misses,
            waits,
            reloads: of(&counters.reloads),
            restored: of(&counters.restored),
            refused: of(&counters.refused),
            evictions: of(&counters.evictions),
            pruned: of(&counters.pruned),
            loaded: self.residents.len(),
            loaded_bytes: programs.iter().map(|program| program.loaded_bytes).sum(),
        }
    }

    fn shard(&self, id: &Pubkey) -> &RwLock<Shard> {
        let byte = id.as_ref().last().copied().unwrap_or_default();
        &self.shards[usize::from(byte) % SHARDS]
    }

    fn read(&self, id: &Pubkey) -> RwLockReadGuard<'_, Shard> {
        self.shard(id).read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, id: &Pubkey) -> RwLockWriteGuard<'_, Shard> {
        self.shard(id).write().unwrap_or_else(PoisonError::into_inner)
    }

    fn each_shard(&self) -> impl Iterator<Item = RwLockReadGuard<'_, Shard>> {
        self.shards.iter().map(|shard| shard.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn relation(&self, first: u64, second: u64) -> BlockRelation {
        match self.forks.get().and_then(Weak::upgrade) {
            Some(forks) => forks.relationship(first, second),
            None => OneFork.relationship(first, second),
        }
    }

    /// Whether what was deployed in a slot is there for a look-up in another one.
    fn is_on_fork(&self, deployed: u64, slot: u64) -> bool {
        use BlockRelation::{Ancestor, Equal, Unknown};
        deployed <= self.root.load(Ordering::Relaxed)
            || matches!(self.relation(deployed, slot), Ancestor | Equal | Unknown)
    }

    /// The way of nearly all look-ups: the program is loaded, and nothing has moved. It touches as
    /// little memory as may be, for with many programs all of it is far away: the version's place
    /// in its shard, and the program.
    fn find(
        &self,
        id: &Pubkey,
        holder: &Holder<'_>,
        slot: u64,
        features: FeatureSet,
    ) -> Option<ProgramEntry> {
        let shard = self.read(id);
        let mut versions = shard.get(id)?.iter();
        let version = versions
            .find(|version| version.features == features && version.source.is_of(holder))?;
        if version.source.is_delayed(slot) {
            return Some(ProgramEntry::DelayVisibility);
        }
        if !self.is_on_fork(version.source.deployed, slot) {
            return None;
        }
        let loaded = match &version.program {
            Some(program) => Some(program),
            None => version.body.program.get()?.as_ref(),
        };
        let Some(program) = loaded else {
            version.body.others.note(slot, 1);
            return Some(ProgramEntry::FailedVerification);
        };
        program.usage.note(slot, 1);
        Some(ProgramEntry::Loaded(Arc::clone(program)))
    }

    /// Everything else: the version is looked for with more care, made if there is none, and
    /// loaded if it is not.
    fn load(
        &self,
        id: &Pubkey,
        source: Source<'static>,
        slot: u64,
        features: FeatureSet,
    ) -> Option<Arc<Program>> {
        let body = self.enter(id, source.clone(), features);
        body.others.note(slot, 1);
        let mut is_first = false;
        let is_empty = body.program.get().is_none();
        let program = body.program.get_or_init(|| {
            is_first = true;
            let (file, loader) = (source.file(), source.loader);
            let known = body.frozen.as_deref();
            let ready = known.and_then(|frozen| thaw(frozen, file, loader, &body.target));
            let ready = ready.or_else(|| self.restore(file, loader, &body.target));
            let loaded = ready.or_else(|| load_file(file, loader, &body.target).ok());
            loaded.map(|program| {
                Arc::new(program.with_share(Share::of(self.residents.total.clone())))
            })
        });
        let program = program.clone();
        if is_first {
            count(&self.counters.misses);
            if body.frozen.is_some() {
                count(&self.counters.reloads);
            }
            match &program {
                Some(program) => self.add_resident(id, &body, program.slots()),
                None => count(&self.counters.refused),
            }
        } else if is_empty {
            count(&self.counters.waits);
        }
        program
    }

    /// The body of the version of a file, which is new if there was none.
    fn enter(&self, id: &Pubkey, source: Source<'static>, features: FeatureSet) -> Arc<Body> {
        let target = self.targets.of(features);
        let mut shard = self.write(id);
        let full = self.tracked_max();
        if shard.len() >= full && !shard.contains_key(id) {
            self.make_room(&mut shard);
        }
        let versions = match shard.entry(*id) {
            Entry::Occupied(versions) => versions.into_mut(),
            Entry::Vacant(place) => place.insert(Versions::new()),
        };
        let is_right = |version: &&mut Version| {
            Arc::ptr_eq(&version.body.target, &target) && is_of(version, &source)
        };
        if let Some(version) = versions.iter_mut().find(is_right) {
            // The bytes have moved, or the features are others that make no difference.
            version.source = source;
            version.features = features;
            return Arc::clone(&version.body);
        }
        let body = Arc::new(Body::new(target));
        let new = Version::new(features, source, Arc::clone(&body));
        // One deployment has one file; if it has another one, somebody has set the account.
        let (gone, kept): (Versions, Versions) =
            versions.drain(..).partition(|version| version.is_in_place_of(&new));
        *versions = kept;
        versions.push(new);
        drop(shard);
        self.note_removed(&gone);
        body
    }

    /// What is known of a shard's programs is bounded as well, since anybody can make accounts that
    /// belong to a loader.
    fn tracked_max(&self) -> usize {
        (self.options.entries_max.saturating_mul(TRACKED_FOR_LOADED) / SHARDS).max(64)
    }

    fn make_room(&self, shard: &mut Shard) {
        let is_idle = |versions: &[Version]| !versions.iter().any(|it| it.body.is_loaded());
        let idle = shard.iter().find(|(_, versions)| is_idle(versions)).map(|(id, _)| *id);
        if let Some(gone) = idle.and_then(|id| shard.remove(&id)) {
            self.note_removed(&gone);
        }
    }

    /// Notes that versions are gone from their shard.
    fn note_removed(&self, gone: &[Version]) {
        for version in gone {
            let uses = version.body.usage().uses();
            self.counters.forgotten_uses.fetch_add(uses, Ordering::Relaxed);
        }
        self.residents.remove(gone);
    }
}

fn load_file(file: &[u8], loader: Loader, target: &Target) -> Result<Program, LoadError> {
    let bindings = Arc::clone(&target.bindings);
    let program = Program::load_bound(file, loader, &target.environment, bindings)?;
    Ok(program.with_account_regions(target.has_account_regions))
}

/// A program that was loaded before.
fn thaw(frozen: &[u8], file: &[u8], loader: Loader, target: &Target) -> Option<Program> {
    let verified = Verified::thaw(frozen, file, &target.environment.syscalls).ok()?;
    let program = Program::ready(verified, loader, Arc::clone(&target.bindings));
    Some(program.with_account_regions(target.has_account_regions))
}

fn is_of(version: &Version, source: &Source<'_>) -> bool {
    version.source.deployed == source.deployed
        && version.source.loader == source.loader
        && version.source.is_same_file(&source.account)
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
