//! The program cache: results of look-ups, and evictions.

mod common;

use std::{
    collections::BTreeMap,
    sync::{Arc, Barrier, RwLock},
    thread,
};

use common::{exit, key, word};
use selkie_svm::{
    AccountSharedData, Feature, FeatureSet, Loader, Program, ProgramCache, ProgramEntry, Pubkey,
    account::Account,
    program_cache::{BlockRelation, CacheOptions, EntryKind, ForkGraph},
};

/// A file whose program returns a number. An odd one needs a feature to be loaded.
fn elf(number: i32) -> Vec<u8> {
    common::elf(&[word(0xb7, 0, 0, 0, number), exit()])
}

/// Accounts of programs of loader v3.
#[derive(Clone, Default)]
struct Chain(BTreeMap<Pubkey, AccountSharedData>);

fn data_key(id: Pubkey) -> Pubkey {
    let mut bytes = id.to_bytes();
    bytes[31] ^= 0xff;
    Pubkey::new_from_array(bytes)
}

fn owned(data: Vec<u8>, loader: Loader) -> AccountSharedData {
    Account { lamports: 1, data, owner: loader.address(), ..Account::default() }.into()
}

impl Chain {
    fn deploy(&mut self, id: Pubkey, slot: u64, file: &[u8]) {
        let program = [&2_u32.to_le_bytes()[..], data_key(id).as_ref()].concat();
        let data = [&3_u32.to_le_bytes()[..], &slot.to_le_bytes(), &[0; 33], file].concat();
        self.0.insert(id, owned(program, Loader::V3));
        self.0.insert(data_key(id), owned(data, Loader::V3));
    }

    fn get(&self, cache: &ProgramCache, id: Pubkey, slot: u64) -> Option<ProgramEntry> {
        self.get_with(cache, id, slot, FeatureSet::mainnet())
    }

    fn get_with(
        &self,
        cache: &ProgramCache,
        id: Pubkey,
        slot: u64,
        features: FeatureSet,
    ) -> Option<ProgramEntry> {
        cache.get(&id, self.0.get(&id)?, &self.0, slot, features)
    }

    fn kind(&self, cache: &ProgramCache, id: Pubkey, slot: u64) -> EntryKind {
        cache.kind(&id, &self.0[&id], &self.0, slot, FeatureSet::mainnet())
    }

    /// The number that the program at an address returns.
    fn number(&self, cache: &ProgramCache, id: Pubkey, slot: u64) -> i32 {
        number(&self.get(cache, id, slot))
    }
}

fn number(entry: &Option<ProgramEntry>) -> i32 {
    let Some(ProgramEntry::Loaded(program)) = entry else { panic!("{entry:?}") };
    i32::from_le_bytes(*program.executable().text()[4..].first_chunk().unwrap())
}

#[test]
fn deployed_programs_are_visible_from_the_next_slot() {
    let (cache, mut chain) = (ProgramCache::new(), Chain::default());
    chain.deploy(key(1), 10, &elf(1));
    assert!(matches!(chain.get(&cache, key(1), 10), Some(ProgramEntry::DelayVisibility)));
    assert_eq!(chain.kind(&cache, key(1), 10), EntryKind::DelayVisibility);
    assert_eq!(chain.kind(&cache, key(1), 11), EntryKind::Unloaded);
    assert_eq!(chain.number(&cache, key(1), 11), 1);
    assert_eq!(chain.kind(&cache, key(1), 11), EntryKind::Loaded);
    chain.deploy(key(1), 11, &elf(2));
    assert!(matches!(chain.get(&cache, key(1), 11), Some(ProgramEntry::DelayVisibility)));
    assert_eq!(chain.number(&cache, key(1), 12), 2);
}

#[test]
fn programs_of_slot_0_are_visible_in_every_slot() {
    let (cache, mut chain) = (ProgramCache::new(), Chain::default());
    chain.deploy(key(1), 0, &elf(1));
    for slot in [0, 1, 1000, 0] {
        assert_eq!(chain.number(&cache, key(1), slot), 1, "slot {slot}");
        assert_eq!(chain.kind(&cache, key(1), slot), EntryKind::Loaded);
    }
    assert_eq!(cache.programs()[0].effective, 0);
}

#[test]
fn rejected_files_are_cached_per_target() {
    let (cache, mut chain) = (ProgramCache::new(), Chain::default());
    chain.deploy(key(1), 0, b"no file at all");
    for _ in 0..2 {
        let entry = chain.get(&cache, key(1), 1);
        assert!(matches!(entry, Some(ProgramEntry::FailedVerification)));
    }
    assert_eq!(chain.kind(&cache, key(1), 1), EntryKind::FailedVerification);
    let statistics = cache.statistics();
    assert_eq!((statistics.misses, statistics.refused, statistics.loaded), (1, 1, 0));
    let others = FeatureSet::mainnet().with(Feature::VirtualAddressSpaceAdjustments);
    chain.get_with(&cache, key(1), 1, others);
    assert_eq!(cache.statistics().misses, 2);
}

#[test]
fn closed_programs_are_missing_at_once() {
    let (cache, mut chain) = (ProgramCache::new(), Chain::default());
    chain.deploy(key(1), 0, &elf(1));
    assert_eq!(chain.number(&cache, key(1), 5), 1);
    chain.0.remove(&data_key(key(1)));
    assert!(chain.get(&cache, key(1), 5).is_none());
    assert_eq!(chain.kind(&cache, key(1), 5), EntryKind::Closed);
}

#[test]
fn files_of_directly_set_accounts_are_loaded() {
    let (cache, mut chain) = (ProgramCache::new(), Chain::default());
    for number in [1, 2, 1, 3] {
        chain.deploy(key(1), 0, &elf(number));
        assert_eq!(chain.number(&cache, key(1), 5), number);
        assert_eq!(cache.programs().len(), 1, "what was there before is forgotten");
    }
    assert_eq!(cache.statistics().loaded, 1);
}

#[test]
fn equal_bytes_at_another_address_are_the_same_file() {
    let (cache, mut chain) = (ProgramCache::new(), Chain::default());
    for _ in 0..3 {
        chain.deploy(key(1), 4, &elf(1));
        assert_eq!(chain.number(&cache, key(1), 5), 1);
        assert_eq!(chain.number(&cache, key(1), 6), 1);
    }
    let statistics = cache.statistics();
    assert_eq!((statistics.misses, statistics.hits), (1, 5));
    let program = &cache.programs()[0];
    assert_eq!((program.uses, program.last_access, program.effective), (6, 6, 5));
}

#[test]
fn concurrent_misses_load_a_program_once() {
    const THREADS: usize = 64;
    let (cache, mut chain) = (ProgramCache::new(), Chain::default());
    chain.deploy(key(1), 0, &elf(7));
    let barrier = Barrier::new(THREADS);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                barrier.wait();
                assert_eq!(chain.number(&cache, key(1), 5), 7);
            });
        }
    });
    let statistics = cache.statistics();
    assert_eq!((statistics.misses, statistics.loaded), (1, 1));
    assert_eq!(statistics.hits + statistics.waits, THREADS as u64 - 1);
}

#[test]
fn the_lowest_score_is_evicted_and_reloaded_without_verification() {
    let cache =
        ProgramCache::with_options(CacheOptions { entries_max: 3, ..CacheOptions::default() });
    let mut chain = Chain::default();
    for byte in 1..=4 {
        chain.deploy(key(byte), 0, &elf(byte.into()));
    }
    for (byte, slot) in [(1, 1), (2, 50), (3, 60), (1, 70), (4, 80)] {
        assert_eq!(chain.number(&cache, key(byte), slot), byte.into());
    }
    // 2 is the least recently used one.
    let kinds: Vec<_> = cache.programs().iter().map(|program| program.kind).collect();
    use EntryKind::{Loaded, Unloaded};
    assert_eq!(kinds, [Loaded, Unloaded, Loaded, Loaded]);
    assert_eq!(cache.programs()[1].uses, 1, "its use is not forgotten");
    assert_eq!(cache.programs()[1].loaded_bytes, 0);
    assert_eq!(chain.number(&cache, key(2), 90), 2);
    let statistics = cache.statistics();
    assert_eq!((statistics.evictions, statistics.reloads, statistics.loaded), (2, 1, 3));
}

#[test]
fn frequently_used_programs_outlive_others() {
    let cache =
        ProgramCache::with_options(CacheOptions { entries_max: 2, ..CacheOptions::default() });
    let mut chain = Chain::default();
    (1..=3).for_each(|byte| chain.deploy(key(byte), 0, &elf(byte.into())));
    for _ in 0..64 {
        chain.number(&cache, key(1), 1);
    }
    chain.number(&cache, key(2), 5);
    chain.number(&cache, key(3), 6);
    assert_eq!(chain.kind(&cache, key(1), 6), EntryKind::Loaded);
    assert_eq!(chain.kind(&cache, key(2), 6), EntryKind::Unloaded);
}

/// Returns a program from the cache after compiling it.
fn compiled(chain: &Chain, cache: &ProgramCache, byte: u8, slot: u64) -> Arc<Program> {
    let entry = chain.get(cache, key(byte), slot);
    let Some(ProgramEntry::Loaded(program)) = entry else { panic!("{entry:?}") };
    program.compile().unwrap();
    program
}

#[test]
fn growing_machine_code_evicts_other_programs() {
    if !selkie_vm::MachineCode::SUPPORTED {
        return;
    }
    let mut chain = Chain::default();
    (1..=4).for_each(|byte| chain.deploy(key(byte), 0, &elf(byte.into())));
    let generous = ProgramCache::new();
    let small = chain.get(&generous, key(1), 1).map(|_| generous.statistics().loaded_bytes);
    compiled(&chain, &generous, 1, 1);
    let (small, large) = (small.unwrap(), generous.statistics().loaded_bytes);
    assert!(large >= small + 4096, "{small} {large}");
    // All fit as long as one is compiled, but not two. Machine code is padded at random.
    let bytes_max = large + 3 * small + 1024;
    let options = CacheOptions { bytes_max, ..CacheOptions::default() };
    let cache = ProgramCache::with_options(options);
    (1..=4).for_each(|byte| assert_eq!(chain.number(&cache, key(byte), 1), byte.into()));
    compiled(&chain, &cache, 1, 10);
    assert_eq!(chain.number(&cache, key(4), 20), 4);
    let statistics = cache.statistics();
    assert_eq!((statistics.evictions, statistics.loaded), (0, 4), "{statistics:?}");
    assert!(statistics.loaded_bytes > bytes_max - 2048, "{statistics:?}");
    compiled(&chain, &cache, 2, 30);
    // The next look-up of any program evicts.
    assert_eq!(chain.number(&cache, key(2), 31), 2);
    let statistics = cache.statistics();
    assert!(statistics.evictions > 0 && statistics.loaded_bytes <= bytes_max, "{statistics:?}");
    assert_eq!(chain.kind(&cache, key(2), 31), EntryKind::Loaded);
    for (slot, byte) in (40..).zip([1, 2, 3, 4, 3, 2, 1]) {
        compiled(&chain, &cache, byte, slot);
        chain.number(&cache, key(byte), slot);
        assert!(cache.statistics().loaded_bytes <= bytes_max);
    }
}

#[test]
fn a_single_program_may_exceed_the_limit() {
    let options = CacheOptions { bytes_max: 1, ..CacheOptions::default() };
    let (cache, mut chain) = (ProgramCache::with_options(options), Chain::default());
    (1..=2).for_each(|byte| chain.deploy(key(byte), 0, &elf(byte.into())));
    for byte in [1, 1, 2, 2, 1] {
        assert_eq!(chain.number(&cache, key(byte), 5), byte.into());
        assert_eq!(cache.statistics().loaded, 1);
    }
    assert_eq!((cache.statistics().hits, cache.statistics().evictions), (2, 2));
}

#[test]
fn the_number_of_tracked_programs_is_bounded() {
    let cache =
        ProgramCache::with_options(CacheOptions { entries_max: 1, ..CacheOptions::default() });
    let mut chain = Chain::default();
    for number in 0..10_000_u32 {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&number.to_le_bytes());
        bytes[31] = number.to_le_bytes()[0];
        let id = Pubkey::new_from_array(bytes);
        chain.0.insert(id, owned(vec![1], Loader::V2));
        chain.get(&cache, id, 1);
    }
    assert!(cache.len() <= 64 * 64, "{}", cache.len());
}

/// Slots with their parents.
#[derive(Debug, Default)]
struct Tree(RwLock<BTreeMap<u64, u64>>);

impl Tree {
    fn is_before(&self, first: u64, second: u64) -> bool {
        let parents = self.0.read().unwrap();
        core::iter::successors(Some(second), |slot| parents.get(slot).copied())
            .skip(1)
            .any(|slot| slot == first)
    }
}

impl ForkGraph for Tree {
    fn relationship(&self, first: u64, second: u64) -> BlockRelation {
        match () {
            () if first == second => BlockRelation::Equal,
            () if self.is_before(first, second) => BlockRelation::Ancestor,
            () if self.is_before(second, first) => BlockRelation::Descendant,
            () => BlockRelation::Unrelated,
        }
    }
}

/// ```text
/// 0 ─ 1 ─ 2 ─ 4
///      └─ 3 ─ 5
/// ```
fn forked() -> (Arc<Tree>, ProgramCache) {
    let tree = Arc::new(Tree(RwLock::new([(1, 0), (2, 1), (4, 2), (3, 1), (5, 3)].into())));
    let cache = ProgramCache::new();
    let forks: Arc<dyn ForkGraph> = tree.clone();
    cache.set_fork_graph(Arc::downgrade(&forks)).unwrap();
    (tree, cache)
}

#[test]
fn forks_run_their_own_versions() {
    let (_tree, cache) = forked();
    let (mut left, mut right) = (Chain::default(), Chain::default());
    left.deploy(key(1), 0, &elf(1));
    right.0.clone_from(&left.0);
    assert_eq!(left.number(&cache, key(1), 1), 1);
    left.deploy(key(1), 2, &elf(2));
    for _ in 0..2 {
        assert_eq!(left.number(&cache, key(1), 4), 2);
        assert_eq!(right.number(&cache, key(1), 5), 1);
    }
    right.deploy(key(1), 3, &elf(3));
    assert_eq!(left.number(&cache, key(1), 4), 2);
    assert_eq!(right.number(&cache, key(1), 5), 3);
    assert_eq!(cache.programs().iter().map(|it| it.deployed).collect::<Vec<_>>(), [0, 2, 3]);
    assert_eq!(cache.statistics().misses, 3);

    cache.prune(4, FeatureSet::mainnet());
    assert_eq!(cache.programs().iter().map(|it| it.deployed).collect::<Vec<_>>(), [2]);
    assert_eq!((cache.statistics().loaded, cache.statistics().pruned), (1, 2));
    assert_eq!(left.number(&cache, key(1), 4), 2);
    assert_eq!(cache.statistics().misses, 3);
}

#[test]
fn deployments_on_other_forks_are_not_found() {
    let (_tree, cache) = forked();
    let mut chain = Chain::default();
    chain.deploy(key(1), 2, &elf(2));
    assert_eq!(chain.number(&cache, key(1), 4), 2);
    // Accounts that contradict their fork cost an additional look-up, but cause no error.
    assert_eq!(chain.number(&cache, key(1), 5), 2);
}

#[test]
fn pruning_keeps_deployments_after_the_root() {
    let (_tree, cache) = forked();
    let mut chain = Chain::default();
    for slot in [0, 1, 2] {
        chain.deploy(key(1), slot, &elf(slot.try_into().unwrap()));
        chain.number(&cache, key(1), 4);
    }
    cache.prune(1, FeatureSet::mainnet());
    assert_eq!(cache.programs().iter().map(|it| it.deployed).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn prepared_programs_are_hits_after_the_epoch_boundary() {
    let cache = ProgramCache::new();
    let mut chain = Chain::default();
    for byte in 1..=5 {
        chain.deploy(key(byte), 0, &elf(byte.into()));
        (0..byte).for_each(|_| assert_eq!(chain.number(&cache, key(byte), 1), byte.into()));
    }
    let coming = FeatureSet::mainnet().with(Feature::VirtualAddressSpaceAdjustments);
    assert_eq!(cache.prepare(coming, 2), 3, "the two that are used most are prepared first");
    assert_eq!(cache.prepare(coming, 2), 1);
    assert_eq!(cache.prepare(coming, 2), 0);
    let misses = cache.statistics().misses;
    assert_eq!(misses, 10);
    for byte in 1..=5 {
        let entry = chain.get_with(&cache, key(byte), 2, coming);
        assert_eq!(number(&entry), byte.into());
        assert_eq!(chain.number(&cache, key(byte), 2), byte.into(), "the old one is still there");
    }
    assert_eq!(cache.statistics().misses, misses);

    cache.prune(2, coming);
    assert_eq!(cache.programs().len(), 5, "what only the last epoch needed is gone");
    assert_eq!(cache.statistics().loaded, 5);
}

#[test]
fn features_without_effect_on_loading_reload_nothing() {
    let cache = ProgramCache::new();
    let mut chain = Chain::default();
    chain.deploy(key(1), 0, &elf(1));
    assert_eq!(chain.number(&cache, key(1), 1), 1);
    let others = FeatureSet::mainnet().without(Feature::RelaxMinBalanceCheck);
    for features in [others, FeatureSet::mainnet(), others] {
        assert_eq!(number(&chain.get_with(&cache, key(1), 1, features)), 1);
    }
    assert_eq!((cache.statistics().misses, cache.programs().len()), (1, 1));
}

#[test]
fn builtin_programs_are_not_cached() {
    let cache = ProgramCache::new();
    let account: AccountSharedData =
        Account { lamports: 1, owner: selkie_svm::NATIVE_LOADER, ..Account::default() }.into();
    let none = Chain::default();
    let kind = cache.kind(&key(1), &account, &none.0, 1, FeatureSet::mainnet());
    assert_eq!(kind, EntryKind::Builtin);
    assert!(cache.is_empty());
}
