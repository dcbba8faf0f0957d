//! Small ELF files for tests to corrupt, with access to their fields by name.

#![allow(dead_code, reason = "each test binary uses its part")]

use selkie_elf::{ElfError, Environment, Executable, Syscalls, load};

/// Offset and size of a field in its structure.
pub(crate) type Field = (usize, usize);

pub(crate) const EI_CLASS: Field = (4, 1);
pub(crate) const EI_DATA: Field = (5, 1);
pub(crate) const EI_VERSION: Field = (6, 1);
pub(crate) const EI_OSABI: Field = (7, 1);
pub(crate) const EI_ABIVERSION: Field = (8, 1);
pub(crate) const EI_PAD: Field = (9, 7);
pub(crate) const E_TYPE: Field = (16, 2);
pub(crate) const E_MACHINE: Field = (18, 2);
pub(crate) const E_VERSION: Field = (20, 4);
pub(crate) const E_ENTRY: Field = (24, 8);
pub(crate) const E_PHOFF: Field = (32, 8);
pub(crate) const E_SHOFF: Field = (40, 8);
pub(crate) const E_FLAGS: Field = (48, 4);
pub(crate) const E_EHSIZE: Field = (52, 2);
pub(crate) const E_PHENTSIZE: Field = (54, 2);
pub(crate) const E_PHNUM: Field = (56, 2);
pub(crate) const E_SHENTSIZE: Field = (58, 2);
pub(crate) const E_SHNUM: Field = (60, 2);
pub(crate) const E_SHSTRNDX: Field = (62, 2);

pub(crate) const P_TYPE: Field = (0, 4);
pub(crate) const P_FLAGS: Field = (4, 4);
pub(crate) const P_OFFSET: Field = (8, 8);
pub(crate) const P_VADDR: Field = (16, 8);
pub(crate) const P_PADDR: Field = (24, 8);
pub(crate) const P_FILESZ: Field = (32, 8);
pub(crate) const P_MEMSZ: Field = (40, 8);

pub(crate) const SH_NAME: Field = (0, 4);
pub(crate) const SH_TYPE: Field = (4, 4);
pub(crate) const SH_FLAGS: Field = (8, 8);
pub(crate) const SH_ADDR: Field = (16, 8);
pub(crate) const SH_OFFSET: Field = (24, 8);
pub(crate) const SH_SIZE: Field = (32, 8);
pub(crate) const SH_LINK: Field = (40, 4);

pub(crate) const ST_NAME: Field = (0, 4);
pub(crate) const ST_INFO: Field = (4, 1);
pub(crate) const ST_VALUE: Field = (8, 8);

pub(crate) const R_OFFSET: Field = (0, 8);
pub(crate) const R_TYPE: Field = (8, 4);
pub(crate) const R_SYM: Field = (12, 4);

pub(crate) const SHT_STRTAB: u64 = 3;
pub(crate) const SHT_NOBITS: u64 = 8;

/// A file, with the offsets of its parts.
#[derive(Clone)]
pub(crate) struct File {
    pub(crate) bytes: Vec<u8>,
    /// Names of the sections, in the order of their headers.
    names: Vec<&'static str>,
}

impl File {
    pub(crate) fn put(&mut self, at: usize, (offset, size): Field, value: u64) {
        self.bytes[at + offset..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
    }

    pub(crate) fn get(&self, at: usize, (offset, size): Field) -> u64 {
        let mut value = [0; 8];
        value[..size].copy_from_slice(&self.bytes[at + offset..][..size]);
        u64::from_le_bytes(value)
    }

    pub(crate) fn header(&mut self, field: Field, value: u64) {
        self.put(0, field, value);
    }

    pub(crate) fn segment(&mut self, index: usize, field: Field, value: u64) {
        self.put(64 + 56 * index, field, value);
    }

    pub(crate) fn section(&mut self, name: &str, field: Field, value: u64) {
        self.put(self.section_at(name), field, value);
    }

    fn section_at(&self, name: &str) -> usize {
        let table = usize::try_from(self.get(0, E_SHOFF)).unwrap();
        table + 64 * self.names.iter().position(|found| *found == name).unwrap()
    }

    /// The index of a section's header.
    pub(crate) fn index(&self, name: &str) -> u64 {
        self.names.iter().position(|found| *found == name).unwrap() as u64
    }

    /// A field of a section's header.
    pub(crate) fn of(&self, name: &str, field: Field) -> u64 {
        self.get(self.section_at(name), field)
    }

    /// The file offset of a section's content.
    pub(crate) fn data(&self, name: &str) -> usize {
        usize::try_from(self.of(name, SH_OFFSET)).unwrap()
    }

    /// The value of a dynamic tag.
    pub(crate) fn dynamic(&mut self, tag: u64, value: u64) {
        let table = self.data(".dynamic");
        let entry = (0..).map(|index| table + 16 * index);
        let at = entry.into_iter().find(|&at| self.get(at, (0, 8)) == tag).unwrap();
        self.put(at, (8, 8), value);
    }

    pub(crate) fn relocation(&mut self, index: usize, field: Field, value: u64) {
        self.put(self.data(".rel.dyn") + 16 * index, field, value);
    }

    pub(crate) fn symbol(&mut self, table: &str, index: usize, field: Field, value: u64) {
        self.put(self.data(table) + 24 * index, field, value);
    }

    /// Writes an instruction slot.
    pub(crate) fn slot(&mut self, pc: usize, word: u64) {
        self.put(self.data(".text") + 8 * pc, (0, 8), word);
    }
}

const CALL: u64 = 0x85;
const EXIT: u64 = 0x95;

/// `call imm`
pub(crate) fn call(imm: i32) -> u64 {
    CALL | u64::from(imm.cast_unsigned()) << 32
}

/// Offsets in [`lenient`], which equal the addresses.
pub(crate) const TEXT: u64 = 64 + 2 * 56;
pub(crate) const TEXT_SLOTS: u64 = 10;
pub(crate) const RODATA: u64 = TEXT + TEXT_SLOTS * 8;
pub(crate) const DATA_REL_RO: u64 = RODATA + 16;

/// A file of V0 with calls and relocations of every kind:
///
/// ```text
///  0 call +2                  a function at 3
///  1 call -1                  relocation 0: syscall `log`
///  2 exit
///  3 lddw r1, RODATA          relocation 1: relative
///  5 call -1                  relocation 2: function `helper` at 7
///  6 exit
///  7 lddw r2, 4               relocation 3: symbol `data`, addend 4
///  9 exit
/// .data.rel.ro: 0, RODATA     relocation 4: relative, of data
/// ```
pub(crate) fn lenient() -> File {
    let slots = [
        call(2),
        call(-1),
        EXIT,
        0x0118 | RODATA << 32,
        0,
        call(-1),
        EXIT,
        0x0218 | 4 << 32,
        0,
        EXIT,
    ];
    let text: Vec<u8> = slots.iter().flat_map(|slot: &u64| slot.to_le_bytes()).collect();
    let dynstr = b"\0log\0helper\0data\0entrypoint\0".to_vec();
    let symbol = |name: u32, info: u8, value: u64| {
        [&name.to_le_bytes()[..], &[info, 0, 1, 0], &value.to_le_bytes(), &[0; 8]].concat()
    };
    let symbols = [
        symbol(0, 0, 0),
        symbol(1, 0x10, 0),
        symbol(5, 0x12, TEXT + 7 * 8),
        symbol(12, 0x11, RODATA),
        symbol(17, 0x12, TEXT),
    ]
    .concat();
    let relocation = |offset: u64, kind: u32, symbol: u32| {
        [&offset.to_le_bytes()[..], &kind.to_le_bytes(), &symbol.to_le_bytes()].concat()
    };
    let relocations = [
        relocation(TEXT + 8, 10, 1),
        relocation(TEXT + 3 * 8, 8, 0),
        relocation(TEXT + 5 * 8, 10, 2),
        relocation(TEXT + 7 * 8, 1, 3),
        relocation(DATA_REL_RO, 8, 0),
    ]
    .concat();
    let mut file = build(vec![
        (".text", 1, 6, text),
        (".rodata", 1, 2, (1..=16).collect()),
        (".data.rel.ro", 1, 3, [[0; 4], u32::try_from(RODATA).unwrap().to_le_bytes()].concat()),
        (".dynamic", 6, 3, vec![0; 16 * 6]),
        (".dynsym", 11, 2, symbols.clone()),
        (".dynstr", 3, 2, dynstr.clone()),
        (".rel.dyn", 9, 2, relocations),
        (".comment", 1, 0, b"hand-made".to_vec()),
        (".symtab", 2, 0, symbols),
        (".strtab", 3, 0, dynstr),
    ]);
    let table = file.data(".dynamic");
    let [rel, dynsym] = [".rel.dyn", ".dynsym"].map(|name| file.of(name, SH_ADDR));
    let relsz = file.of(".rel.dyn", SH_SIZE);
    for (index, (tag, value)) in
        (0..).zip([(17, rel), (18, relsz), (19, 16), (6, dynsym), (1 << 40, 7)])
    {
        file.put(table + 16 * index, (0, 8), tag);
        file.put(table + 16 * index, (8, 8), value);
    }
    for (symbols, names) in [(".dynsym", ".dynstr"), (".symtab", ".strtab")] {
        file.section(symbols, SH_LINK, file.index(names));
    }
    file.header(E_ENTRY, TEXT);
    file
}

/// Writes two program headers, the sections at addresses equal to their offsets, and their headers.
fn build(mut sections: Vec<(&'static str, u32, u64, Vec<u8>)>) -> File {
    sections.insert(0, ("", 0, 0, Vec::new()));
    sections.push((".shstrtab", 3, 0, Vec::new()));
    let mut names = Vec::new();
    let offsets: Vec<usize> = sections
        .iter()
        .map(|(name, ..)| {
            let at = names.len();
            names.extend([name.as_bytes(), b"\0"].concat());
            at
        })
        .collect();
    sections.last_mut().unwrap().3 = names;
    let mut bytes = vec![0; 64 + 2 * 56];
    let mut headers = Vec::new();
    for ((_, kind, flags, data), name) in sections.iter().zip(offsets) {
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let at = if *kind == 0 { 0 } else { bytes.len() as u64 };
        let fields = [*flags, at, at, data.len() as u64, 0, 0, 0];
        headers.extend(u32::try_from(name).unwrap().to_le_bytes());
        headers.extend(kind.to_le_bytes());
        headers.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
        bytes.extend(data);
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let table = bytes.len() as u64;
    bytes.extend(headers);
    let mut file = File { bytes, names: sections.iter().map(|(name, ..)| *name).collect() };
    file.bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    for (field, value) in [
        (E_TYPE, 3),
        (E_MACHINE, 247),
        (E_VERSION, 1),
        (E_PHOFF, 64),
        (E_SHOFF, table),
        (E_EHSIZE, 64),
        (E_PHENTSIZE, 56),
        (E_PHNUM, 2),
        (E_SHENTSIZE, 64),
        (E_SHNUM, sections.len() as u64),
        (E_SHSTRNDX, sections.len() as u64 - 1),
    ] {
        file.header(field, value);
    }
    let [start, end] = [".text", ".dynamic"].map(|name| file.of(name, SH_OFFSET));
    for (field, value) in [
        (P_TYPE, 1),
        (P_FLAGS, 5),
        (P_OFFSET, start),
        (P_VADDR, start),
        (P_FILESZ, end - start),
        (P_MEMSZ, end - start),
    ] {
        file.segment(0, field, value);
    }
    let dynamic = file.of(".dynamic", SH_SIZE);
    for (field, value) in
        [(P_TYPE, 2), (P_OFFSET, end), (P_VADDR, end), (P_FILESZ, dynamic), (P_MEMSZ, dynamic)]
    {
        file.segment(1, field, value);
    }
    file
}

/// A file of V3: read-only data of 16 bytes, code of three slots, no sections.
pub(crate) fn strict() -> File {
    let mut bytes = vec![0; 64 + 2 * 56];
    bytes.extend(1..=16);
    for slot in [call(1), EXIT, EXIT] {
        bytes.extend(slot.to_le_bytes());
    }
    let mut file = File { bytes, names: Vec::new() };
    file.bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    for (field, value) in [
        (E_TYPE, 3),
        (E_MACHINE, 247),
        (E_VERSION, 1),
        (E_ENTRY, 1 << 32),
        (E_PHOFF, 64),
        (E_FLAGS, 3),
        (E_EHSIZE, 64),
        (E_PHENTSIZE, 56),
        (E_PHNUM, 2),
    ] {
        file.header(field, value);
    }
    for (index, flags, offset, vaddr, size) in [(0, 4, 176, 0, 16), (1, 1, 192, 1 << 32, 24)] {
        for (field, value) in [
            (P_TYPE, 1),
            (P_FLAGS, flags),
            (P_OFFSET, offset),
            (P_VADDR, vaddr),
            (P_PADDR, vaddr),
            (P_FILESZ, size),
            (P_MEMSZ, size),
        ] {
            file.segment(index, field, value);
        }
    }
    file
}

/// The lenient environment, with the syscall that the lenient file calls.
pub(crate) fn environment() -> Environment {
    Environment { syscalls: Syscalls::new(["log"]).into(), ..Environment::default() }
}

/// The environment of a deployment.
pub(crate) fn deployment() -> Environment {
    Environment { reject_broken_elfs: true, ..environment() }
}

/// Asserts that the changed file loads.
pub(crate) fn accept(
    file: &File,
    change: impl FnOnce(&mut File),
    environment: &Environment,
) -> Executable {
    let mut file = file.clone();
    change(&mut file);
    load(&file.bytes, environment).unwrap()
}

/// Asserts that the changed file is refused with this error.
#[track_caller]
pub(crate) fn refuse(file: &File, change: impl FnOnce(&mut File), expected: ElfError) {
    refuse_in(file, change, &environment(), expected);
}

/// Asserts that the changed file is refused with this error in this environment.
#[track_caller]
pub(crate) fn refuse_in(
    file: &File,
    change: impl FnOnce(&mut File),
    environment: &Environment,
    expected: ElfError,
) {
    let mut file = file.clone();
    change(&mut file);
    assert_eq!(load(&file.bytes, environment).map(|_| "it loads"), Err(expected));
}

pub(crate) fn parse_error(why: &str) -> ElfError {
    ElfError::FailedToParse(why.to_owned())
}
