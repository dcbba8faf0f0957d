//! Objects and archives given to the linker.

use std::fs;

use crate::{
    bound::{assert_short_lines, run},
    common::folder,
    elf::{
        EXIT, File, GLOBAL_FUNCTION, NAMES, PROGBITS, SYMTAB, Section, strings, symbol, symbols,
    },
};

const TEXT_LEN: usize = 1_000_000;
const SYMBOLS: usize = 20_000;

/// An object for the linker.
fn object(slots: usize) -> File {
    let mut file = File { kind: 1, entry: 0, ..File::program(slots) };
    file.sections[1].addr = 0;
    file
}

fn check(name: &str, bytes: &[u8]) {
    let folder = folder(&format!("bounds-{name}"));
    fs::write(folder.join("input.o"), bytes).expect("the folder is writable");
    assert_short_lines(&run(&folder, bytes.len(), &["link", "input.o", "-o", "linked.so"]));
    run(&folder, bytes.len(), &["link", "input.o", "-o", "linked.so", "--json"]);
}

/// Makes symbol values relative to `.text`, as in objects.
fn from_zero(symbols: &[u8]) -> Vec<u8> {
    let mut symbols = symbols.to_vec();
    for symbol in symbols.as_chunks_mut::<24>().0.iter_mut().skip(1) {
        let value = u64::from_le_bytes(symbol[8..16].try_into().expect("eight bytes"));
        symbol[8..16].copy_from_slice(&(value - 64).to_le_bytes());
    }
    symbols
}

#[test]
fn symbols_with_overlapping_names_in_objects() {
    let symbols = from_zero(&symbols(SYMBOLS, 1));
    let file = object(SYMBOLS).with_symbols(SYMTAB, symbols, strings(b'a', TEXT_LEN));
    check("object-defined", &file.write());
    let undefined: Vec<u8> = (0..SYMBOLS).flat_map(|index| symbol(index, 0x10, 0, 0)).collect();
    let file = object(1).with_symbols(SYMTAB, undefined, strings(b'a', TEXT_LEN));
    check("object-undefined", &file.write());
}

#[test]
fn messages_shorten_a_long_symbol_name() {
    let names = [symbol(0, 0, 0, 0), symbol(1, GLOBAL_FUNCTION, 1, 0), symbol(2, 0x10, 0, 0)];
    let file = object(1).with_symbols(SYMTAB, names.concat(), strings(b'a', TEXT_LEN));
    check("object-long", &file.write());
    let same = [symbol(0, 0, 0, 0), symbol(1, GLOBAL_FUNCTION, 1, 0)].concat();
    let twice = [same.clone(), same[24..].to_vec()].concat();
    let file = object(1).with_symbols(SYMTAB, twice, strings(b'a', TEXT_LEN));
    check("object-twice", &file.write());
}

#[test]
fn sections_with_overlapping_names_in_objects() {
    let mut file = object(1);
    file.sections[NAMES].bytes.extend(strings(b'a', TEXT_LEN));
    for name in 0..60_000 {
        file.sections.push(Section { name: 50 + name, kind: PROGBITS, ..Section::default() });
    }
    check("object-sections", &file.write());
}

/// The header of an archive member.
fn header(name: &str, size: usize) -> Vec<u8> {
    format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).into_bytes()
}

#[test]
fn archives_with_overlapping_names() {
    let names = "a".repeat(TEXT_LEN) + "/\n";
    let mut archive = b"!<arch>\n".to_vec();
    archive.extend(header("//", names.len()));
    archive.extend(names.as_bytes());
    for member in 0..10_000 {
        archive.extend(header(&format!("/{member}"), 4));
        archive.extend(b"\x7fELF");
    }
    check("archive-names", &archive);
}

#[test]
fn archives_of_broken_objects() {
    let object = object(1).with_symbols(
        SYMTAB,
        symbol(1, GLOBAL_FUNCTION, 1, 0),
        b"\0entrypoint\0".to_vec(),
    );
    let bytes = object.write();
    let mut archive = b"!<arch>\n".to_vec();
    for _ in 0..2_000 {
        archive.extend(header("a.o/", bytes.len()));
        archive.extend(&bytes);
        archive.extend(b"\n".repeat(bytes.len() % 2));
    }
    check("archive-broken", &archive);
    check("archive-cut", &archive[..archive.len() - 40]);
    check("archive-code", &[&b"!<arch>\n"[..], &header("x/", usize::MAX / 2), &EXIT].concat());
}
