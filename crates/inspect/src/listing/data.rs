//! The read-only data of a program as strings, pointers, zeros and bytes.

use core::fmt::Write as _;

use selkie_isa::{Slot, layout::SLOT_BYTES};

use super::labels::{LabelMap, quoted};
use crate::image::Image;

/// A piece of read-only data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datum {
    /// Its guest address.
    pub vaddr: u64,
    /// The label of its first byte.
    pub label: Option<String>,
    /// Its size in bytes.
    pub len: usize,
    /// The directive of the assembler.
    pub directive: &'static str,
    /// The operands of the directive.
    pub operands: Vec<String>,
}

/// Shorter strings are written as bytes.
const STRING_MIN: usize = 4;
/// Longer strings are written over several lines.
const STRING_MAX: usize = 72;
/// The number of bytes of a string that are shown beside an instruction that refers to it.
const PREVIEW_MAX: usize = 32;
/// Fewer zeros are written as bytes.
const ZEROS_MIN: usize = 8;
/// The number of bytes per line.
const ROW: usize = 8;

impl Image {
    /// Returns the start of the string at an address, in quotes.
    pub(super) fn preview(&self, addr: u64) -> Option<String> {
        let offset = usize::try_from(addr.checked_sub(self.vaddr)?).ok()?;
        let part = self.parts.iter().find(|part| part.contains(&offset))?;
        let text = &self.bytes[offset..part.end];
        let len = string_len(text).min(PREVIEW_MAX);
        (len >= STRING_MIN).then(|| string_text(&text[..len]))
    }

    /// Returns the data as directives.
    pub(super) fn data(&self, labels: &LabelMap<'_>) -> Vec<Datum> {
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

    /// Returns the piece of data that starts at offset `at` and ends at or before `end`.
    fn datum(&self, at: usize, end: usize, labels: &LabelMap<'_>) -> Datum {
        let piece = |len, directive, operands| {
            let vaddr = self.vaddr + at as u64;
            Datum { vaddr, label: None, len, directive, operands }
        };
        let pointer = self.pointers.get(&at).and_then(|&addr| labels.address(addr));
        if let Some(label) = pointer.filter(|_| end - at >= SLOT_BYTES) {
            return piece(SLOT_BYTES, ".quad", vec![quoted(label)]);
        }
        // A piece ends at the next pointer.
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
        let word = Slot::read(&rest[..len], 0).map(Slot::to_word).filter(|&word| word >> 32 == 0);
        if let Some(word) = word.filter(|_| (self.vaddr + at as u64).is_multiple_of(8)) {
            return piece(len, ".quad", vec![word.to_string()]);
        }
        piece(len, ".byte", rest[..len].iter().map(|byte| format!("{byte:#04x}")).collect())
    }
}

/// Returns the length of the text at the start of `bytes`, at most one line.
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
