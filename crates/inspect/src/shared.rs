//! Debug information whose units share what each of them is read with.
//!
//! Compilers give each unit abbreviations and lines of its own, or let units share a table that is
//! read once. Where any number of units refer to overlapping parts of a long section, reading all of
//! them takes the square of the file's size, in memory too. Such files have no lines.

use gimli::{AbbreviationsCacheStrategy, DebugAbbrev, Dwarf, Reader, Section as _, UnitHeader};

/// How often the bytes of line programs may be read.
const LINE_READS_MAX: usize = 2;

/// Whether the units can be read in time and memory that are in proportion to the file. Tables of
/// abbreviations that several units have are read, and kept for all of them.
pub(crate) fn is_bounded<R: Reader<Offset = usize>>(dwarf: &mut Dwarf<R>) -> bool {
    if tables_are_apart(dwarf).is_none() {
        return false;
    }
    dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
    lines_are_few(dwarf).is_some()
}

/// No table of abbreviations begins inside of another.
fn tables_are_apart<R: Reader<Offset = usize>>(dwarf: &Dwarf<R>) -> Option<()> {
    let mut starts = Vec::new();
    let mut units = dwarf.units();
    while let Some(unit) = units.next().ok()? {
        starts.push(unit.debug_abbrev_offset().0);
    }
    starts.sort_unstable();
    starts.dedup();
    let mut end = 0;
    for start in starts {
        if start < end {
            return None;
        }
        end = table_end(&dwarf.debug_abbrev, start).ok()?;
    }
    Some(())
}

/// Where the table of abbreviations at an offset ends.
fn table_end<R: Reader<Offset = usize>>(
    section: &DebugAbbrev<R>,
    start: usize,
) -> gimli::Result<usize> {
    let mut rest = section.reader().clone();
    let len = rest.len();
    rest.skip(start)?;
    while rest.read_uleb128()? != 0 {
        let _tag = rest.read_uleb128()?;
        let _has_children = rest.read_u8()?;
        loop {
            let (name, form) = (rest.read_uleb128()?, rest.read_uleb128()?);
            if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                rest.read_sleb128()?;
            }
            if (name, form) == (0, 0) {
                break;
            }
        }
    }
    Ok(len - rest.len())
}

/// All units together have not many more lines than the section.
fn lines_are_few<R: Reader<Offset = usize>>(dwarf: &Dwarf<R>) -> Option<()> {
    let mut budget = dwarf.debug_line.reader().len().saturating_mul(LINE_READS_MAX);
    let mut units = dwarf.units();
    while let Some(unit) = units.next().ok()? {
        if let Some(start) = line_program(dwarf, &unit) {
            budget = budget.checked_sub(line_program_len(dwarf, start))?;
        }
    }
    Some(())
}

/// The offset of a unit's line program.
fn line_program<R: Reader<Offset = usize>>(
    dwarf: &Dwarf<R>,
    unit: &UnitHeader<R>,
) -> Option<usize> {
    let abbreviations = dwarf.abbreviations(unit).ok()?;
    let mut entries = unit.entries(&abbreviations);
    let root = entries.next_dfs().ok()??;
    match root.attr_value(gimli::DW_AT_stmt_list)? {
        gimli::AttributeValue::DebugLineRef(offset) => Some(offset.0),
        _ => None,
    }
}

/// The bytes of the line program at an offset, as it says itself.
fn line_program_len<R: Reader<Offset = usize>>(dwarf: &Dwarf<R>, start: usize) -> usize {
    let mut rest = dwarf.debug_line.reader().clone();
    let length = rest.skip(start).and_then(|()| rest.read_initial_length());
    length.map_or(0, |(length, _)| length.min(rest.len()))
}
