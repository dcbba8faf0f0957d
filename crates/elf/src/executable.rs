//! A loaded program: what is left of a file once its rules were applied.

use core::ops::{Deref, Range};
use std::{fmt, sync::Arc};

use selkie_isa::{
    Version,
    layout::{BYTECODE_START, RODATA_START},
};

use crate::{Functions, Syscalls, error::ElfError};

/// A program, loaded and relocated, but not yet verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Executable {
    pub(crate) version: Version,
    /// The instructions, relocated.
    pub(crate) text: SharedBytes,
    /// Guest address of the first instruction: what `callx` counts from.
    pub(crate) text_vaddr: u64,
    /// Offset of the instructions in the file; 0 if there is no file.
    pub(crate) text_offset: u64,
    pub(crate) entry_pc: u32,
    pub(crate) read_only: ReadOnly,
    pub(crate) functions: Functions,
    pub(crate) syscalls: Arc<Syscalls>,
}

/// The read-only data that a program sees. Until V2 its own instructions are part of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadOnly {
    /// Guest address of the first byte.
    pub vaddr: u64,
    /// The bytes.
    pub bytes: SharedBytes,
}

/// All that an [`Executable`] consists of: for who keeps one elsewhere and makes it again later.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is what the method of the same name says")]
pub struct Parts {
    pub version: Version,
    pub text: SharedBytes,
    pub text_vaddr: u64,
    pub text_offset: u64,
    pub entry_pc: u32,
    pub read_only: ReadOnly,
    pub functions: Functions,
    pub syscalls: Arc<Syscalls>,
}

impl From<Parts> for Executable {
    /// Takes the parts as they are. They are meant to come from an executable that was loaded: no
    /// rule of any loader is checked again, and the parts of another one make another program.
    fn from(parts: Parts) -> Self {
        let Parts { version, text, text_vaddr, text_offset, .. } = parts;
        let Parts { entry_pc, read_only, functions, syscalls, .. } = parts;
        Self { version, text, text_vaddr, text_offset, entry_pc, read_only, functions, syscalls }
    }
}

impl Executable {
    /// A program made of raw instructions, which are their own read-only data.
    ///
    /// `functions` are what hashed calls (until V2) can reach, and names for tools.
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

    /// A program made of raw instructions and read-only data of the caller's choice.
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

    /// The sBPF version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The instructions, relocated: eight bytes a slot.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Guest address of the first instruction.
    #[must_use]
    pub fn text_vaddr(&self) -> u64 {
        self.text_vaddr
    }

    /// Offset of the first instruction in the file; 0 if there is no file.
    #[must_use]
    pub fn text_offset(&self) -> u64 {
        self.text_offset
    }

    /// The slot at which the program starts.
    #[must_use]
    pub fn entry_pc(&self) -> u32 {
        self.entry_pc
    }

    /// The read-only data that the program sees.
    #[must_use]
    pub fn read_only(&self) -> &ReadOnly {
        &self.read_only
    }

    /// The functions that are known, by call key until V2.
    #[must_use]
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// The syscalls that the program was loaded against.
    #[must_use]
    pub fn syscalls(&self) -> &Arc<Syscalls> {
        &self.syscalls
    }
}

/// Part of a buffer that has several owners: code and read-only data share one.
#[derive(Clone)]
pub struct SharedBytes {
    buffer: Arc<[u8]>,
    range: Range<usize>,
}

impl SharedBytes {
    /// The bytes of a buffer at `range`, if it has them.
    #[must_use]
    pub fn of(buffer: &Arc<[u8]>, range: Range<usize>) -> Option<Self> {
        buffer.get(range.clone())?;
        Some(Self { buffer: Arc::clone(buffer), range })
    }

    /// The bytes at `range`, if it lies inside a `buffer` whose first byte is at `base`.
    pub(crate) fn part(buffer: &Arc<[u8]>, base: u64, range: &Range<u64>) -> Option<Self> {
        let index = |at: u64| usize::try_from(at.checked_sub(base)?).ok();
        let range = index(range.start)?..index(range.end)?;
        buffer.get(range.clone())?;
        Some(Self { buffer: Arc::clone(buffer), range })
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
