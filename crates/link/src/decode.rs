//! Decoding of functions to items, with resolved references.

use core::iter::Peekable;
use std::collections::HashMap;

use selkie_isa::{Insn, Kind, Op, Slot, Version, symbol::murmur3};

use crate::{
    LinkError,
    error::{CORRUPT, Errors},
    item::{Item, Operation, Reference},
    object::{Definition, R_BPF_64_32, R_BPF_64_64, Relocation, SectionKind},
    opcode::{MCPU_V2, check_registers, decode_ebpf, decode_sbpf, unknown_instruction},
    program::{AtomId, Body, Location, Program, Target},
    routines::{Routine, names, syscall},
};

/// Decodes the function of an atom.
pub(crate) fn decode(program: &mut Program<'_>, atom: AtomId, errors: &mut Errors) -> Vec<Item> {
    match program.atoms[atom.0].body {
        Body::Part { object, section, start, end } => {
            let version = program.objects[object].version;
            let decoder = Decoder { atom, object, section, start, end, version };
            decoder.run(program, errors)
        }
        Body::Routine(routine) => routine_items(routine),
        Body::Common { .. } => Vec::new(),
    }
}

/// Returns the items of a routine that the linker provides.
fn routine_items(routine: Routine) -> Vec<Item> {
    let items = routine.code().into_iter().zip(0..).map(|(insn, slot)| {
        let (operation, reference) = match insn {
            Ok(insn) if matches!(insn.op.kind(), Kind::Jump | Kind::Branch(..)) => {
                let target = i64::from(slot) + 1 + i64::from(insn.off);
                let target = usize::try_from(target).expect("the routine jumps within itself");
                (insn, Reference::Jump(target))
            }
            Ok(insn) => (insn, Reference::None),
            Err(syscall) => (CALL, Reference::Syscall(syscall)),
        };
        Item { slot, operation: Operation::Insn(operation), reference }
    });
    items.collect()
}

/// A call whose target the layout fills in.
const CALL: Insn = Insn { op: Op::CallStatic, dst: 0, src: 0, off: 0, imm: 0 };
const EXIT: Insn = Insn { op: Op::Exit, dst: 0, src: 0, off: 0, imm: 0 };

struct Decoder {
    atom: AtomId,
    object: usize,
    section: usize,
    start: u64,
    end: u64,
    /// The version of sBPF; `None` for eBPF.
    version: Option<Version>,
}

impl Decoder {
    fn run(&self, program: &mut Program<'_>, errors: &mut Errors) -> Vec<Item> {
        let section = &program.objects[self.object].sections[self.section];
        let text = section.data.get(as_usize(self.start)..as_usize(self.end)).unwrap_or_default();
        let all = &section.relocations;
        let from = |offset: u64| all.partition_point(|it| it.offset < offset);
        let relocations: Vec<Relocation> = all[from(self.start)..from(self.end)].to_vec();
        if text.is_empty() || !text.len().is_multiple_of(8) {
            let message =
                format!("a function of {} bytes, not a multiple of 8 above 0", text.len());
            errors.push(self.error(program, 0, message));
            return Vec::new();
        }
        let mut relocations = relocations.into_iter().peekable();
        let mut items = Vec::with_capacity(text.len() / 8);
        let mut item_of: HashMap<u32, usize> = HashMap::with_capacity(text.len() / 8);
        let mut slot = 0;
        while let Some(raw) = Slot::read(text, slot as usize) {
            let relocation = self.relocation(program, slot, &mut relocations, errors);
            item_of.insert(slot, items.len());
            let tail = Slot::read(text, slot as usize + 1);
            let item = self.item(program, slot, raw, tail, relocation);
            let (operation, reference) = item.unwrap_or_else(|error| {
                errors.push(self.at_slot(program, slot, error));
                // Takes the place of the instruction until all errors are found.
                (Operation::Insn(EXIT), Reference::None)
            });
            items.push(Item { slot, operation, reference });
            slot += if raw.code == Op::Lddw.code() { 2 } else { 1 };
        }
        self.resolve_jumps(program, &mut items, &item_of, errors);
        if items.last().is_some_and(|it| it.operation.falls_through() && !is_call(&it.operation)) {
            // Compilers end a function like this if its end is unreachable.
            let abort = Reference::Syscall("abort");
            items.push(Item { slot, operation: Operation::Insn(CALL), reference: abort });
            let exit = Operation::Insn(EXIT);
            items.push(Item { slot, operation: exit, reference: Reference::None });
        }
        items
    }

    /// Takes the relocations of an instruction slot, and returns the one at its start.
    fn relocation(
        &self,
        program: &Program<'_>,
        slot: u32,
        relocations: &mut Peekable<impl Iterator<Item = Relocation>>,
        errors: &mut Errors,
    ) -> Option<Relocation> {
        let start = self.start + u64::from(slot) * 8;
        let mut relocation = None;
        while let Some(it) = relocations.next_if(|it| it.offset < start + 8) {
            if it.offset == start {
                relocation = Some(it);
            } else {
                let message = "a relocation inside an instruction, not at its start".to_owned();
                errors.push(self.error(program, slot, message));
            }
        }
        relocation
    }

    /// Turns the targets of jumps from slots into indices of items.
    fn resolve_jumps(
        &self,
        program: &Program<'_>,
        items: &mut [Item],
        item_of: &HashMap<u32, usize>,
        errors: &mut Errors,
    ) {
        for item in items {
            let Reference::Jump(target) = &mut item.reference else { continue };
            match u32::try_from(*target).ok().and_then(|it| item_of.get(&it)) {
                Some(&index) => *target = index,
                None => {
                    let error =
                        LinkError::new("a jump out of the function or into a 64-bit constant")
                            .help("jump to the start of an instruction of the same function");
                    errors.push(self.at_slot(program, item.slot, error));
                    item.reference = Reference::Jump(0);
                }
            }
        }
    }

    fn error(&self, program: &Program<'_>, slot: u32, message: String) -> LinkError {
        self.at_slot(program, slot, LinkError::new(message))
    }

    fn at_slot(&self, program: &Program<'_>, slot: u32, error: LinkError) -> LinkError {
        let offset = self.start + u64::from(slot) * 8;
        program.attribute(self.atom, error).offset(offset).symbol(program.atoms[self.atom.0].name)
    }

    fn item(
        &self,
        program: &mut Program<'_>,
        slot: u32,
        raw: Slot,
        tail: Option<Slot>,
        relocation: Option<Relocation>,
    ) -> Result<(Operation, Reference), LinkError> {
        if raw.code == Op::CallStatic.code() {
            let reference = self.call(program, slot, raw, relocation)?;
            return Ok((Operation::Insn(CALL), reference));
        }
        if raw.code == Op::Lddw.code() {
            return self.constant(program, raw, tail, relocation);
        }
        if let Some(it) = relocation {
            let message = format!("an unsupported relocation of type {}", it.kind);
            let help = "only calls and 64-bit constants (lddw) can refer to symbols";
            return Err(LinkError::new(message).help(help));
        }
        let (operation, distance) = match self.version {
            Some(version) => decode_sbpf(raw, version)?,
            None => decode_ebpf(raw)?,
        };
        let reference = distance.map_or(Reference::None, |distance| {
            let target = i64::from(slot) + 1 + distance;
            Reference::Jump(usize::try_from(target).unwrap_or(usize::MAX))
        });
        Ok((operation, reference))
    }

    /// Resolves the reference of a call.
    fn call(
        &self,
        program: &mut Program<'_>,
        slot: u32,
        raw: Slot,
        relocation: Option<Relocation>,
    ) -> Result<Reference, LinkError> {
        if raw.dst != 0 || raw.off != 0 {
            return Err(LinkError::new(unknown_instruction(raw)).help(MCPU_V2));
        }
        let Some(relocation) = relocation else {
            return self.call_without_relocation(program, slot, raw);
        };
        if relocation.kind != R_BPF_64_32 {
            let message = format!("a relocation of type {} on a call", relocation.kind);
            return Err(LinkError::new(message).help(KNOWN_COMPILERS));
        }
        // From the start of the section or symbol.
        let distance = (i64::from(raw.imm) + 1) * 8;
        let symbol = program.objects[self.object].symbols[relocation.symbol];
        if symbol.is_section
            && let Definition::Section(section) = symbol.definition
        {
            let offset = symbol.value.cast_signed() + distance;
            let location = program.location(self.object, section, offset);
            let location = location.filter(|it| is_code(program, *it)).ok_or_else(no_function)?;
            return Ok(Reference::Target(Target::Location(location)));
        }
        match program.resolve(self.object, relocation.symbol)? {
            Target::Syscall(name) => Ok(Reference::Syscall(name)),
            Target::Location(location) if is_code(program, location) => {
                let location = Location { offset: location.offset + distance, ..location };
                match program.atoms[location.atom.0].body {
                    // It does not return, so it needs no frame of its own.
                    Body::Routine(Routine::Trap) => Ok(Reference::Syscall("abort")),
                    _ => Ok(Reference::Target(Target::Location(location))),
                }
            }
            Target::Location(_) | Target::HeapStart => {
                let message = format!("a call of `{}`, which is not a function", symbol.name);
                Err(LinkError::new(message).help("correct its declaration, or define a function"))
            }
            // An undefined weak function: a program calls it where its address is not 0.
            Target::Number(0) => Ok(Reference::Syscall("abort")),
            Target::Number(number) => syscall_by_key(u32::try_from(number).unwrap_or_default()),
        }
    }

    /// Resolves the reference of a call that no relocation completes: of a syscall by its hash, or
    /// of a function of the same section.
    fn call_without_relocation(
        &self,
        program: &Program<'_>,
        slot: u32,
        raw: Slot,
    ) -> Result<Reference, LinkError> {
        match raw.src {
            0 => syscall_by_key(raw.imm.cast_unsigned()),
            1 if raw.imm == -1 => {
                let help = "the object was stripped or is corrupt: compile it again";
                Err(LinkError::new("a call without target and relocation").help(help))
            }
            1 => {
                let offset =
                    self.start.cast_signed() + (i64::from(slot) + 1 + i64::from(raw.imm)) * 8;
                let location = program.location(self.object, self.section, offset);
                location.map(|it| Reference::Target(Target::Location(it))).ok_or_else(no_function)
            }
            _ => Err(LinkError::new("a call of a function of the Linux kernel")
                .help("call syscalls of Solana or functions of the program")),
        }
    }

    fn constant(
        &self,
        program: &mut Program<'_>,
        raw: Slot,
        tail: Option<Slot>,
        relocation: Option<Relocation>,
    ) -> Result<(Operation, Reference), LinkError> {
        let tail = tail.ok_or_else(|| {
            LinkError::new("a 64-bit constant (lddw) without its second slot").help(CORRUPT)
        })?;
        let is_tail = tail.code == 0 && tail.dst == 0 && tail.src == 0 && tail.off == 0;
        if !is_tail || raw.src != 0 || raw.off != 0 {
            let message = "a map or other constant of the Linux kernel";
            let help = "load addresses of this program's own functions and data only";
            return Err(LinkError::new(message).help(help));
        }
        let wide = i64::from(raw.imm.cast_unsigned()) | i64::from(tail.imm) << 32;
        let insn = Insn { op: Op::Lddw, dst: raw.dst, src: 0, off: 0, imm: wide };
        check_registers(&insn)?;
        let operation = Operation::Insn(insn);
        let Some(relocation) = relocation else { return Ok((operation, Reference::None)) };
        if relocation.kind != R_BPF_64_64 {
            let message = format!("a relocation of type {} on a constant", relocation.kind);
            return Err(LinkError::new(message).help(KNOWN_COMPILERS));
        }
        // Addends are signed 32-bit numbers.
        let addend = if tail.imm == 0 { i64::from(raw.imm) } else { wide };
        let target = address(program, self.object, relocation.symbol, addend)?;
        Ok((operation, Reference::Target(target)))
    }
}

/// Resolves the address `addend` bytes behind a symbol.
pub(crate) fn address(
    program: &mut Program<'_>,
    object: usize,
    number: usize,
    addend: i64,
) -> Result<Target, LinkError> {
    let symbol = program.objects[object].symbols[number];
    if symbol.is_section
        && let Definition::Section(section) = symbol.definition
    {
        let offset = symbol.value.cast_signed().wrapping_add(addend);
        if let Some(location) = program.location(object, section, offset) {
            return Ok(Target::Location(location));
        }
    }
    Ok(match program.resolve(object, number)? {
        Target::Location(location) => {
            Target::Location(Location { offset: location.offset.wrapping_add(addend), ..location })
        }
        Target::Number(number) => Target::Number(number.wrapping_add_signed(addend)),
        Target::HeapStart if addend == 0 => Target::HeapStart,
        Target::HeapStart => {
            let message = "an offset from `__heap_start`";
            return Err(LinkError::new(message).help("add the offset at run time"));
        }
        // A pointer to a syscall is the address of a function that calls it.
        Target::Syscall(name) if addend == 0 => {
            let atom = program.routine(Routine::Syscall(name));
            Target::Location(Location { atom, offset: 0 })
        }
        Target::Syscall(name) => {
            let message = format!("an offset from the syscall `{name}`");
            return Err(LinkError::new(message).help("refer to the syscall itself"));
        }
    })
}

fn is_code(program: &Program<'_>, location: Location) -> bool {
    program.atoms[location.atom.0].kind == SectionKind::Code
}

fn is_call(operation: &Operation) -> bool {
    let Operation::Insn(insn) = operation else { return false };
    matches!(insn.op.kind(), Kind::CallStatic | Kind::CallReg(_))
}

/// The help for relocations of unknown types.
const KNOWN_COMPILERS: &str = "compile with clang or rustc, whose relocations are supported";

fn no_function() -> LinkError {
    LinkError::new("a call of an address that is not in code").help(CORRUPT)
}

/// Resolves a call of a syscall by the hash of its name.
fn syscall_by_key(key: u32) -> Result<Reference, LinkError> {
    let name = names().find(|it| murmur3(it.as_bytes()) == key).and_then(syscall);
    name.map(Reference::Syscall).ok_or_else(|| {
        let message = format!("a call of {key:#x}, which is not the hash of a syscall");
        let help = "call syscalls by their name or its Murmur3 hash; helper functions of the Linux \
                    kernel do not exist";
        LinkError::new(message).help(help)
    })
}

fn as_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
