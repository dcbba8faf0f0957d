//! Frozen programs: bytes from which a program is restored many times faster than by loading and
//! verifying its ELF file.
//!
//! ```text
//! Program     ── freeze ──> bytes ── thaw, with the ELF file ──> Program, Verified
//! MachineCode ── freeze ──> bytes ── thaw, with the program  ──> MachineCode
//! ```
//!
//! The caller that stores the bytes must ensure that thawing gets what was frozen:
//! - by the same [`BUILD`], on the same [`processor`];
//! - from the same file, loaded against the same environment;
//! - unchanged, because loader and verifier do not run again.
//!
//! All of this belongs into the key under which the bytes are stored, and into a keyed hash over
//! the bytes that is checked before they are thawed. A program thawed from changed bytes neither
//! panics nor accesses memory out of bounds: it is an unverified program, which traps where it
//! reaches what the verifier would have refused. Changed machine code can do anything, so
//! [`MachineCode::thaw`](crate::MachineCode::thaw) is unsafe.
//!
//! A frozen program stores how it differs from the file: relocated words and zeroed bytes. It is
//! decoded when the interpreter or the compiler first needs that, which complete machine code does
//! not.

use std::sync::Arc;

use selkie_elf::{
    Executable, ExecutableParts, Function, Functions, ReadOnly, SharedBytes, Syscalls,
};
use selkie_isa::Version;

use crate::{
    bytes::{Reader, put_bytes, put_u32, put_u64, put_words},
    error::ThawError,
    program::{Program, Verified},
};

pub use crate::processor::processor;

/// The name of this build: its version, and a hash of its sources.
pub const BUILD: &str =
    concat!(env!("CARGO_PKG_VERSION"), "-", env!("SELKIE_VM_SOURCES"), "-", "frozen1");

const MAGIC: u64 = u64::from_le_bytes(*b"selkie-p");
/// Stands for an offset where there is none.
const NONE: u64 = u64::MAX;

impl Program {
    /// Returns the program as bytes. `elf` is the file that it was loaded from, which
    /// [`Program::thaw`] needs again. Any other bytes work too, if they are the same then, but the
    /// result is longer.
    #[must_use]
    pub fn freeze(&self, elf: &[u8]) -> Vec<u8> {
        let executable = self.executable();
        let (text, read_only) = (executable.text(), executable.read_only());
        let mut out = Vec::new();
        put_u64(&mut out, MAGIC);
        put_u32(&mut out, executable.version() as u32);
        put_u32(&mut out, executable.entry_pc());
        put_u64(&mut out, executable.text_vaddr());
        put_u64(&mut out, executable.text_offset());
        put_u64(&mut out, read_only.vaddr);
        // The offset of the text in the read-only data, if it is part of it.
        let distance = (text.as_ptr() as usize).wrapping_sub(read_only.bytes.as_ptr() as usize);
        let within = read_only.bytes.get(distance..).and_then(|bytes| bytes.get(..text.len()));
        let text_at = executable.text_offset();
        put_image(&mut out, &read_only.bytes, elf, text_at.wrapping_sub(distance as u64));
        if within == Some(text) {
            put_u64(&mut out, distance as u64);
            put_u64(&mut out, text.len() as u64);
        } else {
            put_u64(&mut out, NONE);
            put_image(&mut out, text, elf, text_at);
        }
        put_functions(&mut out, executable.functions());
        out
    }

    /// Restores a frozen program. `elf` is the file that it was frozen with, `syscalls` are those
    /// that it was loaded against.
    ///
    /// # Errors
    /// [`ThawError::Malformed`] if the bytes are not a frozen program.
    pub fn thaw(frozen: &[u8], elf: &[u8], syscalls: &Arc<Syscalls>) -> Result<Self, ThawError> {
        let executable = executable(frozen, elf, syscalls).ok_or(ThawError::Malformed)?;
        Ok(Self::undecoded(executable))
    }
}

impl Verified {
    /// Restores a frozen program that was verified before. The caller promises that it was: it is
    /// not verified again.
    ///
    /// # Errors
    /// [`ThawError::Malformed`] if the bytes are not a frozen program.
    pub fn thaw(frozen: &[u8], elf: &[u8], syscalls: &Arc<Syscalls>) -> Result<Self, ThawError> {
        Program::thaw(frozen, elf, syscalls).map(Self::trusted)
    }
}

fn executable(frozen: &[u8], elf: &[u8], syscalls: &Arc<Syscalls>) -> Option<Executable> {
    let mut input = Reader(frozen);
    if input.u64()? != MAGIC {
        return None;
    }
    let version = *Version::ALL.get(input.u32()? as usize)?;
    let entry_pc = input.u32()?;
    let (text_vaddr, text_offset) = (input.u64()?, input.u64()?);
    let vaddr = input.u64()?;
    let image = input.image(elf)?;
    let text = match input.u64()? {
        NONE => input.image(elf)?.into(),
        at => {
            let at = usize::try_from(at).ok()?;
            SharedBytes::of(&image, at..at.checked_add(input.len()?)?)?
        }
    };
    let read_only = ReadOnly { vaddr, bytes: image.into() };
    let functions = input.functions()?;
    let syscalls = Arc::clone(syscalls);
    let parts = ExecutableParts {
        version,
        text,
        text_vaddr,
        text_offset,
        entry_pc,
        read_only,
        functions,
        syscalls,
    };
    input.is_empty().then(|| parts.into())
}

/// How a piece of an image is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// Taken from the file, with single words replaced.
    File,
    /// All zero.
    Zeroes,
    /// Stored as bytes.
    Bytes,
}

/// The granularity of pieces.
const PIECE_BYTES: usize = 64;

/// Writes bytes most of which are in the file too, at `offset`: pieces that are zero, pieces that
/// differ, and single words that differ in other pieces. If the file is too short, writes all
/// bytes.
fn put_image(out: &mut Vec<u8>, bytes: &[u8], elf: &[u8], offset: u64) {
    let file = usize::try_from(offset).ok().and_then(|at| elf.get(at..)?.get(..bytes.len()));
    let Some(file) = file.filter(|_| u32::try_from(bytes.len()).is_ok()) else {
        put_u64(out, NONE);
        return put_bytes(out, bytes);
    };
    let mut pieces: Vec<(Piece, [u32; 2])> = Vec::new();
    let mut words: Vec<[u32; 2]> = Vec::new();
    let mut at = 0;
    for (bytes, file) in bytes.chunks(PIECE_BYTES).zip(file.chunks(PIECE_BYTES)) {
        let (values, rest) = bytes.as_chunks();
        let (file_values, file_rest) = file.as_chunks();
        let differ = values.iter().zip(file_values).filter(|(a, b)| a != b).count();
        let piece = if rest == file_rest && differ <= values.len() / 4 {
            Piece::File
        } else if bytes.iter().all(|byte| *byte == 0) {
            Piece::Zeroes
        } else {
            Piece::Bytes
        };
        if piece == Piece::File {
            let pairs = (at / 4..).zip(values).zip(file_values);
            let differing = pairs.filter(|((_, value), file)| value != file);
            words.extend(differing.map(|((word, value), _)| [word, u32::from_le_bytes(*value)]));
        }
        let len = u32::try_from(bytes.len()).unwrap_or(0);
        match pieces.last_mut() {
            Some((last, [_, last_len])) if *last == piece => *last_len += len,
            _ => pieces.push((piece, [at, len])),
        }
        at += len;
    }
    put_u64(out, offset);
    put_u64(out, bytes.len() as u64);
    for kind in [Piece::Zeroes, Piece::Bytes] {
        let pieces: Vec<_> =
            pieces.iter().filter(|(piece, _)| *piece == kind).map(|(_, span)| *span).collect();
        put_words(out, &pieces);
        for [at, len] in pieces.into_iter().filter(|_| kind == Piece::Bytes) {
            out.extend(&bytes[at as usize..][..len as usize]);
        }
    }
    put_words(out, &words);
}

fn put_functions(out: &mut Vec<u8>, functions: &Functions) {
    let words: Vec<_> = functions.iter().map(|(key, function)| [key, function.pc]).collect();
    put_words(out, &words);
    let named = functions.iter().any(|(_, function)| !function.name.is_empty());
    put_u32(out, named.into());
    for (_, function) in functions.iter().filter(|_| named) {
        put_bytes(out, function.name.as_bytes());
    }
}

impl Reader<'_> {
    fn image(&mut self, elf: &[u8]) -> Option<Arc<[u8]>> {
        let offset = match self.u64()? {
            NONE => return self.bytes().map(Arc::from),
            offset => usize::try_from(offset).ok()?,
        };
        let file = elf.get(offset..)?.get(..self.len()?)?;
        let mut image: Arc<[u8]> = Arc::from(file);
        let bytes = Arc::get_mut(&mut image)?;
        for [at, len] in self.words()? {
            bytes.get_mut(at as usize..)?.get_mut(..len as usize)?.fill(0);
        }
        for [at, len] in self.words()? {
            let piece = bytes.get_mut(at as usize..)?.get_mut(..len as usize)?;
            piece.copy_from_slice(self.take(len as usize)?);
        }
        let words = bytes.as_chunks_mut().0;
        for [word, value] in self.words()? {
            *words.get_mut(word as usize)? = value.to_le_bytes();
        }
        Some(image)
    }

    fn functions(&mut self) -> Option<Functions> {
        let words = self.words()?;
        let named = self.u32()? != 0;
        let mut functions = Vec::with_capacity(words.len());
        for [key, pc] in words {
            let mut name = String::new();
            if named {
                core::str::from_utf8(self.bytes()?).ok()?.clone_into(&mut name);
            }
            functions.push((key, Function { name, pc }));
        }
        Functions::new(functions).ok()
    }
}
