//! Memory for machine code: first writable, then executable, never both.
//!
//! For systems where only whole mappings can be made executable: each unit has a mapping.

use std::io;

use memmap2::{Mmap, MmapOptions};

use super::instruction_cache::publish;

/// Pages for the units of a program.
#[derive(Debug, Default)]
pub(super) struct Pages;

/// Machine code in executable, read-only pages.
#[derive(Debug)]
pub(super) struct Executable {
    memory: Mmap,
    len: usize,
}

impl Executable {
    /// Copies code into pages of its own.
    ///
    /// # Errors
    /// If the operating system provides no such pages.
    pub(super) fn new(code: &[u8], _: &mut Pages) -> io::Result<Self> {
        let mut memory = MmapOptions::new().len(code.len().max(1)).populate().map_anon()?;
        memory[..code.len()].copy_from_slice(code);
        // Also removes the right to write.
        let executable = Self { memory: memory.make_exec()?, len: code.len() };
        publish(executable.bytes());
        Ok(executable)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[..self.len]
    }

    /// Returns how many bytes of memory the code takes, in whole pages.
    pub(super) fn memory_bytes(&self) -> usize {
        self.len.next_multiple_of(page_bytes())
    }
}

/// The size of a page of Windows on all processors that have a back end.
pub(super) fn page_bytes() -> usize {
    4096
}
