//! Objects for the linker: the sections of a source as they are, what its names stand for, and the
//! places where addresses are to be filled in.
//!
//! The file says for which sBPF version its instructions are: machine 263, and the version as flags.
//! Relocations are LLVM's for BPF, which platform-tools have for sBPF too; what is added to a
//! symbol's address stands where the address goes.

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
    /// The sBPF version of its instructions: programs of other versions cannot have them.
    pub version: Version,
    /// Slots of instructions.
    pub slots: u32,
    /// The bytes of the ELF file.
    pub elf: Vec<u8>,
}

/// What is known of a name beside its value.
#[derive(Clone, Copy)]
struct Attributes {
    global: bool,
    weak: bool,
    visibility: u8,
}

/// A symbol that is no label.
struct SymbolEntry {
    name: Name,
    section: SymbolSection,
    value: u64,
    size: u64,
    kind: elf::SymbolType,
}

/// Makes the object; `None` if there was an error, then or before.
pub(crate) fn object(session: &mut Session<'_>, ast: &mut Ast) -> Option<Object> {
    if ast.is_partial {
        return None;
    }
    let version = session.options.version;
    if version.dynamic_frames() {
        let diagnostic = Diagnostic::error(Span::default(), format!("no objects for {version}"))
            .note("the linker makes programs whose frames are fixed: v0, v3 and v4")
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
    let stretches: Vec<(bool, u32)> = (ast.sections.iter().zip(&layout.sizes))
        .map(|(section, size)| (section.kind == SectionKind::Text, *size))
        .collect();
    let mut labels = labels(session, &stretches);
    for (label, (_, bytes)) in labels.iter_mut().zip(&stretches) {
        label.iter_mut().for_each(|(name, symbol)| set_size(session, *name, symbol, *bytes));
    }
    let mut writer = Writer {
        file: write::Object::new(BinaryFormat::Elf, Architecture::Sbf, Endianness::Little),
        sections: Vec::new(),
        symbols: HashMap::new(),
    };
    writer.file.flags = FileFlags::Elf {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        e_flags: elf::FileFlags(session.options.version as u32),
    };
    let is_needed = |index: usize| layout.sizes[index] > 0 || !labels[index].is_empty();
    for (index, section) in ast.sections.iter().enumerate() {
        let id = is_needed(index).then(|| {
            let (bytes, align) = (&emitted.sections[index], layout.aligns[index]);
            writer.section(session.names.text(section.name), section.kind, bytes, align)
        });
        writer.sections.push(id);
    }
    for (index, labels) in labels.iter().enumerate() {
        let Some(section) = writer.sections[index] else { continue };
        for (name, symbol) in labels.iter().filter(|(name, _)| session.is_linkable(*name)) {
            writer.label(session, section, *name, symbol);
        }
    }
    let extras = constants(session, &writer.sections).into_iter().chain(commons(session));
    for extra in extras.collect::<Vec<_>>() {
        writer.extra(session, &extra);
    }
    if session.diagnostics.error_count() > 0 {
        return None;
    }
    writer.relocations(session, emitted);
    if !session.options.strip {
        writer.debug(session, ast, layout, emitted, &labels);
    }
    let slots = stretches.iter().filter(|(in_text, _)| *in_text).map(|(_, bytes)| bytes / 8).sum();
    let elf = writer.file.write().expect("every symbol and section has its flags");
    Some(Object { version: session.options.version, slots, elf })
}

/// Gives a symbol the size that `.size` says.
fn set_size(session: &mut Session<'_>, name: Name, symbol: &mut Symbol, section_bytes: u32) {
    let Some(expr) = session.symbols.get(name).size else { return };
    // Within its own section the distance from a weak label is as good as from any other.
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
                .note(format!("its section ends {max} bytes behind it"));
            session.diagnostics.push(diagnostic);
        }
    }
}

/// The constants and aliases that other objects may use.
fn constants(session: &mut Session<'_>, sections: &[Option<FileSection>]) -> Vec<SymbolEntry> {
    let named: Vec<Name> = session.names.all().map(|(name, _)| name).collect();
    let mut extras = Vec::new();
    for name in named {
        let symbol = session.symbols.get(name);
        let Some(span) = symbol.global.or(symbol.weak.then_some(symbol.span)) else { continue };
        let mut extra = SymbolEntry {
            name,
            section: SymbolSection::Absolute,
            value: 0,
            size: 0,
            kind: elf::STT_NOTYPE,
        };
        match symbol.def {
            Def::Value(number) => match session.fit(span, number, 8) {
                Some(value) => extra.value = value,
                None => continue,
            },
            Def::Address(Value { base: Some(Base::Section(section)), number }) => {
                let Some(id) = sections.get(section.0 as usize).copied().flatten() else {
                    continue;
                };
                extra.section = SymbolSection::Section(id);
                extra.value = u64::try_from(number).unwrap_or_default();
                if symbol.function {
                    extra.kind = elf::STT_FUNC;
                }
            }
            Def::Address(Value { base: Some(Base::Symbol(_)), .. }) => {
                let diagnostic =
                    Diagnostic::error(span, "another name for what only the linker places")
                        .help("declare it where it is defined, or write a function that calls it");
                session.diagnostics.push(diagnostic);
                continue;
            }
            _ => continue,
        }
        extras.push(extra);
    }
    extras
}

/// What `.comm` declares.
fn commons(session: &mut Session<'_>) -> Vec<SymbolEntry> {
    let mut extras = Vec::new();
    for Common { name, size, align } in session.commons.clone() {
        let span = session.exprs.get(size).span;
        let number = session.eval_number(size);
        let align = match align {
            Some(align) => alignment(session, align, false),
            None => Some(8),
        };
        let (Some(number), Some(align)) = (number, align) else { continue };
        let symbol = session.symbols.get(name);
        if !matches!(symbol.def, Def::None) {
            let message = format!("`{}` is defined twice", session.names.text(name));
            let diagnostic = Diagnostic::error(symbol.span, message)
                .help("leave out `.comm`, or this definition");
            session.diagnostics.push(diagnostic);
            continue;
        }
        let Ok(size) = u32::try_from(number) else {
            session.error(span, format!("a variable of {number} bytes"));
            continue;
        };
        extras.push(SymbolEntry {
            name,
            section: SymbolSection::Common,
            value: align.into(),
            size: size.into(),
            kind: elf::STT_OBJECT,
        });
    }
    extras
}

struct Writer {
    file: write::Object<'static>,
    /// By section of the source: that of the file, if there is anything in it.
    sections: Vec<Option<FileSection>>,
    symbols: HashMap<Name, SymbolId>,
}

impl Writer {
    fn section(&mut self, name: &str, kind: SectionKind, bytes: &[u8], align: u32) -> FileSection {
        use elf::{SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHT_NOBITS, SHT_PROGBITS};
        // `object` tells data from room for data by the kind.
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
        extra: &SymbolEntry,
        attributes: Attributes,
    ) -> SymbolId {
        let Attributes { global, weak, visibility } = attributes;
        let binding = match (weak, global) {
            (true, _) => elf::STB_WEAK,
            (false, true) => elf::STB_GLOBAL,
            (false, false) => elf::STB_LOCAL,
        };
        let symbol = write::Symbol {
            name: session.names.text(extra.name).as_bytes().to_vec(),
            value: extra.value,
            size: extra.size,
            kind: SymbolKind::Unknown,
            // `object` tells local symbols by the scope.
            scope: match binding {
                elf::STB_LOCAL => SymbolScope::Compilation,
                _ => SymbolScope::Dynamic,
            },
            weak,
            section: extra.section,
            flags: SymbolFlags::Elf {
                st_info: elf::SymbolInfo::new(binding, extra.kind),
                st_other: elf::SymbolOther(visibility),
            },
        };
        let id = self.file.add_symbol(symbol);
        self.symbols.insert(extra.name, id);
        id
    }

    fn label(&mut self, session: &Session<'_>, section: FileSection, name: Name, it: &Symbol) {
        let known = session.symbols.get(name);
        let extra = SymbolEntry {
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
        self.symbol(session, &extra, attributes);
    }

    fn extra(&mut self, session: &Session<'_>, extra: &SymbolEntry) {
        let known = session.symbols.get(extra.name);
        let attributes =
            Attributes { global: true, weak: known.weak, visibility: known.visibility };
        self.symbol(session, extra, attributes);
    }

    /// The symbol of a name; one that is not defined here if the source has no other.
    fn symbol_of(&mut self, session: &Session<'_>, name: Name) -> SymbolId {
        if let Some(&id) = self.symbols.get(&name) {
            return id;
        }
        let section = SymbolSection::Undefined;
        let extra = SymbolEntry { name, section, value: 0, size: 0, kind: elf::STT_NOTYPE };
        let known = session.symbols.get(name);
        let attributes =
            Attributes { global: true, weak: known.weak, visibility: known.visibility };
        self.symbol(session, &extra, attributes)
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

    /// The symbol of a section of the source.
    fn section_symbol(&mut self, section: SectionId) -> Option<SymbolId> {
        // Whoever refers to an empty section refers to a label in it.
        let id = self.sections[section.0 as usize]?;
        Some(self.file.section_symbol(id))
    }

    fn relocate(&mut self, section: FileSection, offset: u64, symbol: SymbolId, kind: u32) {
        let flags = RelocationFlags::Elf { r_type: elf::RelocationType(kind) };
        let relocation = write::Relocation { offset, symbol, addend: 0, flags };
        let added = self.file.add_relocation(section, relocation);
        added.expect("the kind is given, and nothing is added");
    }

    /// Debug information: one unit for each section of instructions.
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
        let sections = dwarf::sections(&code);
        let mut ids: HashMap<&str, FileSection> = HashMap::new();
        for (name, bytes, _) in &sections {
            let kind = object::SectionKind::Debug;
            let id = self.file.add_section(Vec::new(), name.as_bytes().to_vec(), kind);
            self.file.append_section_data(id, bytes, 1);
            ids.insert(name, id);
        }
        for (name, _, relocations) in &sections {
            for it in relocations {
                let (symbol, addend) = match it.target {
                    RelocationTarget::Symbol(index) => {
                        let index = u32::try_from(index).expect("an index of a section");
                        (self.section_symbol(SectionId(index)), it.addend)
                    }
                    RelocationTarget::Section(id) => {
                        let id = ids.get(id.name()).copied();
                        (id.map(|id| self.file.section_symbol(id)), it.addend)
                    }
                };
                let Some(symbol) = symbol else { continue };
                let section = ids[name];
                let kind = if it.size == 4 { R_64_ABS32 } else { R_64_ABS64 };
                let at = it.offset..it.offset + usize::from(it.size);
                let place = self.file.section_mut(section).data_mut().get_mut(at);
                if let Some(place) = place {
                    place.copy_from_slice(&addend.to_le_bytes()[..it.size.into()]);
                }
                self.relocate(section, it.offset as u64, symbol, kind);
            }
        }
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
