//! Debug information that would take more time or memory than its size allows is refused as a whole.

mod support;

use std::thread;

use gimli::{
    DW_AT_abstract_origin, DW_AT_declaration, DW_AT_high_pc, DW_AT_linkage_name, DW_AT_low_pc,
    DW_AT_ranges, DW_TAG_inlined_subroutine, DW_TAG_lexical_block, DW_TAG_subprogram, DwAt,
    Encoding, Format, LittleEndian,
    write::{
        Address, AttributeValue, DwarfUnit, EndianVec, Range, RangeList, Sections, UnitEntryId,
    },
};
use selkie_inspect::{SourceMap, dwarf::Refusal};
use selkie_isa::Version;
use support::{EXIT, Section, bytes, elf};

const TEXT: u64 = 64;

fn unit() -> DwarfUnit {
    DwarfUnit::new(Encoding { address_size: 8, format: Format::Dwarf32, version: 5 })
}

fn set(dwarf: &mut DwarfUnit, entry: UnitEntryId, attributes: &[(DwAt, AttributeValue)]) {
    for (name, value) in attributes {
        dwarf.unit.get_mut(entry).set(*name, value.clone());
    }
}

/// The addresses of all instructions.
fn addresses() -> [(DwAt, AttributeValue); 2] {
    let first = AttributeValue::Address(Address::Constant(TEXT));
    [(DW_AT_low_pc, first), (DW_AT_high_pc, AttributeValue::Udata(64))]
}

fn map(mut dwarf: DwarfUnit) -> SourceMap {
    let root = dwarf.unit.root();
    set(&mut dwarf, root, &addresses());
    let mut written = Sections::new(EndianVec::new(LittleEndian));
    dwarf.write(&mut written).unwrap();
    let mut sections = vec![Section::new(".text", TEXT, bytes(&[EXIT; 8]))];
    written
        .for_each(|id, data| {
            sections.push(Section::new(id.name(), 0, data.slice().to_vec()));
            Ok::<_, gimli::write::Error>(())
        })
        .unwrap();
    SourceMap::load(elf(Version::V0, TEXT, sections))
}

/// A function with so many inlined calls inside each other, each in a block.
fn nested(depth: usize) -> SourceMap {
    let mut dwarf = unit();
    let root = dwarf.unit.root();
    let mut entry = dwarf.unit.add(root, DW_TAG_subprogram);
    set(&mut dwarf, entry, &addresses());
    for _ in 0..depth {
        entry = dwarf.unit.add(entry, DW_TAG_lexical_block);
        entry = dwarf.unit.add(entry, DW_TAG_inlined_subroutine);
        set(&mut dwarf, entry, &addresses());
    }
    map(dwarf)
}

#[test]
fn inlined_calls_are_followed_up_to_a_depth() {
    // The stack of a test's thread, which is smaller than that of a process.
    let thread = thread::Builder::new().stack_size(2 << 20);
    let frames = thread.spawn(|| nested(256).frames_at(1).len()).unwrap();
    assert_eq!(frames.join().unwrap(), 257);
}

#[test]
fn deeper_inlined_calls_are_refused() {
    let map = nested(257);
    assert_eq!(map.refusal(), Some(Refusal::Nesting));
    assert_eq!((map.frames_at(1), map.line_at(1)), (vec![], None));
}

#[test]
fn entries_of_many_attributes_are_refused() {
    let attributes = |count: u16| {
        let mut dwarf = unit();
        let root = dwarf.unit.root();
        let entry = dwarf.unit.add(root, DW_TAG_subprogram);
        // Attributes of producers, which begin at 0x2000.
        let names = (0..count).map(|it| (DwAt(0x2400 + it), AttributeValue::Flag(true)));
        set(&mut dwarf, entry, &names.collect::<Vec<_>>());
        map(dwarf).refusal()
    };
    assert_eq!(attributes(64), None);
    assert_eq!(attributes(65), Some(Refusal::Entries));
}

#[test]
fn very_many_small_entries_are_refused() {
    let entries = |count: usize| {
        let mut dwarf = unit();
        let root = dwarf.unit.root();
        for _ in 0..count {
            dwarf.unit.add(root, DW_TAG_subprogram);
        }
        map(dwarf).refusal()
    };
    assert_eq!(entries(50_000), None);
    assert_eq!(entries(150_000), Some(Refusal::Entries));
}

#[test]
fn long_names_of_many_functions_are_refused() {
    let functions = |count: usize| {
        let mut dwarf = unit();
        let name = dwarf.strings.add("a".repeat(100_000));
        let root = dwarf.unit.root();
        for _ in 0..count {
            let entry = dwarf.unit.add(root, DW_TAG_subprogram);
            set(&mut dwarf, entry, &[(DW_AT_linkage_name, AttributeValue::StringRef(name))]);
        }
        map(dwarf).refusal()
    };
    assert_eq!(functions(10), None);
    assert_eq!(functions(1000), Some(Refusal::SharedTexts));
}

#[test]
fn long_lists_of_addresses_of_many_functions_are_refused() {
    let functions = |count: usize| {
        let mut dwarf = unit();
        let range = |index: u64| Range::StartLength {
            begin: Address::Constant(TEXT + index * 8),
            length: 8,
        };
        let list = dwarf.unit.ranges.add(RangeList((0..10_000).map(range).collect()));
        let root = dwarf.unit.root();
        for _ in 0..count {
            let entry = dwarf.unit.add(root, DW_TAG_subprogram);
            set(&mut dwarf, entry, &[(DW_AT_ranges, AttributeValue::RangeListRef(list))]);
        }
        map(dwarf).refusal()
    };
    assert_eq!(functions(10), None);
    assert_eq!(functions(1000), Some(Refusal::SharedRanges));
}

#[test]
fn debug_information_of_compilers_is_read() {
    let mut dwarf = unit();
    let root = dwarf.unit.root();
    let inner = dwarf.unit.add(root, DW_TAG_subprogram);
    set(&mut dwarf, inner, &[(DW_AT_declaration, AttributeValue::Flag(true))]);
    for _ in 0..1000 {
        let outer = dwarf.unit.add(root, DW_TAG_subprogram);
        let call = dwarf.unit.add(outer, DW_TAG_inlined_subroutine);
        set(&mut dwarf, call, &[(DW_AT_abstract_origin, AttributeValue::UnitRef(inner))]);
    }
    assert_eq!(map(dwarf).refusal(), None);
}
