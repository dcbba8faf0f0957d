//! The expansion of each operation.

use selkie_isa::{
    Alu, Cond, Insn, Kind, Op, Operand, Size, Version, Width,
    layout::{FRAME_POINTER, STACK_FRAME_BYTES},
};

use super::{
    Inexpressible,
    builder::{Builder, Built, Label},
    frames::Frames,
    insn,
    liveness::{LiveRegisters, liveness},
    outgoing,
    widths::{Widths, widths},
};
use crate::{
    error::CORRUPT,
    item::{AtomicAction, Item, Operation, Reference, Registers, Rhs},
    opcode::{ARGUMENT_POINTER, load, store},
};

pub(super) struct Expander {
    builder: Builder,
    version: Version,
    live: Vec<LiveRegisters>,
    widths: Vec<Widths>,
    /// Bytes of the frame that the function itself uses.
    depth: u64,
    frames: Frames,
    /// Stack slots of eight bytes below those, reserved for the whole function.
    kept: u64,
    /// The maximum number of stack slots in which one expansion saves registers, beyond `kept`.
    saved_max: u64,
    /// The offset of the stack slot that holds the address of the stack arguments.
    arguments: Option<i16>,
}

/// Scratch registers of an expansion.
struct Scratch<const N: usize> {
    registers: [u8; N],
    /// Live registers among them, with the offsets of the stack slots in which they are saved.
    saved: Vec<(u8, i16)>,
}

type Result<T> = core::result::Result<T, Inexpressible>;

impl Expander {
    pub(super) fn new(items: &[Item], version: Version, depth: u64, frames: Frames) -> Self {
        let live = liveness(items);
        Self {
            builder: Builder::new(items.len()),
            version,
            widths: widths(items, &live),
            live,
            depth: depth + frames.moved,
            frames,
            kept: 0,
            saved_max: 0,
            arguments: None,
        }
    }

    /// Appends the calls that give the function more frames.
    pub(super) fn enter(&mut self) {
        for _ in 1..self.frames.count {
            let call = Insn { op: Op::CallStatic, dst: 0, src: 1, off: 0, imm: 1 };
            self.builder.push((call, Reference::None));
            self.builder.push(insn(Op::Exit, 0, 0, 0, 0));
        }
    }

    /// Returns the instructions, and the number of bytes of stack that were added.
    pub(super) fn finish(self) -> (Vec<Built>, u64) {
        (self.builder.finish(), (self.kept + self.saved_max) * 8)
    }

    /// Returns the offset from the frame pointer of added stack slot `index`.
    fn slot(&self, index: u64) -> Result<i16> {
        let below = self.depth + (index + 1) * 8;
        i16::try_from(below).map(|it| -it).map_err(|_| {
            Inexpressible::new("the frame is too large to save a register in it", LARGE_FRAME)
        })
    }

    /// Saves the address of the stack arguments, which the caller passes in r0, since r0 is free at a
    /// call. Until V2 the callee cannot compute it: the distance between frames depends on the
    /// runtime.
    pub(super) fn keep_arguments(&mut self) {
        if let Ok(slot) = self.slot(self.kept) {
            self.kept += 1;
            self.builder.push(insn(Op::Stxdw, FRAME_POINTER, 0, slot, 0));
            self.arguments = Some(slot);
        }
    }

    fn put(&mut self, op: Op, dst: u8, src: u8) {
        self.builder.push(insn(op, dst, src, 0, 0));
    }

    fn put_imm(&mut self, op: Op, dst: u8, imm: i64) {
        self.builder.push(insn(op, dst, 0, 0, imm));
    }

    fn sign_extend(&mut self, register: u8, bits: i32) {
        if bits == 32 {
            return self.put_imm(Op::Add32Imm, register, 0);
        }
        self.put_imm(Op::Lsh64Imm, register, (64 - bits).into());
        self.put_imm(Op::Arsh64Imm, register, (64 - bits).into());
    }

    /// Returns registers other than those of `taken`: dead ones first, then live ones, which it
    /// saves.
    fn scratch<const N: usize>(&mut self, index: usize, taken: Registers) -> Result<Scratch<N>> {
        self.first_scratch(index, taken, N)
    }

    /// Like [`Self::scratch`], but only the first `count` registers can be used.
    fn first_scratch<const N: usize>(
        &mut self,
        index: usize,
        taken: Registers,
        count: usize,
    ) -> Result<Scratch<N>> {
        let live = self.live[index].whole;
        let free = (0..FRAME_POINTER).filter(|&it| !taken.has(it) && !live.has(it));
        let live_ones = (0..FRAME_POINTER).filter(|&it| !taken.has(it) && live.has(it));
        let mut scratch = Scratch { registers: [0; N], saved: Vec::new() };
        for (place, register) in scratch.registers.iter_mut().take(count).zip(free.chain(live_ones))
        {
            *place = register;
            if live.has(register) {
                let slot = self.slot(self.kept + scratch.saved.len() as u64)?;
                self.builder.push(insn(Op::Stxdw, FRAME_POINTER, register, slot, 0));
                scratch.saved.push((register, slot));
            }
        }
        self.saved_max = self.saved_max.max(scratch.saved.len() as u64);
        Ok(scratch)
    }

    fn restore<const N: usize>(&mut self, scratch: &Scratch<N>) {
        for &(register, slot) in &scratch.saved {
            self.builder.push(insn(Op::Ldxdw, register, FRAME_POINTER, slot, 0));
        }
    }

    pub(super) fn item(&mut self, index: usize, item: &Item, passes: bool) -> Result<()> {
        self.builder.item(index, item.slot);
        match self.moved(item.operation)? {
            Operation::Insn(row) => self.row(index, row, item.reference, passes),
            Operation::SignedDivision { modulo, width, dst, operand } => {
                self.signed_division(index, modulo, width, dst, operand)
            }
            Operation::SignExtend { bits, width, dst, src } => {
                if dst != src {
                    self.put(Op::Mov64Reg, dst, src);
                }
                if self.widths[index].is_below(src, bits) {
                    return Ok(());
                }
                self.sign_extend(dst, bits);
                if width != Width::W64 {
                    self.put(Op::Mov32Reg, dst, dst);
                }
                Ok(())
            }
            Operation::LoadSigned { size, dst, src, off } => {
                let bits = match size {
                    Size::B => 8,
                    Size::H => 16,
                    _ => 32,
                };
                let load = Insn { op: load(size), dst, src, off, imm: 0 };
                self.row(index, load, Reference::None, passes)?;
                self.sign_extend(dst, bits);
                Ok(())
            }
            Operation::Atomic { action, size, dst, src, off } => {
                self.atomic(index, action, size, (dst, src, off))
            }
        }
    }

    /// Returns an operation with the offset of its access to the frame moved.
    fn moved(&self, operation: Operation) -> Result<Operation> {
        let by = self.frames.moved.cast_signed();
        let at = |off: i16| {
            i16::try_from(i64::from(off) - by)
                .map_err(|_| Inexpressible::new("an access far below the frame", LARGE_FRAME))
        };
        Ok(match operation {
            Operation::Insn(insn) => match insn.op.kind() {
                Kind::Load(_) if insn.src == FRAME_POINTER => {
                    Operation::Insn(Insn { off: at(insn.off)?, ..insn })
                }
                Kind::StoreReg(_) | Kind::StoreImm(_) if insn.dst == FRAME_POINTER => {
                    Operation::Insn(Insn { off: at(insn.off)?, ..insn })
                }
                _ => operation,
            },
            Operation::LoadSigned { size, dst, src: FRAME_POINTER, off } => {
                Operation::LoadSigned { size, dst, src: FRAME_POINTER, off: at(off)? }
            }
            Operation::Atomic { action, size, dst: FRAME_POINTER, src, off } => {
                Operation::Atomic { action, size, dst: FRAME_POINTER, src, off: at(off)? }
            }
            _ => operation,
        })
    }

    fn row(&mut self, index: usize, row: Insn, reference: Reference, passes: bool) -> Result<()> {
        let Insn { op, dst, src, off, imm } = row;
        match op.kind() {
            Kind::Alu(Alu::Div | Alu::Mod, width, Operand::Imm) if imm == 0 => {
                self.divide_by_zero(matches!(op.kind(), Kind::Alu(Alu::Mod, ..)), width, dst);
            }
            Kind::Alu(alu, width, Operand::Imm)
                if alu.shifts() && !(0..i64::from(width.bits())).contains(&imm) =>
            {
                let message = format!("a shift of a {}-bit number by {imm}", width.bits());
                return Err(Inexpressible::new(message, "shift by less than the width"));
            }
            Kind::Alu(_, Width::S32, _) => {
                self.builder.push((row, reference));
                let is_small = self.widths[index].result_is_small(&row);
                if self.live[index].upper.has(dst) && !is_small {
                    self.put(Op::Mov32Reg, dst, dst);
                }
            }
            Kind::Alu(Alu::Mov, Width::Z32, Operand::Reg)
                if dst == src && self.widths[index].is_zero_extended(dst) => {}
            Kind::Branch(cond, Width::Z32, operand) if !self.version.static_calls() => {
                let right = if operand == Operand::Reg { Rhs::Reg(src) } else { Rhs::Imm(imm) };
                let Reference::Jump(target) = reference else {
                    return Err(Inexpressible::new("a jump without target", CORRUPT));
                };
                return self.branch32(index, cond, (dst, right), Builder::of_item(target));
            }
            Kind::Alu(alu, Width::W64, Operand::Reg)
                if src == FRAME_POINTER && self.frames.moved > 0 =>
            {
                let (Alu::Mov | Alu::Add, moved) = (alu, self.frames.moved.cast_signed()) else {
                    return Err(Inexpressible::new(
                        "arithmetic with the frame pointer",
                        LARGE_FRAME,
                    ));
                };
                self.builder.push((row, reference));
                self.put_imm(Op::Add64Imm, dst, -moved);
            }
            Kind::StoreReg(_) if src == FRAME_POINTER && self.frames.moved > 0 => {
                return Err(Inexpressible::new("a store of the frame pointer", LARGE_FRAME));
            }
            Kind::Load(_) if src == ARGUMENT_POINTER => return self.argument(row),
            Kind::StoreReg(_) | Kind::StoreImm(_) if dst == ARGUMENT_POINTER => {
                let off = outgoing(off) - STACK_FRAME_BYTES.cast_signed();
                let off = i16::try_from(off).map_err(|_| too_many_arguments())?;
                self.builder.push((Insn { dst: FRAME_POINTER, off, ..row }, reference));
            }
            Kind::CallStatic => {
                if !matches!(reference, Reference::Syscall(_)) {
                    self.pass_arguments(passes);
                }
                self.builder.push((row, reference));
            }
            Kind::CallReg(_) if self.version.static_calls() => self.builder.push((row, reference)),
            Kind::CallReg(_) if passes && dst == 0 => {
                return self.call_through_r0(index, reference);
            }
            Kind::CallReg(_) => {
                self.pass_arguments(passes);
                let call = Insn { op: Op::CallxImm, dst: 0, src: 0, off: 0, imm: dst.into() };
                self.builder.push((call, reference));
            }
            _ => self.builder.push((row, reference)),
        }
        Ok(())
    }

    /// Expands a division by the constant 0, which the verifier refuses. In eBPF the quotient is 0,
    /// and the remainder is the dividend.
    fn divide_by_zero(&mut self, modulo: bool, width: Width, dst: u8) {
        match (modulo, width) {
            (false, _) => self.put_imm(Op::Mov64Imm, dst, 0),
            (true, Width::W64) => self.put(Op::Mov64Reg, dst, dst),
            (true, _) => self.put(Op::Mov32Reg, dst, dst),
        }
    }

    /// Expands a call through r0 with stack arguments, whose address r0 is to have: another register
    /// takes the callee's address.
    fn call_through_r0(&mut self, index: usize, reference: Reference) -> Result<()> {
        let scratch = self.scratch::<1>(index, Registers::of(&[0, 1, 2, 3, 4, 5]))?;
        let [callee] = scratch.registers;
        self.put(Op::Mov64Reg, callee, 0);
        self.pass_arguments(true);
        let call = Insn { op: Op::CallxImm, dst: 0, src: 0, off: 0, imm: callee.into() };
        self.builder.push((call, reference));
        self.restore(&scratch);
        Ok(())
    }

    fn pass_arguments(&mut self, passes: bool) {
        if passes && !self.version.static_calls() {
            self.put(Op::Mov64Reg, 0, FRAME_POINTER);
            self.put_imm(Op::Add64Imm, 0, -STACK_FRAME_BYTES.cast_signed());
        }
    }

    /// Expands the load of a stack argument from the caller's frame.
    fn argument(&mut self, row: Insn) -> Result<()> {
        let off = row.off - 8;
        if self.version.static_calls() {
            let frames = (self.frames.count + 1) * STACK_FRAME_BYTES;
            let off = i16::try_from(i64::from(off) - frames.cast_signed());
            let off = off.map_err(|_| too_many_arguments())?;
            self.builder.push((Insn { src: FRAME_POINTER, off, ..row }, Reference::None));
            return Ok(());
        }
        let Some(slot) = self.arguments else {
            let message = "the frame is too large to save the address of stack arguments in it";
            return Err(Inexpressible::new(message, LARGE_FRAME));
        };
        self.builder.push(insn(Op::Ldxdw, row.dst, FRAME_POINTER, slot, 0));
        self.builder.push((Insn { src: row.dst, off, ..row }, Reference::None));
        Ok(())
    }

    /// Expands a 32-bit comparison to a 64-bit one. If both operands are sign- or zero-extended, the
    /// result is the same.
    fn branch32(
        &mut self,
        index: usize,
        cond: Cond,
        (left, right): (u8, Rhs),
        target: Label,
    ) -> Result<()> {
        let widths = self.widths[index];
        let (operand, src, imm) = match right {
            Rhs::Reg(register) => (Operand::Reg, register, 0),
            Rhs::Imm(imm) => (Operand::Imm, 0, imm),
        };
        let registers = match operand {
            Operand::Reg => Registers::of(&[left, src]),
            _ => Registers::of(&[left]),
        };
        // A negative immediate is sign-extended, so the register must be too.
        let must_be_signed =
            matches!(cond, Cond::Sgt | Cond::Sge | Cond::Slt | Cond::Sle) || imm < 0;
        let are_signed = registers.iter().all(|it| widths.is_sign_extended(it));
        let signed = must_be_signed || are_signed;
        let is_extended = |it: u8| match signed {
            true => widths.is_sign_extended(it),
            false => widths.is_zero_extended(it),
        };
        let mut insn = Insn { op: wide_branch(cond, operand)?, dst: left, src, off: 0, imm };
        let narrow: Vec<u8> = registers.iter().filter(|&it| !is_extended(it)).collect();
        let scratch = self.first_scratch::<2>(index, registers, narrow.len())?;
        for (&from, to) in narrow.iter().zip(scratch.registers) {
            match signed {
                true => {
                    self.put(Op::Mov64Reg, to, from);
                    self.sign_extend(to, 32);
                }
                false => self.put(Op::Mov32Reg, to, from),
            }
            if from == left {
                insn.dst = to;
            }
            if operand == Operand::Reg && from == src {
                insn.src = to;
            }
        }
        self.branch(insn, target, scratch.saved);
        Ok(())
    }

    /// Appends a branch that restores saved registers on both paths.
    fn branch(&mut self, insn: Insn, target: Label, saved: Vec<(u8, i16)>) {
        if saved.is_empty() {
            return self.builder.jump(insn, target);
        }
        let scratch = Scratch { registers: [], saved };
        let (taken, on) = (self.builder.label(), self.builder.label());
        self.builder.jump(insn, taken);
        self.restore(&scratch);
        let jump = Insn { op: Op::Ja, dst: 0, src: 0, off: 0, imm: 0 };
        self.builder.jump(jump, on);
        self.builder.bind(taken);
        self.restore(&scratch);
        self.builder.jump(jump, target);
        self.builder.bind(on);
    }

    /// Expands a signed division to that of absolute values. The quotient is negative if exactly one
    /// operand is, the remainder if the dividend is.
    fn signed_division(
        &mut self,
        index: usize,
        modulo: bool,
        width: Width,
        dst: u8,
        operand: Rhs,
    ) -> Result<()> {
        let wide = width == Width::W64;
        if operand == Rhs::Imm(0) {
            self.divide_by_zero(modulo, width, dst);
            return Ok(());
        }
        let mut taken = Registers::of(&[dst]);
        if let Rhs::Reg(register) = operand {
            taken = taken.with(Registers::of(&[register]));
        }
        let scratch = self.scratch::<2>(index, taken)?;
        let [divisor, sign] = scratch.registers;
        match operand {
            Rhs::Reg(register) => {
                self.put(Op::Mov64Reg, divisor, register);
                if !wide {
                    self.sign_extend(divisor, 32);
                }
            }
            Rhs::Imm(imm) => self.put_imm(Op::Mov64Imm, divisor, imm),
        }
        if !wide {
            self.sign_extend(dst, 32);
        }
        self.put(Op::Mov64Reg, sign, dst);
        if !modulo {
            self.put(Op::Xor64Reg, sign, divisor);
        }
        self.negate_if_negative(dst, dst);
        self.negate_if_negative(divisor, divisor);
        self.put(if modulo { Op::Mod64Reg } else { Op::Div64Reg }, dst, divisor);
        self.negate_if_negative(dst, sign);
        if !wide {
            self.put(Op::Mov32Reg, dst, dst);
        }
        self.restore(&scratch);
        Ok(())
    }

    fn negate_if_negative(&mut self, register: u8, sign: u8) {
        let on = self.builder.label();
        let jump = Insn { op: Op::Jsge64Imm, dst: sign, src: 0, off: 0, imm: 0 };
        self.builder.jump(jump, on);
        self.put(Op::Neg64, register, 0);
        self.builder.bind(on);
    }

    /// Expands an atomic operation to separate instructions: a program has one thread.
    fn atomic(
        &mut self,
        index: usize,
        action: AtomicAction,
        size: Size,
        (dst, src, off): (u8, u8, i16),
    ) -> Result<()> {
        let taken = Registers::of(&[dst, src]);
        let (load, store) = (load(size), store(size));
        match action {
            AtomicAction::Combine { op, fetch } => {
                let scratch = self.scratch::<2>(index, taken)?;
                let [old, new] = scratch.registers;
                self.builder.push(insn(load, old, dst, off, 0));
                self.put(Op::Mov64Reg, new, old);
                self.put(op, new, src);
                self.builder.push(insn(store, dst, new, off, 0));
                if fetch {
                    self.put(Op::Mov64Reg, src, old);
                }
                self.restore(&scratch);
            }
            AtomicAction::Exchange => {
                let scratch = self.scratch::<1>(index, taken)?;
                let [old] = scratch.registers;
                self.builder.push(insn(load, old, dst, off, 0));
                self.builder.push(insn(store, dst, src, off, 0));
                self.put(Op::Mov64Reg, src, old);
                self.restore(&scratch);
            }
            AtomicAction::CompareExchange => {
                let scratch = self.scratch::<2>(index, taken.with(Registers::of(&[0])))?;
                let [old, expected] = scratch.registers;
                self.builder.push(insn(load, old, dst, off, 0));
                let narrow = size != Size::Dw;
                self.put(if narrow { Op::Mov32Reg } else { Op::Mov64Reg }, expected, 0);
                let on = self.builder.label();
                let jump = Insn { op: Op::Jne64Reg, dst: old, src: expected, off: 0, imm: 0 };
                self.builder.jump(jump, on);
                self.builder.push(insn(store, dst, src, off, 0));
                self.builder.bind(on);
                self.put(Op::Mov64Reg, 0, old);
                self.restore(&scratch);
            }
        }
        Ok(())
    }
}

const LARGE_FRAME: &str = "minimize large stack variables";

fn too_many_arguments() -> Inexpressible {
    Inexpressible::new("too many stack arguments", "pass a pointer to a struct")
}

/// Returns the 64-bit branch with the same condition.
fn wide_branch(cond: Cond, operand: Operand) -> Result<Op> {
    let kind = Kind::Branch(cond, Width::W64, operand);
    let op = Op::ALL.iter().copied().find(|op| op.kind() == kind);
    op.ok_or_else(|| {
        let message = format!("a 64-bit comparison by {cond:?} does not exist");
        Inexpressible::new(message, CORRUPT)
    })
}
