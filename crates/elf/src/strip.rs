//! Removal of what only tools read: symbols, debug information and comments.

use crate::{
    Environment, Executable,
    header::{
        E_FLAGS, FileHeader, MAGIC, ProgramHeader, Record, SHF_ALLOC, SHT_STRTAB, SectionHeader,
        Table, read_front, slice, until_nul,
    },
    load,
};
use selkie_isa::Version;

/// Offsets in the file header: of the offset, size and count of section headers, and of the index of
/// the section that holds their names.
const E_SHOFF: usize = 40;
const E_SHENTSIZE: usize = 58;
const E_SHNUM: usize = 60;
const E_SHSTRNDX: usize = 62;
/// Offset of `sh_link` in a section header.
const SH_LINK: usize = 40;

/// The name of the section that holds the names of sections.
const SHSTRTAB: &[u8] = b".shstrtab";

/// Returns the file without symbols, debug information and comments, which only tools read; `None`
/// if there are none, or if the shorter file would not load as the same program in `environment`.
#[must_use]
pub fn strip(bytes: &[u8], environment: &Environment) -> Option<Vec<u8>> {
    let stripped = without_debug(bytes).filter(|it| it.len() < bytes.len())?;
    let [before, after] = [bytes, &stripped].map(|it| load(it, environment).ok());
    is_same_program(&before?, &after?).then_some(stripped)
}

fn is_same_program(a: &Executable, b: &Executable) -> bool {
    a.version() == b.version()
        && a.entry_pc() == b.entry_pc()
        && a.text() == b.text()
        && a.read_only() == b.read_only()
}

/// Returns the file up to its last loaded byte, with the headers of the sections up to there.
fn without_debug(bytes: &[u8]) -> Option<Vec<u8>> {
    let header: FileHeader = read_front(bytes).filter(|it: &FileHeader| it.magic == MAGIC)?;
    let sections = table::<SectionHeader>(bytes, header.e_shoff, header.e_shnum)?;
    let loaded = sections.iter().zip(1..).filter(|(it, _)| it.sh_flags & SHF_ALLOC != 0);
    let kept: Option<usize> = loaded.last().map(|it| it.1);
    let segments = table::<ProgramHeader>(bytes, header.e_phoff, header.e_phnum)?;
    let headers = header
        .e_phoff
        .checked_add(u64::from(header.e_phnum).checked_mul(ProgramHeader::BYTES as u64)?)?;
    let segment_ends = segments.iter().map(|it| it.p_offset.saturating_add(it.p_filesz));
    let section_ends = sections.iter().take(kept.unwrap_or(0)).map(|it| it.file_range().end);
    let end = segment_ends.chain(section_ends).fold(headers, u64::max);
    let mut out = slice(bytes, 0..end.max(FileHeader::BYTES as u64))?.to_vec();
    if version(bytes)?.strict_elf() {
        // The loader ignores sections from V3 on.
        set_section_table(&mut out, 0, 0, 0)?;
        return Some(out);
    }
    let names = sections.get(header.e_shstrndx.into())?;
    let names = slice(bytes, names.file_range())?;
    append_sections(&mut out, &sections, kept?, names)?;
    Some(out)
}

/// Returns the file with the smallest section table that has names (a null header and `.shstrtab`),
/// which tools read that show labels: they expect names although the loader ignores sections from V3
/// on (`solana-sbpf` 0.23, `elf.rs`, `enable_symbol_and_section_labels`). `None` if the file is no ELF
/// file or has sections.
#[must_use]
pub fn with_section_names(bytes: &[u8]) -> Option<Vec<u8>> {
    let header: FileHeader = read_front(bytes).filter(|it: &FileHeader| it.magic == MAGIC)?;
    if header.e_shnum != 0 {
        return None;
    }
    let mut out = bytes.to_vec();
    put(&mut out, E_SHENTSIZE, &u16::try_from(SectionHeader::BYTES).ok()?.to_le_bytes())?;
    let (mut headers, mut names) = (vec![0; SectionHeader::BYTES], vec![0]);
    append_names(&mut out, &mut headers, &mut names)?;
    Some(out)
}

/// Returns the version that an ELF file states, without a check of what else it contains.
#[must_use]
pub fn version(bytes: &[u8]) -> Option<Version> {
    Version::from_e_flags(u32::from_le_bytes(*bytes.get(E_FLAGS..)?.first_chunk()?))
}

fn table<T: Record>(bytes: &[u8], start: u64, count: u16) -> Option<Table<'_, T>> {
    let end = start.checked_add(u64::from(count).checked_mul(T::BYTES as u64)?)?;
    slice(bytes, start..end).map(Table::new)
}

/// Appends the names and headers of the first `kept` sections.
fn append_sections(
    out: &mut Vec<u8>,
    sections: &Table<'_, SectionHeader>,
    kept: usize,
    old_names: &[u8],
) -> Option<()> {
    let mut headers = Vec::new();
    let mut names = vec![0];
    for index in 0..kept {
        let name = sections.get(index)?.sh_name;
        let name = until_nul(old_names.get(usize::try_from(name).ok()?..)?)?;
        let mut header = sections.record(index)?.to_vec();
        put(&mut header, 0, &add_name(&mut names, name)?.to_le_bytes())?;
        let link = sections.get(index)?.sh_link;
        if usize::try_from(link).ok()? >= kept {
            put(&mut header, SH_LINK, &0_u32.to_le_bytes())?;
        }
        headers.extend(header);
    }
    append_names(out, &mut headers, &mut names)
}

/// Appends the names of sections and, after `headers`, the header of the section with these names.
fn append_names(out: &mut Vec<u8>, headers: &mut Vec<u8>, names: &mut Vec<u8>) -> Option<()> {
    let count = u16::try_from(headers.len() / SectionHeader::BYTES).ok()?;
    let shstrtab = add_name(names, SHSTRTAB)?;
    let offset = out.len() as u64;
    headers.extend(shstrtab.to_le_bytes());
    headers.extend(SHT_STRTAB.to_le_bytes());
    for field in [0, 0, offset, names.len() as u64, 0, 1, 0] {
        headers.extend(u64::to_le_bytes(field));
    }
    out.append(names);
    out.resize(out.len().next_multiple_of(8), 0);
    let start = out.len() as u64;
    out.append(headers);
    set_section_table(out, start, count.checked_add(1)?, count)
}

/// Appends a name to a string table and returns its offset.
fn add_name(names: &mut Vec<u8>, name: &[u8]) -> Option<u32> {
    if name.is_empty() {
        return Some(0);
    }
    let start = u32::try_from(names.len()).ok()?;
    names.extend(name);
    names.push(0);
    Some(start)
}

/// Writes offset and count of the section headers, and the index of the section that holds their
/// names, into the file header.
fn set_section_table(out: &mut [u8], start: u64, count: u16, names: u16) -> Option<()> {
    put(out, E_SHOFF, &start.to_le_bytes())?;
    put(out, E_SHNUM, &count.to_le_bytes())?;
    put(out, E_SHSTRNDX, &names.to_le_bytes())
}

fn put(bytes: &mut [u8], at: usize, field: &[u8]) -> Option<()> {
    bytes.get_mut(at..at.checked_add(field.len())?)?.copy_from_slice(field);
    Some(())
}
