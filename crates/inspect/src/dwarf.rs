//! The DWARF sections of a file.

use std::sync::Arc;

use gimli::{Dwarf, EndianArcSlice, LittleEndian, SectionId};
use selkie_elf::Sections;

use crate::shared;

/// Reads the bytes of a section, which are shared with the file.
pub type Reader = EndianArcSlice<LittleEndian>;

/// Returns the debug information of an ELF file.
///
/// `None` if it cannot be read, or not in linear time and memory. A file without debug information
/// has sections without bytes.
#[must_use]
pub fn load(bytes: &Arc<[u8]>) -> Option<Dwarf<Reader>> {
    let sections = Sections::read(bytes);
    let file = Reader::new(Arc::clone(bytes), LittleEndian);
    // Sections may overlap, so they share the bytes of the file.
    let section = |id: SectionId| {
        let range = sections.get(id.name()).and_then(|section| {
            let start = usize::try_from(section.offset).ok()?;
            let len = section.bytes.len();
            (len > 0).then(|| start..start + len)
        });
        Ok::<_, gimli::Error>(file.range(range.unwrap_or_default()))
    };
    let mut dwarf = Dwarf::load(section).ok()?;
    shared::is_bounded(&mut dwarf).then_some(dwarf)
}
