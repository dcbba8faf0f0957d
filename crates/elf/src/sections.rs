//! Sections and symbols as tools want them: whatever can be read of a file, loadable or not.
//!
//! The loader's rules do not pass through here, and nothing here refuses a file.
//!
//! Invariant: names stay in the file until they are asked for. Any number of sections and symbols
//! can name overlapping parts of one string table, so that copies of all names could be larger than
//! the file by orders of magnitude.

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
/// let sections = selkie_elf::Sections::read(b"no ELF file at all");
/// assert!(sections.get(".debug_line").is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sections<'a> {
    sections: Vec<Section<'a>>,
}

/// Bytes of a name that are read; what a longer name has beyond that is left out. The longest names
/// that compilers write have about half of that.
pub const NAME_BYTES_MAX: usize = 4096;

/// Bytes that the name of a dynamic symbol may take, with its NUL, in files that load (anza sbpf:
/// `elf_parser`).
pub const DYNAMIC_NAME_BYTES_MAX: usize = 64;

/// A section of a file.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    name: Name<'a>,
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
    name: Name<'a>,
    /// Its address in the file's own address space.
    pub addr: u64,
    /// How many bytes it stands for.
    pub size: u64,
    /// Whether it names a function: it says so, or is a label that other files may use.
    pub is_function: bool,
}

/// What a string table holds from a name's first byte on, up to the last NUL of the table.
#[derive(Clone, Copy, Debug, Default)]
struct Name<'a>(&'a [u8]);

impl<'a> Sections<'a> {
    /// Reads the section table of a 64-bit little-endian file; anything else has no sections.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Self {
        Self { sections: read_sections(bytes).unwrap_or_default() }
    }

    /// The first section of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name.is(name))
    }

    /// Every section, in the file's order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Section<'a>> {
        self.sections.iter()
    }

    /// The symbols that are defined: the static ones, or if the file was stripped the dynamic ones.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'a>> + use<'a> {
        let table = self.table(SHT_SYMTAB).or_else(|| self.table(SHT_DYNSYM));
        table.into_iter().flatten().filter(|(symbol, _)| symbol.st_shndx != 0).map(Symbol::new)
    }

    /// The symbols that the file uses and does not define: until V2, the syscalls that it calls.
    pub fn imports(&self) -> impl Iterator<Item = Symbol<'a>> + use<'a> {
        let table = self.table(SHT_DYNSYM).into_iter().flatten();
        table.filter(|(symbol, _)| symbol.st_shndx == 0).map(Symbol::new)
    }

    /// The symbols of the first table of a type; those without a name are left out.
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

    /// The names of a loaded program's functions, by the slot of their first instruction.
    ///
    /// `self` must be of the file that `executable` was loaded from.
    #[must_use]
    pub fn function_names(&self, executable: &Executable) -> BTreeMap<u32, Cow<'a, str>> {
        let mut names = BTreeMap::new();
        let slots = executable.text().len() / SLOT_BYTES;
        for symbol in self.symbols().filter(|symbol| symbol.is_function) {
            // Files place code at its offset or, as from V3, at the guest's address.
            let moved = if symbol.addr < REGION_SIZE { BYTECODE_START } else { 0 };
            let Some(offset) = (symbol.addr + moved).checked_sub(executable.text_vaddr()) else {
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
    /// Its name, of which [`NAME_BYTES_MAX`] bytes are read.
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

    /// Its name, not demangled, of which [`NAME_BYTES_MAX`] bytes are read.
    #[must_use]
    pub fn name(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.name.bytes())
    }
}

impl<'a> Name<'a> {
    /// The name at an offset of a string table that ends with a NUL.
    fn at(strings: &'a [u8], offset: u32) -> Option<Self> {
        let rest = strings.get(usize::try_from(offset).ok()?..)?;
        (!rest.is_empty()).then_some(Self(rest))
    }

    /// Whether this is the name. Looks at no more bytes than `name` has.
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

/// A string table without what no NUL ends.
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
