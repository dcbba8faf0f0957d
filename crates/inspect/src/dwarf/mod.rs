//! The DWARF sections of a file.
//!
//! Invariant: what is returned can be read in time and memory that grow with the size of the file, by
//! this crate, by `addr2line`, and by others that read each entry a few times. Debug information that
//! is not so is refused as a whole, with a reason.

mod entries;
mod line_headers;
mod shared;

use core::fmt;
use std::sync::Arc;

use gimli::{Dwarf, EndianArcSlice, LittleEndian, SectionId};
use selkie_elf::Sections;

/// Reads the bytes of a section, which are shared with the file.
pub type Reader = EndianArcSlice<LittleEndian>;

/// Why debug information is not used: reading it would take more time or memory than its size allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The sections are malformed.
    Malformed,
    /// Units share parts of tables of abbreviations.
    SharedAbbreviations,
    /// Units share line programs.
    SharedLines,
    /// A table of source files is malformed or has very many files or folders.
    Files,
    /// There are more entries, or more of their attributes, than the section could need.
    Entries,
    /// Inlined calls are nested too deeply.
    Nesting,
    /// Entries share long texts.
    SharedTexts,
    /// Entries share long lists of address ranges.
    SharedRanges,
}

impl Refusal {
    /// Returns the sentence that says this of a program.
    #[must_use]
    pub fn of(self, program: &str) -> String {
        format!("the debug information of {program} is not used: {self}")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "its sections are malformed",
            Self::SharedAbbreviations => "its units share parts of tables of abbreviations",
            Self::SharedLines => "its units share line programs",
            Self::Files => "a table of source files is malformed or too long",
            Self::Entries => "it has too many entries or attributes for its size",
            Self::Nesting => "inlined calls are nested more than 256 deep",
            Self::SharedTexts => "its entries share long texts",
            Self::SharedRanges => "its entries share long lists of addresses",
        })
    }
}

/// The sections of debug information, or why they are not used.
pub type Loaded = Result<Dwarf<Reader>, Refusal>;

/// Returns the debug information of an ELF file. A file without it has sections without bytes.
///
/// # Errors
/// If it cannot be read in linear time and memory.
pub fn load(bytes: &Arc<[u8]>) -> Loaded {
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
    let mut dwarf = Dwarf::load(section).map_err(|_| Refusal::Malformed)?;
    shared::check(&mut dwarf)?;
    entries::check(&dwarf)?;
    Ok(dwarf)
}

/// Returns the address of a program's entry, as debug information states addresses.
#[must_use]
pub fn entry_address(bytes: &[u8]) -> Option<u64> {
    const E_ENTRY: usize = 24;
    let is_elf = bytes.starts_with(b"\x7fELF\x02\x01");
    let entry = bytes.get(E_ENTRY..)?.first_chunk().copied().map(u64::from_le_bytes);
    entry.filter(|_| is_elf)
}
