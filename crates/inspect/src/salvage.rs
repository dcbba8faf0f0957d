//! Executables of raw instructions, and of files that the loader refuses.

use std::{collections::BTreeMap, sync::Arc};

use selkie_elf::{Executable, Function, Functions, Sections, Syscalls};
use selkie_isa::{Op, Slot, Version, layout::SLOT_BYTES, symbol::pc_key};

const E_ENTRY: usize = 24;
const E_PHOFF: usize = 32;
const E_FLAGS: usize = 48;
const E_PHNUM: usize = 56;
const PROGRAM_HEADER_BYTES: usize = 56;
const PT_LOAD: u32 = 1;
const PF_X: u32 = 1;

/// Returns the program of a file that the loader refuses.
pub(crate) fn file(bytes: &[u8], syscalls: &Arc<Syscalls>) -> Option<Executable> {
    let (text, addr) = placed_code(bytes)?;
    let slot = u64_at(bytes, E_ENTRY)?.wrapping_sub(addr) / SLOT_BYTES as u64;
    let entry = u32::try_from(slot).ok().filter(|&pc| Slot::read(text, pc as usize).is_some());
    let version = Version::from_e_flags(u32_at(bytes, E_FLAGS)?).unwrap_or_default();
    (!text.is_empty()).then(|| unlinked(version, text, entry.unwrap_or_default(), syscalls))
}

/// Returns the instructions of a program as they are in its file, which the loader may refuse: its section
/// `.text`, or else its first executable segment. Until V2, the loader completes them.
#[must_use]
pub fn code(bytes: &[u8]) -> Option<&[u8]> {
    placed_code(bytes).map(|(text, _)| text)
}

/// Returns code and its address.
fn placed_code(bytes: &[u8]) -> Option<(&[u8], u64)> {
    let sections = Sections::read(bytes);
    let section = sections.get(".text").map(|text| (text.bytes, text.addr));
    section.or_else(|| segment(bytes))
}

/// Returns content and address of the first executable segment.
fn segment(bytes: &[u8]) -> Option<(&[u8], u64)> {
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let table = bytes.get(usize::try_from(u64_at(bytes, E_PHOFF)?).ok()?..)?;
    let count = usize::from(u16::from_le_bytes(*bytes.get(E_PHNUM..)?.first_chunk()?));
    let is_code = |it: &&[u8; PROGRAM_HEADER_BYTES]| {
        u32_at(*it, 0) == Some(PT_LOAD) && u32_at(*it, 4).is_some_and(|flags| flags & PF_X != 0)
    };
    let header = table.as_chunks().0.iter().take(count).find(is_code)?;
    let start = usize::try_from(u64_at(header, 8)?).ok()?;
    let len = usize::try_from(u64_at(header, 32)?).ok()?;
    Some((bytes.get(start..)?.get(..len)?, u64_at(header, 16)?))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..)?.first_chunk().copied().map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    bytes.get(offset..)?.first_chunk().copied().map(u64::from_le_bytes)
}

/// Makes an executable of raw instructions. Until V2, registers the targets of relative calls as the
/// loader does, but ignores invalid ones.
pub(crate) fn unlinked(
    version: Version,
    text: &[u8],
    entry: u32,
    syscalls: &Arc<Syscalls>,
) -> Executable {
    let mut text = text.to_vec();
    let mut functions = BTreeMap::new();
    if !version.static_calls() {
        let count = text.len() / SLOT_BYTES;
        for (pc, bytes) in text.as_chunks_mut::<SLOT_BYTES>().0.iter_mut().enumerate() {
            let slot = Slot::read(bytes, 0).unwrap_or(Slot::from_word(0));
            let is_call = slot.code == Op::CallHash.code() && slot.imm != -1;
            let target = i64::try_from(pc + 1).unwrap_or(i64::MAX).saturating_add(slot.imm.into());
            let target = u32::try_from(target).ok().filter(|&it| (it as usize) < count);
            let Some(target) = target.filter(|_| is_call) else { continue };
            let key = pc_key(target);
            if syscalls.find(key).is_none() && *functions.entry(key).or_insert(target) == target {
                bytes[4..].copy_from_slice(&key.to_le_bytes());
            }
        }
    }
    let unnamed = |(key, pc)| (key, Function { name: String::new(), pc });
    let functions = Functions::new(functions.into_iter().map(unnamed).collect());
    let functions = functions.expect("a map has each key once");
    Executable::from_text(version, text, entry, functions, Arc::clone(syscalls))
        .expect("no function was registered under the key of a syscall")
}
