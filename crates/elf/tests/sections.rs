//! Sections and symbols for tools, of files that load and of files that do not.

mod common;

use common::*;
use selkie_elf::Sections;

#[test]
fn sections_are_found_by_name() {
    let file = lenient();
    let sections = Sections::read(&file.bytes);
    assert_eq!(sections.iter().len(), 12);
    assert_eq!(sections.get(".comment").unwrap().bytes, b"hand-made");
    let text = sections.get(".text").unwrap();
    assert_eq!((text.addr, text.offset, text.bytes.len()), (TEXT, TEXT, 80));
    assert!(sections.get(".debug_line").is_none());
}

#[test]
fn symbols_name_functions_by_slot() {
    let mut file = lenient();
    let program = accept(&file, |_| (), &environment());
    let names = |file: &File| -> Vec<(u32, String)> {
        let names = Sections::read(&file.bytes).function_names(&program);
        names.into_iter().map(|(pc, name)| (pc, name.into_owned())).collect()
    };
    let expected = [(0, "entrypoint".to_owned()), (7, "helper".to_owned())];
    assert_eq!(names(&file), expected);
    // A stripped file still has its dynamic symbols.
    file.section(".symtab", SH_TYPE, 1);
    assert_eq!(names(&file), expected);
    file.section(".dynsym", SH_TYPE, 1);
    assert_eq!(names(&file), []);
}

#[test]
fn symbols_distinguish_functions_from_data() {
    let file = lenient();
    let symbols: Vec<_> = Sections::read(&file.bytes).symbols().collect();
    let data = symbols.iter().find(|symbol| symbol.name() == "data").unwrap();
    assert_eq!((data.addr, data.is_function), (RODATA, false));
    let log = symbols.iter().find(|symbol| symbol.name() == "log").unwrap();
    assert!(log.is_function, "a global label may be called");
}

#[test]
fn broken_files_yield_their_readable_sections() {
    let file = lenient();
    for length in 0..file.bytes.len() {
        let sections = Sections::read(&file.bytes[..length]);
        assert!(sections.symbols().next().is_none(), "the section table is at the end");
    }
    let mut broken = file;
    broken.section(".comment", SH_SIZE, u64::MAX);
    broken.section(".strtab", SH_OFFSET, u64::MAX);
    broken.section(".rodata", SH_NAME, u64::MAX);
    let sections = Sections::read(&broken.bytes);
    assert!(sections.get(".comment").unwrap().bytes.is_empty());
    assert!(sections.symbols().next().is_none());
    assert!(sections.get(".text").is_some() && sections.get(".rodata").is_none());
}
