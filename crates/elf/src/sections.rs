//! Sections and symbols for tools, as far as they can be read, of loadable and of broken files.
//!
//! The loaders do not use this module, and it refuses no file.
//!
//! Invariant: names are borrowed from the file. Any number of sections and symbols can name
//! overlapping parts of one string table, so copies of all names could be orders of magnitude larger
//! than the file.

use std::{borrow::Cow, collections::BTreeMap};

use selkie_isa::layout::{BYTECODE_START, REGION_SIZE, SLOT_BYTES};

use crate::{
    Executable,
    header::{
        CLASS_64, FileHeader, LITTLE_ENDIAN, MAGIC, Record, SHT_DYNSYM, SHT_SYMTAB, STT_FUNC,
        SectionHeader, Sym, Table, read_front, slice,
    },
};

/// The sections of a file.
///
/// ```
/// let sections = selkie_elf::Sections::read(b"not an ELF file");
/// assert!(sections.get(".debug_line").is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sections<'a> {
    sections: Vec<Section<'a>>,
}

/// Length in bytes to which longer names are cut. The longest names that compilers write have about
/// half of that.
pub const NAME_BYTES_MAX: usize = 4096;

/// A section of a file.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    name: Name<'a>,
    /// Its address as the file states it.
    pub addr: u64,
    /// Its offset in the file.
    pub offset: u64,
    /// Its content; empty if it has none, or if its range is out of bounds.
    pub bytes: &'a [u8],
    sh_type: u32,
    sh_link: u32,
}

/// A symbol of a file.
#[derive(Clone, Debug)]
pub struct Symbol<'a> {
    name: Name<'a>,
    /// Its address as the file states it.
    pub addr: u64,
    /// The size in bytes of what it names.
    pub size: u64,
    /// Whether it names a function: its type is `STT_FUNC`, or it is a global symbol without type.
    pub is_function: bool,
}

/// A string table from the first byte of a name up to the last NUL of the table.
#[derive(Clone, Copy, Debug, Default)]
struct Name<'a>(&'a [u8]);

impl<'a> Sections<'a> {
    /// Reads the section table of a 64-bit little-endian ELF file. Other files have no sections.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Self {
        Self { sections: read_sections(bytes).unwrap_or_default() }
    }

    /// Returns the first section of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name.is(name))
    }

    /// Returns the sections in the order of the file.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Section<'a>> {
        self.sections.iter()
    }

    /// Returns the defined symbols: the static ones, or the dynamic ones of a stripped file.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'a>> + use<'a> {
        let table = self.table(SHT_SYMTAB).or_else(|| self.table(SHT_DYNSYM));
        table.into_iter().flatten().filter(|(symbol, _)| symbol.st_shndx != 0).map(Symbol::new)
    }

    /// Returns the undefined symbols: until V2, the syscalls that the program calls.
    pub fn imports(&self) -> impl Iterator<Item = Symbol<'a>> + use<'a> {
        let table = self.table(SHT_DYNSYM).into_iter().flatten();
        table.filter(|(symbol, _)| symbol.st_shndx == 0).map(Symbol::new)
    }

    /// Returns the symbols of the first table of a type, without those that have no name.
    fn table(&self, sh_type: u32) -> Option<impl Iterator<Item = (Sym, Name<'a>)> + use<'a>> {
        let table = self.sections.iter().find(|section| section.sh_type == sh_type)?;
        let strings = usize::try_from(table.sh_link).ok().and_then(|at| self.sections.get(at));
        let strings = until_last_nul(strings.map_or(&[][..], |section| section.bytes));
        let symbols = Table::<Sym>::new(table.bytes).iter();
        Some(symbols.filter_map(|symbol| {
            let name = Name::at(strings, symbol.st_name).filter(|name| !name.is(""))?;
            Some((symbol, name))
        }))
    }

    /// Returns the names of a program's functions by the slot of their first instruction.
    ///
    /// `executable` must be loaded from the same file.
    #[must_use]
    pub fn function_names(&self, executable: &Executable) -> BTreeMap<u32, Cow<'a, str>> {
        let mut names = BTreeMap::new();
        let slots = executable.text().len() / SLOT_BYTES;
        for symbol in self.symbols().filter(|symbol| symbol.is_function) {
            // Until V2 symbols hold file offsets, from V3 guest addresses.
            let base = if symbol.addr < REGION_SIZE { BYTECODE_START } else { 0 };
            let Some(offset) = (symbol.addr + base).checked_sub(executable.text_vaddr()) else {
                continue;
            };
            let pc = u32::try_from(offset / SLOT_BYTES as u64).ok();
            if let Some(pc) = pc.filter(|&pc| usize::try_from(pc).is_ok_and(|pc| pc < slots)) {
                names.entry(pc).or_insert_with(|| symbol.name());
            }
        }
        names
    }
}

impl<'a> Section<'a> {
    /// Returns its name, cut to [`NAME_BYTES_MAX`] bytes.
    #[must_use]
    pub fn name(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.name.bytes())
    }
}

impl<'a> Symbol<'a> {
    fn new((symbol, name): (Sym, Name<'a>)) -> Self {
        const STT_NOTYPE: u8 = 0;
        const STB_LOCAL: u8 = 0;
        let (kind, binding) = (symbol.st_info & 15, symbol.st_info >> 4);
        let is_label = kind == STT_NOTYPE && binding != STB_LOCAL;
        Self {
            name,
            addr: symbol.st_value,
            size: symbol.st_size,
            is_function: kind == STT_FUNC || is_label,
        }
    }

    /// Returns its name, not demangled and cut to [`NAME_BYTES_MAX`] bytes.
    #[must_use]
    pub fn name(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.name.bytes())
    }
}

impl<'a> Name<'a> {
    /// Returns the name at an offset of a string table that ends with a NUL.
    fn at(strings: &'a [u8], offset: u32) -> Option<Self> {
        let rest = strings.get(usize::try_from(offset).ok()?..)?;
        (!rest.is_empty()).then_some(Self(rest))
    }

    /// Compares without reading more bytes than `name` has.
    fn is(self, name: &str) -> bool {
        self.0
            .strip_prefix(name.as_bytes())
            .is_some_and(|rest| rest.first().is_none_or(|&it| it == 0))
    }

    fn bytes(self) -> &'a [u8] {
        let bytes = self.0.get(..NAME_BYTES_MAX).unwrap_or(self.0);
        bytes.split(|&byte| byte == 0).next().unwrap_or_default()
    }
}

/// Returns a string table up to its last NUL.
fn until_last_nul(strings: &[u8]) -> &[u8] {
    let end = strings.iter().rposition(|&byte| byte == 0).map_or(0, |last| last + 1);
    strings.get(..end).unwrap_or_default()
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
    let names = until_last_nul(names);
    let sections = table.iter().map(|section| Section {
        name: Name::at(names, section.sh_name).unwrap_or_default(),
        addr: section.sh_addr,
        offset: section.sh_offset,
        bytes: slice(bytes, section.file_range()).unwrap_or_default(),
        sh_type: section.sh_type,
        sh_link: section.sh_link,
    });
    Some(sections.collect())
}
