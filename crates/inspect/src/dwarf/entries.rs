//! A check of the entries: how many there are, what they refer to, how deeply they are nested.
//!
//! An abbreviation may list attributes that take no bytes, and entries may refer to the same texts and
//! lists of addresses. Both would make reading quadratic in the size of the file. `addr2line` follows
//! inlined calls by recursion, so their nesting is bounded too.

use gimli::{
    Abbreviation, Attribute, Dwarf, Reader, Section as _, Unit, UnitHeader, constants as dw,
};

use super::Refusal;

/// The attributes of an entry. Compilers write at most 20.
const ENTRY_ATTRIBUTES_MAX: usize = 64;

/// The entries, besides one for each four bytes of their section.
const ENTRIES_MAX: usize = 500_000;

/// The functions and inlined calls, besides one for each 16 bytes of their section.
const FUNCTIONS_MAX: usize = 100_000;

/// The attributes for each byte of the section, besides a million.
const BYTE_ATTRIBUTES_MAX: usize = 8;

/// The inlined calls inside each other. Compilers inline some dozens.
const NESTING_MAX: usize = 256;

/// The bytes of text that entries refer to, for each byte of them, besides a mebibyte.
const BYTE_TEXTS_MAX: usize = 64;

/// The address ranges that entries refer to, besides one for each byte of their sections.
const RANGES_MAX: usize = 100_000;

/// The bytes of the folders of all files together.
const FOLDERS_BYTES_MAX: usize = 16 << 20;

/// What the entries may still take.
struct Budget {
    entries: usize,
    functions: usize,
    attributes: usize,
    text_bytes: usize,
    ranges: usize,
    folder_bytes: usize,
}

impl Budget {
    fn new<R: Reader<Offset = usize>>(dwarf: &Dwarf<R>) -> Self {
        let entries = dwarf.debug_info.reader().len();
        let texts = dwarf.debug_str.reader().len() + dwarf.debug_line_str.reader().len();
        let (old, new) = (dwarf.ranges.debug_ranges(), dwarf.ranges.debug_rnglists());
        Self {
            entries: ENTRIES_MAX + entries / 4,
            functions: FUNCTIONS_MAX + entries / 16,
            attributes: (1 << 20) + entries.saturating_mul(BYTE_ATTRIBUTES_MAX),
            text_bytes: (1 << 20) + entries.saturating_mul(BYTE_TEXTS_MAX) + texts,
            ranges: RANGES_MAX + old.reader().len() + new.reader().len(),
            folder_bytes: FOLDERS_BYTES_MAX,
        }
    }
}

/// Subtracts from a part of the budget.
fn take(left: &mut usize, count: usize, refusal: Refusal) -> Result<(), Refusal> {
    *left = left.checked_sub(count).ok_or(refusal)?;
    Ok(())
}

/// Checks the entries of all units.
pub(super) fn check<R: Reader<Offset = usize>>(dwarf: &Dwarf<R>) -> Result<(), Refusal> {
    let mut budget = Budget::new(dwarf);
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        check_unit(dwarf, header, &mut budget)?;
    }
    Ok(())
}

/// Checks the entries of a unit, up to the first one that is malformed: readers end there too.
fn check_unit<R: Reader<Offset = usize>>(
    dwarf: &Dwarf<R>,
    header: UnitHeader<R>,
    budget: &mut Budget,
) -> Result<(), Refusal> {
    let Ok(unit) = dwarf.unit(header) else { return Ok(()) };
    let folder = unit.comp_dir.as_ref().map_or(0, Reader::len);
    let files = unit.line_program.as_ref().map_or(0, |it| it.header().file_names().len());
    take(&mut budget.folder_bytes, folder.saturating_mul(files), Refusal::SharedTexts)?;
    let Ok(mut entries) = unit.entries_raw(None) else { return Ok(()) };
    // Whether each open entry is an inlined call, and how many are.
    let (mut open, mut nesting) = (Vec::new(), 0_usize);
    while !entries.is_empty() {
        let Ok(abbreviation) = entries.read_abbreviation() else { break };
        let Some(abbreviation) = abbreviation else {
            nesting -= usize::from(open.pop().unwrap_or(false));
            continue;
        };
        let is_inlined = count(abbreviation, budget)?;
        if is_inlined && nesting >= NESTING_MAX {
            return Err(Refusal::Nesting);
        }
        if abbreviation.has_children() {
            open.push(is_inlined);
            nesting += usize::from(is_inlined);
        }
        for specification in abbreviation.attributes() {
            let Ok(attribute) = entries.read_attribute(*specification) else { return Ok(()) };
            follow(dwarf, &unit, &attribute, budget)?;
        }
    }
    Ok(())
}

/// Counts an entry, and returns whether it is an inlined call.
fn count(abbreviation: &Abbreviation, budget: &mut Budget) -> Result<bool, Refusal> {
    let attributes = abbreviation.attributes().len();
    if attributes > ENTRY_ATTRIBUTES_MAX {
        return Err(Refusal::Entries);
    }
    take(&mut budget.entries, 1, Refusal::Entries)?;
    take(&mut budget.attributes, attributes, Refusal::Entries)?;
    let is_inlined = abbreviation.tag() == dw::DW_TAG_inlined_subroutine;
    if is_inlined || abbreviation.tag() == dw::DW_TAG_subprogram {
        take(&mut budget.functions, 1, Refusal::Entries)?;
    }
    Ok(is_inlined)
}

/// Counts what an attribute refers to.
fn follow<R: Reader<Offset = usize>>(
    dwarf: &Dwarf<R>,
    unit: &Unit<R>,
    attribute: &Attribute<R>,
    budget: &mut Budget,
) -> Result<(), Refusal> {
    match attribute.name() {
        dw::DW_AT_name
        | dw::DW_AT_linkage_name
        | dw::DW_AT_MIPS_linkage_name
        | dw::DW_AT_comp_dir => {
            let text = dwarf.attr_string(unit, attribute.value());
            take(&mut budget.text_bytes, text.map_or(0, |it| it.len()), Refusal::SharedTexts)
        }
        dw::DW_AT_ranges => {
            let Ok(Some(mut ranges)) = dwarf.attr_ranges(unit, attribute.value()) else {
                return Ok(());
            };
            while let Ok(Some(_)) = ranges.next_raw() {
                take(&mut budget.ranges, 1, Refusal::SharedRanges)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
