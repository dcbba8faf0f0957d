//! From the bytes of a function to items: every instruction known, every reference resolved.
//!
//! eBPF is read strictly. A field that an instruction does not use must be zero: newer compilers
//! give old opcodes new meanings by them. sBPF is what it is; it is held to what the verifier will
//! ask of it.

use std::collections::HashMap;

use selkie_isa::{
    Alu, Field, Insn, Kind, Op, Operand, Size, Slot, Version, Width, layout::FRAME_POINTER,
    symbol::murmur3,
};

use crate::{
    LinkError,
    error::Errors,
    item::{Action, Item, Link, Right, What},
    object::{R_BPF_64_32, R_BPF_64_64, Relocation},
    program::{AtomId, Body, Place, Program, Target},
    support::{Support, names, syscall},
};

/// Decodes the function that an atom is.
pub(crate) fn decode(program: &mut Program<'_>, atom: AtomId, errors: &mut Errors) -> Vec<Item> {
    match program.atoms[atom.0].body {
        Body::Part { object, section, start, end } => {
            let version = program.objects[object].version;
            let decoder = Decoder { atom, object, section, start, end, version };
            decoder.run(program, errors)
        }
        Body::Support(support) => written(support),
        Body::Common { .. } => Vec::new(),
    }
}

fn written(support: Support) -> Vec<Item> {
    let call = Insn { op: Op::CallStatic, dst: 0, src: 0, off: 0, imm: 0 };
    let items = support.code().into_iter().zip(0..).map(|(insn, slot)| {
        let (what, link) = match insn {
            Ok(insn) if matches!(insn.op.kind(), Kind::Jump | Kind::Branch(..)) => {
                let target = i64::from(slot) + 1 + i64::from(insn.off);
                let target = usize::try_from(target).expect("the routine jumps within itself");
                (insn, Link::Jump(target))
            }
            Ok(insn) => (insn, Link::None),
            Err(syscall) => (call, Link::Syscall(syscall)),
        };
        Item { slot, what: What::Row(what), link }
    });
    items.collect()
}

struct Decoder {
    atom: AtomId,
    object: usize,
    section: usize,
    start: u64,
    end: u64,
    /// Of sBPF.
    version: Option<Version>,
}

impl Decoder {
    fn run(&self, program: &mut Program<'_>, errors: &mut Errors) -> Vec<Item> {
        let section = &program.objects[self.object].sections[self.section];
        let range = as_usize(self.start)..as_usize(self.end);
        let data = section.data;
        let text = data.get(range).unwrap_or_default();
        let all = &section.relocations;
        let from = |offset: u64| all.partition_point(|it| it.offset < offset);
        let relocations: Vec<Relocation> = all[from(self.start)..from(self.end)].to_vec();
        if text.is_empty() || !text.len().is_multiple_of(8) {
            let message = format!("{} bytes are no instructions", text.len());
            errors.push(self.error(program, 0, message));
            return Vec::new();
        }
        let mut relocations = relocations.into_iter().peekable();
        let mut items = Vec::with_capacity(text.len() / 8);
        let mut item_of: HashMap<u32, usize> = HashMap::with_capacity(text.len() / 8);
        let mut slot = 0;
        while let Some(raw) = Slot::read(text, slot as usize) {
            let at = self.start + u64::from(slot) * 8;
            let mut relocation = None;
            while let Some(it) = relocations.next_if(|it| it.offset < at + 8) {
                if it.offset == at {
                    relocation = Some(it);
                } else {
                    let message = "a relocation in the middle of an instruction".to_owned();
                    errors.push(self.error(program, slot, message));
                }
            }
            item_of.insert(slot, items.len());
            let tail = Slot::read(text, slot as usize + 1);
            let slots = if raw.code == Op::Lddw.code() { 2 } else { 1 };
            match self.item(program, slot, raw, tail, relocation) {
                Ok((what, link)) => items.push(Item { slot, what, link }),
                Err(error) => {
                    let error = self.placed(program, slot, error);
                    errors.push(error);
                    items.push(Item { slot, what: nothing(), link: Link::None });
                }
            }
            slot += slots;
        }
        self.aim(program, &mut items, &item_of, errors);
        if items.last().is_some_and(|it| it.what.falls_through() && !is_call(&it.what)) {
            // Compilers end a function like this where they know that nobody gets there.
            let insn = Insn { op: Op::CallStatic, dst: 0, src: 0, off: 0, imm: 0 };
            items.push(Item { slot, what: What::Row(insn), link: Link::Syscall("abort") });
            let insn = Insn { op: Op::Exit, ..insn };
            items.push(Item { slot, what: What::Row(insn), link: Link::None });
        }
        items
    }

    /// Turns the targets of jumps from slots into items.
    fn aim(
        &self,
        program: &Program<'_>,
        items: &mut [Item],
        item_of: &HashMap<u32, usize>,
        errors: &mut Errors,
    ) {
        for item in items {
            let Link::Jump(target) = &mut item.link else { continue };
            match u32::try_from(*target).ok().and_then(|it| item_of.get(&it)) {
                Some(&index) => *target = index,
                None => {
                    let message =
                        "a jump to where no instruction of the function starts".to_owned();
                    errors.push(self.error(program, item.slot, message));
                    item.link = Link::Jump(0);
                }
            }
        }
    }

    fn error(&self, program: &Program<'_>, slot: u32, message: String) -> LinkError {
        self.placed(program, slot, LinkError::new(message))
    }

    fn placed(&self, program: &Program<'_>, slot: u32, error: LinkError) -> LinkError {
        let offset = self.start + u64::from(slot) * 8;
        program.blame(self.atom, error).offset(offset).symbol(program.atoms[self.atom.0].name)
    }

    fn item(
        &self,
        program: &mut Program<'_>,
        slot: u32,
        raw: Slot,
        tail: Option<Slot>,
        relocation: Option<Relocation>,
    ) -> Result<(What, Link), LinkError> {
        if raw.code == Op::CallStatic.code() {
            return self.call(program, slot, raw, relocation);
        }
        if raw.code == Op::Lddw.code() {
            return self.constant(program, raw, tail, relocation);
        }
        if let Some(it) = relocation {
            return Err(LinkError::new(format!(
                "a relocation of type {} on an instruction that is neither a call nor a constant \
                 of 64 bits",
                it.kind
            )));
        }
        let (what, distance) = match self.version {
            Some(version) => native(raw, version)?,
            None => instruction(raw)?,
        };
        let link = distance.map_or(Link::None, |distance| {
            let target = i64::from(slot) + 1 + distance;
            Link::Jump(usize::try_from(target).unwrap_or(usize::MAX))
        });
        Ok((what, link))
    }

    fn call(
        &self,
        program: &mut Program<'_>,
        slot: u32,
        raw: Slot,
        relocation: Option<Relocation>,
    ) -> Result<(What, Link), LinkError> {
        let what = What::Row(Insn { op: Op::CallStatic, dst: 0, src: 0, off: 0, imm: 0 });
        // From the start of the section, or of the symbol.
        let distance = (i64::from(raw.imm) + 1) * 8;
        if raw.dst != 0 || raw.off != 0 {
            return Err(LinkError::new(unknown(raw)));
        }
        let Some(relocation) = relocation else {
            return match raw.src {
                0 => {
                    let key = raw.imm.cast_unsigned();
                    let name = names().find(|it| murmur3(it.as_bytes()) == key).and_then(syscall);
                    let name = name.ok_or_else(|| unknown_number(key))?;
                    Ok((what, Link::Syscall(name)))
                }
                1 if raw.imm == -1 => {
                    let message = "a call that no relocation gives a target";
                    Err(LinkError::new(message).help("the object was stripped, or is broken"))
                }
                1 => {
                    let offset = self.start.cast_signed() + i64::from(slot) * 8 + distance;
                    let place = self.function(program, offset)?;
                    Ok((what, Link::Target(Target::Place(place))))
                }
                _ => Err(LinkError::new("a call of a function of the Linux kernel")),
            };
        };
        if relocation.kind != R_BPF_64_32 {
            let message = format!("a relocation of type {} on a call", relocation.kind);
            return Err(LinkError::new(message).help("only clang's and rustc's objects are known"));
        }
        let symbol = program.objects[self.object].symbols[relocation.symbol];
        if symbol.is_section
            && let crate::object::Home::Section(section) = symbol.home
        {
            let offset = symbol.value.cast_signed() + distance;
            let place = program.place(self.object, section, offset);
            let place = place.filter(|it| is_code(program, *it));
            let place = place.ok_or_else(|| LinkError::new("a call of what is no function"))?;
            return Ok((what, Link::Target(Target::Place(place))));
        }
        match program.resolve(self.object, relocation.symbol)? {
            Target::Syscall(name) => Ok((what, Link::Syscall(name))),
            Target::Place(place) if is_code(program, place) => {
                let place = Place { offset: place.offset + distance, ..place };
                match program.atoms[place.atom.0].body {
                    // Nothing returns from it, so there is no need for a frame of its own.
                    Body::Support(Support::Trap) => Ok((what, Link::Syscall("abort"))),
                    _ => Ok((what, Link::Target(Target::Place(place)))),
                }
            }
            Target::Place(_) | Target::HeapStart => {
                let message = format!("a call of `{}`, which is no function", symbol.name);
                Err(LinkError::new(message))
            }
            Target::Number(0) => {
                let message = format!("a call of `{}`, which is weak and not defined", symbol.name);
                Err(LinkError::new(message).help("define it, or do not call it"))
            }
            Target::Number(number) => {
                let key = u32::try_from(number).unwrap_or_default();
                let name = names().find(|it| murmur3(it.as_bytes()) == key).and_then(syscall);
                Ok((what, Link::Syscall(name.ok_or_else(|| unknown_number(key))?)))
            }
        }
    }

    fn function(&self, program: &Program<'_>, offset: i64) -> Result<Place, LinkError> {
        let place = program.place(self.object, self.section, offset);
        place.ok_or_else(|| LinkError::new("a call of what is no function"))
    }

    fn constant(
        &self,
        program: &mut Program<'_>,
        raw: Slot,
        tail: Option<Slot>,
        relocation: Option<Relocation>,
    ) -> Result<(What, Link), LinkError> {
        let tail = tail.ok_or_else(|| LinkError::new("half a constant of 64 bits"))?;
        let is_tail = tail.code == 0 && tail.dst == 0 && tail.src == 0 && tail.off == 0;
        if !is_tail || raw.src != 0 || raw.off != 0 {
            let message = "a constant of a kind that only the Linux kernel knows";
            return Err(LinkError::new(message));
        }
        let wide = i64::from(raw.imm.cast_unsigned()) | i64::from(tail.imm) << 32;
        let insn = Insn { op: Op::Lddw, dst: raw.dst, src: 0, off: 0, imm: wide };
        check_registers(&insn)?;
        let what = What::Row(insn);
        let Some(relocation) = relocation else { return Ok((what, Link::None)) };
        if relocation.kind != R_BPF_64_64 {
            let message = format!("a relocation of type {} on a constant", relocation.kind);
            return Err(LinkError::new(message).help("only clang's and rustc's objects are known"));
        }
        // Addends have 32 bits, with a sign.
        let addend = if tail.imm == 0 { i64::from(raw.imm) } else { wide };
        let target = address(program, self.object, relocation.symbol, addend)?;
        Ok((what, Link::Target(target)))
    }
}

/// What the address of a symbol and so many bytes is.
pub(crate) fn address(
    program: &mut Program<'_>,
    object: usize,
    number: usize,
    addend: i64,
) -> Result<Target, LinkError> {
    let symbol = program.objects[object].symbols[number];
    if symbol.is_section
        && let crate::object::Home::Section(section) = symbol.home
    {
        let offset = symbol.value.cast_signed().wrapping_add(addend);
        if let Some(place) = program.place(object, section, offset) {
            return Ok(Target::Place(place));
        }
    }
    Ok(match program.resolve(object, number)? {
        Target::Place(place) => {
            Target::Place(Place { offset: place.offset.wrapping_add(addend), ..place })
        }
        Target::Number(number) => Target::Number(number.wrapping_add_signed(addend)),
        Target::HeapStart if addend == 0 => Target::HeapStart,
        Target::HeapStart => return Err(LinkError::new("an offset from the start of the heap")),
        // A pointer to a syscall needs a function to point to.
        Target::Syscall(name) if addend == 0 => {
            let atom = program.support(Support::Syscall(name));
            Target::Place(Place { atom, offset: 0 })
        }
        Target::Syscall(name) => {
            return Err(LinkError::new(format!("an offset from the syscall `{name}`")));
        }
    })
}

fn is_code(program: &Program<'_>, place: Place) -> bool {
    program.atoms[place.atom.0].kind == crate::object::SectionKind::Code
}

fn is_call(what: &What) -> bool {
    let What::Row(insn) = what else { return false };
    matches!(insn.op.kind(), Kind::CallStatic | Kind::CallReg(_))
}

fn unknown_number(key: u32) -> LinkError {
    LinkError::new(format!("a call of number {key:#x}, which is no syscall's")).help(
        "helpers of the Linux kernel are not there; syscalls are called by name, or by the \
               hash of it",
    )
}

/// Stands where an instruction could not be read, until all errors are found.
fn nothing() -> What {
    What::Row(Insn { op: Op::Exit, dst: 0, src: 0, off: 0, imm: 0 })
}

fn unknown(raw: Slot) -> String {
    let Slot { code, dst, src, off, imm } = raw;
    format!(
        "unknown instruction: opcode {code:#04x}, r{dst}, r{src}, offset {off}, immediate {imm}"
    )
}

/// An instruction that is neither a call nor a 64-bit constant, and how far it jumps.
fn instruction(raw: Slot) -> Result<(What, Option<i64>), LinkError> {
    let refused = |help: &str| Err(LinkError::new(unknown(raw)).help(help));
    let Slot { code, dst, src, off, imm } = raw;
    let row = |op| Insn { op, dst, src, off, imm: i64::from(imm) };
    let what = match code {
        // `gotol` has its distance in the immediate.
        0x06 if dst == 0 && src == 0 && off == 0 => {
            let insn = Insn { imm: 0, ..row(Op::Ja) };
            return Ok((What::Row(insn), Some(i64::from(imm))));
        }
        0x0d => {
            return refused(
                "a jump by table: compile with -fno-jump-tables; of rustc, say \
                                -Cjump-tables=no",
            );
        }
        0xe5 => return refused("`may_goto` is for the Linux kernel"),
        0x81 | 0x89 | 0x91 if imm == 0 => {
            let size = match code {
                0x81 => Size::W,
                0x89 => Size::H,
                _ => Size::B,
            };
            check_registers(&row(Op::Ldxw))?;
            What::LoadSigned { size, dst, src, off }
        }
        0xd7 if src == 0 && off == 0 && matches!(imm, 16 | 32 | 64) => What::Row(row(Op::Be)),
        0xc3 | 0xcb | 0xd3 | 0xdb => atomic(raw)?,
        0x8d if off == 0 && src == 0 => {
            // Until LLVM 16 the register is in the immediate.
            let register = match (dst, imm) {
                (_, 0) => dst,
                (0, 1..=9) => u8::try_from(imm).unwrap_or_default(),
                _ => return refused("two registers to call"),
            };
            What::Row(Insn { dst: register, imm: 0, ..row(Op::CallxDst) })
        }
        _ => match Op::decode(Version::V3, code) {
            Some(op) => row_item(row(op))?,
            None => return refused("programs have no such instruction; compile with -mcpu=v2"),
        },
    };
    if let What::Row(insn) = &what {
        check_registers(insn)?;
        if matches!(insn.op.kind(), Kind::Jump | Kind::Branch(..)) {
            return Ok((What::Row(Insn { off: 0, ..*insn }), Some(i64::from(off))));
        }
    }
    Ok((what, None))
}

/// The same, of sBPF.
fn native(raw: Slot, version: Version) -> Result<(What, Option<i64>), LinkError> {
    let Slot { code, dst, src, off, imm } = raw;
    let refused = |why: String| Err(LinkError::new(why));
    let Some(op) = Op::decode(version, code).filter(|op| op.kind() != Kind::Tail) else {
        return refused(format!("{version} has no such instruction: opcode {code:#04x}"));
    };
    let insn = Insn { op, dst, src, off, imm: i64::from(imm) };
    let dst_max = match op.kind() {
        Kind::StoreReg(_) | Kind::StoreImm(_) => FRAME_POINTER,
        _ => FRAME_POINTER - 1,
    };
    if dst > dst_max || src > FRAME_POINTER {
        let name = op.mnemonic();
        return refused(format!("`{name}` with registers {dst} and {src}, which it cannot have"));
    }
    match op.kind() {
        Kind::Alu(alu, _, Operand::Imm | Operand::Uimm) if alu.divides() && imm == 0 => {
            return refused("a division by the constant zero".to_owned());
        }
        Kind::Alu(alu, width, Operand::Imm | Operand::Uimm)
            if alu.shifts() && !(0..i64::from(width.bits())).contains(&insn.imm) =>
        {
            return refused(format!("a shift of {} bits by {imm}", width.bits()));
        }
        Kind::Endian(_) if !matches!(imm, 16 | 32 | 64) => {
            return refused(format!("`{}` of {imm} bits", op.mnemonic()));
        }
        Kind::CallReg(field) => {
            let register = match field {
                Field::InImm => insn.imm,
                Field::InSrc => src.into(),
                Field::InDst => dst.into(),
            };
            if !(0..i64::from(FRAME_POINTER)).contains(&register) {
                return refused(format!("a call through register {register}"));
            }
        }
        Kind::Jump | Kind::Branch(..) => {
            return Ok((What::Row(Insn { off: 0, ..insn }), Some(off.into())));
        }
        _ => {}
    }
    Ok((What::Row(insn), None))
}

/// An instruction whose opcode sBPF has too. Some offsets that should be zero change its meaning.
fn row_item(insn: Insn) -> Result<What, LinkError> {
    use selkie_isa::Operand::Reg;
    let Insn { op, dst, src, off, imm } = insn;
    let strange = || {
        let raw = Slot { code: op.code(), dst, src, off, imm: i32::try_from(imm).unwrap_or(0) };
        LinkError::new(unknown(raw)).help("compile with -mcpu=v2")
    };
    let right = |operand| if operand == Reg { Right::Reg(src) } else { Right::Imm(imm) };
    let unused = |by_register: bool| if by_register { imm == 0 } else { src == 0 };
    match op.kind() {
        Kind::Alu(alu, width, operand) => {
            if !unused(operand == Reg) {
                return Err(strange());
            }
            let width = if width == Width::S32 { Width::Z32 } else { width };
            match (alu, off) {
                (_, 0) => Ok(What::Row(insn)),
                (Alu::Div | Alu::Mod, 1) => {
                    check_registers(&insn)?;
                    let (modulo, operand) = (alu == Alu::Mod, right(operand));
                    Ok(What::SignedDivision { modulo, width, dst, operand })
                }
                (Alu::Mov, 8 | 16 | 32) if operand == Reg && i32::from(off) < bits(width) => {
                    check_registers(&insn)?;
                    Ok(What::SignExtend { bits: off.into(), width, dst, src })
                }
                _ => Err(strange()),
            }
        }
        Kind::Neg(_) if src == 0 && off == 0 && imm == 0 => Ok(What::Row(insn)),
        Kind::Endian(_) if src == 0 && off == 0 && matches!(imm, 16 | 32 | 64) => {
            Ok(What::Row(insn))
        }
        Kind::Load(_) if imm == 0 => Ok(What::Row(insn)),
        Kind::StoreReg(_) if imm == 0 => Ok(What::Row(insn)),
        Kind::StoreImm(_) if src == 0 => Ok(What::Row(insn)),
        Kind::Branch(_, _, operand) if unused(operand == Reg) => Ok(What::Row(insn)),
        Kind::Jump if dst == 0 && src == 0 && imm == 0 => Ok(What::Row(insn)),
        Kind::Exit if dst == 0 && src == 0 && off == 0 && imm == 0 => Ok(What::Row(insn)),
        _ => Err(strange()),
    }
}

fn bits(width: Width) -> i32 {
    if width == Width::W64 { 64 } else { 32 }
}

fn atomic(raw: Slot) -> Result<What, LinkError> {
    let Slot { code, dst, src, off, imm } = raw;
    let size = match code {
        0xc3 => Size::W,
        0xcb => Size::H,
        0xd3 => Size::B,
        _ => Size::Dw,
    };
    let insn = |op| Insn { op, dst, src, off, imm: 0 };
    check_registers(&insn(Op::Stxdw))?;
    let wide = matches!(size, Size::W | Size::Dw);
    let combine = |op| Action::Combine { op, fetch: imm & 1 != 0 };
    let action = match imm {
        0x00 | 0x01 if wide => combine(Op::Add64Reg),
        0x40 | 0x41 if wide => combine(Op::Or64Reg),
        0x50 | 0x51 if wide => combine(Op::And64Reg),
        0xa0 | 0xa1 if wide => combine(Op::Xor64Reg),
        0xe1 if wide => Action::Exchange,
        0xf1 if wide => Action::CompareExchange,
        // Loads that others' stores come before, and the other way round.
        0x100 => return Ok(What::Row(insn(load(size)))),
        0x110 => return Ok(What::Row(insn(store(size)))),
        _ => return Err(LinkError::new(unknown(raw))),
    };
    if matches!(action, Action::Exchange | Action::Combine { fetch: true, .. }) {
        // What was there before goes to `src`.
        if src > 9 {
            return Err(LinkError::new(format!("an atomic instruction that writes to r{src}")));
        }
    }
    Ok(What::Atomic { action, size, dst, src, off })
}

pub(crate) fn load(size: Size) -> Op {
    match size {
        Size::B => Op::Ldxb,
        Size::H => Op::Ldxh,
        Size::W => Op::Ldxw,
        Size::Dw => Op::Ldxdw,
    }
}

pub(crate) fn store(size: Size) -> Op {
    match size {
        Size::B => Op::Stxb,
        Size::H => Op::Stxh,
        Size::W => Op::Stxw,
        Size::Dw => Op::Stxdw,
    }
}

/// The register that LLVM passes arguments by that do not fit into r1 to r5.
pub(crate) const ARGUMENT_POINTER: u8 = 11;

/// r0 to r9 for everything, r10 for reading, but for the left side of a comparison, which the
/// verifier takes for a register that is written; r11 as the base of a load or store alone.
fn check_registers(insn: &Insn) -> Result<(), LinkError> {
    let (dst_max, src_max) = match insn.op.kind() {
        Kind::Load(_) => (9, ARGUMENT_POINTER),
        Kind::StoreReg(_) | Kind::StoreImm(_) => (ARGUMENT_POINTER, 10),
        _ => (9, 10),
    };
    if insn.dst <= dst_max && insn.src <= src_max {
        return Ok(());
    }
    Err(LinkError::new(format!(
        "`{}` with registers {} and {}, which it cannot have",
        insn.op.mnemonic(),
        insn.dst,
        insn.src
    )))
}

fn as_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
