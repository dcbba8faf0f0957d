//! The rules from V3, one by one: what loads, and which error refuses what.

mod common;

use common::*;
use selkie_elf::{ElfError, Environment};
use selkie_isa::{Version, layout::BYTECODE_START};

fn bad_header() -> ElfError {
    parse_error("invalid file header")
}

/// Removes the segment of read-only data.
fn only_code(file: &mut File) {
    file.header(E_PHNUM, 1);
    file.bytes.drain(64..120);
    file.bytes.drain(120..136);
    file.segment(0, P_OFFSET, 120);
}

#[test]
fn code_and_data_are_read_from_their_segments() {
    let program = accept(&strict(), |_| (), &deployment());
    assert_eq!((program.version(), program.entry_pc()), (Version::V3, 0));
    assert_eq!((program.text_vaddr(), program.text_offset()), (BYTECODE_START, 192));
    assert_eq!((program.text().len(), program.text()[0]), (24, 0x85));
    assert_eq!(program.read_only().vaddr, 0);
    assert_eq!(program.read_only().bytes[..], (1..=16).collect::<Vec<u8>>());
    assert_eq!(program.functions().iter().len(), 0);
    let v4 = accept(&strict(), |file| file.header(E_FLAGS, 4), &deployment());
    assert_eq!(v4.version(), Version::V4);
}

#[test]
fn read_only_data_may_be_missing() {
    let program = accept(&strict(), only_code, &deployment());
    assert!(program.read_only().bytes.is_empty());
    assert_eq!((program.read_only().vaddr, program.text().len()), (0, 24));
    let no_code = |file: &mut File| file.header(E_PHNUM, 1);
    refuse(&strict(), no_code, bad_header());
}

#[test]
fn invalid_file_headers_are_refused() {
    for (field, value) in [
        ((0, 4), 0),
        (EI_CLASS, 1),
        (EI_DATA, 2),
        (EI_VERSION, 0),
        (EI_OSABI, 1),
        (EI_ABIVERSION, 1),
        (EI_PAD, 1 << 48),
        (E_MACHINE, 263),
        (E_VERSION, 0),
        (E_PHOFF, 72),
        (E_EHSIZE, 0),
        (E_PHENTSIZE, 0),
        (E_PHNUM, 0),
        (E_PHNUM, 4),
    ] {
        refuse(&strict(), |file| file.header(field, value), bad_header());
    }
    for (field, value) in
        [(E_TYPE, 9), (E_SHOFF, u64::MAX), (E_SHENTSIZE, 9), (E_SHNUM, 9), (E_SHSTRNDX, 9)]
    {
        accept(&strict(), |file| file.header(field, value), &deployment());
    }
}

#[test]
fn segments_with_a_wrong_field_are_refused() {
    for (segment, field, value) in [
        (0, P_TYPE, 2),
        (0, P_OFFSET, 168),
        (0, P_VADDR, 8),
        (0, P_PADDR, 8),
        (0, P_FILESZ, 8),
        (0, P_MEMSZ, 24),
        (1, P_FLAGS, 5),
        (1, P_OFFSET, 200),
        (1, P_VADDR, 0),
        (1, P_PADDR, 0),
    ] {
        let change = |file: &mut File| file.segment(segment, field, value);
        refuse(&strict(), change, ElfError::InvalidProgramHeader);
    }
    // A first segment with flags other than those of read-only data is taken for code.
    let code_first = |file: &mut File| file.segment(0, P_FLAGS, 1);
    refuse(&strict(), code_first, ElfError::InvalidProgramHeader);
}

#[test]
fn segments_must_be_whole_slots_inside_the_file() {
    let sized = |size| {
        move |file: &mut File| {
            file.segment(1, P_FILESZ, size);
            file.segment(1, P_MEMSZ, size);
        }
    };
    for size in [20, 32, 1 << 32, u64::MAX - 7] {
        refuse(&strict(), sized(size), ElfError::InvalidProgramHeader);
    }
    accept(&strict(), sized(16), &deployment());
    refuse(&strict(), |file| file.bytes.truncate(192), ElfError::InvalidProgramHeader);
}

#[test]
fn first_segment_follows_all_program_headers() {
    let third = |file: &mut File| {
        file.header(E_PHNUM, 3);
        file.bytes.splice(176..176, [0xff; 56]);
        file.segment(0, P_OFFSET, 176 + 56);
        file.segment(1, P_OFFSET, 192 + 56);
    };
    let program = accept(&strict(), third, &deployment());
    assert_eq!(program.read_only().bytes[..], (1..=16).collect::<Vec<u8>>());
}

#[test]
fn entry_must_be_a_slot_of_the_code() {
    for entry in [0, (1 << 32) - 8, (1 << 32) + 4, (1 << 32) + 24, u64::MAX - 7] {
        refuse(&strict(), |file| file.header(E_ENTRY, entry), bad_header());
    }
    let program = accept(&strict(), |file| file.header(E_ENTRY, (1 << 32) + 16), &deployment());
    assert_eq!(program.entry_pc(), 2);
}

#[test]
fn invalid_symbol_tables_leave_a_program_without_names() {
    let labels = Environment { labels: true, ..deployment() };
    for shoff in [0, 176, u64::MAX] {
        let broken = |file: &mut File| {
            file.header(E_SHOFF, shoff);
            file.header(E_SHNUM, 3);
            file.header(E_SHSTRNDX, 2);
        };
        assert_eq!(accept(&strict(), broken, &labels).functions().iter().len(), 0);
    }
}

/// Adds a symbol table: name, type and value of each symbol.
fn with_symbols(file: &mut File, symbols: &[(&str, u8, u64)]) {
    let (mut names, mut table) = (vec![0], Vec::new());
    for (name, info, value) in symbols {
        table.extend(u32::try_from(names.len()).unwrap().to_le_bytes());
        table.extend([*info, 0, 0, 0]);
        table.extend(value.to_le_bytes());
        table.extend([0; 8]);
        names.extend([name.as_bytes(), b"\0"].concat());
    }
    let section_names = b"\0.symtab\0.strtab\0".to_vec();
    let mut headers = vec![0; 64];
    for (name, kind, content) in [(1_u32, 2_u32, table), (9, 3, names), (0, 3, section_names)] {
        let at = file.bytes.len().next_multiple_of(8);
        file.bytes.resize(at, 0);
        headers.extend([name.to_le_bytes(), kind.to_le_bytes()].concat());
        headers.extend([0; 16]);
        headers.extend([at as u64, content.len() as u64].map(u64::to_le_bytes).concat());
        headers.extend([0; 24]);
        file.bytes.extend(content);
    }
    let at = file.bytes.len().next_multiple_of(8);
    file.bytes.resize(at, 0);
    file.bytes.extend(headers);
    for (field, value) in [(E_SHOFF, at as u64), (E_SHNUM, 4), (E_SHSTRNDX, 3)] {
        file.header(field, value);
    }
}

fn check_labels(symbols: &[(&str, u8, u64)], expected: &[(u32, &str)]) {
    let labels = Environment { labels: true, ..deployment() };
    let program = accept(&strict(), |file| with_symbols(file, symbols), &labels);
    let functions = program.functions().iter();
    let names: Vec<_> = functions.map(|(_, it)| (it.pc, it.name.as_str())).collect();
    assert_eq!(names, expected);
}

const CODE: u64 = BYTECODE_START;

#[test]
fn labels_name_functions_by_slot() {
    let symbols = [("second", 2, CODE + 16), ("entrypoint", 0x12, CODE), ("data", 1, CODE + 8)];
    check_labels(&symbols, &[(0, "entrypoint"), (2, "second")]);
}

#[test]
fn first_of_two_labels_for_a_slot_is_kept() {
    check_labels(&[("a", 2, CODE), ("b", 2, CODE + 7)], &[(0, "a")]);
    // Section symbols count as functions, and addresses below the code as its first slot.
    check_labels(&[(".rodata", 3, 8), ("entrypoint", 2, CODE)], &[(0, ".rodata")]);
}

#[test]
fn labels_beyond_32_bit_slots_are_left_out() {
    let far = CODE + (8 << 32);
    check_labels(&[("far", 2, far), ("near", 2, far - 8)], &[(u32::MAX, "near")]);
}

#[test]
fn labels_longer_than_the_maximum_are_left_out() {
    let (fits, long) = ("x".repeat(254), "x".repeat(255));
    check_labels(&[(&fits, 2, CODE), (&long, 2, CODE + 8)], &[(0, &fits)]);
}
