//! The loader for V3 and later (SIMD-0189): a file header, one or two program headers, read-only
//! data, code, and no relocations. Source: anza sbpf `elf.rs`, `load_with_strict_parser`.
//!
//! The order of the checks is part of the rules: it decides which error a file gets.

use core::ops::Range;
use std::sync::Arc;

use selkie_isa::{
    Version,
    layout::{BYTECODE_START, REGION_SIZE, RODATA_START, SLOT_BYTES},
};

use crate::{
    Environment, Executable, Function, Functions, ReadOnly,
    error::ElfError,
    executable::SharedBytes,
    header::{
        FileHeader, MACHINE_BPF, OSABI_NONE, PF_R, PF_X, PT_LOAD, ProgramHeader, Record, STT_FUNC,
        Sym, Table, read_front, slice,
    },
    tables::{DEBUG_NAME_BYTES_MAX, SECTION_NAME_BYTES_MAX, section_table, string_at},
};

/// Loads a V3 or later file.
pub(crate) fn load(
    bytes: &[u8],
    version: Version,
    environment: &Environment,
) -> Result<Executable, ElfError> {
    let header: FileHeader = read_front(bytes).ok_or(ElfError::ValueOutOfBounds)?;
    let layout = Layout::parse(bytes, &header)?;
    let entry_pc = entry_pc(&header, &layout.bytecode)?;
    let functions = match environment.labels {
        true => labels(bytes, &header, layout.table_end).unwrap_or_default(),
        false => Functions::default(),
    };
    // Read-only data and code share one buffer.
    let base = layout.rodata.start;
    let image = slice(bytes, base..layout.bytecode.end).ok_or(ElfError::ValueOutOfBounds)?;
    let image = Arc::from(image);
    let part = |range: &Range<u64>| {
        SharedBytes::part(&image, base, range).ok_or(ElfError::ValueOutOfBounds)
    };
    Ok(Executable {
        version,
        text: part(&layout.bytecode)?,
        text_vaddr: BYTECODE_START,
        text_offset: layout.bytecode.start,
        entry_pc,
        read_only: ReadOnly { vaddr: RODATA_START, bytes: part(&layout.rodata)? },
        functions,
        syscalls: Arc::clone(&environment.syscalls),
    })
}

/// The layout of the file: the program headers, read-only data, which may be empty, and code,
/// without gaps.
#[derive(Debug)]
struct Layout {
    table_end: u64,
    rodata: Range<u64>,
    bytecode: Range<u64>,
}

impl Layout {
    fn parse(bytes: &[u8], header: &FileHeader) -> Result<Self, ElfError> {
        let table_start = FileHeader::BYTES as u64;
        // The first segment follows all program headers, even those that are not read.
        let table_end = table_start + ProgramHeader::BYTES as u64 * u64::from(header.e_phnum);
        // `e_type` and sections are not checked, and only one machine number is allowed (SIMD-0189).
        if !header.is_current_elf64()
            || header.osabi != OSABI_NONE
            || header.abi_version != 0
            || header.padding != [0; 7]
            || header.e_machine != MACHINE_BPF
            || header.e_phoff != table_start
            || header.e_phnum == 0
            || table_end > bytes.len() as u64
        {
            return Err(invalid_file_header());
        }
        let mut headers = Table::<ProgramHeader>::parse(bytes, table_start..table_end)?.iter();
        let Some(first) = headers.next() else { return Err(invalid_file_header()) };
        if first.p_flags != PF_R {
            let bytecode = segment(bytes, &first, PF_X, BYTECODE_START, table_end)?;
            return Ok(Self { table_end, rodata: table_end..table_end, bytecode });
        }
        let Some(second) = headers.next() else { return Err(invalid_file_header()) };
        let rodata = segment(bytes, &first, PF_R, RODATA_START, table_end)?;
        let bytecode = segment(bytes, &second, PF_X, BYTECODE_START, rodata.end)?;
        Ok(Self { table_end, rodata, bytecode })
    }
}

/// Returns the bytes of the file that a program header maps, which must have these flags, address
/// and offset.
fn segment(
    bytes: &[u8],
    header: &ProgramHeader,
    flags: u32,
    vaddr: u64,
    offset: u64,
) -> Result<Range<u64>, ElfError> {
    let file_len = bytes.len() as u64;
    let is_valid = header.p_type == PT_LOAD
        && header.p_flags == flags
        && header.p_offset == offset
        && header.p_offset < file_len
        && header.p_offset.is_multiple_of(SLOT_BYTES as u64)
        && header.p_vaddr == vaddr
        && header.p_paddr == vaddr
        && header.p_filesz == header.p_memsz
        && header.p_filesz <= file_len - header.p_offset
        && header.p_filesz.is_multiple_of(SLOT_BYTES as u64)
        && header.p_memsz < REGION_SIZE;
    match is_valid {
        true => Ok(offset..offset + header.p_filesz),
        false => Err(ElfError::InvalidProgramHeader),
    }
}

/// Returns the slot of the entry address, which must be aligned and inside the code.
fn entry_pc(header: &FileHeader, bytecode: &Range<u64>) -> Result<u32, ElfError> {
    let offset = header.e_entry.checked_sub(BYTECODE_START);
    offset
        .filter(|offset| offset.is_multiple_of(SLOT_BYTES as u64))
        .filter(|&offset| offset < bytecode.end - bytecode.start)
        .and_then(|offset| u32::try_from(offset / SLOT_BYTES as u64).ok())
        .ok_or_else(invalid_file_header)
}

fn invalid_file_header() -> ElfError {
    ElfError::parse("invalid file header")
}

/// Returns the functions of the symbol table by slot. An invalid symbol table leaves the program
/// without names, but is no error (anza sbpf: `parse_debug_labels`).
fn labels(bytes: &[u8], header: &FileHeader, table_end: u64) -> Option<Functions> {
    let sections = section_table(bytes, header, &(FileHeader::BYTES as u64..table_end)).ok()?;
    let names = match usize::from(header.e_shstrndx) {
        0 => return None,
        index => sections.get(index)?,
    };
    // Of several sections of the same name the last one counts.
    let find = |name: &[u8]| {
        let is_named = |sh_name| {
            string_at(bytes, &names, sh_name, SECTION_NAME_BYTES_MAX).is_ok_and(|it| it == name)
        };
        sections.iter().filter(|section| is_named(section.sh_name)).last()
    };
    let (strings, symbols) = (find(b".strtab")?, find(b".symtab")?);
    let range = symbols.sh_offset..symbols.sh_offset.checked_add(symbols.sh_size)?;
    let mut entries = Vec::new();
    for symbol in Table::<Sym>::parse(bytes, range).ok()?.iter() {
        // This tests one bit, which section and file symbols have set too (anza sbpf:
        // `parse_debug_labels`).
        if symbol.st_info & STT_FUNC == 0 {
            continue;
        }
        // The validator truncates slots that do not fit 32 bits. Those names have no effect, so they
        // are left out here.
        let pc = symbol.st_value.saturating_sub(BYTECODE_START) / SLOT_BYTES as u64;
        let name = string_at(bytes, &strings, symbol.st_name, DEBUG_NAME_BYTES_MAX);
        if let (Ok(pc), Ok(name)) = (u32::try_from(pc), name) {
            entries.push((pc, Function { name: String::from_utf8_lossy(name).into_owned(), pc }));
        }
    }
    Functions::new(entries).ok()
}
