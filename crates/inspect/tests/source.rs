//! Functions and lines of files with symbols and debug information.

mod support;

use gimli::{
    DW_AT_abstract_origin, DW_AT_call_file, DW_AT_call_line, DW_AT_comp_dir, DW_AT_high_pc,
    DW_AT_linkage_name, DW_AT_low_pc, DW_AT_name, DW_AT_stmt_list, DW_TAG_inlined_subroutine,
    DW_TAG_subprogram, DwAt, Encoding, Format, LineEncoding, LittleEndian,
    write::{
        Address, AttributeValue, DwarfUnit, EndianVec, LineProgram, LineString, Sections,
        UnitEntryId,
    },
};
use selkie_inspect::{Location, SourceFrame, SourceMap};
use selkie_isa::Version;
use support::{EXIT, Section, bytes, elf, symbols};

const INNER: &str = "_ZN5vault3add17h0123456789abcdefE";

/// A file of eight instructions at `text`: function `entrypoint` over all of them, lines 10 to 17,
/// and `vault::add` of line 3 inlined into the third and fourth.
fn file(version: Version, text: u64) -> Vec<u8> {
    let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 5 };
    let mut dwarf = DwarfUnit::new(encoding);
    let string = |text: &str| LineString::String(text.into());
    let lines = LineEncoding { minimum_instruction_length: 8, ..LineEncoding::default() };
    let program = LineProgram::new(encoding, lines, string("/src"), None, string("vault.rs"), None);
    dwarf.unit.line_program = program;
    let program = &mut dwarf.unit.line_program;
    let directory = program.default_directory();
    let source = program.add_file(string("vault.rs"), directory, None);
    program.begin_sequence(Some(Address::Constant(text)));
    for slot in 0..8 {
        let row = program.row();
        row.file = source;
        row.address_offset = slot * 8;
        row.line = if slot == 2 || slot == 3 { 3 } else { 10 + slot };
        row.column = 5;
        program.generate_row();
    }
    program.end_sequence(64);

    let root = dwarf.unit.root();
    let range = |first: u64, len: u64| {
        let first = AttributeValue::Address(Address::Constant(text + first * 8));
        [(DW_AT_low_pc, first), (DW_AT_high_pc, AttributeValue::Udata(len * 8))]
    };
    let text_of = |text: &str| AttributeValue::String(text.into());
    let unit = [(DW_AT_name, text_of("vault.rs")), (DW_AT_comp_dir, text_of("/src"))];
    let list = [(DW_AT_stmt_list, AttributeValue::LineProgramRef)];
    set(&mut dwarf, root, unit.into_iter().chain(list).chain(range(0, 8)).collect());
    let inner = dwarf.unit.add(root, DW_TAG_subprogram);
    dwarf.unit.get_mut(inner).set(DW_AT_linkage_name, text_of(INNER));
    let outer = dwarf.unit.add(root, DW_TAG_subprogram);
    let call = dwarf.unit.add(outer, DW_TAG_inlined_subroutine);
    set(
        &mut dwarf,
        outer,
        [(DW_AT_name, text_of("entrypoint"))].into_iter().chain(range(0, 8)).collect(),
    );
    let origin = [
        (DW_AT_abstract_origin, AttributeValue::UnitRef(inner)),
        (DW_AT_call_file, AttributeValue::FileIndex(Some(source))),
        (DW_AT_call_line, AttributeValue::Udata(12)),
    ];
    set(&mut dwarf, call, origin.into_iter().chain(range(2, 2)).collect());

    let mut written = Sections::new(EndianVec::new(LittleEndian));
    dwarf.write(&mut written).unwrap();
    let mut sections = vec![Section::new(".text", text, bytes(&[EXIT; 8]))];
    sections.extend(symbols(&[(text, "entrypoint"), (text + 48, INNER)], 3));
    written
        .for_each(|id, data| {
            sections.push(Section::new(id.name(), 0, data.slice().to_vec()));
            Ok::<_, gimli::write::Error>(())
        })
        .unwrap();
    elf(version, text, sections)
}

fn set(dwarf: &mut DwarfUnit, entry: UnitEntryId, attributes: Vec<(DwAt, AttributeValue)>) {
    for (name, value) in attributes {
        dwarf.unit.get_mut(entry).set(name, value);
    }
}

fn frame(function: &str, line: u32, column: Option<u32>) -> SourceFrame {
    let location = Location { file: "/src/vault.rs".into(), line, column };
    SourceFrame { function: Some(function.into()), location: Some(location) }
}

fn check(version: Version, text: u64) {
    let map = SourceMap::load(file(version, text));
    assert_eq!(map.line_at(0).unwrap().to_string(), "/src/vault.rs:10:5");
    assert_eq!(map.frames_at(1), [frame("entrypoint", 11, Some(5))]);
    let inlined = [frame("vault::add", 3, Some(5)), frame("entrypoint", 12, None)];
    assert_eq!(map.frames_at(2), inlined);
    assert_eq!(map.line_at(8), None);
    let functions = [0, 5, 6, 7].map(|pc| map.function_at(pc).unwrap());
    assert_eq!(functions, ["entrypoint", "entrypoint", "vault::add", "vault::add"]);
}

#[test]
fn lines_until_v2_are_found_by_file_address() {
    check(Version::V0, 64);
}

#[test]
fn lines_from_v3_are_found_by_guest_address() {
    check(Version::V3, 0x1_0000_0000);
}

#[test]
fn file_without_debug_information_has_functions() {
    let mut sections = vec![Section::new(".text", 64, bytes(&[EXIT; 2]))];
    sections.extend(symbols(&[(72, "late")], 3));
    let map = SourceMap::load(elf(Version::V0, 64, sections));
    assert_eq!(map.frames_at(0), []);
    assert_eq!(map.frames_at(1), [SourceFrame { function: Some("late".into()), location: None }]);
    assert_eq!(map.line_at(1), None);
}

#[test]
fn broken_files_have_no_functions_and_lines() {
    let whole = file(Version::V0, 64);
    for len in (0..whole.len()).step_by(7) {
        let map = SourceMap::load(&whole[..len]);
        let _ = (map.frames_at(2), map.line_at(0), map.function_at(7));
    }
    for at in 64..whole.len() {
        let mut broken = whole.clone();
        broken[at] ^= 0xff;
        let map = SourceMap::load(broken);
        let _ = (map.frames_at(2), map.line_at(u32::MAX), map.function_at(7));
    }
    assert_eq!(SourceMap::load(*b"no file").frames_at(0), []);
}
