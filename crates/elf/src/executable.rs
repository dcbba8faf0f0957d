//! The result of loading: a program's code, read-only data and functions.

use core::ops::{Deref, Range};
use std::{fmt, sync::Arc};

use selkie_isa::{
    Version,
    layout::{BYTECODE_START, RODATA_START},
};

use crate::{Functions, Syscalls, error::ElfError};

/// A program that was loaded and relocated, but not verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Executable {
    pub(crate) version: Version,
    pub(crate) text: SharedBytes,
    pub(crate) text_vaddr: u64,
    pub(crate) text_offset: u64,
    pub(crate) entry_pc: u32,
    pub(crate) read_only: ReadOnly,
    pub(crate) functions: Functions,
    pub(crate) syscalls: Arc<Syscalls>,
}

/// The read-only data of a program. Until V2 it includes the program's instructions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadOnly {
    /// Guest address of the first byte.
    pub vaddr: u64,
    /// The bytes.
    pub bytes: SharedBytes,
}

/// The fields of an [`Executable`], for code that stores executables and restores them later.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExecutableParts {
    /// The sBPF version.
    pub version: Version,
    /// The relocated instructions, eight bytes per slot.
    pub text: SharedBytes,
    /// Guest address of the first instruction, relative to which `callx` computes slots.
    pub text_vaddr: u64,
    /// Offset of the first instruction in the file; 0 if there is no file.
    pub text_offset: u64,
    /// The slot at which the program starts.
    pub entry_pc: u32,
    /// The read-only data.
    pub read_only: ReadOnly,
    /// The known functions, by call key until V2.
    pub functions: Functions,
    /// The syscalls that the program was loaded against.
    pub syscalls: Arc<Syscalls>,
}

impl From<ExecutableParts> for Executable {
    /// Restores an executable from the parts of one that was loaded. No loader rule is checked
    /// again.
    fn from(parts: ExecutableParts) -> Self {
        let ExecutableParts { version, text, text_vaddr, text_offset, .. } = parts;
        let ExecutableParts { entry_pc, read_only, functions, syscalls, .. } = parts;
        Self { version, text, text_vaddr, text_offset, entry_pc, read_only, functions, syscalls }
    }
}

impl Executable {
    /// Makes a program of raw instructions, which are its read-only data too.
    ///
    /// `functions` are the targets of hashed calls (until V2), and names for tools.
    ///
    /// # Errors
    /// If a function and a syscall share a key ([`ElfError::SymbolHashCollision`]).
    pub fn from_text(
        version: Version,
        text: impl Into<SharedBytes>,
        entry_pc: u32,
        functions: Functions,
        syscalls: Arc<Syscalls>,
    ) -> Result<Self, ElfError> {
        let text = text.into();
        let vaddr = if version.strict_elf() { RODATA_START } else { BYTECODE_START };
        let read_only = ReadOnly { vaddr, bytes: text.clone() };
        Self::from_parts(version, text, entry_pc, read_only, functions, syscalls)
    }

    /// Makes a program of raw instructions and separate read-only data.
    ///
    /// # Errors
    /// If a function and a syscall share a key ([`ElfError::SymbolHashCollision`]).
    pub fn from_parts(
        version: Version,
        text: impl Into<SharedBytes>,
        entry_pc: u32,
        read_only: ReadOnly,
        functions: Functions,
        syscalls: Arc<Syscalls>,
    ) -> Result<Self, ElfError> {
        if let Some((key, _)) = functions.iter().find(|(key, _)| syscalls.find(*key).is_some()) {
            return Err(ElfError::SymbolHashCollision(key));
        }
        Ok(Self {
            version,
            text: text.into(),
            text_vaddr: BYTECODE_START,
            text_offset: 0,
            entry_pc,
            read_only,
            functions,
            syscalls,
        })
    }

    /// Returns the sBPF version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the relocated instructions, eight bytes per slot.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns the guest address of the first instruction, relative to which `callx` computes slots.
    #[must_use]
    pub fn text_vaddr(&self) -> u64 {
        self.text_vaddr
    }

    /// Returns the offset of the first instruction in the file; 0 if there is no file.
    #[must_use]
    pub fn text_offset(&self) -> u64 {
        self.text_offset
    }

    /// Returns the slot at which the program starts.
    #[must_use]
    pub fn entry_pc(&self) -> u32 {
        self.entry_pc
    }

    /// Returns the read-only data.
    #[must_use]
    pub fn read_only(&self) -> &ReadOnly {
        &self.read_only
    }

    /// Returns the known functions, by call key until V2.
    #[must_use]
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// Returns the syscalls that the program was loaded against.
    #[must_use]
    pub fn syscalls(&self) -> &Arc<Syscalls> {
        &self.syscalls
    }
}

/// A range of a reference-counted buffer. The code and the read-only data of a program share one
/// buffer.
#[derive(Clone)]
pub struct SharedBytes {
    buffer: Arc<[u8]>,
    range: Range<usize>,
}

impl SharedBytes {
    /// Returns the bytes of a buffer at `range`; `None` if the range is out of bounds.
    #[must_use]
    pub fn of(buffer: &Arc<[u8]>, range: Range<usize>) -> Option<Self> {
        buffer.get(range.clone())?;
        Some(Self { buffer: Arc::clone(buffer), range })
    }

    /// Returns the bytes at the addresses `range` of a buffer whose first byte is at `base`; `None`
    /// if they are out of bounds.
    pub(crate) fn part(buffer: &Arc<[u8]>, base: u64, range: &Range<u64>) -> Option<Self> {
        let index = |addr: u64| usize::try_from(addr.checked_sub(base)?).ok();
        Self::of(buffer, index(range.start)?..index(range.end)?)
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.buffer.get(self.range.clone()).unwrap_or_default()
    }
}

impl<T: Into<Arc<[u8]>>> From<T> for SharedBytes {
    fn from(bytes: T) -> Self {
        let buffer = bytes.into();
        Self { range: 0..buffer.len(), buffer }
    }
}

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for SharedBytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for SharedBytes {}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
