//! The read-only data of a program, and the addresses in it.

use core::ops::Range;
use std::collections::BTreeMap;

use selkie_elf::{Executable, SharedBytes};
use selkie_isa::{
    Slot,
    layout::{BYTECODE_START, SLOT_BYTES},
};

/// The data that a program sees beside its own instructions.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) bytes: SharedBytes,
    pub(crate) vaddr: u64,
    /// The parts of the bytes that are no instructions, by offset.
    pub(crate) parts: Vec<Range<usize>>,
    /// The addresses that the data holds, by the offset of the word that holds them.
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
    pub(crate) fn contains(&self, addr: u64) -> bool {
        let offset = addr.checked_sub(self.vaddr).and_then(|it| usize::try_from(it).ok());
        offset.is_some_and(|offset| self.parts.iter().any(|part| part.contains(&offset)))
    }

    /// The slot of the instruction at an address.
    ///
    /// The very start of the window of instructions is taken for a number: as 2^32 it is a common
    /// one, and from V3 the program itself starts there.
    pub(crate) fn slot_of(&self, addr: u64) -> Option<u32> {
        let offset = addr.wrapping_sub(self.text.start);
        let is_code = self.text.contains(&addr) && addr != BYTECODE_START;
        let is_slot = is_code && offset.is_multiple_of(SLOT_BYTES as u64);
        u32::try_from(offset / SLOT_BYTES as u64).ok().filter(|_| is_slot)
    }

    /// The addresses that the data holds, of instructions and of other data.
    pub(crate) fn pointers(&self) -> impl Iterator<Item = u64> {
        self.pointers.values().copied()
    }

    /// Takes for a pointer whatever stands where words do, and is an address. From V3 addresses of
    /// data are too small to be told from other numbers.
    fn find_pointers(&self) -> BTreeMap<usize, u64> {
        let is_pointer = |word: u64| {
            self.slot_of(word).is_some() || self.vaddr >> 32 != 0 && self.contains(word)
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
}
