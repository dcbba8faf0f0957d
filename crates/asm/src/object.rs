//! Assembly of an object for the linker: the sections of a source, its symbols and relocations.
//!
//! The ELF file has machine 263 and the sBPF version of its instructions as flags. Relocations are
//! LLVM's for BPF, which platform-tools use for sBPF too; the addend is stored in the relocated
//! field.

use std::collections::HashMap;

use gimli::write::{Address, RelocationTarget};
use object::{
    Architecture, BinaryFormat, Endianness, FileFlags, RelocationFlags, SectionFlags, SymbolFlags,
    SymbolKind, SymbolScope, elf,
    write::{self, SectionId as FileSection, SymbolId, SymbolSection},
};
use selkie_elf::write::SymbolKind as Kind;
use selkie_isa::Version;

use crate::{
    assembly::Symbol,
    ast::{Ast, SectionId, SectionKind},
    checks::{report_undefined_globals, warn_if_falls_off},
    diagnostic::Diagnostic,
    dwarf,
    emit::{self, Emitted, RelocationKind},
    labels::labels,
    layout::{self, Layout, alignment},
    names::Name,
    session::{Common, Session},
    source::Span,
    symbols::Def,
    value::{Base, Value},
};

/// An object for the linker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Object {
    /// The sBPF version of its instructions. Programs of other versions cannot contain them.
    pub version: Version,
    /// The number of instruction slots.
    pub slots: u32,
    /// The bytes of the ELF file.
    pub elf: Vec<u8>,
}

/// The attributes of a symbol that are declared by directives.
#[derive(Clone, Copy)]
struct Attributes {
    global: bool,
    weak: bool,
    visibility: u8,
}

/// An entry of the symbol table.
struct SymbolEntry {
    name: Name,
    section: SymbolSection,
    value: u64,
    size: u64,
    kind: elf::SymbolType,
}

/// Returns the object; `None` if there was an error, in this or an earlier phase.
pub(crate) fn object(session: &mut Session<'_>, ast: &mut Ast) -> Option<Object> {
    if ast.is_partial {
        return None;
    }
    let version = session.options.version;
    if version.dynamic_frames() {
        let diagnostic = Diagnostic::error(Span::default(), format!("no objects for {version}"))
            .note("the linker only supports versions with fixed stack frames: v0, v3 and v4")
            .help("assemble the program as a whole");
        session.diagnostics.push(diagnostic);
        return None;
    }
    let layout = layout::layout(session, ast)?;
    let emitted = emit::emit(session, ast, &layout, None);
    let object = write_object(session, ast, &layout, &emitted)?;
    for (index, section) in (0..).map(SectionId).zip(&ast.sections) {
        if section.kind == SectionKind::Text && layout.size(index) > 0 {
            warn_if_falls_off(session, &emitted, index);
        }
    }
    Some(object)
}

/// Writes the object; `None` after a report.
fn write_object(
    session: &mut Session<'_>,
    ast: &Ast,
    layout: &Layout,
    emitted: &Emitted,
) -> Option<Object> {
    report_undefined_globals(session, |name| {
        emitted.relocations.iter().any(|it| it.target == Base::Symbol(name))
    });
    let sections: Vec<(bool, u32)> = (ast.sections.iter().zip(&layout.sizes))
        .map(|(section, size)| (section.kind == SectionKind::Text, *size))
        .collect();
    let labels = sized_labels(session, &sections);
    let mut writer = Writer::new(session.options.version);
    writer.sections(session, ast, layout, emitted, &labels);
    for (section, labels) in writer.sections.clone().into_iter().zip(&labels) {
        let Some(section) = section else { continue };
        for (name, symbol) in labels.iter().filter(|(name, _)| session.is_linkable(*name)) {
            writer.label(session, section, *name, symbol);
        }
    }
    let others = constants(session, &writer.sections).into_iter().chain(commons(session));
    for entry in others.collect::<Vec<_>>() {
        writer.global(session, &entry);
    }
    if session.diagnostics.error_count() > 0 {
        return None;
    }
    writer.relocations(session, emitted);
    if !session.options.strip {
        writer.debug(session, ast, layout, emitted, &labels);
    }
    let slots = sections.iter().filter(|(in_text, _)| *in_text).map(|(_, bytes)| bytes / 8).sum();
    let elf = writer.file.write().expect("every symbol and section has its flags");
    Some(Object { version: session.options.version, slots, elf })
}

/// Returns the labels of each section, with the sizes that `.size` sets.
fn sized_labels(session: &mut Session<'_>, sections: &[(bool, u32)]) -> Vec<Vec<(Name, Symbol)>> {
    let mut labels = labels(session, sections);
    for (labels, (_, bytes)) in labels.iter_mut().zip(sections) {
        labels.iter_mut().for_each(|(name, symbol)| set_size(session, *name, symbol, *bytes));
    }
    labels
}

/// Sets the size of a symbol to that of its `.size` directive, if it has one.
fn set_size(session: &mut Session<'_>, name: Name, symbol: &mut Symbol, section_bytes: u32) {
    let Some(expr) = session.symbols.get(name).size else { return };
    // Within a section, the distance from a weak label is known.
    session.resolves_at_link_time = false;
    let size = session.eval_number(expr);
    session.resolves_at_link_time = true;
    let Some(size) = size else { return };
    let max = section_bytes - symbol.offset;
    match u32::try_from(size).ok().filter(|size| *size <= max) {
        Some(size) => symbol.size = size,
        None => {
            let span = session.exprs.get(expr).span;
            let message = format!("`{}` cannot have {size} bytes", symbol.name);
            let diagnostic = Diagnostic::error(span, message)
                .note(format!("its section ends {max} bytes after it"));
            session.diagnostics.push(diagnostic);
        }
    }
}

/// Returns the constants and aliases that are global.
fn constants(session: &mut Session<'_>, sections: &[Option<FileSection>]) -> Vec<SymbolEntry> {
    let names: Vec<Name> = session.names.all().map(|(name, _)| name).collect();
    names.into_iter().filter_map(|name| constant(session, sections, name)).collect()
}

fn constant(
    session: &mut Session<'_>,
    sections: &[Option<FileSection>],
    name: Name,
) -> Option<SymbolEntry> {
    let symbol = session.symbols.get(name);
    let span = symbol.global.or(symbol.weak.then_some(symbol.span))?;
    let (section, value, kind) = match symbol.def {
        Def::Value(number) => {
            (SymbolSection::Absolute, session.fit(span, number, 8)?, elf::STT_NOTYPE)
        }
        Def::Address(Value { base: Some(Base::Section(section)), number }) => {
            let id = sections.get(section.0 as usize).copied().flatten()?;
            let kind = if symbol.function { elf::STT_FUNC } else { elf::STT_NOTYPE };
            (SymbolSection::Section(id), u64::try_from(number).unwrap_or_default(), kind)
        }
        Def::Address(Value { base: Some(Base::Symbol(_)), .. }) => {
            let diagnostic = Diagnostic::error(span, "an alias of a symbol that the linker places")
                .help("declare it where it is defined, or write a function that calls it");
            session.diagnostics.push(diagnostic);
            return None;
        }
        _ => return None,
    };
    Some(SymbolEntry { name, section, value, size: 0, kind })
}

/// Returns the common symbols, which `.comm` declares.
fn commons(session: &mut Session<'_>) -> Vec<SymbolEntry> {
    let commons = session.commons.clone();
    commons.into_iter().filter_map(|it| common(session, it)).collect()
}

fn common(session: &mut Session<'_>, Common { name, size, align }: Common) -> Option<SymbolEntry> {
    let span = session.exprs.get(size).span;
    let number = session.eval_number(size);
    let align = match align {
        Some(align) => alignment(session, align, false),
        None => Some(8),
    };
    let (Some(number), Some(align)) = (number, align) else { return None };
    let symbol = session.symbols.get(name);
    if !matches!(symbol.def, Def::None) {
        let message = format!("`{}` is defined twice", session.names.text(name));
        let diagnostic =
            Diagnostic::error(symbol.span, message).help("leave out `.comm`, or this definition");
        session.diagnostics.push(diagnostic);
        return None;
    }
    let Ok(size) = u32::try_from(number) else {
        session.error(span, format!("a variable cannot have {number} bytes"));
        return None;
    };
    Some(SymbolEntry {
        name,
        section: SymbolSection::Common,
        value: align.into(),
        size: size.into(),
        kind: elf::STT_OBJECT,
    })
}

struct Writer {
    file: write::Object<'static>,
    /// By section of the source: the section of the file, unless it is empty.
    sections: Vec<Option<FileSection>>,
    symbols: HashMap<Name, SymbolId>,
}

impl Writer {
    fn new(version: Version) -> Self {
        let mut file = write::Object::new(BinaryFormat::Elf, Architecture::Sbf, Endianness::Little);
        file.flags = FileFlags::Elf {
            os_abi: elf::ELFOSABI_NONE,
            abi_version: 0,
            e_flags: elf::FileFlags(version as u32),
        };
        Self { file, sections: Vec::new(), symbols: HashMap::new() }
    }

    /// Adds the sections of the source that have content or labels.
    fn sections(
        &mut self,
        session: &Session<'_>,
        ast: &Ast,
        layout: &Layout,
        emitted: &Emitted,
        labels: &[Vec<(Name, Symbol)>],
    ) {
        for (index, section) in ast.sections.iter().enumerate() {
            let is_needed = layout.sizes[index] > 0 || !labels[index].is_empty();
            let id = is_needed.then(|| {
                let (bytes, align) = (&emitted.sections[index], layout.aligns[index]);
                self.section(session.names.text(section.name), section.kind, bytes, align)
            });
            self.sections.push(id);
        }
    }

    fn section(&mut self, name: &str, kind: SectionKind, bytes: &[u8], align: u32) -> FileSection {
        use elf::{SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHT_NOBITS, SHT_PROGBITS};
        // `object` distinguishes data from zero-initialized data by the kind.
        let (kind, sh_type, sh_flags) = match kind {
            SectionKind::Text => {
                (object::SectionKind::Text, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR)
            }
            SectionKind::ReadOnly => (object::SectionKind::ReadOnlyData, SHT_PROGBITS, SHF_ALLOC),
            SectionKind::Zeroed => {
                let kind = object::SectionKind::UninitializedData;
                (kind, SHT_NOBITS, SHF_ALLOC | SHF_WRITE)
            }
            SectionKind::Writable | SectionKind::Dropped => {
                (object::SectionKind::Data, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE)
            }
        };
        let id = self.file.add_section(Vec::new(), name.as_bytes().to_vec(), kind);
        self.file.section_mut(id).flags = SectionFlags::Elf { sh_type, sh_flags };
        match sh_type {
            SHT_NOBITS => self.file.append_section_bss(id, bytes.len() as u64, align.into()),
            _ => self.file.append_section_data(id, bytes, align.into()),
        };
        id
    }

    fn symbol(
        &mut self,
        session: &Session<'_>,
        entry: &SymbolEntry,
        attributes: Attributes,
    ) -> SymbolId {
        let Attributes { global, weak, visibility } = attributes;
        let binding = match (weak, global) {
            (true, _) => elf::STB_WEAK,
            (false, true) => elf::STB_GLOBAL,
            (false, false) => elf::STB_LOCAL,
        };
        let symbol = write::Symbol {
            name: session.names.text(entry.name).as_bytes().to_vec(),
            value: entry.value,
            size: entry.size,
            kind: SymbolKind::Unknown,
            // `object` recognizes local symbols by the scope.
            scope: match binding {
                elf::STB_LOCAL => SymbolScope::Compilation,
                _ => SymbolScope::Dynamic,
            },
            weak,
            section: entry.section,
            flags: SymbolFlags::Elf {
                st_info: elf::SymbolInfo::new(binding, entry.kind),
                st_other: elf::SymbolOther(visibility),
            },
        };
        let id = self.file.add_symbol(symbol);
        self.symbols.insert(entry.name, id);
        id
    }

    fn label(&mut self, session: &Session<'_>, section: FileSection, name: Name, it: &Symbol) {
        let known = session.symbols.get(name);
        let entry = SymbolEntry {
            name,
            section: SymbolSection::Section(section),
            value: it.offset.into(),
            size: it.size.into(),
            kind: match it.kind {
                Kind::Function => elf::STT_FUNC,
                Kind::Object => elf::STT_OBJECT,
                Kind::Label | Kind::Absolute => elf::STT_NOTYPE,
            },
        };
        let Symbol { global, .. } = *it;
        let attributes = Attributes { global, weak: known.weak, visibility: known.visibility };
        self.symbol(session, &entry, attributes);
    }

    /// Adds a global symbol.
    fn global(&mut self, session: &Session<'_>, entry: &SymbolEntry) {
        let known = session.symbols.get(entry.name);
        let attributes =
            Attributes { global: true, weak: known.weak, visibility: known.visibility };
        self.symbol(session, entry, attributes);
    }

    /// Returns the symbol of a name. Adds an undefined one if the source does not define it.
    fn symbol_of(&mut self, session: &Session<'_>, name: Name) -> SymbolId {
        if let Some(&id) = self.symbols.get(&name) {
            return id;
        }
        let section = SymbolSection::Undefined;
        let entry = SymbolEntry { name, section, value: 0, size: 0, kind: elf::STT_NOTYPE };
        let known = session.symbols.get(name);
        let attributes =
            Attributes { global: true, weak: known.weak, visibility: known.visibility };
        self.symbol(session, &entry, attributes)
    }

    fn relocations(&mut self, session: &Session<'_>, emitted: &Emitted) {
        for it in &emitted.relocations {
            let target = match it.target {
                Base::Symbol(name) => Some(self.symbol_of(session, name)),
                Base::Section(id) => self.section_symbol(id),
            };
            let (Some(target), Some(section)) = (target, self.sections[it.section.0 as usize])
            else {
                continue;
            };
            let kind = match it.kind {
                RelocationKind::Call => R_64_32,
                RelocationKind::Constant => R_64_64,
                RelocationKind::Data => R_64_ABS64,
            };
            self.relocate(section, it.offset.into(), target, kind);
        }
    }

    /// Returns the symbol of a section of the source; `None` if the section has neither content nor
    /// labels, so that nothing can refer to it.
    fn section_symbol(&mut self, section: SectionId) -> Option<SymbolId> {
        let id = self.sections[section.0 as usize]?;
        Some(self.file.section_symbol(id))
    }

    fn relocate(&mut self, section: FileSection, offset: u64, symbol: SymbolId, kind: u32) {
        let flags = RelocationFlags::Elf { r_type: elf::RelocationType(kind) };
        let relocation = write::Relocation { offset, symbol, addend: 0, flags };
        let added = self.file.add_relocation(section, relocation);
        added.expect("the relocation has ELF flags and no addend");
    }

    /// Adds debug information, with a unit for each section of instructions.
    fn debug(
        &mut self,
        session: &Session<'_>,
        ast: &Ast,
        layout: &Layout,
        emitted: &Emitted,
        labels: &[Vec<(Name, Symbol)>],
    ) {
        let is_code = |index: &usize| {
            ast.sections[*index].kind == SectionKind::Text && layout.sizes[*index] > 0
        };
        let indices: Vec<usize> = (0..ast.sections.len()).filter(is_code).collect();
        let lines: Vec<_> =
            indices.iter().map(|&index| session.sources.lines(&emitted.spans[index])).collect();
        let symbols: Vec<Vec<Symbol>> = indices
            .iter()
            .map(|&index| labels[index].iter().map(|(_, it)| it.clone()).collect())
            .collect();
        let code: Vec<dwarf::CodeRange<'_>> = (indices.iter().zip(&lines).zip(&symbols))
            .map(|((&index, (lines, files)), symbols)| dwarf::CodeRange {
                start: Address::Symbol { symbol: index, addend: 0 },
                bytes: layout.sizes[index],
                lines,
                files,
                symbols,
            })
            .collect();
        self.debug_sections(&dwarf::sections(&code));
    }

    fn debug_sections(&mut self, sections: &[dwarf::Section]) {
        let mut ids: HashMap<&str, FileSection> = HashMap::new();
        for (name, bytes, _) in sections {
            let kind = object::SectionKind::Debug;
            let id = self.file.add_section(Vec::new(), name.as_bytes().to_vec(), kind);
            self.file.append_section_data(id, bytes, 1);
            ids.insert(name, id);
        }
        for (name, _, relocations) in sections {
            for relocation in relocations {
                self.debug_relocation(&ids, ids[name], relocation);
            }
        }
    }

    fn debug_relocation(
        &mut self,
        ids: &HashMap<&str, FileSection>,
        section: FileSection,
        relocation: &gimli::write::Relocation,
    ) {
        let symbol = match relocation.target {
            RelocationTarget::Symbol(index) => {
                let index = u32::try_from(index).expect("an index of a section");
                self.section_symbol(SectionId(index))
            }
            RelocationTarget::Section(id) => {
                ids.get(id.name()).map(|id| self.file.section_symbol(*id))
            }
        };
        let Some(symbol) = symbol else { return };
        let kind = if relocation.size == 4 { R_64_ABS32 } else { R_64_ABS64 };
        let range = relocation.offset..relocation.offset + usize::from(relocation.size);
        if let Some(bytes) = self.file.section_mut(section).data_mut().get_mut(range) {
            bytes.copy_from_slice(&relocation.addend.to_le_bytes()[..relocation.size.into()]);
        }
        self.relocate(section, relocation.offset as u64, symbol, kind);
    }
}

// Relocations, by LLVM's names with `R_BPF` or `R_SBF` in front (`llvm/BinaryFormat/ELFRelocs`).

/// Of an `lddw`: the address, over both of its slots.
const R_64_64: u32 = 1;
/// Of eight bytes of data.
const R_64_ABS64: u32 = 2;
/// Of four bytes of debug information.
const R_64_ABS32: u32 = 3;
/// Of a call: the distance in slots, from the next one.
const R_64_32: u32 = 10;
