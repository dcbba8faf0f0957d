//! Measures the program cache by itself: look-ups in caches of many sizes, a program that many
//! threads miss at once, and a restart with and without programs on disk.
//!
//! `cargo run --release --bin cache`

use std::{
    collections::HashMap,
    fs,
    hint::black_box,
    path::PathBuf,
    sync::{Arc, Barrier},
    thread,
    time::{Duration, Instant},
};

use foldhash::fast::FixedState;
use selkie::{
    Account, AccountSharedData, FeatureSet, Loader, Pubkey, ReadableAccount as _, program_data_key,
    programs,
    runtime::{
        AccountStore, ProgramCache, ProgramEntry,
        program_cache::{CacheOptions, program_data_address},
    },
};
use selkie_client::StoredPrograms;

/// Programs of a restart.
const PROGRAMS: usize = 1000;
const SLOT: u64 = 10;

#[derive(Default)]
struct Accounts(HashMap<Pubkey, AccountSharedData, FixedState>);

impl AccountStore for Accounts {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.0.get(key).cloned()
    }
}

fn key(number: usize) -> Pubkey {
    let mut state = number as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let mut bytes = [0; 32];
    for word in bytes.as_chunks_mut::<8>().0 {
        state = (state ^ state >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ state >> 27;
        *word = state.to_le_bytes();
    }
    Pubkey::new_from_array(bytes)
}

impl Accounts {
    fn add(&mut self, loader: Loader, id: Pubkey, elf: &[u8]) {
        let account =
            |data| Account { lamports: 1, data, owner: loader.address(), ..Account::default() };
        if loader == Loader::V2 {
            self.0.insert(id, account(elf.to_vec()).into());
            return;
        }
        let data_key = program_data_key(&id);
        let program = [&2_u32.to_le_bytes()[..], data_key.as_ref()].concat();
        let data = [&3_u32.to_le_bytes()[..], &[0; 41], elf].concat();
        self.0.insert(id, account(program).into());
        self.0.insert(data_key, account(data).into());
    }

    fn get(&self, cache: &ProgramCache, id: &Pubkey) -> Option<ProgramEntry> {
        cache.get(id, self.0.get(id)?, self, SLOT, FeatureSet::mainnet())
    }
}

/// Nanoseconds per look-up, of programs in random order: the minimum of many rounds.
fn look_up(loader: Loader, size: usize, asked: usize) -> f64 {
    let options = selkie_asm::Options::default();
    let elf = selkie_asm::assemble("mov64 r0, 0\nexit\n", &options).assembly.unwrap().to_elf();
    let cache = ProgramCache::with_options(CacheOptions {
        entries_max: size + 1,
        ..CacheOptions::default()
    });
    let mut accounts = Accounts::default();
    let keys: Vec<Pubkey> = (0..size).map(key).collect();
    for id in &keys {
        accounts.add(loader, *id, &elf);
        assert!(matches!(accounts.get(&cache, id), Some(ProgramEntry::Loaded(_))));
    }
    let asked: Vec<&Pubkey> = (0..asked).map(|it| &keys[it.wrapping_mul(7919) % size]).collect();
    let features = FeatureSet::mainnet();
    let rounds = 400_000_usize.div_ceil(asked.len()).max(20);
    let least = |round: &dyn Fn()| {
        let rounds = (0..rounds).map(|_| {
            let start = Instant::now();
            round();
            start.elapsed()
        });
        rounds.min().unwrap().as_nanos() as f64 / asked.len() as f64
    };
    let whole = least(&|| {
        for id in &asked {
            let account = accounts.account(id).unwrap();
            black_box(cache.get(id, &account, &accounts, SLOT, features));
        }
    });
    // Reading the accounts, as a transaction does, is not part of the measurement.
    let accounts_alone = least(&|| {
        for id in &asked {
            let account = black_box(accounts.account(id).unwrap());
            if loader == Loader::V3 {
                let address = program_data_address(account.data());
                black_box(accounts.account(&address.unwrap()));
            }
        }
    });
    whole - accounts_alone
}

/// How often a program is loaded if 64 threads miss it at once, and how long the last one waits
/// compared with loading it alone.
fn stampede(elf: &[u8]) -> (u64, Duration, Duration) {
    const THREADS: usize = 64;
    let mut accounts = Accounts::default();
    accounts.add(Loader::V3, key(0), elf);
    let alone = {
        let cache = ProgramCache::new();
        let start = Instant::now();
        black_box(accounts.get(&cache, &key(0)));
        start.elapsed()
    };
    let cache = ProgramCache::new();
    let barrier = Barrier::new(THREADS + 1);
    let last = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    black_box(accounts.get(&cache, &key(0)));
                })
            })
            .collect();
        barrier.wait();
        let start = Instant::now();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        start.elapsed()
    });
    (cache.statistics().misses, alone, last)
}

/// Real programs in turn, each with a number appended, so that no two files are the same.
fn real_programs() -> Vec<Vec<u8>> {
    let files = programs::ALL.iter().map(|program| program.elf()).cycle();
    let numbered = (0..PROGRAMS).zip(files);
    numbered.map(|(number, file)| [file, &number.to_le_bytes()].concat()).collect()
}

/// Simulates the start of a process: loads all programs.
fn start(
    accounts: &Accounts,
    folder: Option<&PathBuf>,
    compiles: bool,
) -> (Duration, ProgramCache) {
    let start = Instant::now();
    let mut cache = ProgramCache::new();
    if let Some(folder) = folder {
        cache = cache.with_store(Arc::new(StoredPrograms::open(folder).unwrap()));
    }
    for number in 0..PROGRAMS {
        let Some(ProgramEntry::Loaded(program)) = accounts.get(&cache, &key(number)) else {
            panic!("a real program was refused");
        };
        if compiles {
            program.compile().unwrap();
        }
    }
    (start.elapsed(), cache)
}

/// Measures a start without the store and with it. `cold_compiles` says whether the former compiles
/// the programs, `warm_compiles` whether the store has their machine code.
fn restart(cold_compiles: bool, warm_compiles: bool) -> (Duration, Duration) {
    let mut accounts = Accounts::default();
    for (number, elf) in real_programs().iter().enumerate() {
        accounts.add(Loader::V3, key(number), elf);
    }
    let folder = std::env::temp_dir().join(format!("selkie-restart-{}", std::process::id()));
    let least = |folder: Option<&PathBuf>, compiles| {
        (0..3).map(|_| start(&accounts, folder, compiles).0).min().unwrap()
    };
    let cold = least(None, cold_compiles);
    let (_, cache) = start(&accounts, Some(&folder), warm_compiles);
    assert_eq!(cache.persist(), PROGRAMS);
    drop(cache);
    let warm = least(Some(&folder), warm_compiles);
    let (_, cache) = start(&accounts, Some(&folder), warm_compiles);
    assert_eq!(cache.statistics().restored, PROGRAMS as u64);
    fs::remove_dir_all(&folder).unwrap();
    (cold, warm)
}

fn main() {
    let only_restart = std::env::args().any(|it| it == "--restart");
    println!("| work | measured |\n|---|---|");
    if !only_restart {
        look_ups();
    }
    for (what, cold_compiles, warm_compiles) in [
        ("loaded", false, false),
        ("loaded and compiled", true, true),
        ("compiled as validators do when cold, ready to run when warm", true, false),
    ] {
        let (cold, warm) = restart(cold_compiles, warm_compiles);
        let ratio = cold.as_secs_f64() / warm.as_secs_f64();
        println!(
            "| restart, {PROGRAMS} programs {what} | cold {cold:.0?}, warm {warm:.0?}: {ratio:.1} |"
        );
    }
}

fn look_ups() {
    for loader in [Loader::V2, Loader::V3] {
        for size in [10, 1000, 100_000] {
            let hot = look_up(loader, size, 1000.min(size));
            let all = look_up(loader, size, size);
            println!(
                "| look-up, {loader:?}, {size} programs | {hot:.0} ns hot, {all:.0} ns of all |"
            );
        }
    }
    let elf = real_programs().swap_remove(2);
    let (loads, alone, last) = stampede(&elf);
    println!(
        "| 64 threads miss one program | loaded {loads} times, {last:.0?} beside {alone:.0?} alone |"
    );
}
