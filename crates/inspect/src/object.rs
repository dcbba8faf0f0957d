//! A lenient reader of ELF files, for tools only: sections, segments and symbols as far as the
//! file has them.
//!
//! Invariant: nothing here decides whether a program may run; that is [`selkie_elf::load`]. Hence
//! no field is trusted, no error is told, and what cannot be read is simply not there.

use std::ops::Range;

use selkie_isa::Version;

const HEADER_BYTES: usize = 64;
const PROGRAM_HEADER_BYTES: usize = 56;
const SECTION_HEADER_BYTES: u64 = 64;
const SYMBOL_BYTES: usize = 24;

const SHT_SYMTAB: u32 = 2;
const SHT_NOBITS: u32 = 8;
const SHT_DYNSYM: u32 = 11;
const PF_X: u32 = 1;
const STT_FUNC: u8 = 2;
const SHN_UNDEF: u16 = 0;

/// What could be read of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'a> {
    bytes: &'a [u8],
}

/// A section header, its name resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: u32,
    pub(crate) addr: u64,
    pub(crate) offset: u64,
    size: u64,
    link: u32,
}

/// A symbol, its name resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol<'a> {
    pub(crate) name: &'a str,
    pub(crate) is_function: bool,
    pub(crate) is_defined: bool,
    pub(crate) value: u64,
}

/// Where the instructions of a file are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Text {
    /// Place in the file.
    pub(crate) range: Range<usize>,
    /// The address that symbols and debug information give the first instruction.
    pub(crate) addr: u64,
}

impl<'a> Object<'a> {
    /// The file, if it is a 64-bit little-endian ELF file at all.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let ident = bytes.get(..HEADER_BYTES)?;
        (ident[..6] == *b"\x7fELF\x02\x01").then_some(Self { bytes })
    }

    /// The sBPF version, if the header names one.
    pub(crate) fn version(&self) -> Option<Version> {
        Version::from_e_flags(u32_at(self.bytes, 48)?)
    }

    /// The address at which the program starts.
    pub(crate) fn entry(&self) -> u64 {
        u64_at(self.bytes, 24).unwrap_or_default()
    }

    /// Every section whose header and name can be read.
    pub(crate) fn sections(&self) -> impl Iterator<Item = Section<'a>> + use<'a> {
        let object = *self;
        let count = u16_at(self.bytes, 60).unwrap_or_default();
        let names = u16_at(self.bytes, 62).and_then(|index| self.section_at(index.into()));
        let names = names.map(|(section, _)| self.section_bytes(&section)).unwrap_or_default();
        (0..count).filter_map(move |index| {
            let (section, name) = object.section_at(index.into())?;
            Some(Section { name: string_at(names, name)?, ..section })
        })
    }

    /// The section of an index in the table, not named yet, and where its name is.
    fn section_at(&self, index: u32) -> Option<(Section<'a>, u32)> {
        let offset = u64::from(index) * SECTION_HEADER_BYTES;
        let it =
            slice(self.bytes, u64_at(self.bytes, 40)?.checked_add(offset)?, SECTION_HEADER_BYTES)?;
        let section = Section {
            name: "",
            kind: u32_at(it, 4)?,
            addr: u64_at(it, 16)?,
            offset: u64_at(it, 24)?,
            size: u64_at(it, 32)?,
            link: u32_at(it, 40)?,
        };
        Some((section, u32_at(it, 0)?))
    }

    /// The bytes of a section; none for a section without bits, or out of the file.
    pub(crate) fn section_bytes(&self, section: &Section<'_>) -> &'a [u8] {
        match section.kind {
            SHT_NOBITS => &[],
            _ => slice(self.bytes, section.offset, section.size).unwrap_or_default(),
        }
    }

    /// The bytes of the section called `name`, if there is one.
    pub(crate) fn section_named(&self, name: &str) -> Option<&'a [u8]> {
        let section = self.sections().find(|section| section.name == name)?;
        Some(self.section_bytes(&section))
    }

    /// The instructions: section `.text`, or else the first executable segment.
    pub(crate) fn text(&self) -> Option<Text> {
        let found = |offset: u64, addr, len| {
            let start = usize::try_from(offset).ok()?;
            Some(Text { range: start..start.checked_add(len)?, addr })
        };
        if let Some(section) = self.sections().find(|section| section.name == ".text") {
            return found(section.offset, section.addr, self.section_bytes(&section).len());
        }
        let table = u64_at(self.bytes, 32)?;
        let count = u64::from(u16_at(self.bytes, 56)?);
        let headers = slice(self.bytes, table, count * PROGRAM_HEADER_BYTES as u64)?;
        headers.chunks_exact(PROGRAM_HEADER_BYTES).find_map(|it| {
            let (offset, addr, size) = (u64_at(it, 8)?, u64_at(it, 16)?, u64_at(it, 32)?);
            let is_code = u32_at(it, 0)? == 1 && u32_at(it, 4)? & PF_X != 0;
            let len = slice(self.bytes, offset, size)?.len();
            is_code.then(|| found(offset, addr, len))?
        })
    }

    /// The symbols of `.symtab`, then those of `.dynsym`. Nameless ones are left out.
    pub(crate) fn symbols(&self) -> impl Iterator<Item = Symbol<'a>> + use<'a> {
        let object = *self;
        let tables = [SHT_SYMTAB, SHT_DYNSYM].into_iter();
        tables.flat_map(move |kind| {
            let sections = object.sections().filter(move |section| section.kind == kind);
            sections.flat_map(move |table| object.symbols_of(&table))
        })
    }

    fn symbols_of(&self, table: &Section<'_>) -> impl Iterator<Item = Symbol<'a>> + use<'a> {
        let names = self.section_at(table.link);
        let names = names.map(|(section, _)| self.section_bytes(&section)).unwrap_or_default();
        self.section_bytes(table).chunks_exact(SYMBOL_BYTES).filter_map(move |it| {
            let name = string_at(names, u32_at(it, 0)?)?;
            (!name.is_empty()).then_some(Symbol {
                name,
                is_function: it[4] & 15 == STT_FUNC,
                is_defined: u16_at(it, 6)? != SHN_UNDEF,
                value: u64_at(it, 8)?,
            })
        })
    }
}

fn slice(bytes: &[u8], offset: u64, len: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    bytes.get(start..)?.get(..usize::try_from(len).ok()?)
}

fn field<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk::<N>().copied()
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    field(bytes, offset).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    field(bytes, offset).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    field(bytes, offset).map(u64::from_le_bytes)
}

/// The string of a string table at `offset`, up to its NUL, if it is one of UTF-8.
fn string_at(table: &[u8], offset: u32) -> Option<&str> {
    let rest = table.get(usize::try_from(offset).ok()?..)?;
    let len = rest.iter().position(|&byte| byte == 0)?;
    core::str::from_utf8(&rest[..len]).ok()
}
