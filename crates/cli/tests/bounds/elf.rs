//! Builds ELF files whose tables refer to the same bytes many times.

/// A section to be written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Section {
    /// Offset in the table of section names.
    pub(crate) name: u32,
    pub(crate) kind: u32,
    pub(crate) flags: u64,
    pub(crate) addr: u64,
    pub(crate) bytes: Vec<u8>,
    /// Of a symbol table, its string table.
    pub(crate) link: u32,
    /// Offset and size in the file, if they are those of another section.
    pub(crate) range: Option<(u64, u64)>,
}

/// An ELF file to be written.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) kind: u16,
    pub(crate) machine: u16,
    /// The sBPF version.
    pub(crate) flags: u32,
    pub(crate) entry: u64,
    /// The first is the null section, the second `.text`, the third the table of section names.
    pub(crate) sections: Vec<Section>,
}

pub(crate) const PROGBITS: u32 = 1;
pub(crate) const SYMTAB: u32 = 2;
pub(crate) const STRTAB: u32 = 3;
pub(crate) const DYNSYM: u32 = 11;
const ALLOC_EXEC: u64 = 6;
/// Offset and address of `.text`.
const TEXT: u64 = 64;
/// The table of section names.
pub(crate) const NAMES: usize = 2;
/// `exit`.
pub(crate) const EXIT: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];
/// A global function.
pub(crate) const GLOBAL_FUNCTION: u8 = 0x12;

impl File {
    /// A program of so many `exit`s, and the names of its sections.
    pub(crate) fn program(slots: usize) -> Self {
        let text = Section {
            name: 1,
            kind: PROGBITS,
            flags: ALLOC_EXEC,
            addr: TEXT,
            bytes: EXIT.repeat(slots),
            ..Section::default()
        };
        let names = b"\0.text\0.symtab\0.strtab\0.dynsym\0.dynstr\0.shstrtab\0";
        let names = Section { name: 38, kind: STRTAB, bytes: names.to_vec(), ..Section::default() };
        Self {
            kind: 3,
            machine: 247,
            flags: 0,
            entry: TEXT,
            sections: vec![Section::default(), text, names],
        }
    }

    /// Adds a symbol table and its string table.
    pub(crate) fn with_symbols(mut self, kind: u32, symbols: Vec<u8>, strings: Vec<u8>) -> Self {
        let [name, strings_name] = if kind == SYMTAB { [7, 15] } else { [23, 31] };
        let link = u32::try_from(self.sections.len() + 1).expect("few sections");
        let table = Section { name, kind, bytes: symbols, link, ..Section::default() };
        let strings =
            Section { name: strings_name, kind: STRTAB, bytes: strings, ..Section::default() };
        self.sections.extend([table, strings]);
        self
    }

    /// The file.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        let mut headers = Vec::new();
        for section in &self.sections {
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            let (offset, size) = match section.range {
                Some(range) => range,
                None if section.kind == 0 => (0, 0),
                None => (bytes.len() as u64, section.bytes.len() as u64),
            };
            bytes.extend(&section.bytes);
            headers.extend(section.name.to_le_bytes());
            headers.extend(section.kind.to_le_bytes());
            for word in [section.flags, section.addr, offset, size] {
                headers.extend(word.to_le_bytes());
            }
            headers.extend(section.link.to_le_bytes());
            headers.extend([0; 4]);
            let entry = if [SYMTAB, DYNSYM].contains(&section.kind) { 24_u64 } else { 0 };
            headers.extend(8_u64.to_le_bytes());
            headers.extend(entry.to_le_bytes());
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let table = bytes.len() as u64;
        bytes.extend(headers);
        self.write_header(&mut bytes, table);
        bytes
    }

    fn write_header(&self, bytes: &mut [u8], table: u64) {
        let count = u16::try_from(self.sections.len()).expect("few sections");
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, b"\x7fELF\x02\x01\x01");
        put(16, &self.kind.to_le_bytes());
        put(18, &self.machine.to_le_bytes());
        put(20, &1_u32.to_le_bytes());
        put(24, &self.entry.to_le_bytes());
        put(40, &table.to_le_bytes());
        put(48, &self.flags.to_le_bytes());
        for (at, value) in [(52, 64), (54, 56), (56, 0), (58, 64), (60, count), (62, 2)] {
            put(at, &value.to_le_bytes());
        }
    }
}

/// The bytes of a symbol.
pub(crate) fn symbol(name: usize, info: u8, section: u16, value: u64) -> Vec<u8> {
    let name = u32::try_from(name).expect("a small table");
    let mut bytes = name.to_le_bytes().to_vec();
    bytes.extend([info, 0]);
    bytes.extend(section.to_le_bytes());
    bytes.extend(value.to_le_bytes());
    bytes.extend(8_u64.to_le_bytes());
    bytes
}

/// A symbol for each of the first slots, each named by another part of one long text.
pub(crate) fn symbols(count: usize, section: u16) -> Vec<u8> {
    let address = |index: usize| TEXT + index as u64 * 8;
    let first = symbol(0, 0, 0, 0);
    let rest =
        (1..count).flat_map(|index| symbol(index, GLOBAL_FUNCTION, section, address(index - 1)));
    first.into_iter().chain(rest).collect()
}

/// A string table with one text in it.
pub(crate) fn strings(byte: u8, len: usize) -> Vec<u8> {
    [&[0][..], &vec![byte; len], &[0]].concat()
}
