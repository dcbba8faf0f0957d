//! DWARF debug information: the source lines of instructions, functions and labels.

use gimli::{
    DW_LANG_Mips_Assembler, Encoding, Format, LineEncoding, LittleEndian,
    constants::{
        DW_AT_decl_file, DW_AT_decl_line, DW_AT_high_pc, DW_AT_language, DW_AT_low_pc, DW_AT_name,
        DW_AT_producer, DW_AT_stmt_list, DW_TAG_label, DW_TAG_subprogram,
    },
    write::{
        Address, AttributeValue, Dwarf, EndianVec, FileId, LineProgram, LineString, RelocateWriter,
        Relocation, Sections, Unit, Writer,
    },
};
use selkie_elf::write::SymbolKind;
use selkie_isa::layout::{BYTECODE_START, SLOT_BYTES};

use crate::{
    assembly::{Assembly, Symbol},
    source::Line,
};

const ENCODING: Encoding = Encoding { format: Format::Dwarf32, version: 5, address_size: 8 };

/// Contiguous instructions, with their lines and symbols.
pub(crate) struct CodeRange<'a> {
    /// The address of the first one.
    pub(crate) start: Address,
    pub(crate) bytes: u32,
    pub(crate) lines: &'a [Line],
    pub(crate) files: &'a [String],
    /// The symbols to describe; data objects are skipped.
    pub(crate) symbols: &'a [Symbol],
}

/// A section of debug information: its name, bytes and relocations.
pub(crate) type Section = (&'static str, Vec<u8>, Vec<Relocation>);

/// Returns the debug information of a program, by section.
pub(crate) fn of_program(assembly: &Assembly) -> Vec<(&'static str, Vec<u8>)> {
    let code = CodeRange {
        start: Address::Constant(text_address(assembly)),
        bytes: u32::try_from(assembly.text.len()).unwrap_or(u32::MAX),
        lines: &assembly.lines,
        files: &assembly.files,
        symbols: &assembly.symbols,
    };
    sections(&[code]).into_iter().map(|(name, bytes, _)| (name, bytes)).collect()
}

/// Returns the debug information of ranges of code, by section.
pub(crate) fn sections(code: &[CodeRange<'_>]) -> Vec<Section> {
    let mut dwarf = Dwarf::new();
    for code in code {
        dwarf.units.add(unit(code));
    }
    let mut sections = Sections::new(Recorder::default());
    let mut named = Vec::new();
    let written = dwarf.write(&mut sections);
    let listed = written.and_then(|()| {
        sections.for_each_mut(|id, it| {
            if it.writer.len() > 0 {
                let relocations = core::mem::take(&mut it.relocations);
                named.push((id.name(), it.writer.take(), relocations));
            }
            gimli::write::Result::Ok(())
        })
    });
    listed.expect("strings without NUL and addresses of sections can be written");
    named
}

/// A section that is being written.
#[derive(Clone, Debug)]
struct Recorder {
    writer: EndianVec<LittleEndian>,
    relocations: Vec<Relocation>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self { writer: EndianVec::new(LittleEndian), relocations: Vec::new() }
    }
}

impl RelocateWriter for Recorder {
    type Writer = EndianVec<LittleEndian>;

    fn writer(&self) -> &Self::Writer {
        &self.writer
    }

    fn writer_mut(&mut self) -> &mut Self::Writer {
        &mut self.writer
    }

    fn relocate(&mut self, relocation: Relocation) {
        self.relocations.push(relocation);
    }
}

/// Returns the address of the first instruction in the file's terms, which until V2 is its file
/// offset.
fn text_address(assembly: &Assembly) -> u64 {
    let address = assembly.addresses().text;
    if assembly.version.strict_elf() { address } else { address - BYTECODE_START }
}

/// Returns the address `bytes` after `start`.
fn offset_address(start: Address, bytes: u64) -> Address {
    match start {
        Address::Constant(address) => Address::Constant(address + bytes),
        Address::Symbol { symbol, addend } => {
            Address::Symbol { symbol, addend: addend.saturating_add_unsigned(bytes) }
        }
    }
}

/// Encodes a length. In objects it has a fixed size, since the linker corrects it in place.
fn length(start: Address, bytes: u32) -> AttributeValue {
    match start {
        Address::Constant(_) => AttributeValue::Udata(bytes.into()),
        Address::Symbol { .. } => AttributeValue::Data4(bytes),
    }
}

fn unit(code: &CodeRange<'_>) -> Unit {
    let main = file_name(code.files.first().map_or("", String::as_str));
    let (program, files) = line_program(code, &main);
    let mut unit = Unit::new(ENCODING, program);
    let root = unit.root();
    let entry = unit.get_mut(root);
    let producer = concat!("selkie ", env!("CARGO_PKG_VERSION"));
    entry.set(DW_AT_producer, AttributeValue::String(producer.into()));
    entry.set(DW_AT_language, AttributeValue::Language(DW_LANG_Mips_Assembler));
    entry.set(DW_AT_name, AttributeValue::String(main));
    entry.set(DW_AT_stmt_list, AttributeValue::LineProgramRef);
    entry.set(DW_AT_low_pc, AttributeValue::Address(code.start));
    entry.set(DW_AT_high_pc, length(code.start, code.bytes));
    for symbol in code.symbols {
        label(&mut unit, code, symbol, &files);
    }
    unit
}

/// Returns the line program of a unit, and the ids of its files.
fn line_program(code: &CodeRange<'_>, main: &[u8]) -> (LineProgram, Vec<FileId>) {
    let encoding = LineEncoding { minimum_instruction_length: 8, ..LineEncoding::default() };
    let directory = LineString::String(b".".to_vec());
    let file = LineString::String(main.to_vec());
    let mut program = LineProgram::new(ENCODING, encoding, directory, None, file, None);
    let directory = program.default_directory();
    let mut add = |name| program.add_file(LineString::String(name), directory, None);
    let mut files = vec![add(main.to_vec())];
    files.extend(code.files.iter().skip(1).map(|name| add(file_name(name))));
    rows(&mut program, code, &files);
    (program, files)
}

/// Returns the name of a file without NUL, which DWARF cannot represent.
fn file_name(name: &str) -> Vec<u8> {
    let name = name.replace('\0', "");
    if name.is_empty() { b"program.s".to_vec() } else { name.into_bytes() }
}

fn rows(program: &mut LineProgram, code: &CodeRange<'_>, files: &[FileId]) {
    program.begin_sequence(Some(code.start));
    for line in code.lines {
        let row = program.row();
        row.address_offset = u64::from(line.pc) * SLOT_BYTES as u64;
        row.file = files[line.file as usize];
        row.line = line.line.into();
        row.column = line.column.into();
        program.generate_row();
    }
    program.end_sequence(code.bytes.into());
}

fn label(unit: &mut Unit, code: &CodeRange<'_>, symbol: &Symbol, files: &[FileId]) {
    let tag = match symbol.kind {
        SymbolKind::Function => DW_TAG_subprogram,
        SymbolKind::Label => DW_TAG_label,
        SymbolKind::Object | SymbolKind::Absolute => return,
    };
    let root = unit.root();
    let id = unit.add(root, tag);
    let entry = unit.get_mut(id);
    let name = symbol.name.replace('\0', "");
    entry.set(DW_AT_name, AttributeValue::String(name.into_bytes()));
    let address = offset_address(code.start, symbol.offset.into());
    entry.set(DW_AT_low_pc, AttributeValue::Address(address));
    if symbol.kind == SymbolKind::Function {
        entry.set(DW_AT_high_pc, length(code.start, symbol.size));
    }
    if let Some(line) = line_of(code.lines, symbol.offset) {
        let file = files[line.file as usize];
        entry.set(DW_AT_decl_file, AttributeValue::FileIndex(Some(file)));
        entry.set(DW_AT_decl_line, AttributeValue::Udata(line.line.into()));
    }
}

/// Returns the line of the instruction at `offset`.
fn line_of(lines: &[Line], offset: u32) -> Option<&Line> {
    let pc = offset / 8;
    let after = lines.partition_point(|line| line.pc <= pc);
    lines.get(after.checked_sub(1)?)
}
