//! Checks of tables and strings that the strict and the legacy loader share.

use core::ops::Range;

use crate::{
    error::ElfError,
    header::{FileHeader, Record, SHT_STRTAB, SectionHeader, Table, slice, until_nul},
};

/// Maximum length of a section name in bytes, including its NUL (anza sbpf: `elf_parser`).
pub(crate) const SECTION_NAME_BYTES_MAX: u64 = 16;
/// Maximum length of the name of a dynamic symbol in bytes, including its NUL, in files that load
/// (anza sbpf: `elf_parser`).
pub const DYNAMIC_NAME_BYTES_MAX: usize = 64;
/// Maximum length of the name of a static symbol in bytes, including its NUL.
pub(crate) const DEBUG_NAME_BYTES_MAX: u64 = 255;

/// The bytes that the file header occupies.
pub(crate) const FILE_HEADER: Range<u64> = 0..FileHeader::BYTES as u64;

/// Returns the bytes of the file that a table of `count` records occupies.
pub(crate) fn table_range<T: Record>(offset: u64, count: u16) -> Result<Range<u64>, ElfError> {
    let end = offset.checked_add(T::BYTES as u64 * u64::from(count));
    end.map(|end| offset..end).ok_or(ElfError::ValueOutOfBounds)
}

/// Returns the section header table, which must not overlap the file header or the program headers.
pub(crate) fn section_table<'a>(
    bytes: &'a [u8],
    header: &FileHeader,
    segments: &Range<u64>,
) -> Result<Table<'a, SectionHeader>, ElfError> {
    let range = table_range::<SectionHeader>(header.e_shoff, header.e_shnum)?;
    no_overlap(&FILE_HEADER, &range)?;
    no_overlap(segments, &range)?;
    Table::parse(bytes, range)
}

/// Checks that two ranges of the file do not overlap. An empty range strictly inside the other one
/// counts as overlap (anza sbpf: `check_that_there_is_no_overlap`).
pub(crate) fn no_overlap(a: &Range<u64>, b: &Range<u64>) -> Result<(), ElfError> {
    match a.end <= b.start || b.end <= a.start {
        true => Ok(()),
        false => Err(ElfError::parse("values overlap")),
    }
}

/// Returns the string at `offset` of a string table. Its NUL must be among the first `bytes_max`
/// bytes.
pub(crate) fn string_at<'a>(
    bytes: &'a [u8],
    strings: &SectionHeader,
    offset: u32,
    bytes_max: u64,
) -> Result<&'a [u8], ElfError> {
    if strings.sh_type != SHT_STRTAB {
        return Err(ElfError::parse("invalid section header"));
    }
    let bounds = || {
        let start = strings.sh_offset.checked_add(u64::from(offset))?;
        let section_end = strings.sh_offset.checked_add(strings.sh_size)?;
        slice(bytes, start..section_end.min(start.checked_add(bytes_max)?))
    };
    let text = bounds().ok_or(ElfError::ValueOutOfBounds)?;
    until_nul(text).ok_or_else(|| {
        ElfError::FailedToParse(format!(
            "Section or symbol name `{}` is longer than `{bytes_max}` bytes",
            String::from_utf8_lossy(text),
        ))
    })
}
