//! A node's ledger with changed bytes, or cut off: it can be read, or is an error.

#![no_main]

use std::{env, fs, panic, path::PathBuf, sync::OnceLock};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use selkie_ledger::{Commit, DiskStore, Header, Store as _, StoreError};
use selkie_svm::{Account, Pubkey};

#[derive(Arbitrary, Debug)]
struct Damage {
    changes: Vec<(u32, u8)>,
    cut: Option<u32>,
}

/// The folder, and the content of an undamaged file in it.
fn original() -> &'static (PathBuf, Vec<u8>) {
    static ORIGINAL: OnceLock<(PathBuf, Vec<u8>)> = OnceLock::new();
    ORIGINAL.get_or_init(|| {
        // The store turns panics on damaged pages into errors, which the fuzzer's hook would not let
        // it. Panics that the store lets through still end the fuzzer.
        panic::set_hook(Box::new(|_| {}));
        let folder = env::temp_dir().join(format!("selkie-fuzz-{}", std::process::id()));
        let mut store = DiskStore::open(&folder).expect("the folder can be written to");
        let account = Account { lamports: 1, data: vec![7; 100], ..Account::default() };
        let address = |it| Pubkey::new_from_array([it; 32]);
        let accounts = (1..=200).map(|it| (address(it), account.clone().into()));
        let commit =
            Commit { accounts: accounts.collect(), header: Header::default(), ..Commit::default() };
        store.commit(&commit).expect("there is space");
        drop(store);
        let bytes = fs::read(folder.join("ledger.redb")).expect("the store has a file");
        (folder, bytes)
    })
}

fuzz_target!(|damage: Damage| {
    let (folder, original) = original();
    let mut bytes = original.clone();
    for (place, change) in damage.changes {
        let place = place as usize % bytes.len();
        bytes[place] ^= change;
    }
    if let Some(cut) = damage.cut {
        bytes.truncate(cut as usize % bytes.len());
    }
    fs::write(folder.join("ledger.redb"), &bytes).expect("there is space");
    // An error is as good as a store that can be read.
    let _ = read(folder);
});

fn read(folder: &std::path::Path) -> Result<(), StoreError> {
    let mut store = DiskStore::open(folder)?;
    store.header()?;
    store.accounts(&mut |_, _| {})?;
    store.blocks(&mut |_| {})?;
    store.check()
}
