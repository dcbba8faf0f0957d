//! The files that gdb reads: programs under a machine that it knows, with rules for their frames.
//!
//! LLVM writes no frame information for sBPF, whose return addresses are outside of the program's
//! memory. So there is one rule for all code: x31 is the end of the frame's record, in which the
//! return address and r6 to r10 of the caller are.

use selkie_elf::{
    Sections,
    write::{Image as ElfImage, Symbol, SymbolKind, TEXT_OFFSET_MIN, write},
};
use selkie_isa::{Version, layout::BYTECODE_START};

use super::layout::{RECORD_BYTES, RUNTIME};

/// Where an ELF file has its machine and its flags.
const MACHINE: usize = 18;
const FLAGS: usize = 48;

/// The machine RISC-V.
const EM_RISCV: u16 = 243;

/// The section that the files get in addition.
const FRAME_SECTION: &str = ".debug_frame";

/// The highest file offset of the code of programs until V2.
const TEXT_OFFSET_MAX: u64 = 1 << 24;

/// The code of a program, and the file that gdb reads.
#[derive(Debug)]
pub(super) struct Image {
    /// Where the file has the code.
    pub(super) text_addr: u64,
    /// The instructions.
    pub(super) text: Vec<u8>,
    /// The file.
    pub(super) elf: Vec<u8>,
}

impl Image {
    /// Makes the file of a program. Of a program whose code is where no version has it, gdb gets no
    /// symbols.
    pub(super) fn of_program(debug: &[u8]) -> Self {
        let sections = Sections::read(debug);
        let text = sections.get(".text");
        let (address, text) = text.map_or((BYTECODE_START, &[][..]), |it| (it.addr, it.bytes));
        let placed = placement(address);
        let (version, text_offset) = placed.unwrap_or((Version::V3, TEXT_OFFSET_MIN));
        let text_addr = if placed.is_some() { address } else { BYTECODE_START };
        let has_symbols = placed.is_some();
        let names: Vec<(String, u64, u64)> = sections
            .symbols()
            .filter(|it| it.is_function && has_symbols)
            .filter_map(|it| Some((it.name().into_owned(), it.addr.checked_sub(address)?, it.size)))
            .filter(|(_, offset, _)| *offset < text.len() as u64)
            .collect();
        let symbols: Vec<Symbol<'_>> =
            names.iter().map(|(name, offset, size)| function(name, *offset, *size)).collect();
        let debug: Vec<(String, Vec<u8>)> = sections
            .iter()
            .map(|it| (it.name().into_owned(), it.bytes))
            .filter(|(name, _)| has_symbols && name.starts_with(".debug_") && name != FRAME_SECTION)
            .map(|(name, bytes)| (name, bytes.to_vec()))
            .collect();
        let mut debug: Vec<(&str, Vec<u8>)> =
            debug.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
        debug.push((FRAME_SECTION, frame_rules(RULES, text_addr, text.len() as u64)));
        let image = ElfImage {
            text_offset,
            symbols: &symbols,
            debug: &debug,
            strip: false,
            ..ElfImage::of_text(version, text)
        };
        Self { text_addr, text: text.to_vec(), elf: for_riscv(write(&image)) }
    }

    /// Returns the instructions from an address of the file on.
    pub(super) fn code_from(&self, address: u64) -> &[u8] {
        let offset = address.checked_sub(self.text_addr).and_then(|it| usize::try_from(it).ok());
        offset.and_then(|it| self.text.get(it..)).unwrap_or_default()
    }

    /// Makes the file of what is outside of programs: the function that they return to.
    pub(super) fn of_runtime() -> Self {
        let text = vec![0; 8];
        let rules = frame_rules(OUTERMOST_RULES, RUNTIME, text.len() as u64);
        let image = ElfImage {
            text_offset: RUNTIME,
            symbols: &[function("runtime", 0, 8)],
            debug: &[(FRAME_SECTION, rules)],
            strip: false,
            ..ElfImage::of_text(Version::V0, &text)
        };
        let elf = for_riscv(write(&image));
        Self { text_addr: RUNTIME, text, elf }
    }
}

/// Returns the version whose files have code at an address, and its offset in the file.
fn placement(address: u64) -> Option<(Version, u64)> {
    let is_legacy = (TEXT_OFFSET_MIN..TEXT_OFFSET_MAX).contains(&address);
    match address {
        BYTECODE_START => Some((Version::V3, TEXT_OFFSET_MIN)),
        _ if is_legacy && address.is_multiple_of(8) => Some((Version::V0, address)),
        _ => None,
    }
}

fn function(name: &str, offset: u64, size: u64) -> Symbol<'_> {
    Symbol { name, kind: SymbolKind::Function, offset, size, global: false }
}

/// Makes a file one for RISC-V.
fn for_riscv(mut elf: Vec<u8>) -> Vec<u8> {
    elf[MACHINE..MACHINE + 2].copy_from_slice(&EM_RISCV.to_le_bytes());
    elf[FLAGS..FLAGS + 4].fill(0);
    elf
}

/// The instructions by which a caller's registers are found, the same at all code.
const RULES: &[u8] = &[
    0x0c,
    31,
    0, // DW_CFA_def_cfa: the address of the frame is x31
    0x80 | 30,
    1, // DW_CFA_offset: the return address is 8 bytes below
    0x80 | 6,
    2, // and so on: r6
    0x80 | 7,
    3, // r7
    0x80 | 8,
    4, // r8
    0x80 | 9,
    5, // r9
    0x80 | 10,
    6, // r10
    0x15,
    31,
    0x78, // DW_CFA_val_offset_sf: the caller's x31 is -8 times -8 bytes above
    0x07,
    0,
    0x07,
    1,
    0x07,
    2,
    0x07,
    3,
    0x07,
    4,
    0x07,
    5, // DW_CFA_undefined: r0 to r5
];

/// The instructions for the runtime, which nothing has called.
const OUTERMOST_RULES: &[u8] = &[
    0x0c, 31, 0, // DW_CFA_def_cfa: the address of the frame is x31
    0x07, 30, // DW_CFA_undefined: there is no return address
];

const _: () = assert!(RECORD_BYTES == 64, "the rule of x31 has the size of a record");

/// Returns the section with the rules for code at an address.
fn frame_rules(rules: &[u8], address: u64, len: u64) -> Vec<u8> {
    let mut section = Vec::new();
    let mut common = u32::MAX.to_le_bytes().to_vec();
    // Version 1, no augmentation, factors 1 and -8, the return address in column 30.
    common.extend([1, 0, 1, 0x78, 30]);
    common.extend(rules);
    put_entry(&mut section, common);
    let mut entry = 0_u32.to_le_bytes().to_vec();
    entry.extend(address.to_le_bytes());
    entry.extend(len.to_le_bytes());
    put_entry(&mut section, entry);
    section
}

/// Appends an entry behind its length, filled up with `DW_CFA_nop`.
fn put_entry(section: &mut Vec<u8>, mut entry: Vec<u8>) {
    entry.resize((entry.len() + 4).next_multiple_of(8) - 4, 0);
    let len = u32::try_from(entry.len()).expect("entries are short");
    section.extend(len.to_le_bytes());
    section.extend(entry);
}
