//! From a program's image to the bytes of a `.so`.
//!
//! Until V2 the file has the lenient layout: sections at the addresses of their file offsets, calls
//! of syscalls as relocations. From V3 it has the strict one: one or two program headers, and
//! sections for tools only. What a change must keep: the loader maps every byte to the address
//! that [`addresses`] promised before the file was written, and a stripped file holds nothing that
//! the loader does not read.

#![allow(clippy::indexing_slicing, reason = "what is written here is indexed by what wrote it")]

use selkie_isa::{
    Version,
    layout::{BYTECODE_START, RODATA_START, SLOT_BYTES},
};

/// Guest addresses of the parts of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// Of the first instruction.
    pub text: u64,
    /// Of the first byte of read-only data.
    pub rodata: u64,
}

/// The least and the usual [`Image::text_offset`].
pub const TEXT_OFFSET_MIN: u64 = HEADER_BYTES as u64;

/// Where the loader will map an image with so many bytes of instructions, that start at
/// `text_offset` of the file if the version leaves the choice.
#[must_use]
pub fn addresses(version: Version, text_bytes: usize, text_offset: u64) -> Addresses {
    if version.strict_elf() {
        return Addresses { text: BYTECODE_START, rodata: RODATA_START };
    }
    let text = BYTECODE_START + text_offset;
    Addresses { text, rodata: text + text_bytes as u64 }
}

/// What a symbol stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolKind {
    /// The first instruction of a function.
    Function,
    /// Another instruction.
    Label,
    /// Read-only data.
    Object,
    /// An address that belongs to no section.
    Absolute,
}

/// A name for tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Symbol<'a> {
    /// The name.
    pub name: &'a str,
    /// What it stands for.
    pub kind: SymbolKind,
    /// Offset from the start of the instructions, or of the data of an object; or an address.
    pub offset: u64,
    /// Bytes, or 0.
    pub size: u64,
    /// Whether other files could refer to it.
    pub global: bool,
}

/// A program, linked: everything that a file can hold of it.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    /// The sBPF version.
    pub version: Version,
    /// The instructions. Until V2, calls of functions are relative (source nibble 1).
    pub text: &'a [u8],
    /// Until V2: where the instructions start in the file, a multiple of 8 from
    /// [`TEXT_OFFSET_MIN`].
    pub text_offset: u64,
    /// The read-only data.
    pub rodata: &'a [u8],
    /// The slot at which the program starts.
    pub entry_pc: u32,
    /// Until V2: the slots of calls of syscalls, ascending, and the names of the syscalls.
    pub syscalls: &'a [(u32, &'a str)],
    /// Names for tools.
    pub symbols: &'a [Symbol<'a>],
    /// Sections of debug information.
    pub debug: &'a [(&'a str, Vec<u8>)],
    /// Leave out all that only tools read: `symbols`, `debug`, and what names them.
    pub strip: bool,
}

impl<'a> Image<'a> {
    /// A program of instructions that call no syscall, and of nothing else.
    #[must_use]
    pub const fn of_text(version: Version, text: &'a [u8]) -> Self {
        Self {
            version,
            text,
            text_offset: TEXT_OFFSET_MIN,
            rodata: &[],
            entry_pc: 0,
            syscalls: &[],
            symbols: &[],
            debug: &[],
            strip: true,
        }
    }
}

/// Writes the file.
#[must_use]
pub fn write(image: &Image<'_>) -> Vec<u8> {
    let mut file = File::new(image);
    if image.version.strict_elf() {
        file.strict(image);
    } else {
        file.lenient(image);
    }
    file.finish(image)
}

const HEADER_BYTES: usize = 64;
const PROGRAM_HEADER_BYTES: usize = 56;
const SECTION_HEADER_BYTES: usize = 64;
const SYMBOL_BYTES: usize = 24;
const REL_BYTES: usize = 16;

const SHT_PROGBITS: u32 = 1;
const SHT_SYMTAB: u32 = 2;
const SHT_STRTAB: u32 = 3;
const SHT_DYNAMIC: u32 = 6;
const SHT_REL: u32 = 9;
const SHT_DYNSYM: u32 = 11;

/// In place of a section: the symbol's value is final.
const SHN_ABS: u32 = 0xfff1;

const SHF_WRITE: u64 = 1;
const SHF_ALLOC: u64 = 2;
const SHF_EXECINSTR: u64 = 4;

const PF_X: u32 = 1;
const PF_R: u32 = 4;

const R_BPF_64_32: u64 = 10;

/// Puts little-endian fields behind each other.
trait Put {
    fn put16(&mut self, value: u16);
    fn put32(&mut self, value: u32);
    fn put64(&mut self, value: u64);
}

impl Put for Vec<u8> {
    fn put16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }
}

/// A table of NUL-terminated strings.
struct Strings(Vec<u8>);

impl Strings {
    fn new() -> Self {
        Self(vec![0])
    }

    fn add(&mut self, text: &str) -> u32 {
        let at = index(self.0.len());
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
        at
    }
}

/// Offsets and counts in a file; sections of 4 GiB are no program.
fn index(value: usize) -> u32 {
    u32::try_from(value).expect("the parts of a program are below 4 GiB")
}

#[derive(Default)]
struct SectionHeader {
    name: u32,
    kind: u32,
    flags: u64,
    addr: u64,
    offset: u64,
    size: u64,
    link: u32,
    info: u32,
    align: u64,
    entry_size: u64,
}

/// How a section is addressed, and what it is for.
struct Section<'a> {
    name: &'a str,
    kind: u32,
    flags: u64,
    /// `None`: where the file has it.
    addr: Option<u64>,
    align: usize,
}

/// A file in the making. The first 64 bytes are left for the header.
struct File {
    bytes: Vec<u8>,
    program_headers: usize,
    names: Strings,
    sections: Vec<SectionHeader>,
    entry: u64,
}

impl File {
    fn new(image: &Image<'_>) -> Self {
        Self {
            bytes: vec![0; HEADER_BYTES],
            program_headers: 0,
            names: Strings::new(),
            sections: Vec::new(),
            entry: u64::from(image.entry_pc) * SLOT_BYTES as u64,
        }
    }

    fn pad(&mut self, align: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(align), 0);
    }

    /// Appends a section and returns its index.
    fn section(&mut self, section: &Section<'_>, data: &[u8]) -> u32 {
        if self.sections.is_empty() {
            self.sections.push(SectionHeader::default());
        }
        self.pad(section.align);
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(data);
        let name = self.names.add(section.name);
        self.sections.push(SectionHeader {
            name,
            kind: section.kind,
            flags: section.flags,
            addr: section.addr.unwrap_or(offset),
            offset,
            size: data.len() as u64,
            align: section.align as u64,
            ..SectionHeader::default()
        });
        index(self.sections.len() - 1)
    }

    /// V0 to V2: the loader finds everything by section.
    fn lenient(&mut self, image: &Image<'_>) {
        self.entry += image.text_offset;
        let text_offset = usize::try_from(image.text_offset).expect("files are below 4 GiB");
        self.bytes.resize(text_offset.max(HEADER_BYTES), 0);
        let flags = SHF_ALLOC | SHF_EXECINSTR;
        let text = Section { name: ".text", kind: SHT_PROGBITS, flags, addr: None, align: 8 };
        let text = self.section(&text, image.text);
        let rodata = (!image.rodata.is_empty()).then(|| {
            let flags = SHF_ALLOC;
            let data = Section { name: ".rodata", kind: SHT_PROGBITS, flags, addr: None, align: 8 };
            self.section(&data, image.rodata)
        });
        if !image.syscalls.is_empty() {
            self.dynamic(image.syscalls, image.text_offset);
        }
        self.for_tools(image, text, rodata);
        self.pad(8);
    }

    /// What makes the loader resolve syscalls: `.rel.dyn` over `.dynsym` over `.dynstr`, found
    /// through `.dynamic`.
    fn dynamic(&mut self, syscalls: &[(u32, &str)], text_offset: u64) {
        let mut names: Vec<&str> = syscalls.iter().map(|(_, name)| *name).collect();
        names.sort_unstable();
        names.dedup();
        let mut strings = Strings::new();
        let mut symbols = vec![0; SYMBOL_BYTES];
        for name in &names {
            symbols.put32(strings.add(name));
            // Global, without a type, undefined.
            symbols.extend_from_slice(&[0x10, 0, 0, 0]);
            symbols.put64(0);
            symbols.put64(0);
        }
        let mut relocations = Vec::with_capacity(syscalls.len() * REL_BYTES);
        for (pc, name) in syscalls {
            let symbol = 1 + names.binary_search(name).expect("`names` has every syscall");
            relocations.put64(text_offset + u64::from(*pc) * SLOT_BYTES as u64);
            relocations.put64((symbol as u64) << 32 | R_BPF_64_32);
        }
        let section = |name, kind| Section { name, kind, flags: SHF_ALLOC, addr: None, align: 8 };
        let dynsym = self.section(&section(".dynsym", SHT_DYNSYM), &symbols);
        let dynstr = self.section(&section(".dynstr", SHT_STRTAB), &strings.0);
        let rel = self.section(&section(".rel.dyn", SHT_REL), &relocations);
        let address = |file: &Self, section: u32| file.sections[section as usize].addr;
        let entries = [
            (17, address(self, rel)),
            (18, relocations.len() as u64),
            (19, REL_BYTES as u64),
            (6, address(self, dynsym)),
            (11, SYMBOL_BYTES as u64),
            (5, address(self, dynstr)),
            (10, strings.0.len() as u64),
            (0, 0),
        ];
        let mut dynamic = Vec::new();
        for (tag, value) in entries {
            dynamic.put64(tag);
            dynamic.put64(value);
        }
        let flags = SHF_ALLOC | SHF_WRITE;
        let section = Section { name: ".dynamic", kind: SHT_DYNAMIC, flags, addr: None, align: 8 };
        let dynamic = self.section(&section, &dynamic);
        let mut table = |section: u32, link, info, entry_size: usize| {
            let header = &mut self.sections[section as usize];
            (header.link, header.info, header.entry_size) = (link, info, entry_size as u64);
        };
        table(dynsym, dynstr, 1, SYMBOL_BYTES);
        table(rel, dynsym, 0, REL_BYTES);
        table(dynamic, dynstr, 0, 16);
    }

    /// V3 and later: the loader reads program headers only.
    fn strict(&mut self, image: &Image<'_>) {
        self.entry += BYTECODE_START;
        let padded = |bytes: &[u8]| bytes.len().next_multiple_of(8);
        let mut parts = vec![(PF_X, BYTECODE_START, padded(image.text))];
        if !image.rodata.is_empty() {
            parts.insert(0, (PF_R, RODATA_START, padded(image.rodata)));
        }
        self.program_headers = parts.len();
        let mut offset = HEADER_BYTES + PROGRAM_HEADER_BYTES * parts.len();
        for (flags, address, size) in parts {
            self.bytes.put32(1);
            self.bytes.put32(flags);
            for field in [offset as u64, address, address, size as u64, size as u64, 0] {
                self.bytes.put64(field);
            }
            offset += size;
        }
        if image.strip {
            for part in [image.rodata, image.text] {
                self.bytes.extend_from_slice(part);
                self.pad(8);
            }
            return;
        }
        let section = |name, flags, address| Section {
            name,
            kind: SHT_PROGBITS,
            flags,
            addr: Some(address),
            align: 8,
        };
        let rodata = (!image.rodata.is_empty()).then(|| {
            let rodata = section(".rodata", SHF_ALLOC, RODATA_START);
            self.section(&rodata, image.rodata)
        });
        let text = section(".text", SHF_ALLOC | SHF_EXECINSTR, BYTECODE_START);
        let text = self.section(&text, image.text);
        self.pad(8);
        self.for_tools(image, text, rodata);
        self.pad(8);
    }

    /// Symbols, debug information, and the names of sections.
    fn for_tools(&mut self, image: &Image<'_>, text: u32, rodata: Option<u32>) {
        let unmapped = |name, kind, align| Section { name, kind, flags: 0, addr: Some(0), align };
        if !image.strip {
            let (symbols, strings, local) = self.symbols(image.symbols, text, rodata);
            let symtab = self.section(&unmapped(".symtab", SHT_SYMTAB, 8), &symbols);
            let strtab = self.section(&unmapped(".strtab", SHT_STRTAB, 1), &strings.0);
            let header = &mut self.sections[symtab as usize];
            (header.link, header.info) = (strtab, local);
            header.entry_size = SYMBOL_BYTES as u64;
            for (name, data) in image.debug {
                self.section(&unmapped(name, SHT_PROGBITS, 1), data);
            }
        }
        // The table holds its own name, so the section is made before its bytes are known.
        let name = if image.strip { ".s" } else { ".shstrtab" };
        let names = self.section(&unmapped(name, SHT_STRTAB, 1), &[]);
        self.sections[names as usize].size = self.names.0.len() as u64;
        self.bytes.extend_from_slice(&self.names.0);
    }

    /// The symbol table, its strings, and how many entries are local; those come first.
    fn symbols(
        &self,
        symbols: &[Symbol<'_>],
        text: u32,
        rodata: Option<u32>,
    ) -> (Vec<u8>, Strings, u32) {
        let mut table = vec![0; SYMBOL_BYTES];
        let mut strings = Strings::new();
        let (locals, globals): (Vec<&Symbol<'_>>, Vec<&Symbol<'_>>) =
            symbols.iter().partition(|it| !it.global);
        for symbol in locals.iter().chain(&globals) {
            let (kind, section) = match symbol.kind {
                SymbolKind::Function => (2, text),
                SymbolKind::Label => (0, text),
                SymbolKind::Object => (1, rodata.unwrap_or_default()),
                SymbolKind::Absolute => (1, SHN_ABS),
            };
            let base = self.sections.get(section as usize).map_or(0, |it| it.addr);
            table.put32(strings.add(symbol.name));
            table.push(u8::from(symbol.global) << 4 | kind);
            table.push(0);
            table.put16(u16::try_from(section).unwrap_or_default());
            table.put64(base + symbol.offset);
            table.put64(symbol.size);
        }
        (table, strings, index(1 + locals.len()))
    }

    /// The section headers behind all else, and the file header in front.
    fn finish(mut self, image: &Image<'_>) -> Vec<u8> {
        let section_offset = if self.sections.is_empty() { 0 } else { self.bytes.len() as u64 };
        for section in &self.sections {
            self.bytes.put32(section.name);
            self.bytes.put32(section.kind);
            for field in [section.flags, section.addr, section.offset, section.size] {
                self.bytes.put64(field);
            }
            self.bytes.put32(section.link);
            self.bytes.put32(section.info);
            self.bytes.put64(section.align);
            self.bytes.put64(section.entry_size);
        }
        let mut header = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        header.put16(3); // ET_DYN
        header.put16(247); // EM_BPF
        header.put32(1);
        header.put64(self.entry);
        header.put64(if self.program_headers == 0 { 0 } else { HEADER_BYTES as u64 });
        header.put64(section_offset);
        header.put32(image.version as u32);
        let count = |value: usize| u16::try_from(value).expect("a file has few sections");
        header.put16(count(HEADER_BYTES));
        header.put16(count(PROGRAM_HEADER_BYTES));
        header.put16(count(self.program_headers));
        header.put16(count(SECTION_HEADER_BYTES));
        header.put16(count(self.sections.len()));
        header.put16(count(self.sections.len().saturating_sub(1)));
        self.bytes[..HEADER_BYTES].copy_from_slice(&header);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use selkie_isa::symbol::murmur3;

    use super::*;
    use crate::{Environment, Sections, Syscalls};

    /// `call sol_log_` and `exit`, as an image until V2 has them.
    const TEXT: [u8; 16] = [0x85, 0x10, 0, 0, 255, 255, 255, 255, 0x95, 0, 0, 0, 0, 0, 0, 0];

    fn image(version: Version, strip: bool) -> Image<'static> {
        const SYMBOLS: &[Symbol<'_>] = &[
            Symbol { name: "b", kind: SymbolKind::Function, offset: 8, size: 8, global: true },
            Symbol { name: "a", kind: SymbolKind::Label, offset: 0, size: 0, global: false },
            Symbol { name: "d", kind: SymbolKind::Object, offset: 1, size: 2, global: false },
        ];
        let syscalls: &[_] = if version.static_calls() { &[] } else { &[(0, "sol_log_")] };
        Image {
            version,
            text: &TEXT,
            text_offset: TEXT_OFFSET_MIN + 16,
            rodata: b"odd",
            entry_pc: 1,
            syscalls,
            symbols: SYMBOLS,
            debug: &[],
            strip,
        }
    }

    #[test]
    fn what_is_written_is_loaded() {
        for version in Version::ALL {
            for strip in [false, true] {
                let file = write(&image(version, strip));
                let environment = Environment {
                    syscalls: Arc::new(Syscalls::new(["sol_log_"])),
                    reject_broken_elfs: true,
                    ..Environment::default()
                };
                let loaded = crate::load(&file, &environment).expect("the file follows the rules");
                assert_eq!((loaded.version(), loaded.entry_pc()), (version, 1));
                let addresses = addresses(version, TEXT.len(), TEXT_OFFSET_MIN + 16);
                assert_eq!(loaded.text_vaddr(), addresses.text);
                let data = loaded.read_only();
                let start = addresses.rodata - data.vaddr;
                let start = usize::try_from(start).expect("a small file");
                assert_eq!(data.bytes[start..start + 3], *b"odd");
                if !version.static_calls() {
                    assert_eq!(loaded.text()[4..8], murmur3(b"sol_log_").to_le_bytes());
                }
            }
        }
    }

    #[test]
    fn symbols_are_where_their_sections_are() {
        for (version, text, rodata) in [(Version::V0, 0x50, 0x60), (Version::V3, 1 << 32, 0)] {
            let file = write(&image(version, false));
            let found = |name: &str| {
                let mut symbols = Sections::read(&file).symbols();
                symbols.find(|it| it.name() == name).map(|it| (it.addr, it.size))
            };
            assert_eq!(found("b"), Some((text + 8, 8)));
            assert_eq!(found("a"), Some((text, 0)));
            assert_eq!(found("d"), Some((rodata + 1, 2)));
        }
    }
}
