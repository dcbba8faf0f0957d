//! The rules for V0 to V2, one by one: what loads, and which error refuses what.

mod common;

use common::*;
use selkie_elf::{ElfError, Environment, Syscalls, load};
use selkie_isa::{
    Version,
    layout::BYTECODE_START,
    symbol::{ENTRYPOINT_KEY, murmur3, pc_key},
};

const OUT_OF_BOUNDS: ElfError = ElfError::ValueOutOfBounds;

fn slots(text: &[u8]) -> Vec<u64> {
    text.as_chunks().0.iter().map(|slot| u64::from_le_bytes(*slot)).collect()
}

fn call_key(key: u32) -> u64 {
    call(key.cast_signed())
}

#[test]
fn file_with_all_kinds_of_relocations_loads() {
    let program = accept(&lenient(), |_| (), &deployment());
    assert_eq!(program.version(), Version::V0);
    assert_eq!((program.entry_pc(), program.text_offset()), (0, TEXT));
    assert_eq!(program.text_vaddr(), BYTECODE_START + TEXT);
    let words = slots(program.text());
    assert_eq!(words[0], call_key(pc_key(3)));
    assert_eq!(words[1], call_key(murmur3(b"log")));
    assert_eq!(words[3..5], [0x0118 | RODATA << 32, 1 << 32]);
    assert_eq!(words[5], call_key(pc_key(7)));
    assert_eq!(words[7..9], [0x0218 | (RODATA + 4) << 32, 1 << 32]);
    let mut functions: Vec<_> =
        program.functions().iter().map(|(key, it)| (it.pc, key, it.name.as_str())).collect();
    functions.sort_unstable();
    assert_eq!(
        functions,
        [(0, ENTRYPOINT_KEY, "entrypoint"), (3, pc_key(3), ""), (7, pc_key(7), "")]
    );
}

#[test]
fn image_starts_below_the_first_section_and_ends_with_the_last() {
    let program = accept(&lenient(), |_| (), &environment());
    let image = program.read_only();
    assert_eq!(image.vaddr, BYTECODE_START);
    assert_eq!(image.bytes.len() as u64, DATA_REL_RO + 8);
    let at = |addr: u64| &image.bytes[usize::try_from(addr).unwrap()..];
    assert!(image.bytes[..usize::try_from(TEXT).unwrap()].iter().all(|&byte| byte == 0));
    assert_eq!(&at(TEXT)[..program.text().len()], program.text());
    assert_eq!(at(RODATA)[..16], (1..=16).collect::<Vec<u8>>());
    assert_eq!(slots(at(DATA_REL_RO)), [BYTECODE_START + RODATA]);
}

#[test]
fn optimized_image_starts_with_the_first_section() {
    let optimized = Environment { optimize_rodata: true, ..environment() };
    let program = accept(&lenient(), |_| (), &optimized);
    let image = program.read_only();
    assert_eq!(image.vaddr, BYTECODE_START + TEXT);
    assert_eq!(image.bytes.len() as u64, DATA_REL_RO + 8 - TEXT);
    assert_eq!(program.text(), &image.bytes[..program.text().len()]);
}

#[test]
fn gaps_between_read_only_sections_read_as_zeroes() {
    let unreadable = |file: &mut File| {
        let name = file.of(".comment", SH_NAME);
        file.section(".rodata", SH_NAME, name);
    };
    for optimize_rodata in [false, true] {
        let environment = Environment { optimize_rodata, ..environment() };
        let program = accept(&lenient(), unreadable, &environment);
        let image = program.read_only();
        let start = usize::try_from(BYTECODE_START + RODATA - image.vaddr).unwrap();
        assert_eq!(image.bytes[start..start + 16], [0; 16]);
    }
}

#[test]
fn section_address_may_differ_from_file_offset() {
    let program = accept(&lenient(), |file| file.section(".rodata", SH_ADDR, 8), &environment());
    assert_eq!(program.read_only().bytes[8..24], (1..=16).collect::<Vec<u8>>());
    assert_eq!(program.read_only().bytes[..8], [0; 8]);
    refuse_in(&lenient(), |file| file.section(".rodata", SH_ADDR, 8), &deployment(), OUT_OF_BOUNDS);
}

#[test]
fn later_of_two_overlapping_sections_is_visible_even_as_code() {
    let program =
        accept(&lenient(), |file| file.section(".rodata", SH_ADDR, TEXT + 8), &environment());
    assert_eq!(program.text()[8..24], (1..=16).collect::<Vec<u8>>());
}

#[test]
fn image_longer_than_its_file_is_refused() {
    let moved = |file: &mut File| file.section(".rodata", SH_ADDR, 1 << 20);
    refuse(&lenient(), moved, OUT_OF_BOUNDS);
    let end_of_window = |file: &mut File| file.section(".rodata", SH_ADDR, (1 << 32) + 1);
    refuse(&lenient(), end_of_window, OUT_OF_BOUNDS);
}

#[test]
fn version_that_is_not_enabled_is_refused_before_any_other_check() {
    let v5 = |file: &mut File| {
        file.header(E_FLAGS, 5);
        file.header(E_VERSION, 9);
    };
    refuse(&lenient(), v5, ElfError::UnsupportedSBPFVersion);
    let only_v1 = Environment { versions: Version::V1..=Version::V4, ..environment() };
    refuse_in(&lenient(), |_| (), &only_v1, ElfError::UnsupportedSBPFVersion);
    assert_eq!(load(&lenient().bytes[..51], &environment()).unwrap_err(), OUT_OF_BOUNDS);
    assert_eq!(load(&lenient().bytes[..63], &environment()).unwrap_err(), OUT_OF_BOUNDS);
}

#[test]
fn invalid_file_headers_are_refused() {
    for (field, value) in [
        ((0, 4), 0),
        (EI_CLASS, 1),
        (EI_DATA, 2),
        (EI_VERSION, 0),
        (E_VERSION, 2),
        (E_EHSIZE, 63),
        (E_PHENTSIZE, 57),
        (E_SHENTSIZE, 65),
        (E_SHNUM, 11),
        (E_SHSTRNDX, 12),
    ] {
        let wrong = parse_error("invalid file header");
        refuse(&lenient(), |file| file.header(field, value), wrong);
    }
    accept(&lenient(), |file| file.header(EI_ABIVERSION, 1), &deployment());
    accept(&lenient(), |file| file.header(E_MACHINE, 263), &deployment());
    refuse(&lenient(), |file| file.header(EI_OSABI, 1), ElfError::WrongAbi);
    refuse(&lenient(), |file| file.header(E_MACHINE, 62), ElfError::WrongMachine);
    refuse(&lenient(), |file| file.header(E_TYPE, 2), ElfError::WrongType);
}

#[test]
fn overlapping_or_misaligned_tables_are_refused() {
    let overlap = || parse_error("values overlap");
    refuse(&lenient(), |file| file.header(E_PHOFF, 63), overlap());
    refuse(&lenient(), |file| file.header(E_SHOFF, 0), overlap());
    refuse(&lenient(), |file| file.header(E_SHOFF, 120), overlap());
    refuse(&lenient(), |file| file.header(E_SHOFF, u64::MAX), OUT_OF_BOUNDS);
    refuse(&lenient(), |file| file.header(E_PHOFF, 1 << 40), OUT_OF_BOUNDS);
    let odd = |file: &mut File| {
        let table = file.get(0, E_SHOFF);
        file.bytes.push(0);
        file.header(E_SHOFF, table + 1);
    };
    refuse(&lenient(), odd, parse_error("invalid alignment"));
    // The alignment of an empty table is checked too.
    let empty = |file: &mut File| {
        file.header(E_PHNUM, 0);
        file.header(E_PHOFF, 65);
    };
    refuse(&lenient(), empty, parse_error("invalid alignment"));
    refuse(&lenient(), |file| file.section("", SH_TYPE, 1), parse_error("invalid section header"));
}

#[test]
fn descending_or_out_of_bounds_segments_are_refused() {
    let descending = |file: &mut File| {
        file.segment(1, P_TYPE, 1);
        file.segment(1, P_VADDR, 0);
    };
    refuse(&lenient(), descending, ElfError::InvalidProgramHeader);
    refuse(&lenient(), |file| file.segment(0, P_FILESZ, 1 << 40), OUT_OF_BOUNDS);
    refuse(&lenient(), |file| file.segment(0, P_OFFSET, u64::MAX), OUT_OF_BOUNDS);
}

#[test]
fn descending_overlapping_or_out_of_bounds_sections_are_refused() {
    let before = parse_error("sections not in ascending order");
    refuse(&lenient(), |file| file.section(".rodata", SH_OFFSET, TEXT), before);
    let overlap = || parse_error("values overlap");
    refuse(&lenient(), |file| file.section(".text", SH_OFFSET, 100), overlap());
    refuse(&lenient(), |file| file.section(".comment", SH_SIZE, 1 << 20), overlap());
    // An empty section within a table counts as overlap.
    let empty = |file: &mut File| {
        file.section(".text", SH_SIZE, 0);
        file.section(".text", SH_OFFSET, 80);
    };
    refuse(&lenient(), empty, overlap());
    // A section without content overlaps nothing, but the size of the file bounds it.
    let no_bits = |file: &mut File| {
        file.section(".comment", SH_TYPE, SHT_NOBITS);
        file.section(".comment", SH_OFFSET, 0);
    };
    accept(&lenient(), no_bits, &deployment());
    let too_long = |file: &mut File| {
        no_bits(file);
        file.section(".comment", SH_SIZE, 1 << 20);
    };
    refuse(&lenient(), too_long, OUT_OF_BOUNDS);
}

#[test]
fn section_names_must_be_short_and_in_a_string_table() {
    let none = parse_error("no section name string table found");
    refuse(&lenient(), |file| file.header(E_SHSTRNDX, 0), none);
    let invalid = || parse_error("invalid section header");
    refuse(&lenient(), |file| file.section(".shstrtab", SH_TYPE, 1), invalid());
    refuse(&lenient(), |file| file.section(".comment", SH_NAME, 1 << 20), OUT_OF_BOUNDS);
    let long = |file: &mut File| {
        let at = file.data(".shstrtab");
        file.bytes[at + 1..at + 20].fill(b'x');
    };
    let text = "Section or symbol name `xxxxxxxxxxxxxxxx` is longer than `16` bytes";
    refuse(&lenient(), long, parse_error(text));
    for name in [".symtab", ".strtab", ".dynstr"] {
        let twice = |file: &mut File| {
            let name = file.of(name, SH_NAME);
            file.section(".comment", SH_NAME, name);
        };
        refuse(&lenient(), twice, invalid());
    }
}

#[test]
fn more_than_one_text_section_and_writable_data_are_refused() {
    let renamed = |from: &'static str, name: &'static [u8]| {
        move |file: &mut File| {
            let at = file.data(".shstrtab") + usize::try_from(file.of(from, SH_NAME)).unwrap();
            file.bytes[at..at + name.len()].copy_from_slice(name);
        }
    };
    refuse(&lenient(), renamed(".text", b".tixt"), ElfError::NotOneTextSection);
    refuse(&lenient(), renamed(".comment", b".text\0"), ElfError::NotOneTextSection);
    let writable = |name: &str| ElfError::WritableSectionNotSupported(name.to_owned());
    refuse(&lenient(), renamed(".comment", b".bss.x\0"), writable(".bss.x"));
    refuse(&lenient(), renamed(".data.rel.ro", b".data\0"), writable(".data"));
    accept(&lenient(), renamed(".comment", b".data\0"), &deployment());
    accept(&lenient(), renamed(".data.rel.ro", b".data.rel\0"), &deployment());
}

#[test]
fn dynamic_table_is_found_by_segment_or_else_by_section() {
    let no_segment = |file: &mut File| file.segment(1, P_TYPE, 0);
    assert_eq!(
        accept(&lenient(), no_segment, &deployment()),
        accept(&lenient(), |_| (), &deployment())
    );
    let nonsense = |file: &mut File| file.segment(1, P_FILESZ, 15);
    accept(&lenient(), nonsense, &deployment());
    let neither = |file: &mut File| {
        file.segment(1, P_TYPE, 0);
        file.section(".dynamic", SH_SIZE, 15);
    };
    let invalid = || parse_error("invalid dynamic section table");
    refuse(&lenient(), neither, invalid());
    refuse(&lenient(), |file| file.dynamic(19, 24), invalid());
    refuse(&lenient(), |file| file.dynamic(18, 0), invalid());
    refuse(&lenient(), |file| file.dynamic(18, 17), invalid());
    refuse(&lenient(), |file| file.dynamic(17, 1 << 20), invalid());
    refuse(&lenient(), |file| file.dynamic(18, u64::MAX), OUT_OF_BOUNDS);
    refuse(&lenient(), |file| file.dynamic(6, 1), invalid());
    let text = parse_error("invalid section header");
    refuse(&lenient(), |file| file.dynamic(6, TEXT), text);
    let size = parse_error("invalid size");
    refuse(&lenient(), |file| file.section(".dynsym", SH_SIZE, 25), size);
}

#[test]
fn without_a_dynamic_table_only_relative_calls_are_relocated() {
    let program = accept(&lenient(), |file| file.dynamic(17, 0), &deployment());
    assert_eq!(slots(program.text())[..2], [call_key(pc_key(3)), call(-1)]);
}

#[test]
fn entry_must_be_an_aligned_address_in_the_code() {
    refuse(&lenient(), |file| file.header(E_ENTRY, TEXT - 8), ElfError::EntrypointOutOfBounds);
    refuse(&lenient(), |file| file.header(E_ENTRY, RODATA), ElfError::EntrypointOutOfBounds);
    refuse(&lenient(), |file| file.header(E_ENTRY, TEXT + 4), ElfError::InvalidEntrypoint);
    let program = accept(&lenient(), |file| file.header(E_ENTRY, TEXT + 16), &deployment());
    assert_eq!(program.entry_pc(), 2);
    assert_eq!(program.functions().get(ENTRYPOINT_KEY).unwrap().pc, 2);
}

/// Moves code, and the entry with it.
fn code_at(addr: u64) -> impl Fn(&mut File) {
    move |file| {
        file.section(".text", SH_ADDR, addr);
        file.header(E_ENTRY, addr + 4);
    }
}

#[test]
fn code_at_the_stack_is_refused_with_and_without_text_at_stack() {
    refuse(&lenient(), code_at(1 << 32), OUT_OF_BOUNDS);
    let before_0_24 = Environment { text_at_stack: true, ..environment() };
    let without_functions = |file: &mut File| {
        code_at(1 << 32)(file);
        file.dynamic(17, 0);
    };
    refuse_in(&lenient(), without_functions, &before_0_24, ElfError::InvalidEntrypoint);
    refuse_in(&lenient(), code_at((1 << 32) + 8), &before_0_24, OUT_OF_BOUNDS);
}

#[test]
fn relative_calls_out_of_the_code_are_refused() {
    refuse(&lenient(), |file| file.slot(0, call(9)), ElfError::RelativeJumpOutOfBounds(0));
    refuse(&lenient(), |file| file.slot(2, call(-4)), ElfError::RelativeJumpOutOfBounds(2));
    accept(&lenient(), |file| file.slot(2, call(-3)), &deployment());
    // The second slot of an `lddw` is taken for a call too.
    refuse(&lenient(), |file| file.slot(4, call(99)), ElfError::RelativeJumpOutOfBounds(4));
}

#[test]
fn function_with_the_key_of_a_syscall_is_refused() {
    let entrypoint = Syscalls::new(["log", "entrypoint"]);
    let environment = Environment { syscalls: entrypoint.into(), ..environment() };
    let collision = ElfError::SymbolHashCollision(ENTRYPOINT_KEY);
    refuse_in(&lenient(), |_| (), &environment, collision.clone());
    // Two functions named `entrypoint` collide; the one in the header then replaces them.
    let named = |file: &mut File| file.symbol(".dynsym", 2, ST_NAME, 17);
    accept(&lenient(), named, &deployment());
    let twice = |file: &mut File| {
        named(file);
        file.relocation(0, R_SYM, 4);
    };
    refuse(&lenient(), twice, collision);
}

#[test]
fn relocations_of_unknown_types_including_none_are_refused() {
    for kind in [0, 2, 9, 11, u64::from(u32::MAX)] {
        let unknown = ElfError::UnknownRelocation(u32::try_from(kind).unwrap());
        refuse(&lenient(), |file| file.relocation(0, R_TYPE, kind), unknown);
    }
}

#[test]
fn relocations_to_missing_symbols_are_refused() {
    for index in [0, 2, 3] {
        let unknown = ElfError::UnknownSymbol(5);
        refuse(&lenient(), |file| file.relocation(index, R_SYM, 5), unknown);
    }
    let nameless = |file: &mut File| file.symbol(".dynsym", 1, ST_NAME, 1 << 20);
    refuse(&lenient(), nameless, ElfError::UnknownSymbol(1 << 20));
    let no_names = |file: &mut File| file.section(".dynstr", SH_TYPE, 1);
    refuse(&lenient(), no_names, ElfError::UnknownSymbol(1));
}

#[test]
fn relocations_outside_the_file_are_refused() {
    for index in 0..5 {
        for offset in [1 << 20, u64::MAX, u64::MAX - 4] {
            refuse(&lenient(), |file| file.relocation(index, R_OFFSET, offset), OUT_OF_BOUNDS);
        }
    }
}

#[test]
fn address_zero_in_code_is_refused() {
    refuse(&lenient(), |file| file.slot(3, 0x0118), ElfError::InvalidVirtualAddress(0));
}

#[test]
fn addresses_that_the_linker_rebased_are_kept() {
    let moved = |file: &mut File| file.slot(4, 1 << 32);
    let program = accept(&lenient(), moved, &deployment());
    assert_eq!(slots(program.text())[3..5], [0x0118 | RODATA << 32, 1 << 32]);
}

#[test]
fn called_functions_outside_the_code_are_refused() {
    let outside = |file: &mut File| file.symbol(".dynsym", 2, ST_VALUE, RODATA);
    refuse(&lenient(), outside, OUT_OF_BOUNDS);
    // A symbol without an address is a syscall, even if its type is function.
    let nowhere = |file: &mut File| file.symbol(".dynsym", 2, ST_VALUE, 0);
    let program = accept(&lenient(), nowhere, &environment());
    assert_eq!(slots(program.text())[5], call_key(murmur3(b"helper")));
    let unaligned = |file: &mut File| file.symbol(".dynsym", 2, ST_VALUE, TEXT + 7 * 8 + 5);
    let program = accept(&lenient(), unaligned, &deployment());
    assert_eq!(slots(program.text())[5], call_key(pc_key(7)));
}

#[test]
fn unknown_syscalls_load_but_cannot_be_deployed() {
    let none = Environment { syscalls: Syscalls::default().into(), ..environment() };
    let program = accept(&lenient(), |_| (), &none);
    assert_eq!(slots(program.text())[1], call_key(murmur3(b"log")));
    let unresolved = ElfError::UnresolvedSymbol("log".to_owned(), TEXT / 8 + 1, TEXT + 8);
    let deployment = Environment { reject_broken_elfs: true, ..none };
    refuse_in(&lenient(), |_| (), &deployment, unresolved);
}

#[test]
fn code_without_content_is_empty_and_has_an_entry() {
    let no_bits = |file: &mut File| {
        file.section(".text", SH_TYPE, SHT_NOBITS);
        file.dynamic(17, 0);
    };
    let program = accept(&lenient(), no_bits, &deployment());
    assert!(program.text().is_empty());
    assert_eq!(program.functions().iter().len(), 1);
}

#[test]
fn first_label_of_a_slot_names_the_function() {
    let labels = Environment { labels: true, ..deployment() };
    let program = accept(&lenient(), |_| (), &labels);
    let name = |key| program.functions().get(key).unwrap().name.as_str();
    assert_eq!(name(pc_key(3)), "function_3");
    assert_eq!(name(pc_key(7)), "helper");
    assert_eq!(name(ENTRYPOINT_KEY), "entrypoint");
    let outside = |file: &mut File| file.symbol(".symtab", 2, ST_VALUE, RODATA);
    refuse_in(&lenient(), outside, &labels, OUT_OF_BOUNDS);
    let nameless = |file: &mut File| file.section(".strtab", SH_TYPE, 1);
    accept(&lenient(), nameless, &labels);
}
