//! Random mutations of ELF files, most of them in fields of the format.

use core::fmt::Write as _;

use crate::{case::hex, rng::Rng};

/// The difference of a file from its base.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mutation {
    /// Cut to so many bytes, or filled up to them with zeroes.
    len: Option<usize>,
    /// Offsets and the bytes written there.
    patches: Vec<(usize, Vec<u8>)>,
}

impl Mutation {
    pub(crate) fn apply(&self, base: &[u8]) -> Vec<u8> {
        let mut bytes = base.to_vec();
        if let Some(len) = self.len {
            bytes.resize(len, 0);
        }
        for (offset, patch) in &self.patches {
            let end = (offset + patch.len()).min(bytes.len());
            if let Some(target) = bytes.get_mut(*offset..end) {
                target.copy_from_slice(&patch[..end - offset]);
            }
        }
        bytes
    }

    /// Removes changes as long as `differs` stays true.
    pub(crate) fn shrink(&self, differs: impl Fn(&Self) -> bool) -> Self {
        let mut smallest = self.clone();
        for index in (0..self.patches.len()).rev() {
            let mut fewer = smallest.clone();
            fewer.patches.remove(index);
            if differs(&fewer) {
                smallest = fewer;
            }
        }
        let whole = Self { len: None, ..smallest.clone() };
        if differs(&whole) { whole } else { smallest }
    }

    pub(crate) fn to_json(&self) -> String {
        let patches: Vec<String> =
            self.patches.iter().map(|(at, bytes)| format!("[{at},\"{}\"]", hex(bytes))).collect();
        let trunc = self.len.map_or(String::new(), |len| format!("\"trunc\":{len},"));
        format!("{trunc}\"patch\":[{}]", patches.join(","))
    }

    pub(crate) fn describe(&self, base: &[u8]) -> String {
        let mut text = String::new();
        if let Some(len) = self.len {
            let _ = writeln!(text, "  {} bytes instead of {}", len, base.len());
        }
        for (at, bytes) in &self.patches {
            let before = base.get(*at..at + bytes.len()).unwrap_or_default();
            let _ = writeln!(text, "  {at:#x}: {} -> {}", hex(before), hex(bytes));
        }
        text
    }
}

/// A random mutation of a file. One in thirty changes nothing.
pub(crate) fn mutation(rng: &mut Rng, base: &[u8]) -> Mutation {
    let mut mutation = Mutation::default();
    if rng.chance(3) {
        return mutation;
    }
    if rng.chance(5) {
        mutation.len = Some(match rng.below(3) {
            0 => rng.below(base.len() + 1),
            1 => base.len().saturating_sub(rng.below(70)),
            _ => base.len() + rng.below(70),
        });
        if rng.chance(50) {
            return mutation;
        }
    }
    let tables = Tables::read(base);
    for _ in 0..rng.pick(&[1, 1, 1, 2, 2, 3, 4]) {
        let patch = tables.patch(rng, base);
        mutation.patches.extend(patch);
    }
    mutation
}

/// A field of the format: where it is, and its size in bytes.
type Field = (usize, usize);

const EHDR: [Field; 19] = [
    (0, 4),
    (4, 1),
    (5, 1),
    (6, 1),
    (7, 1),
    (8, 1),
    (16, 2),
    (18, 2),
    (20, 4),
    (24, 8),
    (32, 8),
    (40, 8),
    (48, 4),
    (52, 2),
    (54, 2),
    (56, 2),
    (58, 2),
    (60, 2),
    (62, 2),
];
const PHDR: [Field; 8] = [(0, 4), (4, 4), (8, 8), (16, 8), (24, 8), (32, 8), (40, 8), (48, 8)];
const SHDR: [Field; 10] =
    [(0, 4), (4, 4), (8, 8), (16, 8), (24, 8), (32, 8), (40, 4), (44, 4), (48, 8), (56, 8)];
const SYM: [Field; 6] = [(0, 4), (4, 1), (5, 1), (6, 2), (8, 8), (16, 8)];
const REL: [Field; 3] = [(0, 8), (8, 4), (12, 4)];
const DYN: [Field; 2] = [(0, 8), (8, 8)];
/// Of an instruction: opcode, registers, offset, immediate.
const SLOT: [Field; 4] = [(0, 1), (1, 1), (2, 2), (4, 4)];

/// The tables of a file, as far as they can be parsed.
struct Tables {
    /// Start, bytes of an entry, entries, fields of an entry.
    tables: Vec<(usize, usize, usize, &'static [Field])>,
    /// Ranges of names and other bytes.
    strings: Vec<(usize, usize)>,
}

fn number(bytes: &[u8], (at, size): Field) -> Option<u64> {
    let mut value = [0; 8];
    value[..size].copy_from_slice(bytes.get(at..at.checked_add(size)?)?);
    Some(u64::from_le_bytes(value))
}

impl Tables {
    fn read(bytes: &[u8]) -> Self {
        let at = |field| number(bytes, field).unwrap_or_default() as usize;
        let mut tables: Vec<(usize, usize, usize, &'static [Field])> = vec![(0, 64, 1, &EHDR)];
        let mut strings = Vec::new();
        let (phoff, phnum, shoff, shnum) = (at((32, 8)), at((56, 2)), at((40, 8)), at((60, 2)));
        if phnum > 0 {
            tables.push((phoff, 56, phnum, &PHDR));
        }
        if shnum > 0 && shoff < bytes.len() {
            tables.push((shoff, 64, shnum, &SHDR));
        }
        for index in 0..shnum.min(64) {
            let header = shoff.saturating_add(index * 64);
            let field = |(offset, size): Field| at((header.saturating_add(offset), size));
            let (kind, flags, start, len) =
                (field((4, 4)), field((8, 8)), field((24, 8)), field((32, 8)));
            match kind {
                2 | 11 => tables.push((start, 24, len / 24, &SYM)),
                3 => strings.push((start, len)),
                6 => tables.push((start, 16, len / 16, &DYN)),
                9 => tables.push((start, 16, len / 16, &REL)),
                1 if flags & 4 != 0 => tables.push((start, 8, len / 8, &SLOT)),
                _ => {}
            }
        }
        if shnum == 0 && phnum > 0 {
            // Strict files: instructions are in the last segment.
            let header = phoff + (phnum - 1) * 56;
            tables.push((at((header + 8, 8)), 8, at((header + 32, 8)) / 8, &SLOT));
        }
        tables.retain(|&(start, _, count, _)| count > 0 && start < bytes.len());
        strings.retain(|&(start, len)| len > 0 && start < bytes.len());
        Self { tables, strings }
    }

    /// One change, which may take several patches.
    fn patch(&self, rng: &mut Rng, bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
        match rng.below(20) {
            0 => {
                let at = rng.below(bytes.len());
                vec![(at, vec![rng.word() as u8])]
            }
            1 => {
                let at = rng.below(bytes.len());
                let flipped = bytes.get(at).map_or(0, |byte| byte ^ 1 << rng.below(8));
                vec![(at, vec![flipped])]
            }
            2 if !self.strings.is_empty() => {
                let (start, len) = rng.pick(&self.strings);
                let at = start + rng.below(len.min(1 << 20));
                let byte = if rng.chance(40) { 0 } else { rng.pick(b".adtrobsxn_1") };
                vec![(at, vec![byte])]
            }
            3 => {
                let name = rng.pick(&[
                    &b".bss"[..],
                    b".data",
                    b".data.rel.ro",
                    b".text",
                    b".rodata",
                    b".dynsym",
                    b".dynstr",
                    b".symtab",
                    b".strtab",
                    b".eh_frame",
                    b"entrypoint",
                    b".bss.x\0",
                    b".data.foo",
                    b".text\0",
                    b"aaaaaaaaaaaaaaaaaaaa",
                ]);
                match self.strings.is_empty() {
                    true => vec![],
                    false => {
                        let (start, len) = rng.pick(&self.strings);
                        vec![(self.name_start(rng, bytes, start, len), name.to_vec())]
                    }
                }
            }
            4 => self.copy_entry(rng, bytes),
            _ => self.change_field(rng, bytes),
        }
    }

    /// The start of a name in a table of names.
    fn name_start(&self, rng: &mut Rng, bytes: &[u8], start: usize, len: usize) -> usize {
        let mut at = start + rng.below(len);
        while at > start && bytes.get(at - 1).is_some_and(|&byte| byte != 0) {
            at -= 1;
        }
        at
    }

    /// Replaces an entry of a table by another.
    fn copy_entry(&self, rng: &mut Rng, bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
        let (start, size, count, _) = self.table(rng);
        let (from, to) = (start + size * rng.below(count), start + size * rng.below(count));
        let Some(entry) = bytes.get(from..from + size) else { return vec![] };
        let mut patches = vec![(to, entry.to_vec())];
        if rng.chance(50)
            && let Some(other) = bytes.get(to..to + size)
        {
            patches.push((from, other.to_vec()));
        }
        patches
    }

    /// Picks a table, half as often that of the instructions.
    fn table(&self, rng: &mut Rng) -> (usize, usize, usize, &'static [Field]) {
        loop {
            let table = self.tables[rng.below(self.tables.len())];
            if table.1 != 8 || rng.chance(50) {
                return table;
            }
        }
    }

    fn change_field(&self, rng: &mut Rng, bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
        let (start, size, count, fields) = self.table(rng);
        let entry = start.saturating_add(size * rng.below(count.min(1 << 16)));
        let (offset, width) = rng.pick(fields);
        let at = entry.saturating_add(offset);
        let Some(old) = number(bytes, (at, width)) else { return vec![] };
        let value = self.value(rng, bytes, old);
        vec![(at, value.to_le_bytes()[..width].to_vec())]
    }

    fn value(&self, rng: &mut Rng, bytes: &[u8], old: u64) -> u64 {
        match rng.below(14) {
            0 => old.wrapping_add_signed(rng.range(-3, 3)),
            1 => old.wrapping_add_signed(rng.range(-3, 3) * 8),
            2 => old ^ 1 << rng.below(64),
            3 => rng.below(12) as u64,
            4 => (bytes.len() as u64).wrapping_add_signed(rng.range(-9, 9)),
            5 => rng.pick(&[u64::MAX, u64::MAX - 7, 1 << 63, 1 << 31, 0xffff_ffff, 0xffff]),
            6 => (1_u64 << 32)
                .wrapping_mul(1 + rng.below(3) as u64)
                .wrapping_add_signed(rng.range(-9, 9)),
            7 => old | 1 << 32,
            8 => rng.word() >> rng.below(64),
            9 => 0,
            10 => rng.below(bytes.len()) as u64,
            11 => rng.below(bytes.len() / 8 + 1) as u64 * 8,
            // Some other field's value.
            _ => {
                let (start, size, count, fields) = self.table(rng);
                let (offset, width) = rng.pick(fields);
                let at = start.saturating_add(size * rng.below(count.min(1 << 16)) + offset);
                number(bytes, (at, width)).unwrap_or(8)
            }
        }
    }
}
