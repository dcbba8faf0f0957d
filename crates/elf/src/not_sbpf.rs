//! Detection of files that are no sBPF programs at all, for clearer messages than the loader's.

use core::fmt;

use crate::header::{
    CLASS_64, FileHeader, LITTLE_ENDIAN, MACHINE_BPF, MACHINE_SBPF, MAGIC, ProgramHeader, Record,
    SectionHeader, read_front,
};

/// The reason why a file cannot be an sBPF program, found from its first 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotSbpf {
    /// The file is empty.
    Empty,
    /// The file does not start with the ELF magic number.
    NotElf,
    /// The file starts with the ELF magic number, but is shorter than an ELF header.
    TruncatedHeader,
    /// The file is a 32-bit or a big-endian ELF file.
    ClassOrEndianness,
    /// The file is for another machine, whose `e_machine` this is.
    Machine(u16),
}

impl NotSbpf {
    /// Returns the reason why `bytes` cannot be a program; `None` if the header names sBPF, even if
    /// the rest of the file is broken.
    ///
    /// ```
    /// use selkie_elf::NotSbpf;
    /// assert_eq!(NotSbpf::detect(b"#!/bin/sh\n"), Some(NotSbpf::NotElf));
    /// ```
    #[must_use]
    pub fn detect(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::Empty);
        }
        if !bytes.starts_with(&MAGIC) {
            return Some(Self::NotElf);
        }
        let Some(header) = read_front::<FileHeader>(bytes) else {
            return Some(Self::TruncatedHeader);
        };
        if header.class != CLASS_64 || header.endianness != LITTLE_ENDIAN {
            return Some(Self::ClassOrEndianness);
        }
        let is_sbpf = [MACHINE_BPF, MACHINE_SBPF].contains(&header.e_machine);
        (!is_sbpf).then_some(Self::Machine(header.e_machine))
    }
}

impl fmt::Display for NotSbpf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the file is empty"),
            Self::NotElf => f.write_str("not an ELF file"),
            Self::TruncatedHeader => f.write_str("the file ends inside its ELF header"),
            Self::ClassOrEndianness => f.write_str("not a 64-bit little-endian ELF file"),
            Self::Machine(machine) => {
                write!(f, "this ELF file is for {}, not for sBPF", Machine(*machine))
            }
        }
    }
}

/// The name of a machine, by its `e_machine`.
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

/// Returns whether an ELF file ends before its section or program header table does. From V3 the
/// loader ignores sections and accepts such a file, but it is not the file that the linker wrote.
#[must_use]
pub fn is_truncated(bytes: &[u8]) -> bool {
    let Some(header) = read_front::<FileHeader>(bytes) else { return true };
    let end = |offset: u64, record: usize, count: u16| match count {
        0 => 0,
        _ => offset.saturating_add(record as u64 * u64::from(count)),
    };
    let sections = end(header.e_shoff, SectionHeader::BYTES, header.e_shnum);
    let segments = end(header.e_phoff, ProgramHeader::BYTES, header.e_phnum);
    sections.max(segments) > bytes.len() as u64
}
