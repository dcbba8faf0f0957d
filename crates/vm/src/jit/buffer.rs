//! Memory that holds machine code: written first, executed then, never both at once.

use std::io;

use memmap2::{Mmap, MmapOptions};

/// Machine code that can be executed, and not be written.
#[derive(Debug)]
pub(super) struct Executable {
    memory: Mmap,
    len: usize,
}

impl Executable {
    /// Puts code into pages of its own.
    ///
    /// # Errors
    /// If the operating system gives no such pages.
    pub(super) fn new(code: &[u8]) -> io::Result<Self> {
        let mut memory = MmapOptions::new().len(code.len().max(1)).populate().map_anon()?;
        memory[..code.len()].copy_from_slice(code);
        // Takes the right to write away.
        Ok(Self { memory: memory.make_exec()?, len: code.len() })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[..self.len]
    }
}
