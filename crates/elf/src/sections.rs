//! Sections and symbols as tools want them: whatever can be read of a file, loadable or not.
//!
//! The loader's rules do not pass through here, and nothing here refuses a file.

use std::{borrow::Cow, collections::BTreeMap};

use selkie_isa::layout::{BYTECODE_START, REGION_SIZE, SLOT_BYTES};

use crate::{
    Executable,
    header::{
        CLASS_64, FileHeader, LITTLE_ENDIAN, MAGIC, Record, SHT_DYNSYM, SHT_SYMTAB, STT_FUNC,
        SectionHeader, Sym, Table, read_front, slice, until_nul,
    },
};

/// The sections of a file.
///
/// ```
/// let sections = selkie_elf::Sections::read(b"no ELF file at all");
/// assert!(sections.get(".debug_line").is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sections<'a> {
    sections: Vec<Section<'a>>,
}

/// A section of a file.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its address in the file's own address space.
    pub addr: u64,
    /// Its offset in the file.
    pub offset: u64,
    /// Its content; empty if it has none or if that lies outside of the file.
    pub bytes: &'a [u8],
    sh_type: u32,
    sh_link: u32,
}

/// A symbol of a file.
#[derive(Clone, Debug)]
pub struct Symbol<'a> {
    /// Its name, not demangled.
    pub name: Cow<'a, str>,
    /// Its address in the file's own address space.
    pub addr: u64,
    /// How many bytes it stands for.
    pub size: u64,
    /// Whether it names a function: it says so, or is a label that other files may use.
    pub is_function: bool,
}

impl<'a> Sections<'a> {
    /// Reads the section table of a 64-bit little-endian file; anything else has no sections.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Self {
        Self { sections: read_sections(bytes).unwrap_or_default() }
    }

    /// The first section of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Every section, in the file's order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Section<'a>> {
        self.sections.iter()
    }

    /// The symbols that are defined: the static ones, or if the file was stripped the dynamic ones.
    #[must_use]
    pub fn symbols(&self) -> Vec<Symbol<'a>> {
        let is_defined = |symbol: &Sym| symbol.st_shndx != 0;
        self.table(SHT_SYMTAB, is_defined)
            .or_else(|| self.table(SHT_DYNSYM, is_defined))
            .unwrap_or_default()
    }

    /// The names that the file uses and does not define: until V2, the syscalls that it calls.
    pub fn imports(&self) -> impl Iterator<Item = Cow<'a, str>> {
        let symbols = self.table(SHT_DYNSYM, |symbol| symbol.st_shndx == 0).unwrap_or_default();
        symbols.into_iter().map(|symbol| symbol.name)
    }

    /// The symbols of the first table of a type that `wanted` picks; those without a name are left
    /// out.
    fn table(&self, sh_type: u32, wanted: impl Fn(&Sym) -> bool) -> Option<Vec<Symbol<'a>>> {
        let table = self.sections.iter().find(|section| section.sh_type == sh_type)?;
        let strings = usize::try_from(table.sh_link).ok().and_then(|at| self.sections.get(at));
        let strings = strings.map_or(&[][..], |section| section.bytes);
        let symbols = Table::<Sym>::new(table.bytes).iter().filter(wanted);
        Some(symbols.filter_map(|symbol| Symbol::new(&symbol, strings)).collect())
    }

    /// The names of a loaded program's functions, by the slot of their first instruction.
    ///
    /// `self` must be of the file that `executable` was loaded from.
    #[must_use]
    pub fn function_names(&self, executable: &Executable) -> BTreeMap<u32, Cow<'a, str>> {
        let mut names = BTreeMap::new();
        let slots = executable.text().len() / SLOT_BYTES;
        for symbol in self.symbols().into_iter().filter(|symbol| symbol.is_function) {
            // Files place code at its offset or, as from V3, at the guest's address.
            let moved = if symbol.addr < REGION_SIZE { BYTECODE_START } else { 0 };
            let Some(offset) = (symbol.addr + moved).checked_sub(executable.text_vaddr()) else {
                continue;
            };
            let pc = u32::try_from(offset / SLOT_BYTES as u64).ok();
            if let Some(pc) = pc.filter(|&pc| usize::try_from(pc).is_ok_and(|pc| pc < slots)) {
                names.entry(pc).or_insert(symbol.name);
            }
        }
        names
    }
}

impl<'a> Symbol<'a> {
    fn new(symbol: &Sym, strings: &'a [u8]) -> Option<Self> {
        const STT_NOTYPE: u8 = 0;
        const STB_LOCAL: u8 = 0;
        let name = strings.get(usize::try_from(symbol.st_name).ok()?..)?;
        let name = String::from_utf8_lossy(until_nul(name)?);
        let (kind, binding) = (symbol.st_info & 15, symbol.st_info >> 4);
        let is_label = kind == STT_NOTYPE && binding != STB_LOCAL;
        (!name.is_empty()).then_some(Self {
            name,
            addr: symbol.st_value,
            size: symbol.st_size,
            is_function: kind == STT_FUNC || is_label,
        })
    }
}

fn read_sections(bytes: &[u8]) -> Option<Vec<Section<'_>>> {
    let header: FileHeader = read_front(bytes)?;
    if header.magic != MAGIC || header.class != CLASS_64 || header.endianness != LITTLE_ENDIAN {
        return None;
    }
    let size = SectionHeader::BYTES as u64 * u64::from(header.e_shnum);
    let table = slice(bytes, header.e_shoff..header.e_shoff.checked_add(size)?)?;
    let table = Table::<SectionHeader>::new(table);
    let names = table.get(usize::from(header.e_shstrndx));
    let names = names.and_then(|names| slice(bytes, names.file_range())).unwrap_or_default();
    let sections = table.iter().map(|section| {
        let name = usize::try_from(section.sh_name).ok();
        let name = name.and_then(|start| until_nul(names.get(start..)?));
        Section {
            name: String::from_utf8_lossy(name.unwrap_or_default()),
            addr: section.sh_addr,
            offset: section.sh_offset,
            bytes: slice(bytes, section.file_range()).unwrap_or_default(),
            sh_type: section.sh_type,
            sh_link: section.sh_link,
        }
    });
    Some(sections.collect())
}
