//! Relocation of V0 to V2: calls and addresses are patched into the file's copy, and every function
//! that is called is registered by its key. Source: anza sbpf `elf.rs`, `relocate`, and
//! `program.rs`, `register_function_hashed_legacy`.
//!
//! Invariants: everything is patched in the file's order, since one relocation may read what
//! another wrote; nothing is read or written outside the file.

use std::collections::BTreeMap;

use selkie_isa::{
    Op, Slot,
    layout::{BYTECODE_START, REGION_SIZE, SLOT_BYTES},
    symbol::{ENTRYPOINT, ENTRYPOINT_KEY, murmur3, pc_key},
};

use crate::{
    Environment, Functions,
    error::ElfError,
    header::{Rel, STT_FUNC, SectionHeader, Sym, slice},
    legacy::File,
};

/// Bytes of an instruction before its immediate.
const IMM_OFFSET: u64 = 4;

/// Relocates `image`, a copy of the file, and gives the functions that calls can reach.
pub(crate) fn relocate<'a>(
    file: &File<'_>,
    text: &SectionHeader,
    environment: &'a Environment,
    image: &mut [u8],
) -> Result<Registry<'a>, ElfError> {
    let registry = Registry::new(environment, text)?;
    let mut relocator = Relocator { file, text, environment, image, registry, called: Vec::new() };
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
    /// The keys of symbols that were called, by the symbol's index: what a second call of one
    /// would come to.
    called: Vec<Option<u32>>,
}

impl Relocator<'_, '_> {
    /// Turns calls relative to the next instruction into calls by key.
    ///
    /// Every slot is looked at, the tail of `lddw` included, and every immediate but -1, which
    /// stands for a relocation to come, counts as an offset: a hash put there by the linker would
    /// be taken for one.
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
        // x86-64's numbers, which LLVM once gave to BPF's relocations.
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

    /// `lddw` of a symbol's address; the addend is the first immediate.
    fn symbol_address(&mut self, relocation: &Rel) -> Result<(), ElfError> {
        let low = relocation.r_offset.saturating_add(IMM_OFFSET);
        let addend = self.word(low)?;
        let symbol = self.symbol(relocation)?;
        let addr = rebased(symbol.st_value.saturating_add(u64::from(addend)));
        self.set_address(low, low.saturating_add(SLOT_BYTES as u64), addr)
    }

    /// `lddw` of an address that has no symbol: both immediates hold it.
    #[allow(clippy::cast_possible_truncation, reason = "the halves are cut out of the address")]
    fn code_address(&mut self, r_offset: u64) -> Result<(), ElfError> {
        let start = r_offset.saturating_add(IMM_OFFSET);
        let end = start.saturating_add(SLOT_BYTES as u64 + 4);
        // The first immediate, the front of the second slot, and its immediate.
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

    /// An address in data. Early toolchains left it in the upper half of the eight bytes, so there
    /// it is read from, whoever made the file (anza sbpf: `relocate`).
    fn data_address(&mut self, r_offset: u64) -> Result<(), ElfError> {
        let addr = u64::from(self.word(r_offset.saturating_add(IMM_OFFSET))?);
        self.set(r_offset, (BYTECODE_START + addr).to_le_bytes())
    }

    /// A call of a function by its slot, or of a syscall by its name.
    fn call(&mut self, relocation: &Rel) -> Result<(), ElfError> {
        let key = match usize::try_from(relocation.r_sym).ok().and_then(|it| self.called.get(it)) {
            Some(&Some(key)) => key,
            _ => self.call_first(relocation)?,
        };
        self.set(relocation.r_offset.saturating_add(IMM_OFFSET), key.to_le_bytes())
    }

    /// The key of a symbol that was not called before.
    fn call_first(&mut self, relocation: &Rel) -> Result<u32, ElfError> {
        let symbol = self.symbol(relocation)?;
        let name = self.file.dynamic_symbol_name(&symbol);
        let name = name.ok_or(ElfError::UnknownSymbol(symbol.st_name))?;
        let key = if symbol.st_info & 15 == STT_FUNC && symbol.st_value != 0 {
            let pc = self.function_pc(&symbol)?;
            self.registry.register_symbol(pc, name)?
        } else {
            let key = murmur3(name);
            // Before V3 a call of an unknown syscall loads, and traps only when it is reached.
            if self.environment.reject_broken_elfs && self.environment.syscalls.find(key).is_none()
            {
                let name = String::from_utf8_lossy(name).into_owned();
                let pc = relocation.r_offset / SLOT_BYTES as u64;
                return Err(ElfError::UnresolvedSymbol(name, pc, relocation.r_offset));
            }
            key
        };
        // The file has that symbol, so this list is never longer than its symbol table.
        if let Ok(index) = usize::try_from(relocation.r_sym) {
            self.called.resize(self.called.len().max(index + 1), None);
            if let Some(called) = self.called.get_mut(index) {
                *called = Some(key);
            }
        }
        Ok(key)
    }

    /// Registers every function of the static symbol table, for its name.
    fn labels(&mut self) -> Result<(), ElfError> {
        // Leaves out the bit that tells global from local: weak functions are not registered (anza
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

    /// The slot of a function, which must lie in `.text`, but need not be aligned.
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
    #[allow(clippy::cast_possible_truncation, reason = "the halves are cut out of the address")]
    fn set_address(&mut self, low: u64, high: u64, addr: u64) -> Result<(), ElfError> {
        self.set(low, (addr as u32).to_le_bytes())?;
        self.set(high, ((addr >> 32) as u32).to_le_bytes())
    }
}

/// Slots that are looked at together.
const BLOCK: usize = 32;

/// Which slots of a block are calls.
fn calls(block: &[[u8; SLOT_BYTES]]) -> impl Iterator<Item = u32> + use<> {
    let mut calls = match block.first_chunk() {
        Some(block) => calls_of_whole(block),
        None => {
            let mut whole = [[0; SLOT_BYTES]; BLOCK];
            whole.iter_mut().zip(block).for_each(|(to, from)| *to = *from);
            calls_of_whole(&whole)
        }
    };
    core::iter::from_fn(move || {
        let index = calls.trailing_zeros();
        calls &= calls.checked_sub(1)?;
        Some(index)
    })
}

/// A bit for each slot: whether it is a call.
///
/// Nobody can guess where the next call is, so a branch for each slot would cost more than all the
/// rest. In this form, and as a function of its own, it becomes mostly vector instructions.
#[inline(never)]
#[allow(clippy::cast_possible_truncation, reason = "the opcode is in the lower half")]
fn calls_of_whole(block: &[[u8; SLOT_BYTES]; BLOCK]) -> u32 {
    let call = u32::from(Op::CallHash.code());
    let code = |bytes: &[u8; SLOT_BYTES]| u64::from_le_bytes(*bytes) as u32 & 0xff;
    block.iter().zip(0..).map(|(bytes, bit)| u32::from(code(bytes) == call) << bit).sum()
}

fn slice_mut(bytes: &mut [u8], start: u64, end: u64) -> Result<&mut [u8], ElfError> {
    let bounds = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    bounds.and_then(|(start, end)| bytes.get_mut(start..end)).ok_or(ElfError::ValueOutOfBounds)
}

/// Moves an address of the file to where the program is mapped, unless the linker did.
fn rebased(addr: u64) -> u64 {
    if addr < REGION_SIZE { BYTECODE_START + addr } else { addr }
}

/// The functions found so far.
///
/// Keys of slots cannot collide: [`pc_key`] is one-to-one. What can collide is the key of
/// `entrypoint`, which stands for no slot, and any key with a syscall's.
pub(crate) struct Registry<'a> {
    environment: &'a Environment,
    /// One bit for every slot of `.text`: whether it is registered.
    known: Vec<u64>,
    /// Key and slot.
    functions: Vec<(u32, u32)>,
    /// By slot; only if names were asked for.
    names: BTreeMap<u32, String>,
    entrypoint: Option<u32>,
}

impl<'a> Registry<'a> {
    fn new(environment: &'a Environment, text: &SectionHeader) -> Result<Self, ElfError> {
        // No function lies outside `.text`, whose size the file's bounds.
        let slots = u32::try_from(text.sh_size / SLOT_BYTES as u64 + 1);
        let words = slots.map(|slots| slots.div_ceil(u64::BITS)).ok();
        let words = words.and_then(|words| usize::try_from(words).ok());
        let known = vec![0; words.ok_or(ElfError::ValueOutOfBounds)?];
        Ok(Self {
            environment,
            known,
            functions: Vec::new(),
            names: BTreeMap::new(),
            entrypoint: None,
        })
    }

    /// Registers a function under its symbol's name.
    fn register_symbol(&mut self, pc: u64, name: &[u8]) -> Result<u32, ElfError> {
        let pc = u32::try_from(pc).map_err(|_| ElfError::ValueOutOfBounds)?;
        match name == ENTRYPOINT.as_bytes() {
            true => self.register_entrypoint(pc),
            false => self.register(pc, || String::from_utf8_lossy(name).into_owned()),
        }
    }

    /// Registers the function at a slot and gives its key. The first name stays.
    #[inline]
    fn register(&mut self, pc: u32, name: impl FnOnce() -> String) -> Result<u32, ElfError> {
        let key = pc_key(pc);
        let word = usize::try_from(pc / u64::BITS).ok().and_then(|at| self.known.get_mut(at));
        let word = word.ok_or(ElfError::ValueOutOfBounds)?;
        let bit = 1 << (pc % u64::BITS);
        if *word & bit == 0 {
            *word |= bit;
            self.register_new(key, pc, name)?;
        }
        Ok(key)
    }

    fn register_new(
        &mut self,
        key: u32,
        pc: u32,
        name: impl FnOnce() -> String,
    ) -> Result<(), ElfError> {
        if key == ENTRYPOINT_KEY {
            return self.register_entrypoint(pc).map(|_| ());
        }
        self.check_syscalls(key)?;
        if self.environment.labels {
            self.names.insert(pc, name());
        }
        self.functions.push((key, pc));
        Ok(())
    }

    fn register_entrypoint(&mut self, pc: u32) -> Result<u32, ElfError> {
        self.check_syscalls(ENTRYPOINT_KEY)?;
        match *self.entrypoint.get_or_insert(pc) == pc {
            true => Ok(ENTRYPOINT_KEY),
            false => Err(ElfError::SymbolHashCollision(ENTRYPOINT_KEY)),
        }
    }

    fn check_syscalls(&self, key: u32) -> Result<(), ElfError> {
        match self.environment.syscalls.find(key) {
            Some(_) => Err(ElfError::SymbolHashCollision(key)),
            None => Ok(()),
        }
    }

    /// Makes `pc` the entrypoint, whatever symbol had that name.
    pub(crate) fn set_entry(&mut self, pc: u64) -> Result<u32, ElfError> {
        let pc = u32::try_from(pc).map_err(|_| ElfError::ValueOutOfBounds)?;
        self.entrypoint = None;
        self.register_entrypoint(pc)?;
        Ok(pc)
    }

    pub(crate) fn finish(mut self) -> Functions {
        self.functions.extend(self.entrypoint.map(|pc| (ENTRYPOINT_KEY, pc)));
        Functions::of_distinct(self.functions, |key, pc| match key {
            ENTRYPOINT_KEY => ENTRYPOINT.to_owned(),
            _ => self.names.remove(&pc).unwrap_or_default(),
        })
    }
}
