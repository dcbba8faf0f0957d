//! An assembled program, before it becomes a file.

use selkie_elf::write::{self, SymbolKind};
use selkie_isa::Version;

use crate::source::Line;

/// An assembled program.
#[derive(Clone, Debug)]
pub struct Assembly {
    /// The sBPF version.
    pub version: Version,
    /// The instructions. Until V2, calls are as the loader wants them: of functions relative with
    /// source nibble 1, of syscalls with immediate -1 and an entry in [`Assembly::syscalls`].
    pub text: Vec<u8>,
    /// Until V2: where in the file, and from the start of their window, the instructions start.
    pub text_offset: u64,
    /// The read-only data.
    pub rodata: Vec<u8>,
    /// The slot at which the program starts.
    pub entry_pc: u32,
    /// Until V2: the slots of calls of syscalls, ascending, and the names of the syscalls.
    pub syscalls: Vec<(u32, String)>,
    /// Labels that have a name, by kind of section and offset.
    pub symbols: Vec<Symbol>,
    /// Where instructions were written, by slot; a slot without an entry belongs to the one before.
    pub lines: Vec<Line>,
    /// Names of the source files.
    pub files: Vec<String>,
    /// As [`Options::strip`] said.
    pub strip: bool,
    /// As [`Options::debug_info`] said.
    pub debug_info: bool,
}

impl Assembly {
    /// Guest addresses of the instructions and the read-only data.
    #[must_use]
    pub fn addresses(&self) -> write::Addresses {
        write::addresses(self.version, self.text.len(), self.text_offset)
    }
}

/// A name in an assembled program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// What it stands for.
    pub kind: SymbolKind,
    /// Offset in [`Assembly::text`], or of an object in [`Assembly::rodata`].
    pub offset: u32,
    /// Bytes of a function; else 0.
    pub size: u32,
    /// Whether `.globl` named it.
    pub global: bool,
}
