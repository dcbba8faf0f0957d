//! Features that compilers rarely use, or only compilers that tests cannot assume.

use selkie_isa::{Version, symbol::murmur3};
use selkie_link::{Input, Linked, Options, Statics, link};

use crate::{
    machine::{VERSIONS, linked, run},
    object::{Object, Section, Symbol, word},
};

pub(crate) const EXIT: [u8; 8] = word(0x95, 0, 0, 0, 0);

/// A call that a relocation completes.
pub(crate) const CALL: [u8; 8] = word(0x85, 0, 1, 0, -1);

/// Adds a section of code with one global function.
pub(crate) fn function(
    object: &mut Object,
    name: &str,
    words: &[[u8; 8]],
    relocations: &[(u64, u32, &str)],
) {
    function_of(object, name, words.concat(), relocations);
}

/// Adds a section of code, given as bytes, with one global function.
pub(crate) fn function_of(
    object: &mut Object,
    name: &str,
    data: Vec<u8>,
    relocations: &[(u64, u32, &str)],
) {
    let section = format!(".text.{name}");
    symbol(object, name, &section, data.len() as u64, 0x12);
    let relocations = relocations.iter().map(|&(at, kind, name)| (at, kind, name.to_owned()));
    object.sections.push(Section {
        name: section,
        kind: 1,
        flags: 6,
        align: 8,
        data,
        relocations: relocations.collect(),
        ..Section::default()
    });
}

pub(crate) fn symbol(object: &mut Object, name: &str, home: &str, size: u64, info: u8) {
    let (name, home) = (name.to_owned(), home.to_owned());
    object.symbols.push(Symbol { name, home, value: 0, size, info });
}

pub(crate) fn undefined(object: &mut Object, name: &str) {
    symbol(object, name, "undefined", 0, 0x10);
}

/// Reports r0 as return data: where the program ends.
pub(crate) fn report() -> Vec<[u8; 8]> {
    let hash = murmur3(b"sol_set_return_data").cast_signed();
    vec![
        word(0x7b, 10, 0, -8, 0),
        word(0xbf, 1, 10, 0, 0),
        word(0x07, 1, 0, 0, -8),
        word(0xb7, 2, 0, 0, 8),
        word(0x85, 0, 0, 0, hash),
        word(0xb7, 0, 0, 0, 0),
        EXIT,
    ]
}

/// Asserts what a program reports for all versions.
#[track_caller]
fn check(files: &[(&str, &[u8])], expected: u64) -> Linked {
    let [first, last] = VERSIONS.map(|version| {
        let linked = linked(files, version);
        let run = run(&linked.elf, &[]);
        assert_eq!(run.result, Ok(()), "{version}");
        assert_eq!(run.data, expected.to_le_bytes(), "{version}");
        linked
    });
    assert_eq!(first.functions.len(), last.functions.len());
    last
}

#[test]
fn stack_arguments_arrive_in_the_callee() {
    // LLVM 23: the seventh argument is stored at [r11 - 16] and loaded from [r11 + 16].
    let mut object = Object::default();
    let mut main = vec![
        word(0x7a, 10, 0, -24, 5),
        word(0x7a, 11, 0, -8, 1000),
        word(0xb7, 3, 0, 0, 70),
        word(0x7b, 11, 3, -16, 0),
        word(0xb7, 1, 0, 0, 3),
        CALL,
        word(0x79, 1, 10, -24, 0),
        word(0x0f, 0, 1, 0, 0),
    ];
    main.extend(report());
    function(&mut object, "entrypoint", &main, &[(40, 10, "sum")]);
    // It calls itself down to depth 0, and looks at its arguments after that.
    let sum = [
        word(0x15, 1, 0, 8, 0),
        word(0xbf, 6, 1, 0, 0),
        word(0x79, 2, 11, 8, 0),
        word(0x07, 2, 0, 0, 1),
        word(0x7b, 11, 2, -8, 0),
        word(0x7a, 11, 0, -16, 4),
        word(0x07, 1, 0, 0, -1),
        CALL,
        word(0x05, 0, 0, 1, 0),
        word(0xb7, 0, 0, 0, 0),
        word(0x79, 1, 11, 8, 0),
        word(0x61, 2, 11, 16, 0),
        word(0x0f, 0, 1, 0, 0),
        word(0x0f, 0, 2, 0, 0),
        EXIT,
    ];
    function(&mut object, "sum", &sum, &[(56, 10, "sum")]);
    // 1003 + 4, 1002 + 4, 1001 + 4, 1000 + 70, and 5.
    check(&[("a.o", &object.write())], 1007 + 1006 + 1005 + 1070 + 5);
}

#[test]
fn stack_arguments_arrive_in_a_callee_that_is_called_through_r0() {
    let mut object = Object::default();
    let numbers = (6..10).map(|register| word(0xb7, register, 0, 0, i32::from(register) * 10));
    let mut main: Vec<_> = numbers.collect();
    main.extend([
        word(0x18, 0, 0, 0, 0),
        [0; 8],
        word(0x7a, 11, 0, -8, 1000),
        word(0x7a, 11, 0, -16, 70),
        word(0xb7, 1, 0, 0, 5),
        word(0x8d, 0, 0, 0, 0),
    ]);
    // All registers that the call preserves are still needed.
    main.extend((6..10).map(|register| word(0x0f, 0, register, 0, 0)));
    main.extend(report());
    function(&mut object, "entrypoint", &main, &[(32, 1, "sum")]);
    let sum = [
        word(0x79, 2, 11, 8, 0),
        word(0x79, 0, 11, 16, 0),
        word(0x0f, 0, 1, 0, 0),
        word(0x0f, 0, 2, 0, 0),
        EXIT,
    ];
    function(&mut object, "sum", &sum, &[]);
    check(&[("a.o", &object.write())], 1000 + 70 + 5 + 60 + 70 + 80 + 90);
}

#[test]
fn only_needed_archive_members_are_linked() {
    let mut object = Object::default();
    let mut main = vec![CALL];
    main.extend(report());
    function(&mut object, "entrypoint", &main, &[(0, 10, "first")]);
    undefined(&mut object, "first");
    let mut first = Object::default();
    function(&mut first, "first", &[CALL, word(0x07, 0, 0, 0, 1), EXIT], &[(0, 10, "second")]);
    undefined(&mut first, "second");
    let mut second = Object::default();
    function(&mut second, "second", &[word(0xb7, 0, 0, 0, 41), EXIT], &[]);
    // It defines another `first` and is corrupt, but it is not needed.
    let mut broken = Object::default();
    function(&mut broken, "first", &[word(0xff, 0, 0, 0, 0)], &[]);
    function(&mut broken, "unused", &[word(0xff, 0, 0, 0, 0)], &[]);

    let mut archive = b"!<arch>\n".to_vec();
    let members = [
        ("lib.rmeta/", b"metadata".to_vec()),
        ("second.o/", second.write()),
        ("first.o/", first.write()),
        ("broken.o/", broken.write()),
    ];
    for (name, data) in members {
        let size = data.len();
        archive.extend(format!("{name:16}{:12}{:6}{:6}{:8}{size:<10}`\n", 0, 0, 0, 644).bytes());
        archive.extend(&data);
        archive.resize(archive.len().next_multiple_of(2), b'\n');
    }
    let linked = check(&[("lib.a", &archive), ("a.o", &object.write())], 42);
    let objects: Vec<_> = linked.functions.iter().filter_map(|it| it.object.as_deref()).collect();
    assert_eq!(objects, ["a.o", "lib.a(first.o)", "lib.a(second.o)"]);
}

#[test]
fn strong_definitions_win_and_common_symbols_are_merged() {
    let mut object = Object::default();
    let mut main = vec![
        CALL,
        word(0x18, 1, 0, 0, 0),
        [0; 8],
        word(0x7b, 1, 0, 0, 0),
        word(0xb7, 0, 0, 0, 0),
        CALL,
    ];
    main.extend(report());
    let relocations = [(0, 10, "value"), (8, 1, "shared"), (40, 10, "read")];
    function(&mut object, "entrypoint", &main, &relocations);
    function(&mut object, "value", &[word(0xb7, 0, 0, 0, 1), EXIT], &[]);
    object.symbols.iter_mut().filter(|it| it.name == "value").for_each(|it| it.info = 0x22);
    symbol(&mut object, "shared", "common", 4, 0x11);
    undefined(&mut object, "read");
    let mut other = Object::default();
    function(&mut other, "value", &[word(0xb7, 0, 0, 0, 7), EXIT], &[]);
    let read = [word(0x18, 1, 0, 0, 0), [0; 8], word(0x79, 0, 1, 0, 0), EXIT];
    function(&mut other, "read", &read, &[(0, 1, "shared")]);
    symbol(&mut other, "shared", "common", 8, 0x11);
    other.symbols.last_mut().unwrap().value = 8;
    let linked = check(&[("a.o", &object.write()), ("b.o", &other.write())], 7);
    assert_eq!(linked.heap_bytes, 16);
    assert_eq!((linked.data[0].size, linked.data[0].addr), (8, 0x3_0000_0008));
}

#[test]
fn unreachable_code_is_left_out_even_if_invalid() {
    let mut object = Object::default();
    let mut main = vec![word(0xb7, 0, 0, 0, 9)];
    main.extend(report());
    function(&mut object, "entrypoint", &main, &[]);
    function(&mut object, "dead", &[CALL, word(0x7a, 10, 0, -30000, 1), EXIT], &[(0, 10, "lost")]);
    undefined(&mut object, "lost");
    let linked = check(&[("a.o", &object.write())], 9);
    assert_eq!(linked.functions.len(), 1);
}

#[test]
fn pointers_to_functions_syscalls_and_undefined_weak_symbols() {
    let mut object = Object::default();
    // A pointer to a syscall can be called; one to an undefined weak function is 0.
    let mut main = vec![
        word(0x18, 2, 0, 0, 0),
        [0; 8],
        word(0x55, 2, 0, 5, 0),
        word(0x18, 3, 0, 0, 0),
        [0; 8],
        // As LLVM until 16 writes it: the register is in the immediate.
        word(0x8d, 0, 0, 0, 3),
        word(0xb7, 0, 0, 0, 5),
        word(0x05, 0, 0, 1, 0),
        word(0xb7, 0, 0, 0, 6),
    ];
    main.extend(report());
    let relocations = [(0, 1, "nobody"), (24, 1, "sol_log_compute_units_")];
    function(&mut object, "entrypoint", &main, &relocations);
    symbol(&mut object, "nobody", "undefined", 0, 0x20);
    undefined(&mut object, "sol_log_compute_units_");
    let linked = check(&[("a.o", &object.write())], 5);
    assert_eq!(linked.functions[1].name, "sol_log_compute_units_");
}

#[test]
fn read_only_data_is_never_at_address_zero() {
    let mut object = Object::default();
    let mut main =
        vec![word(0x18, 1, 0, 0, 0), [0; 8], word(0x15, 1, 0, 1, 0), word(0x71, 0, 1, 1, 0)];
    main.extend(report());
    function(&mut object, "entrypoint", &main, &[(0, 1, "table")]);
    object.sections.push(Section {
        name: ".rodata.table".into(),
        kind: 1,
        flags: 2,
        align: 16,
        data: vec![1, 77],
        ..Section::default()
    });
    symbol(&mut object, "table", ".rodata.table", 2, 0x11);
    let linked = check(&[("a.o", &object.write())], 77);
    assert_eq!(linked.data[0].addr, 16);
}

#[test]
fn heap_start_is_behind_writable_variables() {
    let mut object = Object::default();
    let mut main = vec![
        word(0x18, 1, 0, 0, 0),
        [0; 8],
        word(0x79, 2, 1, 0, 0),
        word(0x18, 0, 0, 0, 0),
        [0; 8],
    ];
    main.extend(report());
    function(&mut object, "entrypoint", &main, &[(0, 1, "static"), (24, 1, "__heap_start")]);
    object.sections.push(Section {
        name: ".bss".into(),
        kind: 8,
        flags: 3,
        align: 32,
        size: Some(33),
        ..Section::default()
    });
    symbol(&mut object, "static", ".bss", 33, 0x11);
    undefined(&mut object, "__heap_start");
    let file = object.write();
    check(&[("a.o", &file)], 0x3_0000_0020 + 40);
    let refusing = Options { statics: Statics::Refuse, ..Options::default() };
    assert!(link(&[Input { name: "a.o", bytes: &file }], &refusing).is_err());
}

#[test]
fn stripped_program_has_only_headers_and_code() {
    let object = Object::function([word(0xb7, 0, 0, 0, 0), EXIT].concat()).write();
    for (version, bytes) in [(Version::V0, 288), (Version::V3, 136)] {
        let options = Options { version, strip: true, ..Options::default() };
        let linked = link(&[Input { name: "a.o", bytes: &object }], &options).unwrap();
        assert_eq!(linked.elf.len(), bytes, "{version}");
        assert_eq!(run(&linked.elf, &[]).result, Ok(()));
    }
}

#[test]
fn function_without_exit_aborts_at_its_end() {
    let object = Object::function(word(0xb7, 0, 0, 0, 0).to_vec()).write();
    for version in VERSIONS {
        let run = run(&linked(&[("a.o", &object)], version).elf, &[]);
        assert!(run.result.is_err(), "{version}");
        assert!(run.logs.iter().any(|it| it.contains("SBF program panicked")), "{:?}", run.logs);
    }
}

#[test]
fn link_map_lists_addresses_sizes_and_files() {
    let object = Object::function([word(0x7a, 10, 0, -16, 0), EXIT].concat()).write();
    let map = linked(&[("a.o", &object)], Version::V3).map();
    let expected = "address             bytes  stack  name\n\
                    0x000100000000         16     16  entrypoint  [a.o]\n";
    assert_eq!(map, expected);
}

/// Found by fuzzing: a name of 16 bytes is too long for the loader until V2.
#[test]
fn program_with_long_debug_section_names_loads() {
    for (name, is_apart) in [(".debug_16_bytes_", true), (".debug_15_bytes", false)] {
        let mut object = Object::function([word(0xb7, 0, 0, 0, 0), EXIT].concat());
        let data = vec![1, 2, 3];
        let section = Section { name: name.into(), kind: 1, align: 1, data, ..Section::default() };
        object.sections.push(section);
        let linked = linked(&[("a.o", &object.write())], Version::V0);
        assert_eq!(linked.debug_elf.is_some(), is_apart, "{name}");
        assert_eq!(run(&linked.elf, &[]).result, Ok(()), "{name}");
    }
}
