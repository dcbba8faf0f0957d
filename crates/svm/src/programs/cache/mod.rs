//! The program cache: loaded and verified programs, shared by all transactions.
//!
//! A program has *versions*: one for each deployment that some fork may still run and each environment
//! that it was loaded against. A look-up passes the program's account as the fork has it, and finds the
//! version
//!
//! - of the slot in which the account was deployed, if that slot is on the fork ([`ForkGraph`]),
//! - of the environment of the current features,
//! - and of the same file.
//!
//! The last rule makes the cache safe: whatever happens to slots and forks, and even if accounts are
//! set directly, an entry is only used for the file that it was loaded from. Files are compared by the
//! host address of their bytes, which is cheap, and by content only if the address differs.
//!
//! A missing program is loaded once: the first thread loads it, others wait. At most
//! [`CacheOptions::entries_max`] programs stay loaded, which use at most [`CacheOptions::bytes_max`]
//! including their machine code. The programs with the lowest scores are evicted; they are loaded again
//! without being verified again.
//!
//! | module | what it owns |
//! |---|---|
//! | `source` | the accounts that hold program files, and slots of deployments |
//! | `target` | the environments that programs are loaded against |
//! | `counted` | the counters of programs whose branches are counted |
//! | `entry` | the versions of each program, and their state |
//! | `residents` | the loaded programs, and their eviction |
//! | `lifecycle` | new roots and new epochs |
//! | `store` | the second level, which persists |
//! | `fork_graph` | the ancestry of slots |

mod counted;
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

use self::counted::Counted;
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
        PROGRAM_DATA_HEADER_BYTES, ProgramFile, VISIBILITY_DELAY, program_data_address,
        program_data_slot,
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

/// The number of shards, each with a lock: threads that look up different programs seldom share one.
const SHARDS: usize = 64;

/// The number of tracked programs for each program that may be loaded.
const TRACKED_FOR_LOADED: usize = 16;

/// The limits of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheOptions {
    /// The maximum number of loaded programs (agave: `MAX_LOADED_ENTRY_COUNT`, 512 at first and 1024
    /// today).
    pub entries_max: usize,
    /// The memory in bytes, decoded instructions and machine code, above which programs are evicted. A
    /// single program may use more. Evicted programs that are running stay in memory until they end.
    pub bytes_max: usize,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self { entries_max: 1024, bytes_max: 1 << 30 }
    }
}

/// The counters of a cache since its creation.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CacheStatistics {
    /// Look-ups that found their program loaded.
    pub hits: u64,
    /// Look-ups that had to load their program.
    pub misses: u64,
    /// Look-ups that waited while another one loaded the program.
    pub waits: u64,
    /// The misses of programs that had been evicted.
    pub reloads: u64,
    /// The misses of programs that were found in the [`ProgramStore`].
    pub restored: u64,
    /// The misses of programs whose file was rejected.
    pub refused: u64,
    /// Programs that were evicted.
    pub evictions: u64,
    /// Versions that were removed since no fork needs them.
    pub pruned: u64,
    /// Programs that are currently loaded.
    pub loaded: usize,
    /// The memory that these use, in bytes: decoded instructions and machine code.
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
    /// Look-ups of versions that were removed.
    removed_uses: AtomicU64,
}

type Shard = KeyMap<Versions>;

/// A cache of loaded programs by address.
#[derive(Debug)]
pub struct ProgramCache {
    shards: [RwLock<Shard>; SHARDS],
    targets: Targets,
    options: CacheOptions,
    forks: OnceLock<Weak<dyn ForkGraph>>,
    /// The root: deployments in slots up to it are on every fork.
    root: AtomicU64,
    residents: Residents,
    /// The second level, which persists.
    store: Option<Arc<dyn ProgramStore>>,
    counters: Counters,
    /// The programs whose branches are counted, if they are.
    counted: Option<Counted>,
}

impl Default for ProgramCache {
    fn default() -> Self {
        Self::new()
    }
}

impl ProgramCache {
    /// Creates an empty cache with the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::with_options(CacheOptions::default())
    }

    /// Creates an empty cache with other limits.
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
            counted: None,
        }
    }

    /// Creates an empty cache whose programs can call these syscalls, too.
    #[must_use]
    pub fn with_syscalls(syscalls: CustomSyscalls) -> Self {
        Self { targets: Targets::with_syscalls(syscalls), ..Self::new() }
    }

    /// Returns the custom syscalls of the cache's programs.
    #[must_use]
    pub fn syscalls(&self) -> &CustomSyscalls {
        &self.targets.syscalls
    }

    /// Sets the fork graph for look-ups. Without one there is a single chain ([`OneFork`]).
    ///
    /// # Errors
    /// Returns the graph if one was set before.
    pub fn set_fork_graph(&self, forks: Weak<dyn ForkGraph>) -> Result<(), Weak<dyn ForkGraph>> {
        self.forks.set(forks)
    }

    /// Looks up the program of an account that a loader owns, and loads it if it is not loaded. `None` if
    /// no program was deployed, or it was closed.
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
        if let Some(entry) = self.find(id, &holder, slot, features) {
            return Some(entry);
        }
        let source = holder.read()?;
        if source.is_delayed(slot) {
            return Some(ProgramEntry::DelayVisibility);
        }
        let program = self.load(id, source.into_owned(), slot, features);
        Some(program.map_or(ProgramEntry::FailedVerification, ProgramEntry::Loaded))
    }

    /// Returns the state of a program in the cache. Loads nothing, and does not count as a look-up.
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
            let mut matching = versions.iter().filter(|version| {
                Arc::ptr_eq(&version.body.target, &target) && is_of(version, &source)
            });
            matching.next().map(|version| version.describe(*id).kind)
        });
        known.unwrap_or(EntryKind::Unloaded)
    }

    /// Loads a program as the cache would, without caching it.
    ///
    /// # Errors
    /// If the loader or the verifier rejects the file.
    pub fn try_load(
        &self,
        elf: &[u8],
        loader: Loader,
        features: FeatureSet,
    ) -> Result<Program, LoadError> {
        load_file(elf, loader, &self.targets.of(features))
    }

    /// Returns the number of tracked programs, loaded or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.each_shard().map(|shard| shard.len()).sum()
    }

    /// Returns whether no program is tracked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns every tracked version, sorted by address and slot of the deployment.
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

    /// Returns the cache's counters.
    #[must_use]
    pub fn statistics(&self) -> CacheStatistics {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.counters;
        let (misses, waits) = (of(&counters.misses), of(&counters.waits));
        let programs = self.programs();
        let uses: u64 = programs.iter().map(|program| program.uses).sum();
        let uses = uses.saturating_add(of(&counters.removed_uses));
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

    /// Returns whether a deployment in a slot is on the fork of a look-up's slot.
    fn is_on_fork(&self, deployed: u64, slot: u64) -> bool {
        use BlockRelation::{Ancestor, Equal, Unknown};
        deployed <= self.root.load(Ordering::Relaxed)
            || matches!(self.relation(deployed, slot), Ancestor | Equal | Unknown)
    }

    /// The fast path of nearly all look-ups: finds a loaded program whose file has the same host address.
    /// Reads only the version in its shard and the program, since with many programs each access is a
    /// cache miss.
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

    /// The slow path: finds the version by the content of its file, adds it if there is none, and loads
    /// it if necessary.
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
            let frozen = body.frozen.as_deref();
            let verified = frozen.and_then(|frozen| thaw(frozen, file, loader, &body.target));
            let verified = verified.or_else(|| self.restore(file, loader, &body.target));
            let loaded = verified.or_else(|| load_file(file, loader, &body.target).ok());
            loaded.map(|program| {
                let program = self.counted(id, program);
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

    /// Returns the body of the version of a file, which is added if there is none.
    fn enter(&self, id: &Pubkey, source: Source<'static>, features: FeatureSet) -> Arc<Body> {
        let target = self.targets.of(features);
        let mut shard = self.write(id);
        if shard.len() >= self.tracked_max() && !shard.contains_key(id) {
            self.remove_idle(&mut shard);
        }
        let versions = match shard.entry(*id) {
            Entry::Occupied(versions) => versions.into_mut(),
            Entry::Vacant(entry) => entry.insert(Versions::new()),
        };
        let is_match = |version: &&mut Version| {
            Arc::ptr_eq(&version.body.target, &target) && is_of(version, &source)
        };
        if let Some(version) = versions.iter_mut().find(is_match) {
            // The bytes have another host address, or other features have the same target.
            version.source = source;
            version.features = features;
            return Arc::clone(&version.body);
        }
        let body = Arc::new(Body::new(target));
        let new = Version::new(features, source, Arc::clone(&body));
        // A deployment has one file; another file means that the account was set directly.
        let (removed, kept): (Versions, Versions) =
            versions.drain(..).partition(|version| version.is_in_place_of(&new));
        *versions = kept;
        versions.push(new);
        drop(shard);
        self.note_removed(&removed);
        body
    }

    /// Returns the maximum number of programs that a shard tracks. It is bounded, since anyone can create
    /// accounts that belong to a loader.
    fn tracked_max(&self) -> usize {
        (self.options.entries_max.saturating_mul(TRACKED_FOR_LOADED) / SHARDS).max(64)
    }

    /// Removes a program that has no loaded version from a shard.
    fn remove_idle(&self, shard: &mut Shard) {
        let is_idle = |versions: &[Version]| !versions.iter().any(|it| it.body.is_loaded());
        let idle = shard.iter().find(|(_, versions)| is_idle(versions)).map(|(id, _)| *id);
        if let Some(removed) = idle.and_then(|id| shard.remove(&id)) {
            self.note_removed(&removed);
        }
    }

    /// Notes that versions were removed from their shard.
    fn note_removed(&self, removed: &[Version]) {
        for version in removed {
            let uses = version.body.usage().uses();
            self.counters.removed_uses.fetch_add(uses, Ordering::Relaxed);
        }
        self.residents.remove(removed);
    }
}

fn load_file(file: &[u8], loader: Loader, target: &Target) -> Result<Program, LoadError> {
    let bindings = Arc::clone(&target.bindings);
    let program = Program::load_bound(file, loader, &target.environment, bindings)?;
    Ok(program.with_account_regions(target.has_account_regions))
}

/// Restores a frozen program.
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
