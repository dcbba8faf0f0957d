//! Memory for machine code: first writable, then executable, never both.

use std::io;

use memmap2::{Mmap, MmapOptions};

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
    pub(super) fn new(code: &[u8]) -> io::Result<Self> {
        let mut memory = MmapOptions::new().len(code.len().max(1)).populate().map_anon()?;
        memory[..code.len()].copy_from_slice(code);
        // Also removes the right to write.
        Ok(Self { memory: memory.make_exec()?, len: code.len() })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[..self.len]
    }
}
