//! Where everything goes, and what the references to it become.
//!
//! Functions come in the order of the input, so that those of one section stay together and in
//! order: debug information has pairs of addresses that hold for all in between. Read-only data
//! follows; what the program writes lies in the first bytes of the heap, which every invocation
//! gets as zeros.

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
    item::Link,
    legal::Legal,
    object::SectionKind,
    program::{AtomId, Body, Place, Program, Target},
    trace::Live,
};

/// Bytes at the start of the heap where Solana's allocators keep their position.
const ALLOCATOR_BYTES: u64 = 8;

/// A function with its place.
#[derive(Debug)]
pub(crate) struct Placed {
    /// The slot of its first instruction.
    pub(crate) start: u32,
    pub(crate) slots: u32,
    pub(crate) legal: Legal,
    /// Slots as compiled, with slots from the function's start: for each instruction, and for the
    /// end.
    pub(crate) map: Vec<(u32, u32)>,
}

/// Where everything is.
pub(crate) struct Layout {
    pub(crate) version: Version,
    pub(crate) functions: BTreeMap<AtomId, Placed>,
    /// Addresses of data.
    pub(crate) data: BTreeMap<AtomId, u64>,
    pub(crate) addresses: Addresses,
    pub(crate) text_slots: u32,
    pub(crate) rodata_bytes: u64,
    /// The first byte of the heap that no static takes.
    pub(crate) heap_start: u64,
}

impl Layout {
    /// Gives everything that is alive a place.
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
            let placed = Placed::new(slots, legal);
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
            // From V3 on read-only data begins at address 0, where no object may be: its address
            // would be taken for a null pointer.
            next += SLOT_BYTES as u64;
        }
        let mut heap = HEAP_START + ALLOCATOR_BYTES;
        for &atom in live.data.keys() {
            let it = &program.atoms[atom.0];
            let size = size(program, atom);
            let place = if it.kind == SectionKind::ReadOnly { &mut next } else { &mut heap };
            *place = place.next_multiple_of(it.align);
            self.data.insert(atom, *place);
            *place = place.saturating_add(size);
            if heap - HEAP_START > HEAP_BYTES_DEFAULT {
                let message = format!(
                    "writable variables take {} bytes, the heap has {HEAP_BYTES_DEFAULT}",
                    heap - HEAP_START
                );
                let error =
                    LinkError::new(message).symbol(program.variable(Place { atom, offset: 0 }));
                let help = "use the stack, or an account";
                errors.push(program.blame(atom, error).help(help));
                heap = HEAP_START;
            }
        }
        if live.data.keys().any(|it| program.atoms[it.0].kind == SectionKind::ReadOnly) {
            self.rodata_bytes = next - self.addresses.rodata;
        }
        self.heap_start = heap.next_multiple_of(8);
    }

    /// The address of a target, as far as it is alive.
    pub(crate) fn address(&self, target: Target) -> Option<u64> {
        match target {
            Target::Number(number) => Some(number),
            Target::HeapStart => Some(self.heap_start),
            Target::Syscall(_) => None,
            Target::Place(place) => match self.data.get(&place.atom) {
                Some(address) => Some(address.wrapping_add_signed(place.offset)),
                None => {
                    let slot = u64::from(self.slot(place)?);
                    Some(self.addresses.text + slot * SLOT_BYTES as u64)
                }
            },
        }
    }

    /// The slot of a place in a function: of an instruction as it was compiled, or of the end.
    pub(crate) fn slot(&self, place: Place) -> Option<u32> {
        let placed = self.functions.get(&place.atom)?;
        let offset = u64::try_from(place.offset).ok()?;
        if !offset.is_multiple_of(SLOT_BYTES as u64) {
            return None;
        }
        placed.slot(u32::try_from(offset / SLOT_BYTES as u64).ok()?)
    }
}

/// The bytes of an atom of data.
pub(crate) fn size(program: &Program<'_>, atom: AtomId) -> u64 {
    match program.atoms[atom.0].body {
        Body::Part { start, end, .. } => end - start,
        Body::Common { size, .. } => size,
        Body::Support(_) => 0,
    }
}

impl Placed {
    fn new(start: u32, legal: Legal) -> Self {
        let mut map = Vec::new();
        let mut slots = 0;
        for it in &legal.code {
            if it.is_first {
                // What is put before the first instruction belongs to it.
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

    /// The slot of the instruction that was compiled at `slot` of the function.
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

/// The instructions of the program, and until V2 the slots of calls of syscalls.
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
            errors.push(program.blame(atom, error));
        }
    }
    syscalls.sort_unstable();
    (text, syscalls)
}

struct Emitter<'a> {
    layout: &'a Layout,
    placed: &'a Placed,
    syscalls: &'a mut Vec<(u32, &'static str)>,
}

impl Emitter<'_> {
    /// Fills in the bytes of a function, and says what could not be.
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
            let linked = match it.link {
                Link::None => Ok(()),
                Link::Jump(target) => {
                    let target = starts.get(target).copied().unwrap_or(0);
                    let distance = i64::from(target) - i64::from(slot) - 1;
                    i16::try_from(distance).map(|off| insn.off = off).map_err(|_| {
                        LinkError::new(format!(
                            "a jump over {distance} instructions, of at most 32767"
                        ))
                        .help("split the function, or forbid inlining into it")
                    })
                }
                Link::Syscall(name) => {
                    self.syscall(pc, name, &mut insn);
                    Ok(())
                }
                Link::Target(target) => self.target(pc, target, &mut insn),
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
        let nowhere = || LinkError::new("a reference to where no instruction starts");
        if matches!(insn.op.kind(), Kind::LoadImm64) {
            insn.imm = self.layout.address(target).ok_or_else(nowhere)?.cast_signed();
            return Ok(());
        }
        let Target::Place(place) = target else { return Err(nowhere()) };
        let end = self.layout.functions.get(&place.atom).map_or(0, |it| it.start + it.slots);
        let callee = self.layout.slot(place).filter(|&it| it < end).ok_or_else(nowhere)?;
        insn.src = 1;
        insn.imm = i64::from(callee) - i64::from(pc) - 1;
        if insn.imm == -1 {
            // The loader until V2 takes -1 for a call that it has to resolve itself, and who
            // verifies a deployment from V3 on takes it for one that was forgotten.
            let message = "an instruction that calls itself, and so would never end";
            return Err(LinkError::new(message));
        }
        Ok(())
    }
}

/// The read-only data.
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
                    let error = LinkError::new("a pointer to where no instruction starts");
                    errors.push(program.blame(atom, error).offset(pointer.offset));
                }
            }
        }
    }
    rodata
}
