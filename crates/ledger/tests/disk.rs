//! The store on disk: what is committed is there again, and damaged files are errors.

mod common;

use std::{env, fs, panic, path::Path};

use common::{Folder, account, address, block, commit, content, header};
use redb::ReadableTable as _;
use selkie_ledger::{Commit, DiskStore, Landed, Store, StoreError};

fn slots(store: &mut DiskStore) -> Vec<u64> {
    content(store).unwrap().2.into_iter().map(|(slot, _)| slot).collect()
}

#[test]
fn a_commit_is_read_again() {
    let folder = Folder::new("commit");
    let mut store = folder.open().unwrap();
    assert_eq!(content(&mut store).unwrap(), (None, vec![], vec![]));
    store.commit(&commit(5, &[(2, 10, 100_000), (1, 20, 5), (3, 30, 0)])).unwrap();
    store.commit(&commit(6, &[(3, 0, 0), (1, 21, 70_000)])).unwrap();
    drop(store);
    let mut store = folder.open().unwrap();
    let (found, accounts, blocks) = content(&mut store).unwrap();
    assert_eq!(found, Some(header(6)));
    assert_eq!(accounts, [(address(1), 21, 70_000), (address(2), 10, 100_000)]);
    let expected = block(5, 2).transactions.iter().map(|it| Landed::clone(it)).collect::<Vec<_>>();
    assert_eq!(blocks[0], (5, expected));
    assert_eq!(blocks[1].0, 6);
    store.check().unwrap();
    store
        .accounts(&mut |key, it| {
            let len = if key == address(1) { 70_000 } else { 100_000 };
            assert_eq!(it, account(if key == address(1) { 21 } else { 10 }, len));
        })
        .unwrap();
}

#[test]
fn blocks_are_pruned_and_reverted() {
    let folder = Folder::new("prune");
    let mut store = folder.open().unwrap();
    (1..=9).for_each(|slot| store.commit(&commit(slot, &[])).unwrap());
    let prune = Commit { prune_before: Some(4), header: header(9), ..Commit::default() };
    store.commit(&prune).unwrap();
    assert_eq!(slots(&mut store), [4, 5, 6, 7, 8, 9]);
    let revert = Commit { revert_to: Some(6), ..commit(7, &[]) };
    store.commit(&revert).unwrap();
    assert_eq!(slots(&mut store), [4, 5, 6, 7]);
    store.compact().unwrap();
    assert!(store.size_bytes() > 0);
    store.clear().unwrap();
    assert_eq!(content(&mut store).unwrap(), (None, vec![], vec![]));
}

#[test]
fn a_ledger_has_one_user() {
    let folder = Folder::new("one_user");
    let first = folder.open().unwrap();
    assert!(matches!(folder.open().unwrap_err(), StoreError::InUse(_)));
    drop(first);
    folder.open().unwrap();
    DiskStore::remove(&folder.0).unwrap();
    assert!(!folder.file().exists());
    DiskStore::remove(&folder.0).unwrap();
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let folder = Folder::new("no_folder");
    fs::write(&folder.0, "a file").unwrap();
    let error = DiskStore::open(&folder.0).unwrap_err();
    assert!(matches!(error, StoreError::File(..)), "{error}");
    fs::remove_file(&folder.0).unwrap();
}

#[test]
fn a_newer_schema_is_rejected() {
    let folder = Folder::new("newer");
    let mut store = folder.open().unwrap();
    store.commit(&commit(5, &[])).unwrap();
    drop(store);
    let table = redb::TableDefinition::<&str, &[u8]>::new("meta");
    let database = redb::Database::open(folder.file()).unwrap();
    let transaction = database.begin_write().unwrap();
    let mut meta = transaction.open_table(table).unwrap();
    meta.insert("schema", &77_u64.to_le_bytes()[..]).unwrap();
    drop(meta);
    transaction.commit().unwrap();
    drop(database);
    let error = folder.open().unwrap_err();
    assert!(matches!(error, StoreError::Newer(77, 3)), "{error}");
    assert!(error.to_string().contains("help:"));
}

/// The ledger of an older version: schema 1, without the fields that transactions and blocks got later.
const SCHEMA_1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/ledger/schema_1.redb");

fn fixture_commit(slot: u64) -> Commit {
    commit(slot, &[(u8::try_from(slot).unwrap(), slot, 40), (100, slot, 300)])
}

/// Writes the fixture: what is committed now, with the records that schema 1 had at first.
fn write_schema_1() {
    let folder = Folder::new("schema_1_written");
    let mut store = folder.open().unwrap();
    (1..4).for_each(|slot| store.commit(&fixture_commit(slot)).unwrap());
    drop(store);
    let (meta, blocks, transactions) = (
        redb::TableDefinition::<&str, &[u8]>::new("meta"),
        redb::TableDefinition::<u64, &[u8]>::new("blocks"),
        redb::TableDefinition::<(u64, u32), &[u8]>::new("transactions"),
    );
    let mut database = redb::Database::open(folder.file()).unwrap();
    let transaction = database.begin_write().unwrap();
    let mut table = transaction.open_table(meta).unwrap();
    table.insert("schema", &1_u64.to_le_bytes()[..]).unwrap();
    table.remove("lattice").unwrap();
    drop(table);
    let mut table = transaction.open_table(transactions).unwrap();
    for key in (1..4).flat_map(|slot| [(slot, 0), (slot, 1)]) {
        let bytes = table.get(key).unwrap().unwrap().value().to_vec();
        // The last two fields are empty lists, a zero each.
        let (old, new) = bytes.split_at(bytes.len() - 2);
        assert_eq!(new, [0, 0]);
        table.insert(key, old).unwrap();
    }
    drop(table);
    let mut table = transaction.open_table(blocks).unwrap();
    for slot in 1..4 {
        let bytes = table.get(slot).unwrap().unwrap().value().to_vec();
        let (old, new) = bytes.split_at(bytes.len() - 2);
        assert_eq!(new, [0, 0]);
        table.insert(slot, old).unwrap();
    }
    drop(table);
    transaction.commit().unwrap();
    database.compact().unwrap();
    drop(database);
    fs::create_dir_all(Path::new(SCHEMA_1).parent().unwrap()).unwrap();
    fs::copy(folder.file(), SCHEMA_1).unwrap();
}

#[test]
fn a_ledger_of_schema_1_is_migrated() {
    if env::var_os("UPDATE").is_some() {
        write_schema_1();
    }
    let expected = Folder::new("schema_1_expected");
    let mut store = expected.open().unwrap();
    (1..4).for_each(|slot| store.commit(&fixture_commit(slot)).unwrap());
    let expected = content(&mut store).unwrap();
    let folder = Folder::new("schema_1");
    fs::create_dir_all(&folder.0).unwrap();
    fs::copy(SCHEMA_1, folder.file()).unwrap();
    // The second time, there is nothing left to migrate.
    for _ in 0..2 {
        let mut store = folder.open().unwrap();
        assert_eq!(content(&mut store).unwrap(), expected);
        store.check().unwrap();
    }
    let mut store = folder.open().unwrap();
    store.commit(&fixture_commit(4)).unwrap();
    assert_eq!(slots(&mut store), [1, 2, 3, 4]);
}

/// Opens a damaged file and reads all of it. It may be repaired or refused.
fn read_damaged(folder: &Folder, bytes: &[u8]) -> bool {
    fs::write(folder.file(), bytes).unwrap();
    let read = || folder.open().and_then(|mut store| content(&mut store)).is_ok();
    panic::catch_unwind(read).expect("a damaged file made the store panic")
}

#[test]
fn damaged_files_never_panic() {
    let folder = Folder::new("damaged");
    let mut store = folder.open().unwrap();
    for slot in 1..20 {
        let key = u8::try_from(slot).unwrap();
        store.commit(&commit(slot, &[(key, slot, 500), (key + 100, slot, 70_000)])).unwrap();
    }
    drop(store);
    let whole = fs::read(folder.file()).unwrap();
    assert!(read_damaged(&folder, &whole));
    let mut refused = 0;
    let mut random = 1_u64;
    let mut below = |end: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(random >> 33).unwrap() % end
    };
    for _ in 0..60 {
        let mut bytes = whole.clone();
        for _ in 0..=below(8) {
            let place = below(bytes.len());
            bytes[place] ^= 1 << below(8);
        }
        refused += usize::from(!read_damaged(&folder, &bytes));
    }
    for _ in 0..20 {
        refused += usize::from(!read_damaged(&folder, &whole[..below(whole.len())]));
    }
    assert!(!read_damaged(&folder, b"this is no ledger at all"));
    assert!(refused > 10, "{refused}");
}
