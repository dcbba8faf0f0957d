//! Files without what only tools read: symbols, debug information and comments.

use crate::{
    Environment, Executable,
    header::{
        E_FLAGS, FileHeader, MAGIC, ProgramHeader, Record as _, SHF_ALLOC, SHT_STRTAB,
        SectionHeader, Table, read_front, slice, until_nul,
    },
    load,
};
use selkie_isa::Version;

/// Where the file header holds the offset, and the count, of section headers, and which of them
/// holds the names.
const E_SHOFF: usize = 40;
const E_SHNUM: usize = 60;
const E_SHSTRNDX: usize = 62;
/// Where a section header holds the section that it refers to.
const SH_LINK: usize = 40;

/// The name of the section that holds the names of sections.
const NAMES: &[u8] = b".shstrtab";

/// A shorter file of the same program: without symbols, debug information and comments, which
/// only tools read. `None` if there is nothing to leave out, or if the shorter file would not load
/// as the same program in `environment`.
#[must_use]
pub fn strip(bytes: &[u8], environment: &Environment) -> Option<Vec<u8>> {
    let stripped = without_tools(bytes).filter(|it| it.len() < bytes.len())?;
    let [before, after] = [bytes, &stripped].map(|it| load(it, environment).ok());
    is_same(&before?, &after?).then_some(stripped)
}

fn is_same(a: &Executable, b: &Executable) -> bool {
    let parts = |it: &Executable| (it.version(), it.entry_pc());
    parts(a) == parts(b)
        && a.text() == b.text()
        && a.read_only().bytes == b.read_only().bytes
        && a.read_only().vaddr == b.read_only().vaddr
}

/// The file up to the last byte that is loaded, and headers of the sections up to there.
fn without_tools(bytes: &[u8]) -> Option<Vec<u8>> {
    let header: FileHeader = read_front(bytes).filter(|it: &FileHeader| it.magic == MAGIC)?;
    let sections = table::<SectionHeader>(bytes, header.e_shoff, header.e_shnum)?;
    let loaded = sections.iter().zip(1..).filter(|(it, _)| it.sh_flags & SHF_ALLOC != 0);
    let kept: usize = loaded.last()?.1;
    let segments = table::<ProgramHeader>(bytes, header.e_phoff, header.e_phnum)?;
    let headers = header
        .e_phoff
        .checked_add(u64::from(header.e_phnum).checked_mul(ProgramHeader::BYTES as u64)?)?;
    let segment_ends = segments.iter().map(|it| it.p_offset.saturating_add(it.p_filesz));
    let section_ends = sections.iter().take(kept).map(|it| it.file_range().end);
    let end = segment_ends.chain(section_ends).fold(headers, u64::max);
    let mut out = slice(bytes, 0..end.max(FileHeader::BYTES as u64))?.to_vec();
    if version(bytes)?.strict_elf() {
        // The loader does not look at sections.
        point(&mut out, 0, 0, 0)?;
        return Some(out);
    }
    let names = sections.get(header.e_shstrndx.into())?;
    let names = slice(bytes, names.file_range())?;
    append_sections(&mut out, &sections, kept, names)?;
    Some(out)
}

fn version(bytes: &[u8]) -> Option<Version> {
    Version::from_e_flags(u32::from_le_bytes(*bytes.get(E_FLAGS..)?.first_chunk()?))
}

fn table<T: crate::header::Record>(bytes: &[u8], start: u64, count: u16) -> Option<Table<'_, T>> {
    let end = start.checked_add(u64::from(count).checked_mul(T::BYTES as u64)?)?;
    slice(bytes, start..end).map(Table::new)
}

/// Appends the names of the first sections and their headers.
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
    let own = add_name(&mut names, NAMES)?;
    let offset = out.len() as u64;
    headers.extend(own.to_le_bytes());
    headers.extend(SHT_STRTAB.to_le_bytes());
    for field in [0, 0, offset, names.len() as u64, 0, 1, 0] {
        headers.extend(u64::to_le_bytes(field));
    }
    out.extend(names);
    out.resize(out.len().next_multiple_of(8), 0);
    let (start, count) = (out.len() as u64, u16::try_from(kept).ok()?);
    out.extend(headers);
    point(out, start, count.checked_add(1)?, count)
}

/// Adds a name to a table of names, and tells where it begins.
fn add_name(names: &mut Vec<u8>, name: &[u8]) -> Option<u32> {
    if name.is_empty() {
        return Some(0);
    }
    let start = u32::try_from(names.len()).ok()?;
    names.extend(name);
    names.push(0);
    Some(start)
}

/// Says in the file header where section headers are, how many, and which one holds names.
fn point(out: &mut [u8], start: u64, count: u16, names: u16) -> Option<()> {
    put(out, E_SHOFF, &start.to_le_bytes())?;
    put(out, E_SHNUM, &count.to_le_bytes())?;
    put(out, E_SHSTRNDX, &names.to_le_bytes())
}

fn put(bytes: &mut [u8], at: usize, field: &[u8]) -> Option<()> {
    bytes.get_mut(at..at.checked_add(field.len())?)?.copy_from_slice(field);
    Some(())
}
