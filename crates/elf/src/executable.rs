//! A loaded program: what is left of a file once its rules were applied.

use std::{collections::BTreeMap, sync::Arc};

use selkie_isa::{
    Version,
    layout::{BYTECODE_START, RODATA_START},
};

use crate::{Syscalls, error::ElfError};

/// A program, loaded and relocated, but not yet verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Executable {
    pub(crate) version: Version,
    /// The instructions, relocated.
    pub(crate) text: Arc<[u8]>,
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
    pub bytes: Arc<[u8]>,
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
        text: impl Into<Arc<[u8]>>,
        entry_pc: u32,
        functions: Functions,
        syscalls: Arc<Syscalls>,
    ) -> Result<Self, ElfError> {
        let text = text.into();
        let vaddr = if version.strict_elf() { RODATA_START } else { BYTECODE_START };
        let read_only = ReadOnly { vaddr, bytes: Arc::clone(&text) };
        Self::from_parts(version, text, entry_pc, read_only, functions, syscalls)
    }

    /// A program made of raw instructions and read-only data of the caller's choice.
    ///
    /// # Errors
    /// If a function and a syscall share a key ([`ElfError::SymbolHashCollision`]).
    pub fn from_parts(
        version: Version,
        text: impl Into<Arc<[u8]>>,
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

/// A function of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its name; empty if it has none or names were not asked for.
    pub name: String,
    /// The slot of its first instruction.
    pub pc: u32,
}

/// The functions of a program by key: until V2 the immediate of a call, from V3 the slot.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Functions(BTreeMap<u32, Function>);

impl Functions {
    /// Registers a function. The same key for the same slot again changes nothing.
    ///
    /// # Errors
    /// If the key stands for another slot already ([`ElfError::SymbolHashCollision`]).
    pub fn register(&mut self, key: u32, pc: u32, name: impl Into<String>) -> Result<(), ElfError> {
        let entry = self.0.entry(key).or_insert_with(|| Function { name: name.into(), pc });
        if entry.pc == pc { Ok(()) } else { Err(ElfError::SymbolHashCollision(key)) }
    }

    /// Forgets the function of a key.
    pub fn remove(&mut self, key: u32) -> Option<Function> {
        self.0.remove(&key)
    }

    /// The function of a key.
    #[must_use]
    pub fn get(&self, key: u32) -> Option<&Function> {
        self.0.get(&key)
    }

    /// Every function with its key, in the order of keys.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Function)> {
        self.0.iter().map(|(&key, function)| (key, function))
    }
}
