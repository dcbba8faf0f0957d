//! Programs: the loader, symbols, listings, graphs.

use std::{fs, path::Path};

use crate::{
    bound::{assert_short_lines, run},
    common::folder,
    elf::{DYNSYM, File, NAMES, PROGBITS, SYMTAB, Section, strings, symbol, symbols},
};

/// Runs every command that reads a program.
fn check(folder: &Path, bytes: &[u8]) {
    fs::write(folder.join("program.so"), bytes).expect("the folder is writable");
    let len = bytes.len();
    assert_short_lines(&run(folder, len, &["check", "program.so"]));
    assert_short_lines(&run(folder, len, &["run", "program.so"]));
    assert_short_lines(&run(folder, len, &["disasm", "program.so"]));
    assert_short_lines(&run(folder, len, &["cfg", "program.so"]));
    for command in ["check", "run", "disasm", "cfg"] {
        run(folder, len, &[command, "program.so", "--json"]);
    }
    assert_short_lines(&run(folder, len, &["disasm", "program.so", "--style", "anza"]));
}

const TEXT_LEN: usize = 1_000_000;
const SYMBOLS: usize = 20_000;

#[test]
fn symbols_with_overlapping_names() {
    let folder = folder("bounds-symbols");
    for byte in [b'a', 0xff] {
        for version in [0, 3] {
            let file = File { flags: version, ..File::program(SYMBOLS) };
            let file = file.with_symbols(SYMTAB, symbols(SYMBOLS, 1), strings(byte, TEXT_LEN));
            check(&folder, &file.write());
        }
    }
}

#[test]
fn imports_with_overlapping_names() {
    let folder = folder("bounds-imports");
    let imports: Vec<u8> = (0..SYMBOLS).flat_map(|index| symbol(index, 0x10, 0, 0)).collect();
    for (byte, len) in [(b'a', TEXT_LEN), (0xff, TEXT_LEN), (b'a', 60)] {
        let file = File::program(1).with_symbols(DYNSYM, imports.clone(), strings(byte, len));
        check(&folder, &file.write());
    }
}

#[test]
fn sections_with_overlapping_names() {
    let folder = folder("bounds-sections");
    for byte in [b'a', 0xff] {
        let mut file = File::program(1);
        file.sections[NAMES].bytes.extend(strings(byte, TEXT_LEN));
        for name in 0..65_000 {
            let kind = PROGBITS;
            file.sections.push(Section { name: 50 + name, kind, ..Section::default() });
        }
        check(&folder, &file.write());
    }
}
