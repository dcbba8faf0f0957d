//! The layout of the program: addresses of functions and data, and the bytes with all references
//! filled in.
//!
//! Functions are in the order of the input, so that those of one section stay together and in
//! order: debug information describes ranges by their first and last address. Read-only data
//! follows. Writable variables are at the start of the heap, which is zeroed for every invocation.

use std::collections::BTreeMap;

use selkie_elf::write::{Addresses, TEXT_OFFSET_MIN, addresses};
use selkie_isa::{
    Kind, Version,
    layout::{HEAP_BYTES_DEFAULT, HEAP_START, SLOT_BYTES},
    symbol::murmur3,
};

use crate::{
    LinkError,
    error::Errors,
    item::Reference,
    legal::Legal,
    object::SectionKind,
    program::{AtomId, Body, Location, Program, Target},
    trace::Live,
};

/// Bytes at the start of the heap in which Solana's allocators keep their position.
const ALLOCATOR_BYTES: u64 = 8;

/// A function with its position in the program.
#[derive(Debug)]
pub(crate) struct PlacedFunction {
    /// The slot of its first instruction.
    pub(crate) start: u32,
    pub(crate) slots: u32,
    pub(crate) legal: Legal,
    /// For each instruction and for the end: the slot as compiled, and the slot in the program, both
    /// from the start of the function.
    pub(crate) map: Vec<(u32, u32)>,
}

/// The positions of all functions and data.
pub(crate) struct Layout {
    pub(crate) version: Version,
    pub(crate) functions: BTreeMap<AtomId, PlacedFunction>,
    /// The guest addresses of data.
    pub(crate) data: BTreeMap<AtomId, u64>,
    pub(crate) addresses: Addresses,
    pub(crate) text_slots: u32,
    pub(crate) rodata_bytes: u64,
    /// The first byte of the heap behind writable variables.
    pub(crate) heap_start: u64,
}

impl Layout {
    /// Lays out all reachable functions and data.
    pub(crate) fn new(
        program: &Program<'_>,
        live: &Live,
        legal: BTreeMap<AtomId, Legal>,
        version: Version,
        errors: &mut Errors,
    ) -> Self {
        let mut functions = BTreeMap::new();
        let mut slots: u32 = 0;
        for (atom, legal) in legal {
            let placed = PlacedFunction::new(slots, legal);
            slots = slots.saturating_add(placed.slots);
            functions.insert(atom, placed);
        }
        let addresses = addresses(version, slots as usize * SLOT_BYTES, TEXT_OFFSET_MIN);
        let mut layout = Self {
            version,
            functions,
            data: BTreeMap::new(),
            addresses,
            text_slots: slots,
            rodata_bytes: 0,
            heap_start: 0,
        };
        layout.place_data(program, live, errors);
        layout
    }

    fn place_data(&mut self, program: &Program<'_>, live: &Live, errors: &mut Errors) {
        let mut next = self.addresses.rodata;
        if next == 0 {
            // From V3 on read-only data starts at address 0. No object may be there: its address
            // would be a null pointer.
            next += SLOT_BYTES as u64;
        }
        let mut heap = HEAP_START + ALLOCATOR_BYTES;
        for &atom in live.data.keys() {
            let it = &program.atoms[atom.0];
            let size = size(program, atom);
            let location = if it.kind == SectionKind::ReadOnly { &mut next } else { &mut heap };
            *location = location.next_multiple_of(it.align);
            self.data.insert(atom, *location);
            *location = location.saturating_add(size);
            if heap - HEAP_START > HEAP_BYTES_DEFAULT {
                let message = format!(
                    "writable variables take {} of {HEAP_BYTES_DEFAULT} bytes of heap",
                    heap - HEAP_START
                );
                let error =
                    LinkError::new(message).symbol(program.variable(Location { atom, offset: 0 }));
                let help = "make it smaller, or use the stack or an account";
                errors.push(program.attribute(atom, error).help(help));
                heap = HEAP_START;
            }
        }
        if live.data.keys().any(|it| program.atoms[it.0].kind == SectionKind::ReadOnly) {
            self.rodata_bytes = next - self.addresses.rodata;
        }
        self.heap_start = heap.next_multiple_of(8);
    }

    /// Returns the guest address of a target; `None` if no reachable instruction or data is there.
    pub(crate) fn address(&self, target: Target) -> Option<u64> {
        match target {
            Target::Number(number) => Some(number),
            Target::HeapStart => Some(self.heap_start),
            Target::Syscall(_) => None,
            Target::Location(location) => match self.data.get(&location.atom) {
                Some(address) => Some(address.wrapping_add_signed(location.offset)),
                None => {
                    let slot = u64::from(self.slot(location)?);
                    Some(self.addresses.text + slot * SLOT_BYTES as u64)
                }
            },
        }
    }

    /// The slot of a place in a function: of an instruction as it was compiled, or of the end.
    pub(crate) fn slot(&self, location: Location) -> Option<u32> {
        let placed = self.functions.get(&location.atom)?;
        let offset = u64::try_from(location.offset).ok()?;
        if !offset.is_multiple_of(SLOT_BYTES as u64) {
            return None;
        }
        placed.slot(u32::try_from(offset / SLOT_BYTES as u64).ok()?)
    }
}

/// Returns the size of a data atom in bytes.
pub(crate) fn size(program: &Program<'_>, atom: AtomId) -> u64 {
    match program.atoms[atom.0].body {
        Body::Part { start, end, .. } => end - start,
        Body::Common { size, .. } => size,
        Body::Routine(_) => 0,
    }
}

impl PlacedFunction {
    fn new(start: u32, legal: Legal) -> Self {
        let mut map = Vec::new();
        let mut slots = 0;
        for it in &legal.code {
            if it.is_first {
                // Instructions that were added before the first one belong to it.
                map.push((it.slot, if it.slot == 0 { 0 } else { slots }));
            }
            slots += if matches!(it.insn.op.kind(), Kind::LoadImm64) { 2 } else { 1 };
        }
        let compiled = legal.code.last().map_or(0, |last| {
            last.slot + if matches!(last.insn.op.kind(), Kind::LoadImm64) { 2 } else { 1 }
        });
        map.push((compiled, slots));
        Self { start, slots, legal, map }
    }

    /// Returns the slot in the program of the instruction that was compiled at `slot` of the
    /// function.
    pub(crate) fn slot(&self, slot: u32) -> Option<u32> {
        let index = self.map.binary_search_by_key(&slot, |it| it.0).ok()?;
        self.map.get(index).map(|it| self.start + it.1)
    }

    /// The slot of the instruction that holds slot `slot` of the function as it was compiled.
    pub(crate) fn slot_around(&self, slot: u32) -> u32 {
        let index = self.map.partition_point(|it| it.0 <= slot).saturating_sub(1);
        self.start + self.map.get(index).map_or(0, |it| it.1)
    }
}

/// Returns the code of the program, and until V2 slot and name of every call of a syscall.
pub(crate) fn text(
    program: &Program<'_>,
    layout: &Layout,
    errors: &mut Errors,
) -> (Vec<u8>, Vec<(u32, &'static str)>) {
    let mut text = vec![0; layout.text_slots as usize * SLOT_BYTES];
    let mut syscalls = Vec::new();
    for (&atom, placed) in &layout.functions {
        let mut emitter = Emitter { layout, placed, syscalls: &mut syscalls };
        let start = placed.start as usize * SLOT_BYTES;
        let bytes = &mut text[start..start + placed.slots as usize * SLOT_BYTES];
        for (slot, error) in emitter.run(bytes) {
            let error = error.offset(u64::from(slot) * 8).symbol(program.atoms[atom.0].name);
            errors.push(program.attribute(atom, error));
        }
    }
    syscalls.sort_unstable();
    (text, syscalls)
}

struct Emitter<'a> {
    layout: &'a Layout,
    placed: &'a PlacedFunction,
    syscalls: &'a mut Vec<(u32, &'static str)>,
}

impl Emitter<'_> {
    /// Writes the code of a function. Returns errors with the slots, as compiled, of their
    /// instructions.
    fn run(&mut self, bytes: &mut [u8]) -> Vec<(u32, LinkError)> {
        let code = &self.placed.legal.code;
        let mut starts = Vec::with_capacity(code.len());
        let mut slot: u32 = 0;
        for it in code {
            starts.push(slot);
            slot += u32::from(matches!(it.insn.op.kind(), Kind::LoadImm64)) + 1;
        }
        let mut errors = Vec::new();
        for (it, &slot) in code.iter().zip(&starts) {
            let mut insn = it.insn;
            let pc = self.placed.start + slot;
            let linked = match it.reference {
                Reference::None => Ok(()),
                Reference::Jump(target) => {
                    let target = starts.get(target).copied().unwrap_or(0);
                    let distance = i64::from(target) - i64::from(slot) - 1;
                    i16::try_from(distance).map(|off| insn.off = off).map_err(|_| {
                        LinkError::new(format!(
                            "a jump over {distance} instructions; at most 32767 are possible"
                        ))
                        .help("split the function, or forbid inlining into it")
                    })
                }
                Reference::Syscall(name) => {
                    self.syscall(pc, name, &mut insn);
                    Ok(())
                }
                Reference::Target(target) => self.target(pc, target, &mut insn),
            };
            if let Err(error) = linked {
                errors.push((it.slot, error));
            }
            let (word, tail) = insn.encode();
            let at = slot as usize * SLOT_BYTES;
            bytes[at..at + SLOT_BYTES].copy_from_slice(&word.to_le_bytes());
            if let Some(tail) = tail {
                bytes[at + SLOT_BYTES..at + 2 * SLOT_BYTES].copy_from_slice(&tail.to_le_bytes());
            }
        }
        errors
    }

    fn syscall(&mut self, pc: u32, name: &'static str, insn: &mut selkie_isa::Insn) {
        if self.layout.version.static_calls() {
            (insn.src, insn.imm) = (0, i64::from(murmur3(name.as_bytes()).cast_signed()));
        } else {
            (insn.src, insn.imm) = (1, -1);
            self.syscalls.push((pc, name));
        }
    }

    fn target(
        &self,
        pc: u32,
        target: Target,
        insn: &mut selkie_isa::Insn,
    ) -> Result<(), LinkError> {
        let nowhere = || {
            LinkError::new("a reference to an address at which no instruction starts")
                .help("refer to the start of a function")
        };
        if matches!(insn.op.kind(), Kind::LoadImm64) {
            insn.imm = self.layout.address(target).ok_or_else(nowhere)?.cast_signed();
            return Ok(());
        }
        let Target::Location(location) = target else { return Err(nowhere()) };
        let end = self.layout.functions.get(&location.atom).map_or(0, |it| it.start + it.slots);
        let callee = self.layout.slot(location).filter(|&it| it < end).ok_or_else(nowhere)?;
        insn.src = 1;
        insn.imm = i64::from(callee) - i64::from(pc) - 1;
        if insn.imm == -1 {
            // The loader until V2 takes -1 for a call that it has to resolve, and verification of a
            // deployment from V3 on takes it for an unresolved one.
            let message = "an instruction that calls itself, which would never return";
            return Err(LinkError::new(message).help("let it call another instruction"));
        }
        Ok(())
    }
}

/// Returns the read-only data with all pointers filled in.
pub(crate) fn rodata(
    program: &Program<'_>,
    live: &Live,
    layout: &Layout,
    errors: &mut Errors,
) -> Vec<u8> {
    let mut rodata = vec![0; usize::try_from(layout.rodata_bytes).unwrap_or_default()];
    for (&atom, pointers) in &live.data {
        let Body::Part { object, section, .. } = program.atoms[atom.0].body else { continue };
        if program.atoms[atom.0].kind != SectionKind::ReadOnly {
            continue;
        }
        let data = program.objects[object].sections[section].data;
        let start = layout.data[&atom] - layout.addresses.rodata;
        let start = usize::try_from(start).unwrap_or_default();
        let bytes = &mut rodata[start..start + data.len()];
        bytes.copy_from_slice(data);
        for pointer in pointers {
            let at = usize::try_from(pointer.offset).unwrap_or_default();
            match layout.address(pointer.target) {
                Some(address) => bytes[at..at + 8].copy_from_slice(&address.to_le_bytes()),
                None => {
                    let message = "a pointer to an address at which no instruction starts";
                    let error = LinkError::new(message).help("point to the start of a function");
                    errors.push(program.attribute(atom, error).offset(pointer.offset));
                }
            }
        }
    }
    rodata
}
