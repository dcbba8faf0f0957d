//! The ELF files of programs, as the loader and other tools read them.

use std::sync::Arc;

use selkie_asm::{Assembly, Options, assemble};
use selkie_elf::{Environment, Executable, Sections, Syscalls};
use selkie_isa::{Version, symbol::murmur3};
use selkie_protocol::syscalls;

const SMALLEST: &str = ".globl entrypoint\nentrypoint:\n    mov64 r0, 0\n    exit\n";

/// A program with everything that a file can contain: data, functions, calls of functions and
/// syscalls, and an entry that is not the first function.
const PARTS: &str = "
helper:
    mov64 r0, 1
    exit
.globl entrypoint
entrypoint:
    lddw r1, text
    mov64 r2, 5
    call sol_log_
    call helper
.Lloop:
    call sol_log_compute_units_
    call sol_log_
    jne r0, 1, .Lloop
    exit
.rodata
text: .ascii \"hello\"
table: .quad entrypoint, text
";

fn build(source: &str, options: &Options) -> Assembly {
    let output = assemble(source, options);
    assert_eq!(output.render(false), "");
    output.assembly.unwrap()
}

/// The rules of deployment, with all syscalls.
fn environment() -> Environment {
    Environment {
        syscalls: Arc::new(Syscalls::new(syscalls::names())),
        reject_broken_elfs: true,
        labels: true,
        ..Environment::default()
    }
}

fn load(elf: &[u8]) -> Executable {
    selkie_elf::load(elf, &environment()).expect("the loader accepts the file")
}

#[test]
fn stripped_minimal_program_takes_296_bytes_in_v0_and_136_in_v3() {
    let check = |version, bytes_max: usize| {
        let options = Options { version, strip: true, ..Options::default() };
        let elf = build(SMALLEST, &options).to_elf();
        assert!(elf.len() <= bytes_max, "{version}: {} bytes", elf.len());
        assert_eq!(load(&elf).text().len(), 16);
    };
    check(Version::V0, 296);
    check(Version::V3, 136);
}

#[test]
fn loaded_programs_have_the_data_calls_and_entry_of_the_source() {
    for version in Version::ALL {
        for (strip, debug_info) in [(false, false), (true, false), (false, true)] {
            let options = Options { version, strip, debug_info, ..Options::default() };
            let assembly = build(PARTS, &options);
            let elf = assembly.to_elf();
            let executable = load(&elf);
            assert_eq!(executable.version(), version);
            assert_eq!(executable.entry_pc(), 2);
            check_data(&assembly, &executable);
            check_calls(&executable);
        }
    }
}

/// The addresses in the instructions and in the data point to the data.
fn check_data(assembly: &Assembly, executable: &Executable) {
    let rodata = executable.read_only();
    let at = |address: u64, length: usize| {
        let start = usize::try_from(address - rodata.vaddr).unwrap();
        &rodata.bytes[start..start + length]
    };
    let address = assembly.addresses().rodata;
    assert_eq!(at(address, 5), b"hello");
    let text = executable.text();
    let low = u32::from_le_bytes(*text[2 * 8 + 4..].first_chunk().unwrap());
    let high = u32::from_le_bytes(*text[3 * 8 + 4..].first_chunk().unwrap());
    assert_eq!(u64::from(low) | u64::from(high) << 32, address);
    let words = [executable.text_vaddr() + 2 * 8, address].map(u64::to_le_bytes).concat();
    assert_eq!(at(address + 5, 16), words);
}

/// Calls of syscalls have the hash of the name as immediate.
fn check_calls(executable: &Executable) {
    let imm =
        |pc: usize| u32::from_le_bytes(*executable.text()[pc * 8 + 4..].first_chunk().unwrap());
    assert_eq!(imm(5), murmur3(b"sol_log_"));
    assert_eq!(imm(7), murmur3(b"sol_log_compute_units_"));
    assert_eq!(imm(8), murmur3(b"sol_log_"));
    if executable.version().static_calls() {
        assert_eq!(imm(6).cast_signed(), -7);
    } else {
        assert_eq!(executable.functions().get(imm(6)).map(|function| function.pc), Some(0));
    }
}

#[test]
fn symbol_table_has_the_functions_with_their_sizes() {
    for version in [Version::V0, Version::V3] {
        let assembly = build(PARTS, &Options { version, ..Options::default() });
        let elf = assembly.to_elf();
        let sections = Sections::read(&elf);
        let start = sections.get(".text").unwrap().addr;
        let functions: Vec<_> = sections
            .symbols()
            .filter(|symbol| symbol.is_function)
            .map(|symbol| (symbol.name().into_owned(), symbol.addr - start, symbol.size))
            .collect();
        let expected = [("helper".to_owned(), 0, 16), ("entrypoint".to_owned(), 16, 9 * 8)];
        assert_eq!(functions, expected, "{version}");
    }
}

#[test]
fn labels_that_begin_with_dot_l_have_symbols_only_with_debug_info() {
    let names = |debug_info| {
        let elf = build(PARTS, &Options { debug_info, ..Options::default() }).to_elf();
        let sections = Sections::read(&elf);
        sections.symbols().any(|symbol| symbol.name() == ".Lloop")
    };
    assert!(names(true));
    assert!(!names(false));
}

#[test]
fn line_tables_attribute_macros_to_their_call_and_loops_to_their_body() {
    let source = ".macro two\n    mov64 r0, 1\n    mov64 r0, 2\n.endm\n.globl entrypoint\n\
                  entrypoint:\n    two\n.rept 2\n    mov64 r1, 1\n.endr\n.irp r, r2, r3\n\
                  nop_\\r:\n    mov64 \\r, 1\n.endr\n    exit\n";
    let expected = [7, 7, 9, 9, 13, 13, 15];
    for version in [Version::V0, Version::V3] {
        let options = Options { version, debug_info: true, ..Options::default() };
        let assembly = build(source, &options);
        let lines: Vec<u32> = assembly.lines.iter().map(|line| line.line).collect();
        assert_eq!(lines, expected);
        let elf = assembly.to_elf();
        let start = Sections::read(&elf).get(".text").unwrap().addr;
        assert_eq!(debug_lines(&elf, start), expected.map(u64::from));
    }
}

/// Returns the lines of the instructions from the DWARF line table.
fn debug_lines(elf: &[u8], start: u64) -> Vec<u64> {
    let sections = Sections::read(elf);
    let load = |id: gimli::SectionId| -> Result<_, gimli::Error> {
        let bytes = sections.get(id.name()).map_or(&[][..], |section| section.bytes);
        Ok(gimli::EndianSlice::new(bytes, gimli::LittleEndian))
    };
    let dwarf = gimli::Dwarf::load(load).unwrap();
    let header = dwarf.units().next().unwrap().unwrap();
    let unit = dwarf.unit(header).unwrap();
    let mut rows = unit.line_program.clone().unwrap().rows();
    let mut lines = Vec::new();
    while let Some((_, row)) = rows.next_row().unwrap() {
        if !row.end_sequence() {
            assert_eq!(row.address(), start + lines.len() as u64 * 8);
            lines.push(row.line().unwrap().get());
        }
    }
    lines
}
