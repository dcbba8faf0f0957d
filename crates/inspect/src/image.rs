//! The read-only data of a program, and the pointers in it.

use core::ops::Range;
use std::collections::BTreeMap;

use selkie_elf::{Executable, SharedBytes};
use selkie_isa::{
    Slot,
    layout::{BYTECODE_START, SLOT_BYTES},
};

/// The read-only data of a program without its instructions.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) bytes: SharedBytes,
    pub(crate) vaddr: u64,
    /// The offsets of the parts of `bytes` that are not instructions.
    pub(crate) parts: Vec<Range<usize>>,
    /// The pointers in the data, by offset.
    pub(crate) pointers: BTreeMap<usize, u64>,
    /// The addresses of the instructions.
    text: Range<u64>,
}

impl Image {
    pub(crate) fn of(executable: &Executable) -> Self {
        let image = executable.read_only();
        let text = executable.text_vaddr();
        let text = text..text.saturating_add(executable.text().len() as u64);
        let offset = |addr: u64| {
            let offset = addr.saturating_sub(image.vaddr);
            usize::try_from(offset).unwrap_or(usize::MAX).min(image.bytes.len())
        };
        let is_zero = |part: &Range<usize>| image.bytes[part.clone()].iter().all(|&byte| byte == 0);
        let (before, behind) = (0..offset(text.start), offset(text.end)..image.bytes.len());
        // Zeros before the instructions are the addresses of the file's headers.
        let before = Some(before).filter(|part| !part.is_empty() && !is_zero(part));
        // The read-only data of a program without a file consists of its instructions.
        let is_code = *image.bytes == *executable.text();
        let behind = Some(behind).filter(|part| !part.is_empty());
        let parts = before.into_iter().chain(behind).filter(|_| !is_code).collect();
        let bytes = image.bytes.clone();
        let mut it = Self { bytes, vaddr: image.vaddr, parts, text, pointers: BTreeMap::new() };
        it.pointers = it.find_pointers();
        it
    }

    /// Returns whether an address is in the data.
    pub(crate) fn contains(&self, addr: u64) -> bool {
        let offset = addr.checked_sub(self.vaddr).and_then(|it| usize::try_from(it).ok());
        offset.is_some_and(|offset| self.parts.iter().any(|part| part.contains(&offset)))
    }

    /// Returns the slot of the instruction at an address.
    ///
    /// The start of the bytecode region is excluded: 2^32 is more likely a number, although from V3
    /// on the program starts there.
    pub(crate) fn slot_of(&self, addr: u64) -> Option<u32> {
        let offset = addr.wrapping_sub(self.text.start);
        let is_code = self.text.contains(&addr) && addr != BYTECODE_START;
        let is_slot = is_code && offset.is_multiple_of(SLOT_BYTES as u64);
        u32::try_from(offset / SLOT_BYTES as u64).ok().filter(|_| is_slot)
    }

    /// Returns the pointers in the data, to instructions and to other data.
    pub(crate) fn pointers(&self) -> impl Iterator<Item = u64> {
        self.pointers.values().copied()
    }

    /// Finds pointers: aligned words that are addresses of instructions or, until V2, of data. From
    /// V3 addresses of data cannot be distinguished from small numbers.
    fn find_pointers(&self) -> BTreeMap<usize, u64> {
        let is_pointer = |word: u64| {
            self.slot_of(word).is_some() || self.vaddr >> 32 != 0 && self.contains(word)
        };
        let mut pointers = BTreeMap::new();
        for part in &self.parts {
            let addr = self.vaddr + part.start as u64;
            let padding = addr.next_multiple_of(SLOT_BYTES as u64) - addr;
            let start = part.end.min(part.start + usize::try_from(padding).unwrap_or(0));
            let words = self.bytes[start..part.end].as_chunks::<SLOT_BYTES>().0;
            for (index, word) in words.iter().enumerate() {
                let word = Slot::read(word, 0).map_or(0, Slot::to_word);
                if is_pointer(word) {
                    pointers.insert(start + index * SLOT_BYTES, word);
                }
            }
        }
        pointers
    }
}
