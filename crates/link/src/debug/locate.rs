//! Source lines of positions in objects, for errors.

use gimli::{
    AttributeValue, DebugLine, DebugLineOffset, DebugLineStr, DebugLineStrOffset, DebugStr,
    DebugStrOffset, EndianSlice, LineProgramHeader, LittleEndian,
};

use crate::object::{Definition, Object, R_BPF_64_ABS32, R_BPF_64_NODYLD32};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Sections of an object have no addresses, so each gets an address range of this many bits of its
/// own. The first range is unused: addresses without relocations are in it.
const WINDOW_BITS: u32 = 40;

/// Returns file, line and column of an offset in a section, if debug information has them.
pub(crate) fn line_of(object: &Object<'_>, section: usize, offset: u64) -> Option<String> {
    let find = |name: &str| object.sections.iter().find(|it| it.name == name);
    let bytes = relocated(object)?;
    let strings = |name: &str| find(name).map_or(&[][..], |it| it.data);
    let line_strings = DebugLineStr::new(strings(".debug_line_str"), LittleEndian);
    let debug_strings = DebugStr::new(strings(".debug_str"), LittleEndian);
    let lines = DebugLine::new(&bytes, LittleEndian);
    let wanted = window(section)?.checked_add(offset)?;
    let text = |value: AttributeValue<Slice<'_>>| match value {
        AttributeValue::String(text) => Some(text.to_string_lossy().into_owned()),
        AttributeValue::DebugLineStrRef(DebugLineStrOffset(at)) => {
            let text = line_strings.get_str(DebugLineStrOffset(at)).ok()?;
            Some(text.to_string_lossy().into_owned())
        }
        AttributeValue::DebugStrRef(DebugStrOffset(at)) => {
            let text = debug_strings.get_str(DebugStrOffset(at)).ok()?;
            Some(text.to_string_lossy().into_owned())
        }
        _ => None,
    };
    let mut at = 0;
    while at < bytes.len() {
        let program = lines.program(DebugLineOffset(at), 8, None, None).ok()?;
        let length: u32 = u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
        at = at.checked_add(4)?.checked_add(usize::try_from(length).ok()?)?;
        let mut rows = program.rows();
        let mut last: Option<gimli::LineRow> = None;
        while let Ok(Some((header, row))) = rows.next_row() {
            if let Some(before) = last.filter(|it| !it.end_sequence())
                && (before.address()..row.address()).contains(&wanted)
            {
                return place(header, &before, text);
            }
            last = Some(*row);
        }
    }
    None
}

/// Returns file, line and column of a row.
fn place<'a>(
    header: &LineProgramHeader<Slice<'a>>,
    row: &gimli::LineRow,
    text: impl Fn(AttributeValue<Slice<'a>>) -> Option<String>,
) -> Option<String> {
    let file = row.file(header)?;
    let name = text(file.path_name())?;
    let folder = file.directory(header).and_then(text).filter(|it| it != ".");
    let path = match folder {
        Some(folder) if !name.starts_with('/') => format!("{folder}/{name}"),
        _ => name,
    };
    let line = row.line()?;
    match row.column() {
        gimli::ColumnType::Column(column) => Some(format!("{path}:{line}:{column}")),
        gimli::ColumnType::LeftEdge => Some(format!("{path}:{line}")),
    }
}

fn window(section: usize) -> Option<u64> {
    Some((u64::try_from(section).ok()? + 1) << WINDOW_BITS)
}

/// Returns the line programs of an object, relocated to the address ranges of its sections.
fn relocated(object: &Object<'_>) -> Option<Vec<u8>> {
    let section = object.sections.iter().find(|it| it.name == ".debug_line")?;
    let mut bytes = section.data.to_vec();
    for it in &section.relocations {
        let symbol = &object.symbols[it.symbol];
        let size = match it.kind {
            R_BPF_64_ABS32 | R_BPF_64_NODYLD32 => 4,
            _ => 8,
        };
        let start = usize::try_from(it.offset).ok()?;
        let Some(place) = bytes.get_mut(start..start.saturating_add(size)) else { continue };
        let base = match symbol.definition {
            // Offsets into strings are relocated too, by the section that holds them.
            Definition::Section(section) if size == 8 => window(section)?,
            _ => 0,
        };
        let mut addend = [0; 8];
        addend[..size].copy_from_slice(place);
        let value = u64::from_le_bytes(addend).wrapping_add(symbol.value).wrapping_add(base);
        place.copy_from_slice(&value.to_le_bytes()[..size]);
    }
    Some(bytes)
}
