//! Programs and files for tests, built by hand.

#![allow(dead_code, reason = "each test uses its part")]

use std::sync::Arc;

use selkie_elf::{Executable, Functions, Syscalls};
use selkie_inspect::NamedProgram;
use selkie_isa::{
    Version,
    symbol::{ENTRYPOINT_KEY, pc_key},
};

/// An instruction of opcode, registers (`src` in the upper nibble), offset and immediate.
pub(crate) fn word(code: u8, registers: u8, off: i16, imm: i32) -> u64 {
    let off = u64::from(off.cast_unsigned()) << 16;
    u64::from(code) | u64::from(registers) << 8 | off | u64::from(imm.cast_unsigned()) << 32
}

pub(crate) const EXIT: u64 = 0x95;

pub(crate) fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A program of raw instructions, whose functions start at `functions`; the first is the entry.
/// Until V2 a call of the function at slot 5 is `0x85` with the immediate `pc_key(5)`.
pub(crate) fn program(version: Version, words: &[u64], functions: &[(u32, &str)]) -> NamedProgram {
    let mut registered = Functions::default();
    for &(pc, name) in functions {
        let key = match (version.static_calls(), name) {
            (true, _) => pc,
            (false, "entrypoint") => ENTRYPOINT_KEY,
            (false, _) => pc_key(pc),
        };
        registered.register(key, pc, name).unwrap();
    }
    let entry = functions.first().map_or(0, |&(pc, _)| pc);
    let syscalls = Arc::new(Syscalls::new(["sol_log_", "abort"]));
    NamedProgram::new(
        Executable::from_text(version, bytes(words), entry, registered, syscalls).unwrap(),
    )
}

/// A section of a file.
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) kind: u32,
    pub(crate) addr: u64,
    pub(crate) bytes: Vec<u8>,
    /// Index of the section that holds its strings; the first section has index 1.
    pub(crate) link: u32,
}

pub(crate) const PROGBITS: u32 = 1;

impl Section {
    pub(crate) fn new(name: &'static str, addr: u64, bytes: Vec<u8>) -> Self {
        Self { name, kind: PROGBITS, addr, bytes, link: 0 }
    }
}

/// A file of these sections, the first of which starts at offset 64.
pub(crate) fn elf(version: Version, entry: u64, mut sections: Vec<Section>) -> Vec<u8> {
    let mut names = vec![0];
    let mut headers: Vec<u8> = vec![0; 64];
    let mut content = vec![];
    let count = u16::try_from(sections.len() + 2).unwrap();
    sections.push(Section { kind: 3, ..Section::new(".shstrtab", 0, vec![]) });
    for mut section in sections {
        let name = names.len();
        names.extend(section.name.bytes().chain([0]));
        if section.name == ".shstrtab" {
            section.bytes.clone_from(&names);
        }
        let fields = [
            name as u64 | u64::from(section.kind) << 32,
            6,
            section.addr,
            64 + content.len() as u64,
            section.bytes.len() as u64,
            section.link.into(),
            8,
            if section.kind == 2 { 24 } else { 0 },
        ];
        headers.extend(bytes(&fields));
        content.extend(section.bytes);
        content.resize(content.len().next_multiple_of(8), 0);
    }
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend(bytes(&[3 | 247 << 16 | 1 << 32, entry, 64, 64 + content.len() as u64]));
    file.extend((version as u32).to_le_bytes());
    file.extend([64, 56, 0, 64, count, count - 1].into_iter().flat_map(u16::to_le_bytes));
    file.extend(content);
    file.extend(headers);
    file
}

/// Sections `.symtab` and `.strtab` of these functions, the latter at the given index.
pub(crate) fn symbols(functions: &[(u64, &str)], strtab: u32) -> [Section; 2] {
    let mut names = vec![0];
    let mut table = vec![0; 24];
    for (addr, name) in functions {
        let info = names.len() as u64 | 0x12 << 32 | 1 << 48;
        table.extend(bytes(&[info, *addr, 0]));
        names.extend(name.bytes().chain([0]));
    }
    [
        Section { kind: 2, link: strtab, ..Section::new(".symtab", 0, table) },
        Section { kind: 3, ..Section::new(".strtab", 0, names) },
    ]
}
