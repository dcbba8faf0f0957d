//! Relocation of V0 to V2: patches calls and addresses into a copy of the file, and registers every
//! called function by its key. Source: anza sbpf `elf.rs`, `relocate`.
//!
//! Invariants: relocations are applied in the file's order, since one may read what another wrote;
//! nothing is read or written outside the file.

use selkie_isa::{
    Op, Slot,
    layout::{BYTECODE_START, REGION_SIZE, SLOT_BYTES},
    symbol::murmur3,
};

use super::{file::File, registry::Registry};
use crate::{
    Environment,
    error::ElfError,
    header::{Rel, STT_FUNC, SectionHeader, Sym, slice},
};

/// Offset of the immediate in an instruction slot.
const IMM_OFFSET: u64 = 4;

/// Relocates `image`, a copy of the file, and returns the functions that calls can reach.
pub(super) fn relocate<'a>(
    file: &File<'_>,
    text: &SectionHeader,
    environment: &'a Environment,
    image: &mut [u8],
) -> Result<Registry<'a>, ElfError> {
    let registry = Registry::new(environment, text)?;
    let call_keys = Vec::new();
    let mut relocator = Relocator { file, text, environment, image, registry, call_keys };
    relocator.relative_calls()?;
    for relocation in file.relocations() {
        relocator.apply(&relocation)?;
    }
    if environment.labels {
        relocator.labels()?;
    }
    Ok(relocator.registry)
}

struct Relocator<'r, 'a> {
    file: &'r File<'r>,
    text: &'r SectionHeader,
    environment: &'a Environment,
    image: &'r mut [u8],
    registry: Registry<'a>,
    /// Call keys by symbol index, so that a second call of a symbol needs no look-up.
    call_keys: Vec<Option<u32>>,
}

impl Relocator<'_, '_> {
    /// Turns pc-relative calls into calls by key.
    ///
    /// Like anza sbpf, this looks at every slot, including the second one of an `lddw`, and takes
    /// every immediate except -1 (a call that a relocation completes) for a relative offset, even
    /// one that the linker wrote as a hash.
    fn relative_calls(&mut self) -> Result<(), ElfError> {
        let range = self.text.file_range();
        let slots = slice_mut(self.image, range.start, range.end)?.as_chunks_mut().0;
        let slot_count = i64::try_from(slots.len()).unwrap_or(i64::MAX);
        for (block_start, block) in (0_u32..).step_by(BLOCK).zip(slots.chunks_mut(BLOCK)) {
            for index in calls(block) {
                let pc = block_start + index;
                let Some(bytes) = block.get_mut(index as usize) else { break };
                let mut slot = Slot::from_word(u64::from_le_bytes(*bytes));
                if slot.imm == -1 {
                    continue;
                }
                let target = i64::from(pc) + 1 + i64::from(slot.imm);
                let target = u32::try_from(target).ok().filter(|_| target < slot_count);
                let target = target.ok_or(ElfError::RelativeJumpOutOfBounds(pc))?;
                let key = self.registry.register(target, || format!("function_{target}"))?;
                slot.imm = key.cast_signed();
                *bytes = slot.to_word().to_le_bytes();
            }
        }
        Ok(())
    }

    fn apply(&mut self, relocation: &Rel) -> Result<(), ElfError> {
        // LLVM once numbered BPF's relocations like those of x86-64.
        const R_BPF_64_64: u32 = 1;
        const R_BPF_64_RELATIVE: u32 = 8;
        const R_BPF_64_32: u32 = 10;
        match relocation.r_type {
            R_BPF_64_64 => self.symbol_address(relocation),
            R_BPF_64_RELATIVE if self.text.file_range().contains(&relocation.r_offset) => {
                self.code_address(relocation.r_offset)
            }
            R_BPF_64_RELATIVE => self.data_address(relocation.r_offset),
            R_BPF_64_32 => self.call(relocation),
            other => Err(ElfError::UnknownRelocation(other)),
        }
    }

    /// Relocates an `lddw` of a symbol's address. The addend is the first immediate.
    fn symbol_address(&mut self, relocation: &Rel) -> Result<(), ElfError> {
        let low = relocation.r_offset.saturating_add(IMM_OFFSET);
        let addend = self.word(low)?;
        let symbol = self.symbol(relocation)?;
        let addr = rebased(symbol.st_value.saturating_add(u64::from(addend)));
        self.set_address(low, low.saturating_add(SLOT_BYTES as u64), addr)
    }

    /// Relocates an `lddw` of an address without a symbol, which its two immediates hold.
    #[allow(clippy::cast_possible_truncation, reason = "the address is split into its halves")]
    fn code_address(&mut self, r_offset: u64) -> Result<(), ElfError> {
        let start = r_offset.saturating_add(IMM_OFFSET);
        let end = start.saturating_add(SLOT_BYTES as u64 + 4);
        // The first immediate, the first half of the second slot, and its immediate.
        let [low, _, high] = slice_mut(self.image, start, end)?.as_chunks_mut().0 else {
            return Err(ElfError::ValueOutOfBounds);
        };
        let addr = u64::from(u32::from_le_bytes(*low)) | u64::from(u32::from_le_bytes(*high)) << 32;
        if addr == 0 {
            return Err(ElfError::InvalidVirtualAddress(addr));
        }
        let addr = rebased(addr);
        *low = (addr as u32).to_le_bytes();
        *high = ((addr >> 32) as u32).to_le_bytes();
        Ok(())
    }

    /// Relocates an eight-byte address in data. It is always read from the upper four bytes, where
    /// early toolchains left it (anza sbpf: `relocate`).
    fn data_address(&mut self, r_offset: u64) -> Result<(), ElfError> {
        let addr = u64::from(self.word(r_offset.saturating_add(IMM_OFFSET))?);
        self.set(r_offset, (BYTECODE_START + addr).to_le_bytes())
    }

    /// Relocates a call of a function or a syscall.
    fn call(&mut self, relocation: &Rel) -> Result<(), ElfError> {
        let index = usize::try_from(relocation.r_sym).ok();
        let key = match index.and_then(|it| self.call_keys.get(it)) {
            Some(&Some(key)) => key,
            _ => self.resolve_call(relocation)?,
        };
        self.set(relocation.r_offset.saturating_add(IMM_OFFSET), key.to_le_bytes())
    }

    /// Computes and caches the call key of a symbol: of a function by its slot, of a syscall by its
    /// name.
    fn resolve_call(&mut self, relocation: &Rel) -> Result<u32, ElfError> {
        let symbol = self.symbol(relocation)?;
        let name = self.file.dynamic_symbol_name(&symbol);
        let name = name.ok_or(ElfError::UnknownSymbol(symbol.st_name))?;
        let key = if symbol.st_info & 15 == STT_FUNC && symbol.st_value != 0 {
            let pc = self.function_pc(&symbol)?;
            self.registry.register_symbol(pc, name)?
        } else {
            let key = murmur3(name);
            // Before V3 a call of an unknown syscall loads, and traps only when it is executed.
            if self.environment.reject_broken_elfs && self.environment.syscalls.find(key).is_none()
            {
                let name = String::from_utf8_lossy(name).into_owned();
                let pc = relocation.r_offset / SLOT_BYTES as u64;
                return Err(ElfError::UnresolvedSymbol(name, pc, relocation.r_offset));
            }
            key
        };
        // The symbol exists, so the cache is never longer than the symbol table.
        if let Ok(index) = usize::try_from(relocation.r_sym) {
            self.call_keys.resize(self.call_keys.len().max(index + 1), None);
            if let Some(cached) = self.call_keys.get_mut(index) {
                *cached = Some(key);
            }
        }
        Ok(key)
    }

    /// Registers the functions of the static symbol table under their names.
    fn labels(&mut self) -> Result<(), ElfError> {
        // Masks the bit that tells global from local, so weak functions are not registered (anza
        // sbpf: `relocate`).
        const INFO_MASK: u8 = 0xef;
        for symbol in self.file.static_symbols().filter(|it| it.st_info & INFO_MASK == STT_FUNC) {
            let pc = self.function_pc(&symbol)?;
            if let Some(name) = self.file.static_symbol_name(&symbol) {
                self.registry.register_symbol(pc, name)?;
            }
        }
        Ok(())
    }

    /// Returns the slot of a function, which must lie in `.text`, but need not be aligned.
    fn function_pc(&self, symbol: &Sym) -> Result<u64, ElfError> {
        match self.text.vm_range().contains(&symbol.st_value) {
            true => Ok((symbol.st_value - self.text.sh_addr) / SLOT_BYTES as u64),
            false => Err(ElfError::ValueOutOfBounds),
        }
    }

    fn symbol(&self, relocation: &Rel) -> Result<Sym, ElfError> {
        let symbol = self.file.dynamic_symbol(relocation.r_sym);
        symbol.ok_or(ElfError::UnknownSymbol(relocation.r_sym))
    }

    fn word(&self, offset: u64) -> Result<u32, ElfError> {
        let bytes = slice(self.image, offset..offset.saturating_add(4));
        let bytes = bytes.and_then(<[u8]>::first_chunk).ok_or(ElfError::ValueOutOfBounds)?;
        Ok(u32::from_le_bytes(*bytes))
    }

    fn set<const N: usize>(&mut self, offset: u64, bytes: [u8; N]) -> Result<(), ElfError> {
        let end = offset.saturating_add(N as u64);
        let target = slice_mut(self.image, offset, end)?.first_chunk_mut();
        *target.ok_or(ElfError::ValueOutOfBounds)? = bytes;
        Ok(())
    }

    /// Writes the halves of an address into two immediates.
    #[allow(clippy::cast_possible_truncation, reason = "the address is split into its halves")]
    fn set_address(&mut self, low: u64, high: u64, addr: u64) -> Result<(), ElfError> {
        self.set(low, (addr as u32).to_le_bytes())?;
        self.set(high, ((addr >> 32) as u32).to_le_bytes())
    }
}

/// Number of slots that are searched for calls at a time.
const BLOCK: usize = 32;

/// Returns the indices of the calls in a block of at most [`BLOCK`] slots.
fn calls(block: &[[u8; SLOT_BYTES]]) -> impl Iterator<Item = u32> + use<> {
    let mut calls = match block.first_chunk() {
        Some(block) => call_bits(block),
        None => {
            let mut padded = [[0; SLOT_BYTES]; BLOCK];
            padded.iter_mut().zip(block).for_each(|(to, from)| *to = *from);
            call_bits(&padded)
        }
    };
    core::iter::from_fn(move || {
        let index = calls.trailing_zeros();
        calls &= calls.checked_sub(1)?;
        Some(index)
    })
}

/// Returns one bit per slot, set if the slot is a call.
///
/// A branch per slot would be unpredictable and cost more than the rest of the loop. In this form,
/// and as a function that is not inlined, the loop is vectorized.
#[inline(never)]
#[allow(clippy::cast_possible_truncation, reason = "the opcode is in the lower half")]
fn call_bits(block: &[[u8; SLOT_BYTES]; BLOCK]) -> u32 {
    let call = u32::from(Op::CallHash.code());
    let code = |bytes: &[u8; SLOT_BYTES]| u64::from_le_bytes(*bytes) as u32 & 0xff;
    block.iter().zip(0..).map(|(bytes, bit)| u32::from(code(bytes) == call) << bit).sum()
}

fn slice_mut(bytes: &mut [u8], start: u64, end: u64) -> Result<&mut [u8], ElfError> {
    let bounds = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    bounds.and_then(|(start, end)| bytes.get_mut(start..end)).ok_or(ElfError::ValueOutOfBounds)
}

/// Returns the guest address of an address in the file, unless the linker rebased it already.
fn rebased(addr: u64) -> u64 {
    if addr < REGION_SIZE { BYTECODE_START + addr } else { addr }
}
