//! Dumps, and the history in memory.

mod common;

use std::{env, fs, path::Path};

use common::{account, address, block, header, signature};
use selkie_ledger::{
    AddressQuery, History, HistoryLimit, UnknownSignature,
    dump::{self, Dump, DumpError},
};

fn a_dump() -> Dump {
    Dump {
        header: header(9),
        accounts: vec![(address(1), account(5, 100)), (address(2), account(6, 0))],
        blocks: vec![block(3, 2), block(4, 0), block(9, 3)],
    }
}

fn text(dump: &Dump) -> Vec<u8> {
    let mut bytes = Vec::new();
    dump::write(dump, &mut bytes).unwrap();
    bytes
}

#[test]
fn a_dump_is_read_again() {
    let (dump, bytes) = (a_dump(), text(&a_dump()));
    let read = dump::read(&mut bytes.as_slice()).unwrap();
    assert_eq!((&read.header, &read.accounts), (&dump.header, &dump.accounts));
    assert_eq!(text(&read), bytes);
    assert_eq!(read.blocks[2].transactions, dump.blocks[2].transactions);
}

/// The dump of an older version, without the fields that transactions got later.
const VERSION_1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/ledger/dump_1.jsonl");

#[test]
fn a_dump_of_an_older_version_is_read() {
    if env::var_os("UPDATE").is_some() {
        let text = String::from_utf8(text(&a_dump())).unwrap();
        let (later, fields) = (["notes", "instruction_compute_units", "account_diffs"], text.len());
        let older = later.iter().fold(text, |text, it| text.replace(&format!(",\"{it}\":[]"), ""));
        assert_eq!(fields - older.len(), 5 * (later.concat().len() + 3 * 6));
        fs::create_dir_all(Path::new(VERSION_1).parent().unwrap()).unwrap();
        fs::write(VERSION_1, older).unwrap();
    }
    let bytes = fs::read(VERSION_1).unwrap();
    let read = dump::read(&mut bytes.as_slice()).unwrap();
    assert_eq!(text(&read), text(&a_dump()));
}

#[test]
fn unknown_fields_are_ignored() {
    let text = String::from_utf8(text(&a_dump())).unwrap();
    let newer = text.replacen("\"genesis_hash\"", "\"new_field\":[1],\"genesis_hash\"", 1);
    assert_ne!(newer, text);
    assert_eq!(dump::read(&mut newer.as_bytes()).unwrap().header, header(9));
}

#[test]
fn incomplete_and_foreign_dumps_are_refused() {
    let bytes = text(&a_dump());
    let refuse = |bytes: &[u8]| dump::read(&mut &*bytes).unwrap_err();
    for end in 0..bytes.len() - 1 {
        refuse(&bytes[..end]);
    }
    let text = String::from_utf8(bytes).unwrap();
    let newer = text.replacen("\"version\":1", "\"version\":2", 1);
    assert!(matches!(refuse(newer.as_bytes()), DumpError::Newer(2)));
    assert!(matches!(refuse(b"{}\n"), DumpError::NotADump));
    assert!(matches!(refuse(&vec![b'x'; 100_000]), DumpError::Truncated));
    let broken = text.replacen("\"lamports\":5", "\"lamports\":-5", 1);
    assert!(matches!(refuse(broken.as_bytes()), DumpError::Line(3, _)));
    let lines: Vec<&str> = text.lines().collect();
    let without_one = [&lines[..4], &lines[5..]].concat().join("\n") + "\n";
    refuse(without_one.as_bytes());
}

fn history(limit: usize, blocks: u64) -> History {
    let mut history = History::new(HistoryLimit::Transactions(limit));
    (1..=blocks).for_each(|slot| {
        history.push(block(slot, 2));
    });
    history
}

#[test]
fn the_oldest_blocks_are_dropped() {
    let mut history = history(10, 20);
    assert_eq!((history.len(), history.first_slot()), (10, Some(16)));
    assert!(history.transaction(&signature(15, 0)).is_none());
    assert!(history.transaction(&signature(16, 1)).is_some());
    assert_eq!(history.push(block(21, 2)), Some(17));
    let mut blocks = History::new(HistoryLimit::Transactions(10));
    (1..=2000).for_each(|slot| {
        blocks.push(block(slot, 0));
    });
    assert_eq!(blocks.first_slot(), Some(2000 - 511));
}

#[test]
fn pages_are_newest_first() {
    let history = history(100, 10);
    let all = AddressQuery { before: None, until: None, limit: 100, slot_max: u64::MAX };
    let find = |query: &AddressQuery| {
        let found = history.of_address(&address(1), query).unwrap();
        found.iter().map(|it| (it.slot, it.index)).collect::<Vec<_>>()
    };
    assert_eq!(find(&all).len(), 20);
    assert_eq!(find(&AddressQuery { limit: 3, ..all }), [(10, 1), (10, 0), (9, 1)]);
    assert_eq!(find(&AddressQuery { slot_max: 1, ..all }), [(1, 1), (1, 0)]);
    let (before, until) = (Some(signature(5, 1)), Some(signature(4, 0)));
    let page = AddressQuery { before, until, ..all };
    assert_eq!(find(&page), [(5, 0), (4, 1)]);
    let crossed = AddressQuery { before: until, until: before, ..all };
    assert_eq!(find(&crossed), []);
    let unknown = AddressQuery { before: Some(signature(50, 0)), ..all };
    let error = history.of_address(&address(1), &unknown).unwrap_err();
    assert_eq!(error, UnknownSignature(signature(50, 0)));
    assert_eq!(history.of_address(&address(77), &all), Ok(vec![]));
}

#[test]
fn a_revert_drops_the_newest_blocks() {
    let mut history = history(100, 10);
    history.revert_to(7);
    assert_eq!(history.len(), 14);
    assert!(history.transaction(&signature(8, 0)).is_none());
    let all = AddressQuery { before: None, until: None, limit: 100, slot_max: u64::MAX };
    let newest = history.of_address(&address(2), &all).unwrap();
    assert_eq!((newest.len(), newest[0].slot), (14, 7));
    assert_eq!(history.newest().next().unwrap().slot, 7);
}
