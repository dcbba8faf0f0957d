//! Debug information: which line an instruction was written on, and where functions and labels are.

use gimli::{
    DW_LANG_Mips_Assembler, Encoding, Format, LineEncoding, LittleEndian,
    constants::{
        DW_AT_decl_file, DW_AT_decl_line, DW_AT_high_pc, DW_AT_language, DW_AT_low_pc, DW_AT_name,
        DW_AT_producer, DW_AT_stmt_list, DW_TAG_label, DW_TAG_subprogram,
    },
    write::{
        Address, AttributeValue, DwarfUnit, EndianVec, FileId, LineProgram, LineString, Sections,
    },
};
use selkie_elf::write::SymbolKind;
use selkie_isa::layout::{BYTECODE_START, SLOT_BYTES};

use crate::{Assembly, Line, Symbol};

const ENCODING: Encoding = Encoding { format: Format::Dwarf32, version: 5, address_size: 8 };

/// The sections of debug information, by name.
pub(crate) fn sections(assembly: &Assembly) -> Vec<(&'static str, Vec<u8>)> {
    let mut sections = Sections::new(EndianVec::new(LittleEndian));
    let mut named = Vec::new();
    let written = unit(assembly).write(&mut sections);
    let listed = written.and_then(|()| {
        sections.for_each(|id, data| {
            if !data.slice().is_empty() {
                named.push((id.name(), data.slice().to_vec()));
            }
            gimli::write::Result::Ok(())
        })
    });
    listed.expect("constant addresses and strings without NUL can be written");
    named
}

/// The address of the first instruction as the file's sections and symbols give it, which until V2
/// is the offset in the file.
fn text_address(assembly: &Assembly) -> u64 {
    let address = assembly.addresses().text;
    if assembly.version.strict_elf() { address } else { address - BYTECODE_START }
}

fn unit(assembly: &Assembly) -> DwarfUnit {
    let mut dwarf = DwarfUnit::new(ENCODING);
    let mut names = assembly.files.iter();
    let main = file_name(names.next().map_or("", String::as_str));
    let line_encoding = LineEncoding { minimum_instruction_length: 8, ..LineEncoding::default() };
    let directory = LineString::String(b".".to_vec());
    let file = LineString::String(main.clone());
    let mut program = LineProgram::new(ENCODING, line_encoding, directory, None, file, None);
    let directory = program.default_directory();
    let mut files = vec![program.add_file(LineString::String(main.clone()), directory, None)];
    files.extend(
        names.map(|name| program.add_file(LineString::String(file_name(name)), directory, None)),
    );

    let start = text_address(assembly);
    rows(&mut program, assembly, &files, start);
    dwarf.unit.line_program = program;

    let root = dwarf.unit.root();
    let entry = dwarf.unit.get_mut(root);
    let producer = concat!("selkie ", env!("CARGO_PKG_VERSION"));
    entry.set(DW_AT_producer, AttributeValue::String(producer.into()));
    entry.set(DW_AT_language, AttributeValue::Language(DW_LANG_Mips_Assembler));
    entry.set(DW_AT_name, AttributeValue::String(main));
    entry.set(DW_AT_stmt_list, AttributeValue::LineProgramRef);
    entry.set(DW_AT_low_pc, AttributeValue::Address(Address::Constant(start)));
    entry.set(DW_AT_high_pc, AttributeValue::Udata(assembly.text.len() as u64));
    for symbol in &assembly.symbols {
        label(&mut dwarf, assembly, symbol, &files, start);
    }
    dwarf
}

/// The name of a file as DWARF can hold it.
fn file_name(name: &str) -> Vec<u8> {
    let name = name.replace('\0', "");
    if name.is_empty() { b"program.s".to_vec() } else { name.into_bytes() }
}

fn rows(program: &mut LineProgram, assembly: &Assembly, files: &[FileId], start: u64) {
    program.begin_sequence(Some(Address::Constant(start)));
    for line in &assembly.lines {
        let row = program.row();
        row.address_offset = u64::from(line.pc) * SLOT_BYTES as u64;
        row.file = files[line.file as usize];
        row.line = line.line.into();
        row.column = line.column.into();
        program.generate_row();
    }
    program.end_sequence(assembly.text.len() as u64);
}

fn label(
    dwarf: &mut DwarfUnit,
    assembly: &Assembly,
    symbol: &Symbol,
    files: &[FileId],
    start: u64,
) {
    let tag = match symbol.kind {
        SymbolKind::Function => DW_TAG_subprogram,
        SymbolKind::Label => DW_TAG_label,
        SymbolKind::Object | SymbolKind::Absolute => return,
    };
    let root = dwarf.unit.root();
    let id = dwarf.unit.add(root, tag);
    let entry = dwarf.unit.get_mut(id);
    let name = symbol.name.replace('\0', "");
    entry.set(DW_AT_name, AttributeValue::String(name.into_bytes()));
    let address = Address::Constant(start + u64::from(symbol.offset));
    entry.set(DW_AT_low_pc, AttributeValue::Address(address));
    if symbol.kind == SymbolKind::Function {
        entry.set(DW_AT_high_pc, AttributeValue::Udata(symbol.size.into()));
    }
    if let Some(line) = line_of(assembly, symbol.offset) {
        let file = files[line.file as usize];
        entry.set(DW_AT_decl_file, AttributeValue::FileIndex(Some(file)));
        entry.set(DW_AT_decl_line, AttributeValue::Udata(line.line.into()));
    }
}

/// The line of the instruction at `offset`.
fn line_of(assembly: &Assembly, offset: u32) -> Option<&Line> {
    let pc = offset / 8;
    let after = assembly.lines.partition_point(|line| line.pc <= pc);
    assembly.lines.get(after.checked_sub(1)?)
}
