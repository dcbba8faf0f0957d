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
    /// The file does not start with the ELF magic number, but like a file of another kind.
    NotElf(Content),
    /// The file starts with the ELF magic number, but is shorter than an ELF header.
    TruncatedHeader,
    /// The file is a 32-bit or a big-endian ELF file.
    ClassOrEndianness,
    /// The file is for another machine, whose `e_machine` this is.
    Machine(u16),
}

/// What a file is that is no ELF file, as its first bytes tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Content {
    /// An archive of object files: a static library.
    Archive,
    /// A JSON list of numbers, which key files are.
    Key,
    /// JSON.
    Json,
    /// A script with its interpreter.
    Script,
    /// An ELF file in base64.
    Base64,
    /// Text.
    Text,
    /// LLVM bitcode.
    Bitcode,
    /// WebAssembly.
    WebAssembly,
    /// A program or library of macOS.
    MachO,
    /// A program or library of Windows.
    Windows,
    /// A compressed file or archive.
    Compressed,
    /// Something else: its first bytes, and how many of them a short file has.
    Other([u8; 4], usize),
}

/// How files of other kinds begin.
const BEGINNINGS: &[(&[u8], Content)] = &[
    (b"!<arch>\n", Content::Archive),
    (b"!<thin>\n", Content::Archive),
    (b"#!", Content::Script),
    (b"f0VMR", Content::Base64),
    (b"BC\xc0\xde", Content::Bitcode),
    (b"\xde\xc0\x17\x0b", Content::Bitcode),
    (b"\0asm", Content::WebAssembly),
    (b"\xcf\xfa\xed\xfe", Content::MachO),
    (b"\xca\xfe\xba\xbe", Content::MachO),
    (b"MZ", Content::Windows),
    (b"\x1f\x8b", Content::Compressed),
    (b"PK\x03\x04", Content::Compressed),
    (b"\x28\xb5\x2f\xfd", Content::Compressed),
    (b"\xfd7zXZ", Content::Compressed),
];

/// The bytes that tell whether a file is text.
const TEXT_BYTES: usize = 64;

impl Content {
    /// Returns what a file is that is not empty and no ELF file.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        if let Some((_, content)) = BEGINNINGS.iter().find(|(it, _)| bytes.starts_with(it)) {
            return *content;
        }
        let front = bytes.get(..TEXT_BYTES).unwrap_or(bytes);
        let is_text = |byte: &u8| *byte >= b' ' && *byte != 0x7f || b"\t\n\r".contains(byte);
        let words = front.trim_ascii_start();
        // Text beyond ASCII may be cut in the middle of a character.
        let is_utf8 =
            core::str::from_utf8(front).map_or_else(|it| it.error_len().is_none(), |_| true);
        if !front.iter().all(is_text) || !is_utf8 {
            let mut first = [0; 4];
            first.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            return Self::Other(first, bytes.len().min(first.len()));
        }
        match words {
            [b'[', rest @ ..]
                if rest.trim_ascii_start().first().is_some_and(u8::is_ascii_digit) =>
            {
                Self::Key
            }
            [b'[' | b'{', ..] => Self::Json,
            _ => Self::Text,
        }
    }
}

/// Follows "not an ELF file".
impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Archive => " but an archive of object files",
            Self::Key => " but a JSON list of numbers, as key files are",
            Self::Json => " but JSON",
            Self::Script => " but a script",
            Self::Base64 => " but one in base64",
            Self::Text => " but text",
            Self::Bitcode => " but LLVM bitcode",
            Self::WebAssembly => " but WebAssembly",
            Self::MachO => " but a Mach-O file, for macOS",
            Self::Windows => " but a program for Windows",
            Self::Compressed => " but a compressed file",
            Self::Other(first, len) => {
                f.write_str(": it begins with")?;
                return first.iter().take(*len).try_for_each(|byte| write!(f, " {byte:02x}"));
            }
        })
    }
}

impl NotSbpf {
    /// Returns the reason why `bytes` cannot be a program; `None` if the header names sBPF, even if
    /// the rest of the file is broken.
    ///
    /// ```
    /// use selkie_elf::NotSbpf;
    /// let reason = NotSbpf::detect(b"#!/bin/sh\n").expect("a script is no program");
    /// assert_eq!(reason.to_string(), "not an ELF file but a script");
    /// ```
    #[must_use]
    pub fn detect(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::Empty);
        }
        if !bytes.starts_with(&MAGIC) {
            return Some(Self::NotElf(Content::of(bytes)));
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
            Self::NotElf(content) => write!(f, "not an ELF file{content}"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_kinds_are_recognized() {
        let check = |bytes: &[u8], expected: &str| {
            let found = NotSbpf::detect(bytes).map(|it| it.to_string());
            assert_eq!(found.as_deref(), Some(expected), "{bytes:?}");
        };
        check(b"", "the file is empty");
        check(b"!<arch>\n/       ", "not an ELF file but an archive of object files");
        check(b"[12,244,7]", "not an ELF file but a JSON list of numbers, as key files are");
        check(b" {\"a\": 1}", "not an ELF file but JSON");
        check(b"[\"a\"]", "not an ELF file but JSON");
        check(b"#!/bin/sh\n", "not an ELF file but a script");
        check(b"f0VMRgIBAQ", "not an ELF file but one in base64");
        check(b".globl entrypoint\n", "not an ELF file but text");
        check("grüße".as_bytes(), "not an ELF file but text");
        check(b"BC\xc0\xde\x35", "not an ELF file but LLVM bitcode");
        check(b"\0asm\x01\0\0\0", "not an ELF file but WebAssembly");
        check(b"MZ\x90\0", "not an ELF file but a program for Windows");
        check(b"PK\x03\x04", "not an ELF file but a compressed file");
        check(b"\x01\x02\x03\x04\x05", "not an ELF file: it begins with 01 02 03 04");
        check(b"\xff", "not an ELF file: it begins with ff");
        check(b"\x7fELF", "the file ends inside its ELF header");
    }

    #[test]
    fn a_character_that_is_cut_is_text() {
        let text = "x".repeat(TEXT_BYTES - 1) + "ü";
        assert_eq!(Content::of(text.as_bytes()), Content::Text);
    }
}
