//! Debug information whose units share abbreviations and line programs.

use std::fs;

use crate::{
    bound::{assert_short_lines, run},
    common::{folder, repository},
    elf::{File, NAMES, PROGBITS, Section},
};

const UNITS: usize = 20_000;

fn uleb(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(value & 0x7f).expect("seven bits");
        value >>= 7;
        if value == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

/// `.debug_abbrev`: a unit with lines and addresses, and many more that are not used.
fn abbreviations(count: usize) -> Vec<u8> {
    let unit = [1, 0x11, 0, 0x10, 0x17, 0x11, 0x01, 0x12, 0x07, 0, 0];
    let others = (2..count).flat_map(|code| [uleb(code), vec![0x34, 0, 0, 0]].concat());
    unit.into_iter().chain(others).chain([0]).collect()
}

/// `.debug_info`: units of DWARF 4, each of which has the lines of all addresses, and abbreviations
/// that are found at `abbreviations`.
fn units(count: usize, abbreviations: impl Fn(usize) -> usize) -> Vec<u8> {
    let unit = |index| {
        let at = u32::try_from(abbreviations(index)).expect("a small section");
        let mut unit = vec![4, 0];
        unit.extend(at.to_le_bytes());
        unit.push(8);
        unit.push(1);
        unit.extend(0_u32.to_le_bytes());
        unit.extend(0_u64.to_le_bytes());
        unit.extend((1_u64 << 40).to_le_bytes());
        let length = u32::try_from(unit.len()).expect("a short unit");
        [length.to_le_bytes().to_vec(), unit].concat()
    };
    (0..count).flat_map(unit).collect()
}

/// `.debug_line`: a program of so many rows.
fn lines(rows: usize) -> Vec<u8> {
    // Version, then what follows the header's length: instructions, lines, opcodes, tables.
    let tables = [&[1, 1, 1, 0xfb, 14, 13][..], &[0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1], &[0]];
    let files = b"a.s\0\0\0\0\0";
    let header: Vec<u8> = [&tables.concat()[..], files].concat();
    let header_length = u32::try_from(header.len()).expect("a short header");
    let start = [&[0, 9, 2][..], &64_u64.to_le_bytes()].concat();
    let end = [2, 1, 0, 1, 1];
    let program = [&start[..], &[1], &vec![0x20; rows], &end].concat();
    let body = [&4_u16.to_le_bytes()[..], &header_length.to_le_bytes(), &header, &program].concat();
    let length = u32::try_from(body.len()).expect("a small section");
    [&length.to_le_bytes()[..], &body].concat()
}

/// Checks a program that the verifier rejects, so that the command looks for the source line.
fn check(name: &str, info: Vec<u8>, abbreviations: Vec<u8>, lines: Vec<u8>) {
    let mut file = File::program(4);
    file.sections[1].bytes[..8].copy_from_slice(&[0xff; 8]);
    for (name, bytes) in
        [(".debug_info", info), (".debug_abbrev", abbreviations), (".debug_line", lines)]
    {
        let at = u32::try_from(file.sections[NAMES].bytes.len()).expect("few names");
        file.sections[NAMES].bytes.extend([name.as_bytes(), b"\0"].concat());
        file.sections.push(Section { name: at, kind: PROGBITS, bytes, ..Section::default() });
    }
    let bytes = file.write();
    let folder = folder(&format!("bounds-debug-{name}"));
    fs::write(folder.join("program.so"), &bytes).expect("the folder is writable");
    for command in ["check", "run", "disasm"] {
        assert_short_lines(&run(&folder, bytes.len(), &[command, "program.so"]));
    }
    let output = run(&folder, bytes.len(), &["check", "program.so"]);
    assert!(output.stdout.contains("by the verifier"), "{output:?}");
    assert_eq!(output.stdout.contains("a.s:"), name == "valid", "{output:?}");
}

#[test]
fn valid_units_are_read() {
    check("valid", units(1, |_| 0), abbreviations(2), lines(8));
}

#[test]
fn units_that_share_a_line_program() {
    check("lines", units(UNITS, |_| 0), abbreviations(2), lines(500_000));
}

#[test]
fn units_that_share_abbreviations() {
    check("shared", units(UNITS, |_| 0), abbreviations(60_000), lines(8));
}

#[test]
fn units_whose_abbreviations_overlap() {
    let table = abbreviations(60_000);
    check("overlapping", units(UNITS, |index| 11 + 7 * index), table, lines(8));
}

/// Opens a replay of `testdata/hostile` with each command that reads debug information. The replay is
/// shown, without that.
fn check_replay(name: &str) {
    let folder = folder(&format!("bounds-debug-{name}"));
    let path = repository().join("testdata/hostile").join(name);
    let bytes = fs::read(path).expect("the file is there");
    fs::write(folder.join(name), &bytes).expect("the folder is writable");
    for arguments in [
        &["profile", name][..],
        &["coverage", name],
        &["trace", name, "--registers"],
        &["debug", name],
    ] {
        let output = run(&folder, bytes.len(), arguments);
        // Without lines, there is no coverage.
        let code = if arguments[0] == "coverage" { 2 } else { 0 };
        assert_eq!(output.code, Some(code), "{output:?}");
        assert!(output.stderr.contains("is not used"), "{arguments:?}: {output:?}");
        assert_short_lines(&output);
    }
}

#[test]
fn inlined_calls_that_are_nested_deeply() {
    check_replay("deep-inlining.replay");
}

#[test]
fn entries_with_many_attributes_without_bytes() {
    check_replay("quadratic-attributes.replay");
}

/// `.debug_line` with these tables of folders and files, and a program that ends at once.
fn line_header(version: u16, tables: &[u8]) -> Vec<u8> {
    let opcodes = [&[1, 1, 1, 0xfb, 14, 13][..], &[0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]].concat();
    let header = [&opcodes[..], tables].concat();
    let header_length = u32::try_from(header.len()).expect("a small header");
    let sizes: &[u8] = if version == 5 { &[8, 0] } else { &[] };
    let version = version.to_le_bytes();
    let program = [0, 1, 1];
    let body = [&version[..], sizes, &header_length.to_le_bytes(), &header, &program].concat();
    let length = u32::try_from(body.len()).expect("a small section");
    [&length.to_le_bytes()[..], &body].concat()
}

#[test]
fn line_headers_with_millions_of_folders_or_files() {
    const COUNT: usize = 2_000_000;
    let old = |folders: Vec<u8>, files: Vec<u8>| [&folders[..], &[0], &files, &[0]].concat();
    check(
        "folders",
        units(1, |_| 0),
        abbreviations(2),
        line_header(4, &old(b"a\0".repeat(COUNT), vec![])),
    );
    let files = b"a\0\0\0\0".repeat(COUNT / 2);
    check("files", units(1, |_| 0), abbreviations(2), line_header(4, &old(vec![], files)));
    // A column of paths as texts in the table, and so many empty ones.
    let table = [&[1, 1, 8][..], &uleb(COUNT), &vec![0; COUNT], &[0, 0]].concat();
    check("new-folders", units(1, |_| 0), abbreviations(2), line_header(5, &table));
    // Rows without columns take no bytes.
    let table = [&[0][..], &uleb(1 << 40), &[0, 0]].concat();
    check("empty-folders", units(1, |_| 0), abbreviations(2), line_header(5, &table));
}

#[test]
fn line_headers_whose_files_share_a_long_folder() {
    let folder = [&vec![b'a'; 1 << 20][..], &[0, 0]].concat();
    let files = b"a\0\x01\0\0".repeat(10_000);
    let tables = [&folder[..], &files, &[0]].concat();
    check("long-folder", units(1, |_| 0), abbreviations(2), line_header(4, &tables));
}

#[test]
fn debug_sections_that_share_their_bytes() {
    let mut file = File::program(4);
    file.sections[1].bytes[..8].copy_from_slice(&[0xff; 8]);
    let names = [
        ".debug_info",
        ".debug_abbrev",
        ".debug_line",
        ".debug_str",
        ".debug_types",
        ".debug_loc",
        ".debug_macro",
        ".debug_ranges",
        ".debug_aranges",
        ".debug_addr",
    ];
    let info = units(UNITS * 3, |_| 0);
    let range = Some((128, info.len() as u64));
    for (index, name) in names.into_iter().enumerate() {
        let at = u32::try_from(file.sections[NAMES].bytes.len()).expect("few names");
        file.sections[NAMES].bytes.extend([name.as_bytes(), b"\0"].concat());
        let bytes = if index == 0 { info.clone() } else { Vec::new() };
        file.sections.push(Section {
            name: at,
            kind: PROGBITS,
            bytes,
            range,
            ..Section::default()
        });
    }
    // From V3 the loader does not look at sections, and the program needs one header.
    let bytes = file.write();
    let folder = folder("bounds-debug-same");
    fs::write(folder.join("program.so"), &bytes).expect("the folder is writable");
    for command in ["check", "run", "disasm"] {
        assert_short_lines(&run(&folder, bytes.len(), &[command, "program.so"]));
    }
}
