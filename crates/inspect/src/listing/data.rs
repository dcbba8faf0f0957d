//! The read-only data of a program, cut into strings, pointers, zeros and bytes.

use core::{fmt::Write as _, ops::Range};
use std::collections::BTreeMap;

use selkie_elf::SharedBytes;
use selkie_isa::{Slot, layout::SLOT_BYTES};

use super::labels::{LabelMap, quoted};
use crate::program::Program;

/// A piece of read-only data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datum {
    /// The guest's address.
    pub vaddr: u64,
    /// The label of the first byte.
    pub label: Option<String>,
    /// How many bytes there are.
    pub len: usize,
    /// The assembler's directive.
    pub directive: &'static str,
    /// The directive's operands as they are written.
    pub operands: Vec<String>,
}

/// The data that a program sees beside its own instructions.
pub(super) struct Image {
    bytes: SharedBytes,
    vaddr: u64,
    /// The parts of the bytes that are no instructions, by offset.
    parts: Vec<Range<usize>>,
    /// The addresses that the program's own instructions have.
    text: Range<u64>,
    /// The addresses that the data holds, by the offset of the word that holds them.
    pointers: BTreeMap<usize, u64>,
}

/// Shorter strings are written as bytes.
const STRING_MIN: usize = 4;
/// Longer strings are written over several lines.
const STRING_MAX: usize = 72;
/// How much of a string is shown beside an instruction that refers to it.
const PREVIEW_MAX: usize = 32;
/// Fewer zeros are written as bytes.
const ZEROS_MIN: usize = 8;
/// Bytes on one line.
const ROW: usize = 8;

impl Image {
    pub(super) fn of(program: &Program) -> Self {
        let executable = program.executable();
        let image = executable.read_only();
        let text = executable.text_vaddr();
        let text = text..text.saturating_add(executable.text().len() as u64);
        let offset = |addr: u64| {
            let offset = addr.saturating_sub(image.vaddr);
            usize::try_from(offset).unwrap_or(usize::MAX).min(image.bytes.len())
        };
        let is_zero = |part: &Range<usize>| image.bytes[part.clone()].iter().all(|&byte| byte == 0);
        let (before, behind) = (0..offset(text.start), offset(text.end)..image.bytes.len());
        // What lies before the instructions and is zero is the place of the file's headers.
        let before = Some(before).filter(|part| !part.is_empty() && !is_zero(part));
        // A program without a file is its own read-only data, wherever that is mapped.
        let is_code = *image.bytes == *executable.text();
        let behind = Some(behind).filter(|part| !part.is_empty());
        let parts = before.into_iter().chain(behind).filter(|_| !is_code).collect();
        let bytes = image.bytes.clone();
        let mut it = Self { bytes, vaddr: image.vaddr, parts, text, pointers: BTreeMap::new() };
        it.pointers = it.find_pointers();
        it
    }

    /// Whether a byte of data has this address.
    pub(super) fn contains(&self, addr: u64) -> bool {
        let offset = addr.checked_sub(self.vaddr).and_then(|it| usize::try_from(it).ok());
        offset.is_some_and(|offset| self.parts.iter().any(|part| part.contains(&offset)))
    }

    /// The start of the text at an address, as it would be written.
    pub(super) fn preview(&self, addr: u64) -> Option<String> {
        let offset = usize::try_from(addr.checked_sub(self.vaddr)?).ok()?;
        let part = self.parts.iter().find(|part| part.contains(&offset))?;
        let text = &self.bytes[offset..part.end];
        let len = string_len(text).min(PREVIEW_MAX);
        (len >= STRING_MIN).then(|| string_text(&text[..len]))
    }

    /// The addresses that the data holds, of instructions and of other data.
    pub(super) fn pointers(&self) -> impl Iterator<Item = u64> {
        self.pointers.values().copied()
    }

    /// Takes for a pointer whatever stands where words do, and is an address. From V3 addresses of
    /// data are too small to be told from other numbers.
    fn find_pointers(&self) -> BTreeMap<usize, u64> {
        let is_pointer = |word: u64| {
            let slot = word.wrapping_sub(self.text.start);
            let is_code = self.text.contains(&word) && slot.is_multiple_of(SLOT_BYTES as u64);
            is_code || self.vaddr >> 32 != 0 && self.contains(word)
        };
        let mut pointers = BTreeMap::new();
        for part in &self.parts {
            let addr = self.vaddr + part.start as u64;
            let padding = addr.next_multiple_of(SLOT_BYTES as u64) - addr;
            let start = part.end.min(part.start + usize::try_from(padding).unwrap_or(0));
            for (index, word) in self.bytes[start..part.end].chunks_exact(SLOT_BYTES).enumerate() {
                let word = Slot::read(word, 0).map_or(0, Slot::to_word);
                if is_pointer(word) {
                    pointers.insert(start + index * SLOT_BYTES, word);
                }
            }
        }
        pointers
    }

    /// The data as directives.
    pub(super) fn data(&self, labels: &LabelMap) -> Vec<Datum> {
        let mut data = vec![];
        for part in &self.parts {
            let (start, end) = (self.vaddr + part.start as u64, self.vaddr + part.end as u64);
            let mut cuts = labels.data(start, end).peekable();
            let mut at = part.start;
            while at < part.end {
                let vaddr = self.vaddr + at as u64;
                let label = cuts.next_if(|(addr, _)| *addr == vaddr).map(|(_, name)| name);
                let end = cuts.peek().map_or(end, |(addr, _)| *addr);
                let end = part.start.max(usize::try_from(end - self.vaddr).unwrap_or(part.end));
                let datum = self.datum(at, end, labels);
                at += datum.len;
                data.push(Datum { label: label.map(str::to_owned), ..datum });
            }
        }
        data
    }

    /// The piece that starts at offset `at`, and ends at `end` at the latest.
    fn datum(&self, at: usize, end: usize, labels: &LabelMap) -> Datum {
        let piece = |len, directive, operands| {
            let vaddr = self.vaddr + at as u64;
            Datum { vaddr, label: None, len, directive, operands }
        };
        let pointer = self.pointers.get(&at).and_then(|&addr| labels.address(addr));
        if let Some(label) = pointer.filter(|_| end - at >= SLOT_BYTES) {
            return piece(SLOT_BYTES, ".quad", vec![quoted(label)]);
        }
        // A pointer ends whatever comes before it.
        let end = self.pointers.range(at + 1..end).next().map_or(end, |(&next, _)| next);
        let rest = &self.bytes[at..end];
        let zeros = rest.iter().take_while(|&&byte| byte == 0).count();
        if zeros >= ZEROS_MIN || zeros == rest.len() && zeros > 1 {
            return piece(zeros, ".zero", vec![zeros.to_string()]);
        }
        let string = string_len(rest);
        if string >= STRING_MIN {
            return piece(string, ".ascii", vec![string_text(&rest[..string])]);
        }
        let is_over = |len: usize| {
            let rest = &rest[len..];
            string_len(rest) >= STRING_MIN
                || rest.len() >= ZEROS_MIN && rest[..ZEROS_MIN] == [0; ZEROS_MIN]
        };
        let most = rest.len().min(ROW);
        let len = (1..most).find(|&len| is_over(len)).unwrap_or(most);
        piece(len, ".byte", rest[..len].iter().map(|byte| format!("{byte:#04x}")).collect())
    }
}

/// How many of the first bytes are text, as far as one line goes.
fn string_len(bytes: &[u8]) -> usize {
    let is_text = |byte: &&u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r');
    bytes.iter().take(STRING_MAX).take_while(is_text).count()
}

fn string_text(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for &byte in bytes {
        let _ = match byte {
            b'\n' => text.write_str("\\n"),
            b'\t' => text.write_str("\\t"),
            b'\r' => text.write_str("\\r"),
            b'"' | b'\\' => write!(text, "\\{}", char::from(byte)),
            _ => text.write_char(char::from(byte)),
        };
    }
    text.push('"');
    text
}
