//! What each instruction becomes.

use selkie_isa::{
    Alu, Cond, Insn, Kind, Op, Operand, Size, Version, Width,
    layout::{FRAME_POINTER, STACK_FRAME_BYTES},
};

use super::{
    builder::{Builder, Built, Label},
    insn,
    liveness::{Counts, liveness},
    outgoing,
};
use crate::{
    decode::{ARGUMENT_POINTER, load, store},
    item::{Action, Item, Link, Registers, Right, What},
};

pub(super) struct Expander {
    builder: Builder,
    version: Version,
    counts: Vec<Counts>,
    /// Bytes that the function itself uses of its frame.
    depth: u64,
    /// Slots of eight bytes below that, for what is to be kept.
    kept: u64,
    /// The most that one instruction kept, beyond `kept`.
    saved_max: u64,
    /// The slot that has the address of the arguments on the stack.
    arguments: Option<i16>,
}

/// Registers for an expansion, and what to do for them.
struct Scratch<const N: usize> {
    registers: [u8; N],
    /// Registers that count, with the slots that keep them meanwhile.
    saved: Vec<(u8, i16)>,
}

type Result<T> = core::result::Result<T, String>;

impl Expander {
    pub(super) fn new(items: &[Item], version: Version, depth: u64) -> Self {
        Self {
            builder: Builder::new(items.len()),
            version,
            counts: liveness(items),
            depth,
            kept: 0,
            saved_max: 0,
            arguments: None,
        }
    }

    /// The instructions, and the bytes of stack that were added.
    pub(super) fn finish(self) -> (Vec<Built>, u64) {
        (self.builder.finish(), (self.kept + self.saved_max) * 8)
    }

    /// The offset of slot `index` below the frame.
    fn slot(&self, index: u64) -> Result<i16> {
        let below = self.depth + (index + 1) * 8;
        let too_deep = || "the frame is too large to keep a register in".to_owned();
        i16::try_from(below).map(|it| -it).map_err(|_| too_deep())
    }

    /// Before V3 the distance between frames depends on the runtime, so the caller leaves the
    /// address of the arguments in r0, which is free at a call, and the callee keeps it.
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
        self.put_imm(Op::Lsh64Imm, register, (64 - bits).into());
        self.put_imm(Op::Arsh64Imm, register, (64 - bits).into());
    }

    /// Registers other than those of `taken`, the ones that do not count first.
    fn scratch<const N: usize>(&mut self, index: usize, taken: Registers) -> Result<Scratch<N>> {
        let counts = self.counts[index].whole;
        let free = (0..FRAME_POINTER).filter(|&it| !taken.has(it) && !counts.has(it));
        let others = (0..FRAME_POINTER).filter(|&it| !taken.has(it) && counts.has(it));
        let mut scratch = Scratch { registers: [0; N], saved: Vec::new() };
        for (place, register) in scratch.registers.iter_mut().zip(free.chain(others)) {
            *place = register;
            if counts.has(register) {
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
        match item.what {
            What::Row(row) => self.row(index, row, item.link, passes),
            What::SignedDivision { modulo, width, dst, operand } => {
                self.signed_division(index, modulo, width, dst, operand)
            }
            What::SignExtend { bits, width, dst, src } => {
                self.put(Op::Mov64Reg, dst, src);
                self.sign_extend(dst, bits);
                if width != Width::W64 {
                    self.put(Op::Mov32Reg, dst, dst);
                }
                Ok(())
            }
            What::LoadSigned { size, dst, src, off } => {
                let bits = match size {
                    Size::B => 8,
                    Size::H => 16,
                    _ => 32,
                };
                let load = Insn { op: load(size), dst, src, off, imm: 0 };
                self.row(index, load, Link::None, passes)?;
                self.sign_extend(dst, bits);
                Ok(())
            }
            What::Atomic { action, size, dst, src, off } => {
                self.atomic(index, action, size, (dst, src, off))
            }
        }
    }

    fn row(&mut self, index: usize, row: Insn, link: Link, passes: bool) -> Result<()> {
        let Insn { op, dst, src, off, imm } = row;
        match op.kind() {
            Kind::Alu(Alu::Div | Alu::Mod, width, Operand::Imm) if imm == 0 => {
                // In eBPF a quotient by zero is zero, a remainder the dividend. Only the compiler
                // can have known the divisor, so nobody relies on it; but it must load.
                match op.kind() {
                    Kind::Alu(Alu::Div, ..) => self.put_imm(Op::Mov64Imm, dst, 0),
                    _ if width == Width::W64 => self.put(Op::Mov64Reg, dst, dst),
                    _ => self.put(Op::Mov32Reg, dst, dst),
                }
            }
            Kind::Alu(alu, width, Operand::Imm)
                if alu.shifts() && !(0..i64::from(width.bits())).contains(&imm) =>
            {
                return Err(format!("a shift of {} bits by {imm}", width.bits()));
            }
            Kind::Alu(_, Width::S32, _) => {
                self.builder.push((row, link));
                if self.counts[index].upper.has(dst) {
                    self.put(Op::Mov32Reg, dst, dst);
                }
            }
            Kind::Branch(cond, Width::Z32, operand) if !self.version.static_calls() => {
                let right = if operand == Operand::Reg { Right::Reg(src) } else { Right::Imm(imm) };
                let Link::Jump(target) = link else { return Err("a jump to nowhere".into()) };
                return self.branch32(index, cond, (dst, right), Builder::of_item(target));
            }
            Kind::Load(_) if src == ARGUMENT_POINTER => return self.argument(row),
            Kind::StoreReg(_) | Kind::StoreImm(_) if dst == ARGUMENT_POINTER => {
                let off = outgoing(off) - STACK_FRAME_BYTES.cast_signed();
                let off = i16::try_from(off).map_err(|_| "too many arguments".to_owned())?;
                self.builder.push((Insn { dst: FRAME_POINTER, off, ..row }, link));
            }
            Kind::CallStatic => {
                if !matches!(link, Link::Syscall(_)) {
                    self.pass_arguments(passes);
                }
                self.builder.push((row, link));
            }
            Kind::CallReg(_) if self.version.static_calls() => self.builder.push((row, link)),
            Kind::CallReg(_) => {
                if passes && dst == 0 {
                    return Err("a call through r0 with arguments on the stack".into());
                }
                self.pass_arguments(passes);
                let call = Insn { op: Op::CallxImm, dst: 0, src: 0, off: 0, imm: dst.into() };
                self.builder.push((call, link));
            }
            _ => self.builder.push((row, link)),
        }
        Ok(())
    }

    fn pass_arguments(&mut self, passes: bool) {
        if passes && !self.version.static_calls() {
            self.put(Op::Mov64Reg, 0, FRAME_POINTER);
            self.put_imm(Op::Add64Imm, 0, -STACK_FRAME_BYTES.cast_signed());
        }
    }

    /// The load of an argument from the stack: the caller's frame is the one before.
    fn argument(&mut self, row: Insn) -> Result<()> {
        let off = row.off - 8;
        if self.version.static_calls() {
            let frames = 2 * STACK_FRAME_BYTES.cast_signed();
            let off = i16::try_from(i64::from(off) - frames);
            let off = off.map_err(|_| "too many arguments".to_owned())?;
            self.builder.push((Insn { src: FRAME_POINTER, off, ..row }, Link::None));
            return Ok(());
        }
        let Some(slot) = self.arguments else {
            return Err("the frame is too large to keep the arguments' address in".into());
        };
        self.builder.push(insn(Op::Ldxdw, row.dst, FRAME_POINTER, slot, 0));
        self.builder.push((Insn { src: row.dst, off, ..row }, Link::None));
        Ok(())
    }

    /// A comparison of lower halves. Extended alike, by sign or by zeros, they compare as before.
    fn branch32(
        &mut self,
        index: usize,
        cond: Cond,
        (left, right): (u8, Right),
        target: Label,
    ) -> Result<()> {
        let signed = matches!(cond, Cond::Sgt | Cond::Sge | Cond::Slt | Cond::Sle);
        // Numbers come sign-extended, and so must go what they are compared with.
        let signed = signed || matches!(right, Right::Imm(imm) if imm < 0);
        let (operand, src, imm) = match right {
            Right::Reg(register) => (Operand::Reg, Some(register), 0),
            Right::Imm(imm) => (Operand::Imm, None, imm),
        };
        let op = wide_branch(cond, operand)?;
        let taken = Registers::of(&[left]).with(Registers::of(src.as_slice()));
        let extend = |this: &mut Self, to: u8, from: u8| match signed {
            true => {
                this.put(Op::Mov64Reg, to, from);
                this.sign_extend(to, 32);
            }
            false => this.put(Op::Mov32Reg, to, from),
        };
        let (saved, insn) = match src.filter(|&src| src != left) {
            Some(src) => {
                let scratch = self.scratch::<2>(index, taken)?;
                let [a, b] = scratch.registers;
                extend(self, a, left);
                extend(self, b, src);
                (scratch.saved, Insn { op, dst: a, src: b, off: 0, imm })
            }
            None => {
                let scratch = self.scratch::<1>(index, taken)?;
                let [a] = scratch.registers;
                extend(self, a, left);
                let src = if src.is_some() { a } else { 0 };
                (scratch.saved, Insn { op, dst: a, src, off: 0, imm })
            }
        };
        if saved.is_empty() {
            self.builder.jump(insn, target);
            return Ok(());
        }
        // What was saved is restored on both ways.
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
        Ok(())
    }

    /// By the quotient or remainder of absolute values. The quotient is negative if one operand
    /// is, the remainder if the dividend is.
    fn signed_division(
        &mut self,
        index: usize,
        modulo: bool,
        width: Width,
        dst: u8,
        operand: Right,
    ) -> Result<()> {
        let wide = width == Width::W64;
        if operand == Right::Imm(0) {
            match (modulo, wide) {
                (false, _) => self.put_imm(Op::Mov64Imm, dst, 0),
                (true, true) => self.put(Op::Mov64Reg, dst, dst),
                (true, false) => self.put(Op::Mov32Reg, dst, dst),
            }
            return Ok(());
        }
        let mut taken = Registers::of(&[dst]);
        if let Right::Reg(register) = operand {
            taken = taken.with(Registers::of(&[register]));
        }
        let scratch = self.scratch::<2>(index, taken)?;
        let [divisor, sign] = scratch.registers;
        match operand {
            Right::Reg(register) => {
                self.put(Op::Mov64Reg, divisor, register);
                if !wide {
                    self.sign_extend(divisor, 32);
                }
            }
            Right::Imm(imm) => self.put_imm(Op::Mov64Imm, divisor, imm),
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

    /// Nothing runs beside a program, so what happens in steps is not seen half done.
    fn atomic(
        &mut self,
        index: usize,
        action: Action,
        size: Size,
        (dst, src, off): (u8, u8, i16),
    ) -> Result<()> {
        let taken = Registers::of(&[dst, src]);
        let (load, store) = (load(size), store(size));
        match action {
            Action::Combine { op, fetch } => {
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
            Action::Exchange => {
                let scratch = self.scratch::<1>(index, taken)?;
                let [old] = scratch.registers;
                self.builder.push(insn(load, old, dst, off, 0));
                self.builder.push(insn(store, dst, src, off, 0));
                self.put(Op::Mov64Reg, src, old);
                self.restore(&scratch);
            }
            Action::CompareExchange => {
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

/// The comparison of 64 bits that asks the same.
fn wide_branch(cond: Cond, operand: Operand) -> Result<Op> {
    let kind = Kind::Branch(cond, Width::W64, operand);
    let op = Op::ALL.iter().copied().find(|op| op.kind() == kind);
    op.ok_or_else(|| format!("a comparison by {cond:?}"))
}
