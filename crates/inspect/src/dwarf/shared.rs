//! A check that debug information can be read in linear time and memory.
//!
//! Compilers give each unit its own abbreviations and line program, or let units share a whole table.
//! If units refer to overlapping parts of a section, reading all of them can take time and memory
//! quadratic in the size of the file. Such files are treated as having no debug information.

use gimli::{AbbreviationsCacheStrategy, DebugAbbrev, Dwarf, Reader, Section as _, UnitHeader};

use super::{Refusal, line_headers::Budget};

/// The limit on the total size of the line programs of all units, in multiples of the section.
const LINE_READS_MAX: usize = 2;

/// Checks that the units can be read in linear time and memory. Caches tables of abbreviations that
/// several units share.
pub(super) fn check<R: Reader<Offset = usize>>(dwarf: &mut Dwarf<R>) -> Result<(), Refusal> {
    tables_are_apart(dwarf).ok_or(Refusal::SharedAbbreviations)?;
    dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
    let dwarf = &*dwarf;
    let programs = line_programs(dwarf).ok_or(Refusal::Malformed)?;
    lines_are_few(dwarf, &programs).ok_or(Refusal::SharedLines)?;
    let mut budget = Budget::new(dwarf);
    programs.iter().try_for_each(|&start| budget.take(start))
}

/// Checks that no table of abbreviations starts inside another one.
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

/// Returns the end of the table of abbreviations at an offset.
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

/// Returns the offsets of the line programs of all units.
fn line_programs<R: Reader<Offset = usize>>(dwarf: &Dwarf<R>) -> Option<Vec<usize>> {
    let mut programs = Vec::new();
    let mut units = dwarf.units();
    while let Some(unit) = units.next().ok()? {
        programs.extend(line_program(dwarf, &unit));
    }
    Some(programs)
}

/// Checks that the total size of the units' line programs is within [`LINE_READS_MAX`].
fn lines_are_few<R: Reader<Offset = usize>>(dwarf: &Dwarf<R>, programs: &[usize]) -> Option<()> {
    let mut budget = dwarf.debug_line.reader().len().saturating_mul(LINE_READS_MAX);
    for &start in programs {
        budget = budget.checked_sub(line_program_len(dwarf, start))?;
    }
    Some(())
}

/// Returns the offset of a unit's line program.
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

/// Returns the size of the line program at an offset, from its header.
fn line_program_len<R: Reader<Offset = usize>>(dwarf: &Dwarf<R>, start: usize) -> usize {
    let mut rest = dwarf.debug_line.reader().clone();
    let length = rest.skip(start).and_then(|()| rest.read_initial_length());
    length.map_or(0, |(length, _)| length.min(rest.len()))
}
