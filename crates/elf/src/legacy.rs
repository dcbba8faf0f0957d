//! The rules for V0 to V2: lenient where deployed programs needed it, odd where they came to rely
//! on it. Sources: anza sbpf `elf_parser/mod.rs` and `elf.rs`.
//!
//! All checks must stay in order: which error a bad file gets is part of the rules.

use core::ops::Range;
use std::sync::Arc;

use selkie_isa::{
    Version,
    layout::{BYTECODE_START, REGION_SIZE, SLOT_BYTES, STACK_START},
};

use crate::{
    Environment, Executable, ReadOnly,
    error::ElfError,
    executable::SharedBytes,
    header::{
        Dyn, FileHeader, MACHINE_BPF, MACHINE_SBPF, OSABI_NONE, PT_DYNAMIC, PT_LOAD, ProgramHeader,
        Record, Rel, SHT_DYNAMIC, SHT_DYNSYM, SHT_NOBITS, SHT_NULL, SHT_STRTAB, SHT_SYMTAB,
        SectionHeader, Sym, TYPE_DYN, Table, read_front, slice, until_nul,
    },
    relocate::relocate,
    sections::DYNAMIC_NAME_BYTES_MAX,
};

/// Bytes that a section's name may take, with its NUL.
pub(crate) const SECTION_NAME_BYTES_MAX: u64 = 16;
/// Bytes that a name for tools may take, with its NUL.
pub(crate) const DEBUG_NAME_BYTES_MAX: u64 = 255;

/// Loads a file of V0, V1 or V2.
pub(crate) fn load(
    bytes: &[u8],
    version: Version,
    environment: &Environment,
) -> Result<Executable, ElfError> {
    let file = File::parse(bytes)?;
    let text = file.validate()?;
    let text_vaddr = text_vaddr(&text, environment)?;
    // The one copy: relocated in place, then kept as the image if addresses are file offsets.
    let mut buffer: Arc<[u8]> = Arc::from(bytes);
    let image = Arc::get_mut(&mut buffer).expect("a new buffer has one owner");
    let mut registry = relocate(&file, &text, environment, image)?;
    let entry_offset = file.header.e_entry.saturating_sub(text.sh_addr);
    if !entry_offset.is_multiple_of(SLOT_BYTES as u64) {
        return Err(ElfError::InvalidEntrypoint);
    }
    let entry_pc = registry.set_entry(entry_offset / SLOT_BYTES as u64)?;
    let functions = registry.finish();
    let (read_only, code) = ReadOnlySections::find(&file, environment)?.build(buffer, &text)?;
    Ok(Executable {
        version,
        text: code,
        text_vaddr,
        text_offset: text.file_range().start,
        entry_pc,
        read_only,
        functions,
        syscalls: Arc::clone(&environment.syscalls),
    })
}

/// Where code starts in the guest's address space.
fn text_vaddr(text: &SectionHeader, environment: &Environment) -> Result<u64, ElfError> {
    let vaddr = text.sh_addr.saturating_add(BYTECODE_START);
    let out_of_bounds = match environment.text_at_stack {
        true => vaddr > STACK_START,
        false => vaddr >= STACK_START,
    };
    let broken = environment.reject_broken_elfs && text.sh_addr != text.sh_offset;
    if broken || out_of_bounds { Err(ElfError::ValueOutOfBounds) } else { Ok(vaddr) }
}

/// A file whose structures are in order.
#[derive(Debug)]
pub(crate) struct File<'a> {
    bytes: &'a [u8],
    header: FileHeader,
    sections: Table<'a, SectionHeader>,
    section_names: SectionHeader,
    symtab: Option<SectionHeader>,
    strtab: Option<SectionHeader>,
    dynstr: Option<SectionHeader>,
    relocations: Table<'a, Rel>,
    dynamic_symbols: Table<'a, Sym>,
}

impl<'a> File<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, ElfError> {
        let header: FileHeader = read_front(bytes).ok_or(ElfError::ValueOutOfBounds)?;
        if !header.is_current_elf64()
            || usize::from(header.e_shentsize) != SectionHeader::BYTES
            || header.e_shstrndx >= header.e_shnum
        {
            return Err(ElfError::parse("invalid file header"));
        }
        let segments_range = table_range::<ProgramHeader>(header.e_phoff, header.e_phnum)?;
        no_overlap(&FILE_HEADER, &segments_range)?;
        let segments = Table::<ProgramHeader>::parse(bytes, segments_range.clone())?;
        let sections = section_table(bytes, &header, &segments_range)?;
        let sections_range = table_range::<SectionHeader>(header.e_shoff, header.e_shnum)?;
        if sections.get(0).is_none_or(|first| first.sh_type != SHT_NULL) {
            return Err(ElfError::parse("invalid section header"));
        }
        check_segments(bytes, &segments)?;
        check_sections(bytes, &sections, [&FILE_HEADER, &segments_range, &sections_range])?;
        let section_names = match usize::from(header.e_shstrndx) {
            0 => return Err(ElfError::parse("no section name string table found")),
            index => sections.get(index).ok_or(ElfError::ValueOutOfBounds)?,
        };
        let mut file = Self {
            bytes,
            header,
            sections,
            section_names,
            symtab: None,
            strtab: None,
            dynstr: None,
            relocations: Table::new(&[]),
            dynamic_symbols: Table::new(&[]),
        };
        file.name_sections()?;
        file.read_dynamic(&segments)?;
        Ok(file)
    }

    /// Reads the name of every section, and finds those that are known by it.
    fn name_sections(&mut self) -> Result<(), ElfError> {
        for section in self.sections.iter() {
            let known = match self.section_name(&section)? {
                b".symtab" => &mut self.symtab,
                b".strtab" => &mut self.strtab,
                b".dynstr" => &mut self.dynstr,
                _ => continue,
            };
            if known.replace(section).is_some() {
                return Err(ElfError::parse("invalid section header"));
            }
        }
        Ok(())
    }

    /// Finds the relocations and their symbols through the dynamic table, if there is one.
    fn read_dynamic(&mut self, segments: &Table<'_, ProgramHeader>) -> Result<(), ElfError> {
        const DT_SYMTAB: usize = 6;
        const DT_REL: usize = 17;
        const DT_RELSZ: usize = 18;
        const DT_RELENT: usize = 19;
        let Some(table) = self.dynamic_table(segments)? else { return Ok(()) };
        let mut values = [0; 35];
        for entry in table.iter().take_while(|entry| entry.d_tag != 0) {
            let tag = usize::try_from(entry.d_tag).unwrap_or(usize::MAX);
            // Tags beyond the list are reserved and say nothing.
            if let Some(value) = values.get_mut(tag) {
                *value = entry.d_val;
            }
        }
        if values[DT_REL] != 0 {
            let [vaddr, size, entry_size] = [values[DT_REL], values[DT_RELSZ], values[DT_RELENT]];
            self.relocations = self.find_relocations(segments, vaddr, size, entry_size)?;
        }
        if values[DT_SYMTAB] != 0 {
            let section = self.section_at(values[DT_SYMTAB]).ok_or_else(invalid_dynamic_table)?;
            self.dynamic_symbols = self.symbols_of(&section)?;
        }
        Ok(())
    }

    /// The dynamic table is where the program header says, or, if that is nonsense, as in files of
    /// early toolchains, where the section header says (anza sbpf: `parse_dynamic`).
    fn dynamic_table(
        &self,
        segments: &Table<'_, ProgramHeader>,
    ) -> Result<Option<Table<'a, Dyn>>, ElfError> {
        let by_segment = segments.iter().find(|it| it.p_type == PT_DYNAMIC).and_then(|segment| {
            let end = segment.p_offset.checked_add(segment.p_filesz)?;
            Table::parse(self.bytes, segment.p_offset..end).ok()
        });
        if by_segment.is_some() {
            return Ok(by_segment);
        }
        let Some(section) = self.sections.iter().find(|it| it.sh_type == SHT_DYNAMIC) else {
            return Ok(None);
        };
        let table = Table::parse(self.bytes, section.file_range());
        table.map(Some).map_err(|_| invalid_dynamic_table())
    }

    fn find_relocations(
        &self,
        segments: &Table<'_, ProgramHeader>,
        vaddr: u64,
        size: u64,
        entry_size: u64,
    ) -> Result<Table<'a, Rel>, ElfError> {
        if entry_size != Rel::BYTES as u64 || size == 0 {
            return Err(invalid_dynamic_table());
        }
        let mut start = None;
        for segment in segments.iter() {
            let end =
                segment.p_vaddr.checked_add(segment.p_memsz).ok_or(ElfError::ValueOutOfBounds)?;
            if (segment.p_vaddr..end).contains(&vaddr) {
                let offset = (vaddr - segment.p_vaddr).checked_add(segment.p_offset);
                start = Some(offset.ok_or(ElfError::ValueOutOfBounds)?);
                break;
            }
        }
        // Toolchains until rust-bpf-sysroot 0.13 gave an address that no segment holds (anza sbpf:
        // `parse_dynamic_relocations`).
        let start = start
            .or_else(|| Some(self.section_at(vaddr)?.sh_offset))
            .ok_or_else(invalid_dynamic_table)?;
        let end = start.checked_add(size).ok_or(ElfError::ValueOutOfBounds)?;
        Table::parse(self.bytes, start..end).map_err(|_| invalid_dynamic_table())
    }

    fn section_at(&self, vaddr: u64) -> Option<SectionHeader> {
        self.sections.iter().find(|section| section.sh_addr == vaddr)
    }

    fn symbols_of(&self, section: &SectionHeader) -> Result<Table<'a, Sym>, ElfError> {
        match section.sh_type {
            SHT_SYMTAB | SHT_DYNSYM => Table::parse(self.bytes, section.file_range()),
            _ => Err(ElfError::parse("invalid section header")),
        }
    }

    /// Machine, type and sections are as the runtime needs them. Gives `.text`.
    fn validate(&self) -> Result<SectionHeader, ElfError> {
        if self.header.osabi != OSABI_NONE {
            return Err(ElfError::WrongAbi);
        }
        if ![MACHINE_BPF, MACHINE_SBPF].contains(&self.header.e_machine) {
            return Err(ElfError::WrongMachine);
        }
        if self.header.e_type != TYPE_DYN {
            return Err(ElfError::WrongType);
        }
        let mut texts = self.named_sections().filter(|(name, _)| *name == b".text");
        let (Some((_, text)), None) = (texts.next(), texts.next()) else {
            return Err(ElfError::NotOneTextSection);
        };
        for (name, section) in self.named_sections() {
            // Only by these names: a writable `.tdata` or `.data.rel` loads (anza sbpf: `validate`).
            let is_data = name.starts_with(b".data") && !name.starts_with(b".data.rel");
            if name.starts_with(b".bss") || (is_data && section.is_writable()) {
                let name = String::from_utf8_lossy(name).into_owned();
                return Err(ElfError::WritableSectionNotSupported(name));
            }
        }
        for section in self.sections.iter() {
            // Sections without bits are held to the file's size, too.
            let end = section.sh_offset.checked_add(section.sh_size);
            end.and_then(|end| slice(self.bytes, section.sh_offset..end))
                .ok_or(ElfError::ValueOutOfBounds)?;
        }
        match text.vm_range().contains(&self.header.e_entry) {
            true => Ok(text),
            false => Err(ElfError::EntrypointOutOfBounds),
        }
    }

    /// The sections with their names, which all were readable when the file was parsed.
    fn named_sections(&self) -> impl Iterator<Item = (&'a [u8], SectionHeader)> {
        self.sections
            .iter()
            .filter_map(|section| Some((self.section_name(&section).ok()?, section)))
    }

    fn section_name(&self, section: &SectionHeader) -> Result<&'a [u8], ElfError> {
        string_at(self.bytes, &self.section_names, section.sh_name, SECTION_NAME_BYTES_MAX)
    }

    pub(crate) fn relocations(&self) -> impl ExactSizeIterator<Item = Rel> + use<'a> {
        self.relocations.iter()
    }

    pub(crate) fn dynamic_symbol(&self, index: u32) -> Option<Sym> {
        self.dynamic_symbols.get(usize::try_from(index).ok()?)
    }

    pub(crate) fn dynamic_symbol_name(&self, symbol: &Sym) -> Option<&'a [u8]> {
        string_at(self.bytes, self.dynstr.as_ref()?, symbol.st_name, DYNAMIC_NAME_BYTES_MAX as u64)
            .ok()
    }

    /// The static symbols: for tools only, none if something is wrong with them.
    pub(crate) fn static_symbols(&self) -> impl Iterator<Item = Sym> + use<'a> {
        let table = self.symtab.as_ref().and_then(|section| self.symbols_of(section).ok());
        table.into_iter().flat_map(|table| table.iter())
    }

    pub(crate) fn static_symbol_name(&self, symbol: &Sym) -> Option<&'a [u8]> {
        string_at(self.bytes, self.strtab.as_ref()?, symbol.st_name, DEBUG_NAME_BYTES_MAX).ok()
    }
}

const FILE_HEADER: Range<u64> = 0..FileHeader::BYTES as u64;

fn invalid_dynamic_table() -> ElfError {
    ElfError::parse("invalid dynamic section table")
}

/// The bytes of a table of `count` records.
fn table_range<T: Record>(offset: u64, count: u16) -> Result<Range<u64>, ElfError> {
    let end = offset.checked_add(T::BYTES as u64 * u64::from(count));
    end.map(|end| offset..end).ok_or(ElfError::ValueOutOfBounds)
}

/// The section headers, which must lie clear of the file header and the program headers.
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

/// An empty range strictly inside another counts as overlap (anza sbpf:
/// `check_that_there_is_no_overlap`).
fn no_overlap(a: &Range<u64>, b: &Range<u64>) -> Result<(), ElfError> {
    match a.end <= b.start || b.end <= a.start {
        true => Ok(()),
        false => Err(ElfError::parse("values overlap")),
    }
}

/// Segments ascend by address and lie in the file. They may overlap.
fn check_segments(bytes: &[u8], segments: &Table<'_, ProgramHeader>) -> Result<(), ElfError> {
    let mut vaddr = 0;
    for segment in segments.iter().filter(|segment| segment.p_type == PT_LOAD) {
        if segment.p_vaddr < vaddr {
            return Err(ElfError::InvalidProgramHeader);
        }
        let end = segment.p_offset.checked_add(segment.p_filesz);
        if end.is_none_or(|end| end > bytes.len() as u64) {
            return Err(ElfError::ValueOutOfBounds);
        }
        vaddr = segment.p_vaddr;
    }
    Ok(())
}

/// Sections with bits ascend by file offset, lie in the file, and overlap neither each other nor
/// any of `taken`.
fn check_sections(
    bytes: &[u8],
    sections: &Table<'_, SectionHeader>,
    taken: [&Range<u64>; 3],
) -> Result<(), ElfError> {
    let mut offset = 0;
    for section in sections.iter().filter(|section| section.sh_type != SHT_NOBITS) {
        let end =
            section.sh_offset.checked_add(section.sh_size).ok_or(ElfError::ValueOutOfBounds)?;
        for range in taken {
            no_overlap(&(section.sh_offset..end), range)?;
        }
        if section.sh_offset < offset {
            return Err(ElfError::parse("sections not in ascending order"));
        }
        if end > bytes.len() as u64 {
            return Err(ElfError::ValueOutOfBounds);
        }
        offset = end;
    }
    Ok(())
}

/// The string at `offset` in a string table, which must end within `bytes_max`, NUL included.
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

/// The sections that the guest may read, and what becomes of the rest of their address range.
#[derive(Debug)]
struct ReadOnlySections {
    /// In the file's order: address, and place in the file; empty ones left out.
    parts: Vec<(u64, Range<u64>)>,
    /// The addresses that the guest may read, before they are moved to where code starts.
    image: Range<u64>,
    /// Every section lies in the file where it lies in the address space.
    in_place: bool,
    /// What the file holds between the sections is zeroed.
    zero_holes: bool,
}

impl ReadOnlySections {
    /// Finds the sections by name (anza sbpf: `parse_ro_sections`).
    fn find(file: &File<'_>, environment: &Environment) -> Result<Self, ElfError> {
        let mut parts = Vec::new();
        let mut in_place = true;
        let (mut lowest, mut highest, mut filled) = (u64::MAX, 0_u64, 0_u64);
        let (mut first, mut last, mut count) = (None, 0, 0);
        for (index, (name, section)) in file.named_sections().enumerate() {
            if ![&b".text"[..], b".rodata", b".data.rel.ro", b".eh_frame"].contains(&name) {
                continue;
            }
            first = first.or(Some(index));
            last = index;
            count += 1;
            in_place &= section.sh_addr == section.sh_offset;
            // Only the section's start is held to the window; its end is held to the file's size.
            let vaddr = section.sh_addr.saturating_add(BYTECODE_START);
            if (environment.reject_broken_elfs && !in_place) || vaddr > STACK_START {
                return Err(ElfError::ValueOutOfBounds);
            }
            let range = section.file_range();
            slice(file.bytes, range.clone()).ok_or(ElfError::ValueOutOfBounds)?;
            let len = range.end - range.start;
            lowest = lowest.min(section.sh_addr);
            highest = highest.max(section.sh_addr.saturating_add(len));
            filled = filled.saturating_add(len);
            if len != 0 {
                parts.push((section.sh_addr, range));
            }
        }
        // Sections that overlap in the address space fill more than there is.
        if environment.reject_broken_elfs && lowest.saturating_add(filled) > highest {
            return Err(ElfError::ValueOutOfBounds);
        }
        let together = first.is_some_and(|first| last + 1 - first == count);
        let zero_holes = !(environment.optimize_rodata && in_place && together);
        // Unless optimized, what lies below the first section is readable, too, as zeroes.
        let image = if environment.optimize_rodata { lowest..highest } else { 0..highest };
        let too_long = zero_holes && image.end - image.start > file.bytes.len() as u64;
        if too_long || image.start >= REGION_SIZE {
            return Err(ElfError::ValueOutOfBounds);
        }
        Ok(Self { parts, image, in_place, zero_holes })
    }

    /// Makes what the guest sees out of the relocated file: read-only data, and code as part of it.
    fn build(
        self,
        file: Arc<[u8]>,
        text: &SectionHeader,
    ) -> Result<(ReadOnly, SharedBytes), ElfError> {
        let built = match self.in_place {
            true => self.zeroed_in_place(file).map(|buffer| (buffer, 0)),
            false => self.gathered(&file).map(|buffer| (buffer, self.image.start)),
        };
        let parts = built.and_then(|(buffer, base)| {
            // Where sections overlap, code is what the guest reads there, not what the file holds
            // (anza sbpf: `get_text_bytes`).
            let text_bytes = text.file_range();
            let text_end = text.sh_addr.checked_add(text_bytes.end - text_bytes.start)?;
            let code = SharedBytes::part(&buffer, base, &(text.sh_addr..text_end))?;
            Some((SharedBytes::part(&buffer, base, &self.image)?, code))
        });
        let (bytes, code) = parts.ok_or(ElfError::ValueOutOfBounds)?;
        Ok((ReadOnly { vaddr: self.image.start + BYTECODE_START, bytes }, code))
    }

    /// The file itself, with zeroes where the guest must not see it.
    fn zeroed_in_place(&self, mut file: Arc<[u8]>) -> Option<Arc<[u8]>> {
        if self.zero_holes {
            let bytes = Arc::get_mut(&mut file)?;
            let mut hole_start = self.image.start;
            let ends = [(self.image.end, self.image.end..self.image.end)];
            for (_, part) in self.parts.iter().chain(&ends) {
                let hole = usize::try_from(hole_start).ok()?..usize::try_from(part.start).ok()?;
                bytes.get_mut(hole)?.fill(0);
                hole_start = part.end;
            }
        }
        Some(file)
    }

    /// The sections copied to where they belong; of two that overlap the later is seen.
    fn gathered(&self, file: &[u8]) -> Option<Arc<[u8]>> {
        let mut image = vec![0; usize::try_from(self.image.end - self.image.start).ok()?];
        for (addr, part) in &self.parts {
            let section = slice(file, part.clone())?;
            let start = usize::try_from(addr - self.image.start).ok()?;
            image.get_mut(start..start.checked_add(section.len())?)?.copy_from_slice(section);
        }
        Some(Arc::from(image))
    }
}
