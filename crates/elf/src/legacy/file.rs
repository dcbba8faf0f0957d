//! Parsing of V0 to V2 files: headers, sections, symbols and the dynamic table. Source: anza sbpf
//! `elf_parser/mod.rs`, and `elf.rs`, `validate`.
//!
//! The order of the checks is part of the rules: it decides which error a file gets.

use core::ops::Range;

use crate::{
    error::ElfError,
    header::{
        Dyn, FileHeader, MACHINE_BPF, MACHINE_SBPF, OSABI_NONE, PT_DYNAMIC, PT_LOAD, ProgramHeader,
        Record, Rel, SHT_DYNAMIC, SHT_DYNSYM, SHT_NOBITS, SHT_NULL, SHT_SYMTAB, SectionHeader, Sym,
        TYPE_DYN, Table, read_front, slice,
    },
    tables::{
        DEBUG_NAME_BYTES_MAX, DYNAMIC_NAME_BYTES_MAX, FILE_HEADER, SECTION_NAME_BYTES_MAX,
        no_overlap, section_table, string_at, table_range,
    },
};

/// A parsed V0 to V2 file: its tables are within bounds and do not overlap.
#[derive(Debug)]
pub(super) struct File<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) header: FileHeader,
    sections: Table<'a, SectionHeader>,
    section_names: SectionHeader,
    symtab: Option<SectionHeader>,
    strtab: Option<SectionHeader>,
    dynstr: Option<SectionHeader>,
    relocations: Table<'a, Rel>,
    dynamic_symbols: Table<'a, Sym>,
}

impl<'a> File<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, ElfError> {
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

    /// Reads the name of every section, and records the symbol and string tables.
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
            // Tags beyond the list are reserved and ignored.
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

    /// Returns the dynamic table that the program header names, or, where that entry is invalid, as
    /// in files of early toolchains, the one that the section header names (anza sbpf:
    /// `parse_dynamic`).
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
        // Toolchains up to rust-bpf-sysroot 0.13 wrote an address that no segment contains (anza
        // sbpf: `parse_dynamic_relocations`).
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

    /// Checks machine, type and sections, and returns `.text`.
    pub(super) fn validate(&self) -> Result<SectionHeader, ElfError> {
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
            // Only these names are refused: a writable `.tdata` or `.data.rel` loads (anza sbpf:
            // `validate`).
            let is_data = name.starts_with(b".data") && !name.starts_with(b".data.rel");
            if name.starts_with(b".bss") || (is_data && section.is_writable()) {
                let name = String::from_utf8_lossy(name).into_owned();
                return Err(ElfError::WritableSectionNotSupported(name));
            }
        }
        for section in self.sections.iter() {
            // The size of the file bounds sections without content (`SHT_NOBITS`) too.
            let end = section.sh_offset.checked_add(section.sh_size);
            end.and_then(|end| slice(self.bytes, section.sh_offset..end))
                .ok_or(ElfError::ValueOutOfBounds)?;
        }
        match text.vm_range().contains(&self.header.e_entry) {
            true => Ok(text),
            false => Err(ElfError::EntrypointOutOfBounds),
        }
    }

    /// Returns the sections with their names. Parsing checked that all names are readable.
    pub(super) fn named_sections(&self) -> impl Iterator<Item = (&'a [u8], SectionHeader)> {
        self.sections
            .iter()
            .filter_map(|section| Some((self.section_name(&section).ok()?, section)))
    }

    fn section_name(&self, section: &SectionHeader) -> Result<&'a [u8], ElfError> {
        string_at(self.bytes, &self.section_names, section.sh_name, SECTION_NAME_BYTES_MAX)
    }

    pub(super) fn relocations(&self) -> impl ExactSizeIterator<Item = Rel> + use<'a> {
        self.relocations.iter()
    }

    pub(super) fn dynamic_symbol(&self, index: u32) -> Option<Sym> {
        self.dynamic_symbols.get(usize::try_from(index).ok()?)
    }

    pub(super) fn dynamic_symbol_name(&self, symbol: &Sym) -> Option<&'a [u8]> {
        string_at(self.bytes, self.dynstr.as_ref()?, symbol.st_name, DYNAMIC_NAME_BYTES_MAX as u64)
            .ok()
    }

    /// Returns the static symbols, which only tools use; none if their table is invalid.
    pub(super) fn static_symbols(&self) -> impl Iterator<Item = Sym> + use<'a> {
        let table = self.symtab.as_ref().and_then(|section| self.symbols_of(section).ok());
        table.into_iter().flat_map(|table| table.iter())
    }

    pub(super) fn static_symbol_name(&self, symbol: &Sym) -> Option<&'a [u8]> {
        string_at(self.bytes, self.strtab.as_ref()?, symbol.st_name, DEBUG_NAME_BYTES_MAX).ok()
    }
}

fn invalid_dynamic_table() -> ElfError {
    ElfError::parse("invalid dynamic section table")
}

/// Checks that loadable segments ascend by address and lie in the file. They may overlap.
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

/// Checks that sections with content ascend by file offset, lie in the file, and overlap neither
/// each other nor any of `reserved`.
fn check_sections(
    bytes: &[u8],
    sections: &Table<'_, SectionHeader>,
    reserved: [&Range<u64>; 3],
) -> Result<(), ElfError> {
    let mut offset = 0;
    for section in sections.iter().filter(|section| section.sh_type != SHT_NOBITS) {
        let end =
            section.sh_offset.checked_add(section.sh_size).ok_or(ElfError::ValueOutOfBounds)?;
        for range in reserved {
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
