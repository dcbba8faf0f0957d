//! Stripped files lose what only tools read, and load as the same programs.

mod common;

use common::*;
use selkie_elf::{
    Executable, Sections, load, strip, with_section_names,
    write::{Image, Symbol, SymbolKind, write},
};
use selkie_isa::Version;

/// The parts of an executable that a run depends on.
fn parts(executable: &Executable) -> (u32, &[u8], &[u8]) {
    (executable.entry_pc(), executable.text(), &executable.read_only().bytes)
}

#[test]
fn debug_information_and_symbols_are_removed() {
    const EXIT: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];
    let symbol =
        Symbol { name: "entrypoint", kind: SymbolKind::Function, offset: 0, size: 8, global: true };
    for version in [Version::V0, Version::V3] {
        let image = Image {
            rodata: b"constant",
            symbols: &[symbol],
            debug: &[(".debug_line", vec![7; 500])],
            strip: false,
            ..Image::of_text(version, &EXIT)
        };
        let whole = write(&image);
        let stripped = strip(&whole, &environment()).unwrap();
        assert!(stripped.len() + 600 < whole.len(), "{version}: {}", stripped.len());
        let sections = Sections::read(&stripped);
        assert!(sections.get(".debug_line").is_none() && sections.get(".symtab").is_none());
        let [before, after] = [&whole, &stripped].map(|it| load(it, &environment()).unwrap());
        assert_eq!(parts(&before), parts(&after));
        assert_eq!(strip(&stripped, &environment()), None, "nothing is left to leave out");
    }
}

#[test]
fn stripped_files_get_names_of_sections() {
    const EXIT: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];
    let image = Image { rodata: b"constant", strip: true, ..Image::of_text(Version::V3, &EXIT) };
    let stripped = write(&image);
    let named = with_section_names(&stripped).unwrap();
    assert_eq!(named.len(), stripped.len().next_multiple_of(8) + 16 + 2 * 64);
    let field = |at: usize| u16::from_le_bytes(named[at..at + 2].try_into().unwrap());
    // Their offsets are those of the ELF specification: e_shentsize, e_shnum, e_shstrndx, e_shoff.
    assert_eq!([58, 60, 62].map(field), [64, 2, 1]);
    let table = usize::try_from(u64::from_le_bytes(named[40..48].try_into().unwrap())).unwrap();
    assert_eq!((table % 8, table + 2 * 64), (0, named.len()));
    assert_eq!(named[table..table + 64], [0; 64], "the first header is null");
    let names = Sections::read(&named).get(".shstrtab").map(|it| it.bytes.to_vec());
    assert_eq!(names.as_deref(), Some(&b"\0.shstrtab\0"[..]));
    let [before, after] = [&stripped, &named].map(|it| load(it, &environment()).unwrap());
    assert_eq!(parts(&before), parts(&after));
    assert_eq!(strip(&named, &environment()).as_deref(), Some(&stripped[..]));
    assert_eq!(with_section_names(&named), None, "it has names");
    assert_eq!(with_section_names(b"text"), None);
}

#[test]
fn relocations_still_apply_to_stripped_files() {
    let file = lenient();
    let stripped = strip(&file.bytes, &environment()).unwrap();
    let [before, after] = [&file.bytes, &stripped].map(|it| load(it, &environment()).unwrap());
    assert_eq!(parts(&before), parts(&after));
    assert!(Sections::read(&stripped).get(".comment").is_none());
}

#[test]
fn unreadable_files_are_not_stripped() {
    let file = lenient();
    for len in 0..file.bytes.len() {
        // A file truncated after its loaded bytes may be stripped too.
        if let Some(stripped) = strip(&file.bytes[..len], &environment()) {
            load(&stripped, &environment()).unwrap();
        }
    }
    assert_eq!(strip(b"text", &environment()), None);
}

#[test]
fn deployed_programs_are_the_same_after_stripping() {
    let mut environment = environment();
    environment.reject_broken_elfs = false;
    let mut stripped_files = 0;
    for path in selkie_testdata::elfs() {
        let bytes = std::fs::read(path).expect("the file was just fetched");
        let Some(stripped) = strip(&bytes, &environment) else { continue };
        let [before, after] = [&bytes, &stripped].map(|it| load(it, &environment).unwrap());
        assert_eq!(parts(&before), parts(&after));
        stripped_files += 1;
    }
    assert!(stripped_files > 0, "no file of the list has anything to strip");
}
