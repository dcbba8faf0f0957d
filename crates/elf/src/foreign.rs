//! Files that are no programs at all, told apart before the loader's rules, whose errors speak of
//! offsets, are applied to them.

use core::fmt;

use crate::header::{
    CLASS_64, FileHeader, LITTLE_ENDIAN, MACHINE_BPF, MACHINE_SBPF, MAGIC, ProgramHeader, Record,
    SectionHeader, read_front,
};

/// What a file is that is no program for Solana's virtual machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Foreign {
    /// It has no bytes.
    Empty,
    /// It does not begin as ELF files do.
    NoElf,
    /// It begins as one, and ends inside of the header.
    HeaderCutOff,
    /// It is an ELF file of 32 bits or with big-endian numbers.
    OtherElf,
    /// It is for another processor: `e_machine` of its header.
    Machine(u16),
}

impl Foreign {
    /// What `bytes` are, if they are no program. The rest of the file may still be broken.
    ///
    /// ```
    /// use selkie_elf::Foreign;
    /// assert_eq!(Foreign::of(b"#!/bin/sh\n"), Some(Foreign::NoElf));
    /// ```
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::Empty);
        }
        if !bytes.starts_with(&MAGIC) {
            return Some(Self::NoElf);
        }
        let Some(header) = read_front::<FileHeader>(bytes) else { return Some(Self::HeaderCutOff) };
        if header.class != CLASS_64 || header.endianness != LITTLE_ENDIAN {
            return Some(Self::OtherElf);
        }
        let is_ours = [MACHINE_BPF, MACHINE_SBPF].contains(&header.e_machine);
        (!is_ours).then_some(Self::Machine(header.e_machine))
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the file is empty"),
            Self::NoElf => f.write_str("this is no ELF file"),
            Self::HeaderCutOff => f.write_str("the file ends inside of its ELF header"),
            Self::OtherElf => f.write_str("this is no 64-bit little-endian ELF file"),
            Self::Machine(machine) => {
                write!(f, "this ELF file is not for sBPF but for {}", Machine(*machine))
            }
        }
    }
}

/// A processor by its number in ELF files.
struct Machine(u16);

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            3 => "x86",
            40 => "ARM",
            62 => "x86-64",
            183 => "AArch64",
            243 => "RISC-V",
            other => return write!(f, "machine {other}"),
        };
        f.write_str(name)
    }
}

/// Whether an ELF file ends before the tables that its header speaks of do. From V3 the loader does
/// not look at the sections, and takes such a file; but it is not what was written by the linker.
#[must_use]
pub fn is_cut_off(bytes: &[u8]) -> bool {
    let Some(header) = read_front::<FileHeader>(bytes) else { return true };
    let end = |offset: u64, record: usize, count: u16| match count {
        0 => 0,
        _ => offset.saturating_add(record as u64 * u64::from(count)),
    };
    let sections = end(header.e_shoff, SectionHeader::BYTES, header.e_shnum);
    let segments = end(header.e_phoff, ProgramHeader::BYTES, header.e_phnum);
    sections.max(segments) > bytes.len() as u64
}
