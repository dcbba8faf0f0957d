//! The writer: turns a program's image into the bytes of a `.so`.
//!
//! Until V2 the file has the legacy layout: section addresses equal file offsets, and calls of
//! syscalls are relocations. From V3 it has the strict one: one or two program headers, and sections
//! that only tools read.
//!
//! Invariants: the loader maps every byte to the address that [`addresses`] returned before the file
//! was written, and a stripped file holds nothing that the loader does not read.

#![allow(clippy::indexing_slicing, reason = "indices are those of sections added before")]

mod file;

use selkie_isa::{
    Version,
    layout::{BYTECODE_START, RODATA_START},
};

use self::file::File;
use crate::header::{FileHeader, Record as _};

/// The guest addresses of an image's code and read-only data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// Address of the first instruction.
    pub text: u64,
    /// Address of the first byte of read-only data.
    pub rodata: u64,
}

/// The smallest [`Image::text_offset`], which is also the usual one.
pub const TEXT_OFFSET_MIN: u64 = FileHeader::BYTES as u64;

/// Returns the addresses at which the loader maps an image with `text_bytes` bytes of instructions.
/// `text_offset` is [`Image::text_offset`], which has no effect from V3 on.
#[must_use]
pub fn addresses(version: Version, text_bytes: usize, text_offset: u64) -> Addresses {
    if version.strict_elf() {
        return Addresses { text: BYTECODE_START, rodata: RODATA_START };
    }
    let text = BYTECODE_START + text_offset;
    Addresses { text, rodata: text + text_bytes as u64 }
}

/// What a symbol names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolKind {
    /// The first instruction of a function.
    Function,
    /// An instruction that is not the start of a function.
    Label,
    /// Read-only data.
    Object,
    /// An absolute address, in no section.
    Absolute,
}

/// A symbol for tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Symbol<'a> {
    /// The name.
    pub name: &'a str,
    /// What it names.
    pub kind: SymbolKind,
    /// Offset in bytes from the start of the instructions; of an object, from the start of the
    /// read-only data; of an absolute symbol, its address.
    pub offset: u64,
    /// Size in bytes, or 0.
    pub size: u64,
    /// Whether it is a global symbol.
    pub global: bool,
}

/// A linked program: everything that goes into its file.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    /// The sBPF version.
    pub version: Version,
    /// The instructions. Until V2, calls of functions are pc-relative (`src` is 1).
    pub text: &'a [u8],
    /// Until V2: file offset of the instructions, a multiple of 8 and at least
    /// [`TEXT_OFFSET_MIN`].
    pub text_offset: u64,
    /// The read-only data.
    pub rodata: &'a [u8],
    /// The slot at which the program starts.
    pub entry_pc: u32,
    /// Until V2: slot and name of every call of a syscall, ascending by slot.
    pub syscalls: &'a [(u32, &'a str)],
    /// Symbols for tools.
    pub symbols: &'a [Symbol<'a>],
    /// Name and content of debug sections.
    pub debug: &'a [(&'a str, Vec<u8>)],
    /// Leave out everything that only tools read: `symbols`, `debug`, and section names.
    pub strip: bool,
}

impl<'a> Image<'a> {
    /// Makes a stripped image that consists of instructions without syscalls.
    #[must_use]
    pub const fn of_text(version: Version, text: &'a [u8]) -> Self {
        Self {
            version,
            text,
            text_offset: TEXT_OFFSET_MIN,
            rodata: &[],
            entry_pc: 0,
            syscalls: &[],
            symbols: &[],
            debug: &[],
            strip: true,
        }
    }
}

/// Writes an image as an ELF file.
///
/// # Panics
/// If a part of the image has 4 GiB or more.
#[must_use]
pub fn write(image: &Image<'_>) -> Vec<u8> {
    let mut file = File::new(image);
    if image.version.strict_elf() {
        file.strict(image);
    } else {
        file.legacy(image);
    }
    file.finish(image)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use selkie_isa::symbol::murmur3;

    use super::*;
    use crate::{Environment, Sections, Syscalls};

    /// `call sol_log_` and `exit`, as in an image until V2.
    const TEXT: [u8; 16] = [0x85, 0x10, 0, 0, 255, 255, 255, 255, 0x95, 0, 0, 0, 0, 0, 0, 0];

    fn image(version: Version, strip: bool) -> Image<'static> {
        const SYMBOLS: &[Symbol<'_>] = &[
            Symbol { name: "b", kind: SymbolKind::Function, offset: 8, size: 8, global: true },
            Symbol { name: "a", kind: SymbolKind::Label, offset: 0, size: 0, global: false },
            Symbol { name: "d", kind: SymbolKind::Object, offset: 1, size: 2, global: false },
        ];
        let syscalls: &[_] = if version.static_calls() { &[] } else { &[(0, "sol_log_")] };
        Image {
            version,
            text: &TEXT,
            text_offset: TEXT_OFFSET_MIN + 16,
            rodata: b"odd",
            entry_pc: 1,
            syscalls,
            symbols: SYMBOLS,
            debug: &[],
            strip,
        }
    }

    #[test]
    fn written_files_load_at_the_promised_addresses() {
        for version in Version::ALL {
            for strip in [false, true] {
                let file = write(&image(version, strip));
                let environment = Environment {
                    syscalls: Arc::new(Syscalls::new(["sol_log_"])),
                    reject_broken_elfs: true,
                    ..Environment::default()
                };
                let loaded = crate::load(&file, &environment).expect("the file follows the rules");
                assert_eq!((loaded.version(), loaded.entry_pc()), (version, 1));
                let addresses = addresses(version, TEXT.len(), TEXT_OFFSET_MIN + 16);
                assert_eq!(loaded.text_vaddr(), addresses.text);
                let data = loaded.read_only();
                let start = addresses.rodata - data.vaddr;
                let start = usize::try_from(start).expect("a small file");
                assert_eq!(data.bytes[start..start + 3], *b"odd");
                if !version.static_calls() {
                    assert_eq!(loaded.text()[4..8], murmur3(b"sol_log_").to_le_bytes());
                }
            }
        }
    }

    #[test]
    fn symbols_have_the_addresses_of_their_sections() {
        for (version, text, rodata) in [(Version::V0, 0x50, 0x60), (Version::V3, 1 << 32, 0)] {
            let file = write(&image(version, false));
            let symbol = |name: &str| {
                let mut symbols = Sections::read(&file).symbols();
                symbols.find(|it| it.name() == name).map(|it| (it.addr, it.size))
            };
            assert_eq!(symbol("b"), Some((text + 8, 8)));
            assert_eq!(symbol("a"), Some((text, 0)));
            assert_eq!(symbol("d"), Some((rodata + 1, 2)));
        }
    }
}
