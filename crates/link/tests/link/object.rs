//! Objects made byte by byte: sound ones for what compilers seldom write, and broken ones.

/// A section of an object in the making.
#[derive(Clone, Debug, Default)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) kind: u32,
    pub(crate) flags: u64,
    pub(crate) align: u64,
    pub(crate) data: Vec<u8>,
    /// In place of the length of the data: of sections without any.
    pub(crate) size: Option<u64>,
    /// Offset, type and symbol.
    pub(crate) relocations: Vec<(u64, u32, String)>,
}

/// A symbol of an object in the making.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbol {
    pub(crate) name: String,
    /// A section's name, or `undefined`, `absolute` or `common`.
    pub(crate) home: String,
    pub(crate) value: u64,
    pub(crate) size: u64,
    /// Binding and type, as in the file.
    pub(crate) info: u8,
}

/// An object in the making.
#[derive(Clone, Debug, Default)]
pub(crate) struct Object {
    pub(crate) sections: Vec<Section>,
    pub(crate) symbols: Vec<Symbol>,
}

const SHT_SYMTAB: u32 = 2;
const SHT_STRTAB: u32 = 3;
const SHT_REL: u32 = 9;

fn add(strings: &mut Vec<u8>, text: &str) -> u32 {
    let at = u32::try_from(strings.len()).expect("small");
    strings.extend_from_slice(text.as_bytes());
    strings.push(0);
    at
}

impl Object {
    /// One function, `entrypoint`.
    pub(crate) fn function(text: Vec<u8>) -> Self {
        let size = text.len() as u64;
        let (name, info) = ("entrypoint".to_owned(), 0x12);
        Self {
            sections: vec![Section {
                name: ".text".to_owned(),
                kind: 1,
                flags: 6,
                align: 8,
                data: text,
                ..Section::default()
            }],
            symbols: vec![Symbol { name, home: ".text".to_owned(), value: 0, size, info }],
        }
    }

    /// The file.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut file = vec![0; 64];
        let mut headers: Vec<[u64; 10]> = vec![[0; 10]];
        let (mut names, mut strings) = (vec![0], vec![0]);
        let mut section = |file: &mut Vec<u8>, name: &str, kind: u32, data: &[u8]| {
            file.resize(file.len().next_multiple_of(8), 0);
            let at = file.len() as u64;
            file.extend_from_slice(data);
            let name = u64::from(add(&mut names, name));
            headers.push([name, kind.into(), 0, 0, at, data.len() as u64, 0, 0, 8, 0]);
            headers.len() - 1
        };
        let mut fixes: Vec<(usize, usize, u64)> = Vec::new();
        for it in &self.sections {
            let index = section(&mut file, &it.name, it.kind, &it.data);
            fixes.push((index, 2, it.flags));
            fixes.push((index, 8, it.align));
            fixes.extend(it.size.map(|size| (index, 5, size)));
        }
        // Locals come first.
        let mut symbols: Vec<&Symbol> = self.symbols.iter().collect();
        symbols.sort_by_key(|it| it.info >> 4 != 0);
        let mut table = vec![0; 24];
        for it in &symbols {
            let home = match it.home.as_str() {
                "undefined" => 0,
                "absolute" => 0xfff1,
                "common" => 0xfff2,
                name => match self.sections.iter().position(|it| it.name == name) {
                    Some(index) => index + 1,
                    None => name.parse().expect("a section's name or number"),
                },
            };
            table.extend(add(&mut strings, &it.name).to_le_bytes());
            table.extend([it.info, 0]);
            table.extend(u16::try_from(home).expect("small").to_le_bytes());
            table.extend(it.value.to_le_bytes());
            table.extend(it.size.to_le_bytes());
        }
        let symtab = section(&mut file, ".symtab", SHT_SYMTAB, &table);
        let strtab = section(&mut file, ".strtab", SHT_STRTAB, &strings);
        fixes.extend([(symtab, 6, strtab as u64), (symtab, 9, 24), (symtab, 7, 1)]);
        for (target, it) in self.sections.iter().enumerate() {
            if it.relocations.is_empty() {
                continue;
            }
            let mut table = Vec::new();
            for (offset, kind, symbol) in &it.relocations {
                let index = symbols.iter().position(|it| it.name == *symbol);
                let index = index.map_or_else(|| symbol.parse().expect("a number"), |it| it + 1);
                table.extend(offset.to_le_bytes());
                table.extend((u64::from(*kind) | (index as u64) << 32).to_le_bytes());
            }
            let rel = section(&mut file, &format!(".rel{}", it.name), SHT_REL, &table);
            fixes.extend([(rel, 6, symtab as u64), (rel, 7, target as u64 + 1), (rel, 9, 16)]);
        }
        let shstrtab = section(&mut file, ".shstrtab", SHT_STRTAB, &[]);
        file.extend_from_slice(&names);
        headers[shstrtab][5] = names.len() as u64;
        for (section, field, value) in fixes {
            headers[section][field] = value;
        }
        file.resize(file.len().next_multiple_of(8), 0);
        let at = file.len() as u64;
        for it in &headers {
            for (field, value) in it.iter().enumerate() {
                match field {
                    0 | 1 | 6 | 7 => {
                        file.extend(u32::try_from(*value).expect("small").to_le_bytes());
                    }
                    _ => file.extend(value.to_le_bytes()),
                }
            }
        }
        let mut header = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0\xf7\0\x01\0\0\0".to_vec();
        header.extend([0; 16]);
        header.extend(at.to_le_bytes());
        header.extend([0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 64, 0]);
        header.extend(u16::try_from(headers.len()).expect("few").to_le_bytes());
        header.extend(u16::try_from(shstrtab).expect("few").to_le_bytes());
        file[..64].copy_from_slice(&header);
        file
    }
}

/// An instruction of eBPF.
pub(crate) const fn word(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> [u8; 8] {
    let (off, imm) = (off.to_le_bytes(), imm.to_le_bytes());
    [code, src << 4 | dst, off[0], off[1], imm[0], imm[1], imm[2], imm[3]]
}
