//! An object file as the linker sees it: sections, symbols and relocations, each in bounds.
//!
//! What a change must keep: every index and range in an [`Object`] points at something, so that
//! nobody behind this module checks again.

use object::{
    LittleEndian, elf,
    read::elf::{FileHeader as _, Rel as _, SectionHeader as _, Sym as _},
};

use selkie_isa::Version;

use crate::LinkError;

type Header = elf::FileHeader64<LittleEndian>;
const LE: LittleEndian = LittleEndian;

/// What the linker does with a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SectionKind {
    Code,
    ReadOnly,
    /// Data that the program may write, with bytes of its own.
    Writable,
    /// Data that the program may write, all zeros.
    Zeroed,
    Debug,
    /// Pointers to functions that somebody would have to call before or after the program.
    Constructors,
    ThreadLocal,
    /// Not part of a program: notes, unwind tables, types for the kernel.
    Ignored,
}

/// A section of an object.
#[derive(Clone, Debug)]
pub(crate) struct Section<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: SectionKind,
    /// Empty for [`SectionKind::Zeroed`].
    pub(crate) data: &'a [u8],
    pub(crate) size: u64,
    pub(crate) align: u64,
    /// Ascending by offset; each lies within the data.
    pub(crate) relocations: Vec<Relocation>,
}

/// A place in a section that a symbol's value goes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    pub(crate) offset: u64,
    pub(crate) kind: u32,
    pub(crate) symbol: usize,
}

/// Where a symbol is defined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Home {
    Undefined,
    Absolute,
    Common,
    Section(usize),
}

/// How a symbol binds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Binding {
    Local,
    Global,
    Weak,
}

/// A symbol of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol<'a> {
    pub(crate) name: &'a str,
    pub(crate) home: Home,
    pub(crate) value: u64,
    pub(crate) size: u64,
    pub(crate) binding: Binding,
    pub(crate) is_function: bool,
    pub(crate) is_section: bool,
}

/// A relocatable object.
#[derive(Clone, Debug)]
pub(crate) struct Object<'a> {
    pub(crate) name: String,
    /// The sBPF version that its instructions are of; eBPF's if there is none.
    pub(crate) version: Option<Version>,
    /// Whether it came from an archive.
    pub(crate) is_member: bool,
    /// By the file's section number.
    pub(crate) sections: Vec<Section<'a>>,
    /// By the file's symbol number.
    pub(crate) symbols: Vec<Symbol<'a>>,
}

/// The bytes of names that may still be read of a file.
///
/// Names may share their bytes: compilers let `foo` be the end of `.text.foo`, and that of
/// `.rel.text.foo`. But where any number of names share one long text, whatever compares or hashes
/// them would take the square of the file's size.
#[derive(Debug)]
pub(crate) struct NameBudget(usize);

impl NameBudget {
    /// As much as a file of that many bytes can need.
    pub(crate) fn of(file_bytes: usize) -> Self {
        const SHARED_MAX: usize = 8;
        Self(file_bytes.saturating_mul(SHARED_MAX))
    }

    /// Takes the bytes of a name; `None` if there are not so many left.
    pub(crate) fn take(&mut self, name: &[u8]) -> Option<()> {
        self.0 = self.0.checked_sub(name.len())?;
        Some(())
    }
}

/// Whether the bytes are LLVM's bitcode, bare or wrapped.
pub(crate) fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BC\xc0\xde") || bytes.starts_with(&[0xde, 0xc0, 0x17, 0x0b])
}

impl<'a> Object<'a> {
    /// Reads an object file.
    pub(crate) fn read(name: &str, bytes: &'a [u8]) -> Result<Self, LinkError> {
        let error = |message: String| LinkError::new(message).object(name);
        if is_bitcode(bytes) {
            let help = "compile without -flto or -emit-llvm; of rustc, say \
                        `-Cembed-bitcode=no -Clinker-plugin-lto=no`";
            return Err(error("LLVM bitcode is no object file".into()).help(help));
        }
        if !bytes.starts_with(b"\x7fELF") {
            return Err(error("neither an ELF object nor an archive".into()));
        }
        let ident = (bytes.get(4), bytes.get(5));
        if ident != (Some(&2), Some(&1)) {
            let help = "compile with `-target bpfel`";
            return Err(error("not a 64-bit little-endian ELF file".into()).help(help));
        }
        let broken = |it: object::read::Error| error(format!("broken ELF file: {it}"));
        let header = Header::parse(bytes).map_err(broken)?;
        let version = match header.e_machine(LE) {
            elf::EM_BPF => None,
            elf::EM_SBF => {
                let flags = header.e_flags(LE).0;
                let version = Version::ALL.into_iter().find(|it| *it as u32 == flags);
                Some(version.ok_or_else(|| {
                    let help = "assemble it with `selkie build -c`";
                    error(format!("of no sBPF version that is known: flags {flags:#x}")).help(help)
                })?)
            }
            machine => {
                let help = "compile with `-target bpf`";
                return Err(error(format!("not for BPF but for machine {machine:?}")).help(help));
            }
        };
        if header.e_type(LE) != elf::ET_REL {
            let help = "link the objects that it was made of";
            return Err(error("linked already: not a relocatable object".into()).help(help));
        }
        let mut object = Self {
            name: name.to_owned(),
            version,
            is_member: false,
            sections: vec![],
            symbols: vec![],
        };
        object.read_sections(header, bytes).map_err(|it| it.object(name))?;
        Ok(object)
    }

    fn read_sections(&mut self, header: &'a Header, bytes: &'a [u8]) -> Result<(), LinkError> {
        let broken = |it: object::read::Error| LinkError::new(format!("broken ELF file: {it}"));
        let table = header.sections(LE, bytes).map_err(broken)?;
        // Sections that share their bytes could make far more of a file than it holds.
        let held = table.iter().filter(|it| it.sh_type(LE) != elf::SHT_NOBITS);
        let held = held.fold(0_u64, |sum, it| sum.saturating_add(it.sh_size(LE)));
        if held > bytes.len() as u64 {
            return Err(LinkError::new("broken ELF file: sections overlap"));
        }
        let mut budget = NameBudget::of(bytes.len());
        let overlap = || LinkError::new("broken ELF file: names overlap");
        for section in table.iter() {
            let name = table.section_name(LE, section).map_err(broken)?;
            budget.take(name).ok_or_else(overlap)?;
            let name = text(name)?;
            let kind = section_kind(name, section);
            let data = match kind {
                SectionKind::Zeroed | SectionKind::Ignored => &[][..],
                _ => section.data(LE, bytes).map_err(broken)?,
            };
            let align = section.sh_addralign(LE).max(1);
            if kind != SectionKind::Ignored && (!align.is_power_of_two() || align > 4096) {
                return Err(LinkError::new(format!("an alignment of {align}")).section(name));
            }
            if section.sh_flags(LE).0 & elf::SHF_COMPRESSED.0 != 0 {
                let help = "compile with -gz=none";
                return Err(LinkError::new("compressed").section(name).help(help));
            }
            let size = section.sh_size(LE);
            let relocations = Vec::new();
            self.sections.push(Section { name, kind, data, size, align, relocations });
        }
        let symbols = table.symbols(LE, bytes, elf::SHT_SYMTAB).map_err(broken)?;
        for (index, symbol) in symbols.enumerate() {
            let name = symbols.symbol_name(LE, symbol).map_err(broken)?;
            budget.take(name).ok_or_else(overlap)?;
            let name = text(name)?;
            let home = match elf_home(symbol.st_shndx(LE)) {
                Some(home) => home,
                None => {
                    let section = symbols.symbol_section(LE, symbol, index).map_err(broken)?;
                    section.map_or(Home::Undefined, |it| Home::Section(it.0))
                }
            };
            self.symbols.push(self.symbol(name, home, symbol)?);
        }
        for section in table.iter() {
            match section.sh_type(LE) {
                elf::SHT_REL => {
                    let (entries, link) = match section.rel(LE, bytes).map_err(broken)? {
                        Some(it) => it,
                        None => continue,
                    };
                    if link != symbols.section() {
                        return Err(LinkError::new("relocations by a second symbol table"));
                    }
                    let target = section.sh_info(LE) as usize;
                    self.relocate(target, entries)?;
                }
                elf::SHT_RELA => {
                    let name = table.section_name(LE, section).map_err(broken)?;
                    let message = "relocations with addends of their own (RELA), which no BPF \
                                   compiler writes";
                    return Err(LinkError::new(message).section(text(name)?));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn symbol(
        &self,
        name: &'a str,
        home: Home,
        symbol: &elf::Sym64<LittleEndian>,
    ) -> Result<Symbol<'a>, LinkError> {
        let (value, size) = (symbol.st_value(LE), symbol.st_size(LE));
        if let Home::Section(index) = home {
            let section = self.sections.get(index).ok_or_else(|| {
                LinkError::new(format!("section {index} does not exist")).symbol(name)
            })?;
            let end = value.checked_add(size);
            if section.kind != SectionKind::Ignored && end.is_none_or(|end| end > section.size) {
                let message = "the symbol lies outside of its section";
                return Err(LinkError::new(message).section(section.name).symbol(name));
            }
        }
        let binding = match symbol.st_bind() {
            elf::STB_LOCAL => Binding::Local,
            elf::STB_WEAK => Binding::Weak,
            _ => Binding::Global,
        };
        let kind = symbol.st_type();
        Ok(Symbol {
            name,
            home,
            value,
            size,
            binding,
            is_function: kind == elf::STT_FUNC,
            is_section: kind == elf::STT_SECTION,
        })
    }

    fn relocate(
        &mut self,
        target: usize,
        entries: &[elf::Rel64<LittleEndian>],
    ) -> Result<(), LinkError> {
        let symbols = self.symbols.len();
        let Some(section) = self.sections.get_mut(target) else {
            return Err(LinkError::new(format!(
                "relocations for section {target}, of which there is none"
            )));
        };
        if section.kind == SectionKind::Ignored {
            return Ok(());
        }
        for entry in entries {
            let (offset, kind) = (entry.r_offset(LE), entry.r_type(LE).0);
            let symbol = entry.r_sym(LE) as usize;
            let bytes = relocated_bytes(kind);
            let end = offset.checked_add(bytes);
            if end.is_none_or(|end| end > section.data.len() as u64) {
                let message = format!("relocation at {offset:#x}, outside of the section");
                return Err(LinkError::new(message).section(section.name));
            }
            if symbol >= symbols {
                let message = format!("relocation by symbol {symbol}, of which there is none");
                return Err(LinkError::new(message).section(section.name).offset(offset));
            }
            section.relocations.push(Relocation { offset, kind, symbol });
        }
        section.relocations.sort_by_key(|it| it.offset);
        if let Some(pair) = section.relocations.windows(2).find(|it| it[0].offset == it[1].offset) {
            let message = "two relocations of one place";
            return Err(LinkError::new(message).section(section.name).offset(pair[0].offset));
        }
        Ok(())
    }
}

/// Of an instruction or a datum of eight bytes.
pub(crate) const R_BPF_64_64: u32 = 1;
/// Of eight bytes of data.
pub(crate) const R_BPF_64_ABS64: u32 = 2;
/// Of four bytes of data.
pub(crate) const R_BPF_64_ABS32: u32 = 3;
/// Of four bytes of debug information.
pub(crate) const R_BPF_64_NODYLD32: u32 = 4;
/// Of a call.
pub(crate) const R_BPF_64_32: u32 = 10;

fn relocated_bytes(kind: u32) -> u64 {
    match kind {
        R_BPF_64_64 => 16,
        R_BPF_64_ABS32 | R_BPF_64_NODYLD32 => 4,
        0 => 0,
        _ => 8,
    }
}

fn elf_home(section: elf::SymbolSection) -> Option<Home> {
    match section {
        elf::SHN_UNDEF => Some(Home::Undefined),
        elf::SHN_ABS => Some(Home::Absolute),
        elf::SHN_COMMON => Some(Home::Common),
        _ => None,
    }
}

fn section_kind(name: &str, section: &elf::SectionHeader64<LittleEndian>) -> SectionKind {
    let flags = section.sh_flags(LE).0;
    let has = |flag: u64| flags & flag != 0;
    let kind = section.sh_type(LE);
    let starts = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if !matches!(kind, elf::SHT_PROGBITS | elf::SHT_NOBITS) {
        return match kind {
            elf::SHT_INIT_ARRAY | elf::SHT_FINI_ARRAY | elf::SHT_PREINIT_ARRAY => {
                SectionKind::Constructors
            }
            _ => SectionKind::Ignored,
        };
    }
    if name.starts_with(".debug_") && !has(elf::SHF_ALLOC.0) {
        return SectionKind::Debug;
    }
    if !has(elf::SHF_ALLOC.0) || starts(".eh_frame") || starts(".note") {
        return SectionKind::Ignored;
    }
    if starts(".ctors") || starts(".dtors") || starts(".init_array") || starts(".fini_array") {
        return SectionKind::Constructors;
    }
    if has(elf::SHF_TLS.0) {
        return SectionKind::ThreadLocal;
    }
    match (kind, has(elf::SHF_EXECINSTR.0), has(elf::SHF_WRITE.0)) {
        (elf::SHT_NOBITS, _, _) => SectionKind::Zeroed,
        (_, true, _) => SectionKind::Code,
        (_, false, true) if !starts(".data.rel.ro") => SectionKind::Writable,
        _ => SectionKind::ReadOnly,
    }
}

fn text(bytes: &[u8]) -> Result<&str, LinkError> {
    core::str::from_utf8(bytes).map_err(|_| {
        LinkError::new(format!("the name {:?} is no UTF-8", String::from_utf8_lossy(bytes)))
    })
}
