//! An assembled program, before it becomes a file.

use selkie_elf::write::{self, SymbolKind};
use selkie_isa::Version;

use crate::source::Line;

/// An assembled program.
#[derive(Clone, Debug)]
pub struct Assembly {
    /// The sBPF version.
    pub version: Version,
    /// The instructions. Until V2, calls have the form that the loader relocates: calls of
    /// functions are relative with source nibble 1; calls of syscalls have the immediate -1 and an
    /// entry in [`Assembly::syscalls`].
    pub text: Vec<u8>,
    /// Until V2: the offset of the instructions, in the file and in their region.
    pub text_offset: u64,
    /// The read-only data.
    pub rodata: Vec<u8>,
    /// The slot at which the program starts.
    pub entry_pc: u32,
    /// Until V2: the slots of calls of syscalls, in ascending order, with the syscalls' names.
    pub syscalls: Vec<(u32, String)>,
    /// The labels of `.text`, then those of `.rodata`, each sorted by offset.
    pub symbols: Vec<Symbol>,
    /// The source lines of instructions, sorted by slot. A slot without an entry belongs to the
    /// entry before it.
    pub lines: Vec<Line>,
    /// Names of the source files.
    pub files: Vec<String>,
    /// [`Options::strip`](crate::Options::strip) of the assembly.
    pub strip: bool,
    /// [`Options::debug_info`](crate::Options::debug_info) of the assembly.
    pub debug_info: bool,
}

impl Assembly {
    /// Returns the guest addresses of the instructions and of the read-only data.
    #[must_use]
    pub fn addresses(&self) -> write::Addresses {
        write::addresses(self.version, self.text.len(), self.text_offset)
    }
}

/// A label of an assembled program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// Its kind.
    pub kind: SymbolKind,
    /// Offset in [`Assembly::text`], or in [`Assembly::rodata`] for data objects.
    pub offset: u32,
    /// Bytes of a function; 0 for other labels.
    pub size: u32,
    /// Whether it is global (`.globl`).
    pub global: bool,
}
