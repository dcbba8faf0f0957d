//! Object files: sections, symbols and relocations.
//!
//! Invariant: every index and range in an [`Object`] is within bounds, so other modules need not
//! check them again.

use object::{
    LittleEndian, elf,
    read::elf::{
        FileHeader as _, Rel as _, SectionHeader as _, SectionTable, Sym as _, SymbolTable,
    },
};

use selkie_isa::Version;

use crate::{LinkError, error::CORRUPT};

type Header = elf::FileHeader64<LittleEndian>;
type SectionHeader = elf::SectionHeader64<LittleEndian>;
const LE: LittleEndian = LittleEndian;

/// The use of a section.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum SectionKind {
    Code,
    ReadOnly,
    /// Writable data with initial values.
    Writable,
    /// Writable data that starts as zeros.
    Zeroed,
    Debug,
    /// Pointers to constructors or destructors (`.init_array`, `.fini_array`).
    Constructors,
    ThreadLocal,
    /// Not linked: notes, unwind tables, BTF.
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
    /// Ascending by offset, and within the data.
    pub(crate) relocations: Vec<Relocation>,
}

/// A relocation of a section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    pub(crate) offset: u64,
    pub(crate) kind: u32,
    pub(crate) symbol: usize,
}

/// The definition of a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Definition {
    Undefined,
    Absolute,
    Common,
    Section(usize),
}

/// The binding of a symbol.
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
    pub(crate) definition: Definition,
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
    /// The sBPF version of its instructions; `None` for eBPF.
    pub(crate) version: Option<Version>,
    /// Whether it is a member of an archive.
    pub(crate) is_member: bool,
    /// By section index in the file.
    pub(crate) sections: Vec<Section<'a>>,
    /// By symbol index in the file.
    pub(crate) symbols: Vec<Symbol<'a>>,
}

/// A bound on the total length of the names that are read from a file.
///
/// Names may overlap: compilers store `foo` as the end of `.text.foo` and of `.rel.text.foo`. If
/// any number of names could overlap, comparing and hashing them would take time quadratic in the
/// size of the file.
#[derive(Debug)]
pub(crate) struct NameBudget(usize);

impl NameBudget {
    /// Returns the budget of a file of that size.
    pub(crate) fn of(file_bytes: usize) -> Self {
        const SHARED_MAX: usize = 8;
        Self(file_bytes.saturating_mul(SHARED_MAX))
    }

    /// Subtracts the length of a name; `None` if the budget is exceeded.
    pub(crate) fn take(&mut self, name: &[u8]) -> Option<()> {
        self.0 = self.0.checked_sub(name.len())?;
        Some(())
    }
}

/// Returns whether the bytes are LLVM bitcode, bare or wrapped.
pub(crate) fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BC\xc0\xde") || bytes.starts_with(&[0xde, 0xc0, 0x17, 0x0b])
}

impl<'a> Object<'a> {
    /// Reads an object file.
    pub(crate) fn read(name: &str, bytes: &'a [u8]) -> Result<Self, LinkError> {
        let error = |message: &str| LinkError::new(message).object(name);
        if is_bitcode(bytes) {
            let help = "compile C without -flto and -emit-llvm, Rust with \
                        `-Cembed-bitcode=no -Clinker-plugin-lto=no`";
            return Err(error("LLVM bitcode, not an object file").help(help));
        }
        if !bytes.starts_with(b"\x7fELF") {
            let help = "compile or assemble sources first: `selkie build` does both";
            return Err(error("neither an ELF object nor an archive").help(help));
        }
        let ident = (bytes.get(4), bytes.get(5));
        if ident != (Some(&2), Some(&1)) {
            let help = "compile with `-target bpfel`";
            return Err(error("not a 64-bit little-endian ELF file").help(help));
        }
        let header = Header::parse(bytes).map_err(|it| broken(it).object(name))?;
        let version = version(header).map_err(|it| it.object(name))?;
        if header.e_type(LE) != elf::ET_REL {
            let help = "link the objects that it was linked from";
            return Err(error("already linked, not a relocatable object").help(help));
        }
        let mut object = Self {
            name: name.to_owned(),
            version,
            is_member: false,
            sections: vec![],
            symbols: vec![],
        };
        object.read_tables(header, bytes).map_err(|it| it.object(name))?;
        Ok(object)
    }

    /// Reads sections, symbols and relocations.
    fn read_tables(&mut self, header: &'a Header, bytes: &'a [u8]) -> Result<(), LinkError> {
        let table = header.sections(LE, bytes).map_err(broken)?;
        // Overlapping sections could hold far more data in total than the file.
        let with_content = table.iter().filter(|it| it.sh_type(LE) != elf::SHT_NOBITS);
        let total = with_content.fold(0_u64, |sum, it| sum.saturating_add(it.sh_size(LE)));
        if total > bytes.len() as u64 {
            return Err(LinkError::new("broken ELF file: sections overlap").help(CORRUPT));
        }
        let mut budget = NameBudget::of(bytes.len());
        for section in table.iter() {
            let name = table.section_name(LE, section).map_err(broken)?;
            self.sections.push(read_section(bytes, budgeted(name, &mut budget)?, section)?);
        }
        let symbols = table.symbols(LE, bytes, elf::SHT_SYMTAB).map_err(broken)?;
        for (index, symbol) in symbols.enumerate() {
            let name = symbols.symbol_name(LE, symbol).map_err(broken)?;
            let name = budgeted(name, &mut budget)?;
            let definition = match special_definition(symbol.st_shndx(LE)) {
                Some(definition) => definition,
                None => {
                    let section = symbols.symbol_section(LE, symbol, index).map_err(broken)?;
                    section.map_or(Definition::Undefined, |it| Definition::Section(it.0))
                }
            };
            self.symbols.push(self.symbol(name, definition, symbol)?);
        }
        for section in table.iter() {
            self.read_relocations(bytes, &table, &symbols, section)?;
        }
        Ok(())
    }

    /// Reads the relocations of a relocation section; does nothing for other sections.
    fn read_relocations(
        &mut self,
        bytes: &'a [u8],
        table: &SectionTable<'a, Header>,
        symbols: &SymbolTable<'a, Header>,
        section: &SectionHeader,
    ) -> Result<(), LinkError> {
        match section.sh_type(LE) {
            elf::SHT_REL => {
                let Some((entries, symbol_table)) = section.rel(LE, bytes).map_err(broken)? else {
                    return Ok(());
                };
                if symbol_table != symbols.section() {
                    return Err(
                        LinkError::new("relocations refer to a second symbol table").help(CORRUPT)
                    );
                }
                self.relocate(section.sh_info(LE) as usize, entries)
            }
            elf::SHT_RELA => {
                let name = table.section_name(LE, section).map_err(broken)?;
                let message = "unsupported relocations with explicit addends (RELA)";
                let help = "BPF objects of clang and rustc have SHT_REL sections only";
                Err(LinkError::new(message).section(text(name)?).help(help))
            }
            _ => Ok(()),
        }
    }

    fn symbol(
        &self,
        name: &'a str,
        definition: Definition,
        symbol: &elf::Sym64<LittleEndian>,
    ) -> Result<Symbol<'a>, LinkError> {
        let (value, size) = (symbol.st_value(LE), symbol.st_size(LE));
        if let Definition::Section(index) = definition {
            let section = self.sections.get(index).ok_or_else(|| {
                let message = format!("the symbol is defined in section {index}, which is missing");
                LinkError::new(message).symbol(name).help(CORRUPT)
            })?;
            let end = value.checked_add(size);
            if section.kind != SectionKind::Ignored && end.is_none_or(|end| end > section.size) {
                let message = "the symbol lies outside its section";
                return Err(LinkError::new(message)
                    .section(section.name)
                    .symbol(name)
                    .help(CORRUPT));
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
            definition,
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
            return Err(
                LinkError::new(format!("relocations for missing section {target}")).help(CORRUPT)
            );
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
                let message = format!("relocation at {offset:#x}, outside the section");
                return Err(LinkError::new(message).section(section.name).help(CORRUPT));
            }
            if symbol >= symbols {
                let message = format!("relocation by missing symbol {symbol}");
                return Err(LinkError::new(message)
                    .section(section.name)
                    .offset(offset)
                    .help(CORRUPT));
            }
            section.relocations.push(Relocation { offset, kind, symbol });
        }
        section.relocations.sort_by_key(|it| it.offset);
        if let Some(pair) = section.relocations.windows(2).find(|it| it[0].offset == it[1].offset) {
            let message = "two relocations at the same offset";
            return Err(LinkError::new(message)
                .section(section.name)
                .offset(pair[0].offset)
                .help(CORRUPT));
        }
        Ok(())
    }
}

/// Relocates an `lddw`, or eight bytes of data.
pub(crate) const R_BPF_64_64: u32 = 1;
/// Relocates eight bytes of data.
pub(crate) const R_BPF_64_ABS64: u32 = 2;
/// Relocates four bytes of data.
pub(crate) const R_BPF_64_ABS32: u32 = 3;
/// Relocates four bytes of debug information.
pub(crate) const R_BPF_64_NODYLD32: u32 = 4;
/// Relocates a call.
pub(crate) const R_BPF_64_32: u32 = 10;

fn broken(error: object::read::Error) -> LinkError {
    LinkError::new(format!("broken ELF file: {error}")).help(CORRUPT)
}

/// Returns the sBPF version of an object; `None` for eBPF.
fn version(header: &Header) -> Result<Option<Version>, LinkError> {
    match header.e_machine(LE) {
        elf::EM_BPF => Ok(None),
        elf::EM_SBF => {
            let flags = header.e_flags(LE).0;
            let version = Version::ALL.into_iter().find(|it| *it as u32 == flags);
            version.map(Some).ok_or_else(|| {
                let message = format!("unknown sBPF version: e_flags are {flags:#x}");
                LinkError::new(message).help("assemble it with `selkie build -c`")
            })
        }
        machine => {
            let message = format!("an object for machine {machine:?}, not for BPF");
            Err(LinkError::new(message).help("compile with `-target bpf`"))
        }
    }
}

/// Reads a section, without its relocations.
fn read_section<'a>(
    bytes: &'a [u8],
    name: &'a str,
    section: &SectionHeader,
) -> Result<Section<'a>, LinkError> {
    let kind = section_kind(name, section);
    let data = match kind {
        SectionKind::Zeroed | SectionKind::Ignored => &[][..],
        _ => section.data(LE, bytes).map_err(broken)?,
    };
    let align = section.sh_addralign(LE).max(1);
    if kind != SectionKind::Ignored && (!align.is_power_of_two() || align > 4096) {
        let message = format!("an alignment of {align} bytes");
        let help = "alignments are powers of two up to 4096";
        return Err(LinkError::new(message).section(name).help(help));
    }
    if section.sh_flags(LE).0 & elf::SHF_COMPRESSED.0 != 0 {
        let help = "compile with -gz=none";
        return Err(LinkError::new("the section is compressed").section(name).help(help));
    }
    let size = section.sh_size(LE);
    Ok(Section { name, kind, data, size, align, relocations: Vec::new() })
}

/// Returns the number of bytes that a relocation of this type reads or writes.
fn relocated_bytes(kind: u32) -> u64 {
    match kind {
        R_BPF_64_64 => 16,
        R_BPF_64_ABS32 | R_BPF_64_NODYLD32 => 4,
        0 => 0,
        _ => 8,
    }
}

/// Returns the definition for a reserved section index.
fn special_definition(section: elf::SymbolSection) -> Option<Definition> {
    match section {
        elf::SHN_UNDEF => Some(Definition::Undefined),
        elf::SHN_ABS => Some(Definition::Absolute),
        elf::SHN_COMMON => Some(Definition::Common),
        _ => None,
    }
}

fn section_kind(name: &str, section: &SectionHeader) -> SectionKind {
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
        LinkError::new(format!("the name {:?} is not UTF-8", String::from_utf8_lossy(bytes)))
            .help(CORRUPT)
    })
}

/// Returns a name as text, if the budget allows it.
fn budgeted<'a>(name: &'a [u8], budget: &mut NameBudget) -> Result<&'a str, LinkError> {
    budget
        .take(name)
        .ok_or_else(|| LinkError::new("broken ELF file: names overlap").help(CORRUPT))?;
    text(name)
}
