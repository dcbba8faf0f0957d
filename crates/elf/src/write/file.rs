//! The file that the writer builds: sections, tables and headers.

use selkie_isa::layout::{BYTECODE_START, RODATA_START, SLOT_BYTES};

use super::{Image, Symbol, SymbolKind};
use crate::header::{
    CLASS_64, CURRENT, FileHeader, LITTLE_ENDIAN, MACHINE_BPF, MAGIC, PF_R, PF_X, PT_LOAD,
    ProgramHeader, Record as _, Rel, SHF_ALLOC, SHF_WRITE, SHT_DYNAMIC, SHT_DYNSYM, SHT_STRTAB,
    SHT_SYMTAB, STT_FUNC, SectionHeader, Sym, TYPE_DYN,
};

const SHT_PROGBITS: u32 = 1;
const SHT_REL: u32 = 9;
const SHF_EXECINSTR: u64 = 4;
const STT_NOTYPE: u8 = 0;
const STT_OBJECT: u8 = 1;
const STB_GLOBAL: u8 = 1;

/// The section index of a symbol whose value is absolute.
const SHN_ABS: u32 = 0xfff1;

const R_BPF_64_32: u64 = 10;

/// Appends little-endian fields.
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

    /// Appends a string and returns its offset.
    fn add(&mut self, text: &str) -> u32 {
        let offset = to_u32(self.0.len());
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
        offset
    }
}

/// Converts an offset or a count.
fn to_u32(value: usize) -> u32 {
    u32::try_from(value).expect("the parts of a program are below 4 GiB")
}

/// The header of a section that was written.
#[derive(Default)]
struct Written {
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

/// A section to write.
struct Section<'a> {
    name: &'a str,
    kind: u32,
    flags: u64,
    /// `None`: the file offset.
    addr: Option<u64>,
    align: usize,
}

/// A file under construction. Its first 64 bytes are reserved for the header.
pub(super) struct File {
    bytes: Vec<u8>,
    program_headers: usize,
    names: Strings,
    sections: Vec<Written>,
    entry: u64,
}

impl File {
    pub(super) fn new(image: &Image<'_>) -> Self {
        Self {
            bytes: vec![0; FileHeader::BYTES],
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
            self.sections.push(Written::default());
        }
        self.pad(section.align);
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(data);
        let name = self.names.add(section.name);
        self.sections.push(Written {
            name,
            kind: section.kind,
            flags: section.flags,
            addr: section.addr.unwrap_or(offset),
            offset,
            size: data.len() as u64,
            align: section.align as u64,
            ..Written::default()
        });
        to_u32(self.sections.len() - 1)
    }

    /// Writes the V0 to V2 layout, in which the loader finds everything by section.
    pub(super) fn legacy(&mut self, image: &Image<'_>) {
        self.entry += image.text_offset;
        let text_offset = usize::try_from(image.text_offset).expect("files are below 4 GiB");
        self.bytes.resize(text_offset.max(FileHeader::BYTES), 0);
        let flags = SHF_ALLOC | SHF_EXECINSTR;
        let text = Section { name: ".text", kind: SHT_PROGBITS, flags, addr: None, align: 8 };
        let text = self.section(&text, image.text);
        let rodata = (!image.rodata.is_empty()).then(|| {
            let flags = SHF_ALLOC;
            let data = Section { name: ".rodata", kind: SHT_PROGBITS, flags, addr: None, align: 8 };
            self.section(&data, image.rodata)
        });
        if !image.syscalls.is_empty() {
            self.dynamic_sections(image.syscalls, image.text_offset);
        }
        self.debug_sections(image, text, rodata);
        self.pad(8);
    }

    /// Writes the sections by which the loader resolves syscalls: `.dynsym`, `.dynstr` and
    /// `.rel.dyn`, and `.dynamic`, through which it finds them.
    fn dynamic_sections(&mut self, syscalls: &[(u32, &str)], text_offset: u64) {
        let (symbols, strings, relocations) = dynamic_tables(syscalls, text_offset);
        let section = |name, kind| Section { name, kind, flags: SHF_ALLOC, addr: None, align: 8 };
        let dynsym = self.section(&section(".dynsym", SHT_DYNSYM), &symbols);
        let dynstr = self.section(&section(".dynstr", SHT_STRTAB), &strings.0);
        let rel = self.section(&section(".rel.dyn", SHT_REL), &relocations);
        let dynamic = self.dynamic_table(dynsym, dynstr, rel);
        let flags = SHF_ALLOC | SHF_WRITE;
        let section = Section { name: ".dynamic", kind: SHT_DYNAMIC, flags, addr: None, align: 8 };
        let dynamic = self.section(&section, &dynamic);
        let mut table = |section: u32, link, info, entry_size: usize| {
            let header = &mut self.sections[section as usize];
            (header.link, header.info, header.entry_size) = (link, info, entry_size as u64);
        };
        table(dynsym, dynstr, 1, Sym::BYTES);
        table(rel, dynsym, 0, Rel::BYTES);
        table(dynamic, dynstr, 0, 16);
    }

    /// Returns the content of `.dynamic`.
    fn dynamic_table(&self, dynsym: u32, dynstr: u32, rel: u32) -> Vec<u8> {
        let section = |index: u32| &self.sections[index as usize];
        let entries = [
            (17, section(rel).addr),    // DT_REL
            (18, section(rel).size),    // DT_RELSZ
            (19, Rel::BYTES as u64),    // DT_RELENT
            (6, section(dynsym).addr),  // DT_SYMTAB
            (11, Sym::BYTES as u64),    // DT_SYMENT
            (5, section(dynstr).addr),  // DT_STRTAB
            (10, section(dynstr).size), // DT_STRSZ
            (0, 0),                     // DT_NULL
        ];
        let mut table = Vec::new();
        for (tag, value) in entries {
            table.put64(tag);
            table.put64(value);
        }
        table
    }

    /// Writes the layout from V3 on, of which the loader reads only the program headers.
    pub(super) fn strict(&mut self, image: &Image<'_>) {
        self.entry += BYTECODE_START;
        self.program_headers(image);
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
        self.debug_sections(image, text, rodata);
        self.pad(8);
    }

    /// Writes the program headers of read-only data, if there is any, and of code.
    fn program_headers(&mut self, image: &Image<'_>) {
        let padded = |bytes: &[u8]| bytes.len().next_multiple_of(8);
        let mut parts = vec![(PF_X, BYTECODE_START, padded(image.text))];
        if !image.rodata.is_empty() {
            parts.insert(0, (PF_R, RODATA_START, padded(image.rodata)));
        }
        self.program_headers = parts.len();
        let mut offset = FileHeader::BYTES + ProgramHeader::BYTES * parts.len();
        for (flags, address, size) in parts {
            self.bytes.put32(PT_LOAD);
            self.bytes.put32(flags);
            for field in [offset as u64, address, address, size as u64, size as u64, 0] {
                self.bytes.put64(field);
            }
            offset += size;
        }
    }

    /// Writes symbols and debug information, unless stripped, and the names of sections.
    fn debug_sections(&mut self, image: &Image<'_>, text: u32, rodata: Option<u32>) {
        let unmapped = |name, kind, align| Section { name, kind, flags: 0, addr: Some(0), align };
        if !image.strip {
            let (symbols, strings, local) = self.symbols(image.symbols, text, rodata);
            let symtab = self.section(&unmapped(".symtab", SHT_SYMTAB, 8), &symbols);
            let strtab = self.section(&unmapped(".strtab", SHT_STRTAB, 1), &strings.0);
            let header = &mut self.sections[symtab as usize];
            (header.link, header.info) = (strtab, local);
            header.entry_size = Sym::BYTES as u64;
            for (name, data) in image.debug {
                self.section(&unmapped(name, SHT_PROGBITS, 1), data);
            }
        }
        // The table contains its own name, so the section is added before its content is complete.
        let name = if image.strip { ".s" } else { ".shstrtab" };
        let names = self.section(&unmapped(name, SHT_STRTAB, 1), &[]);
        self.sections[names as usize].size = self.names.0.len() as u64;
        self.bytes.extend_from_slice(&self.names.0);
    }

    /// Returns the symbol table, its strings, and the number of local entries, which come first.
    fn symbols(
        &self,
        symbols: &[Symbol<'_>],
        text: u32,
        rodata: Option<u32>,
    ) -> (Vec<u8>, Strings, u32) {
        let mut table = vec![0; Sym::BYTES];
        let mut strings = Strings::new();
        let (locals, globals): (Vec<&Symbol<'_>>, Vec<&Symbol<'_>>) =
            symbols.iter().partition(|it| !it.global);
        for symbol in locals.iter().chain(&globals) {
            let (kind, section) = match symbol.kind {
                SymbolKind::Function => (STT_FUNC, text),
                SymbolKind::Label => (STT_NOTYPE, text),
                SymbolKind::Object => (STT_OBJECT, rodata.unwrap_or_default()),
                SymbolKind::Absolute => (STT_OBJECT, SHN_ABS),
            };
            let base = self.sections.get(section as usize).map_or(0, |it| it.addr);
            table.put32(strings.add(symbol.name));
            table.push(u8::from(symbol.global) << 4 | kind);
            table.push(0);
            table.put16(u16::try_from(section).unwrap_or_default());
            table.put64(base + symbol.offset);
            table.put64(symbol.size);
        }
        (table, strings, to_u32(1 + locals.len()))
    }

    /// Appends the section headers and fills in the file header.
    pub(super) fn finish(mut self, image: &Image<'_>) -> Vec<u8> {
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
        let header = self.header(image, section_offset);
        self.bytes[..FileHeader::BYTES].copy_from_slice(&header);
        self.bytes
    }

    fn header(&self, image: &Image<'_>, section_offset: u64) -> Vec<u8> {
        let mut header = MAGIC.to_vec();
        header.extend([CLASS_64, LITTLE_ENDIAN, CURRENT]);
        header.resize(16, 0);
        header.put16(TYPE_DYN);
        header.put16(MACHINE_BPF);
        header.put32(CURRENT.into());
        header.put64(self.entry);
        header.put64(if self.program_headers == 0 { 0 } else { FileHeader::BYTES as u64 });
        header.put64(section_offset);
        header.put32(image.version as u32);
        let count = |value: usize| u16::try_from(value).expect("a file has few sections");
        header.put16(count(FileHeader::BYTES));
        header.put16(count(ProgramHeader::BYTES));
        header.put16(count(self.program_headers));
        header.put16(count(SectionHeader::BYTES));
        header.put16(count(self.sections.len()));
        header.put16(count(self.sections.len().saturating_sub(1)));
        header
    }
}

/// Returns symbols, strings and relocations of the calls of syscalls.
fn dynamic_tables(syscalls: &[(u32, &str)], text_offset: u64) -> (Vec<u8>, Strings, Vec<u8>) {
    let mut names: Vec<&str> = syscalls.iter().map(|(_, name)| *name).collect();
    names.sort_unstable();
    names.dedup();
    let mut strings = Strings::new();
    let mut symbols = vec![0; Sym::BYTES];
    for name in &names {
        symbols.put32(strings.add(name));
        // Undefined, so section, value and size are 0.
        symbols.extend_from_slice(&[STB_GLOBAL << 4 | STT_NOTYPE, 0, 0, 0]);
        symbols.put64(0);
        symbols.put64(0);
    }
    let mut relocations = Vec::with_capacity(syscalls.len() * Rel::BYTES);
    for (pc, name) in syscalls {
        let symbol = 1 + names.binary_search(name).expect("`names` has every syscall");
        relocations.put64(text_offset + u64::from(*pc) * SLOT_BYTES as u64);
        relocations.put64((symbol as u64) << 32 | R_BPF_64_32);
    }
    (symbols, strings, relocations)
}
