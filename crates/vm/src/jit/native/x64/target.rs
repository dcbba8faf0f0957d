//! The operations of [`Target`] as instructions of x86-64.

use core::mem::offset_of;

use selkie_isa::{Alu, Cond, Endian, Size, Width};

use super::{
    encoder::{Arith, Bits, Flag, Mem, Reg, Shift, Unary},
    registers::{METER, POINTER, REGISTERS, SCRATCH, WINDOW_SHIFT, WINDOWS_MASK},
    writer::Writer,
};
use crate::{
    decoded::Register,
    jit::{
        lower::{MemLocation, Next, SideExit, Target, Value},
        native::{
            code_buffer::{Encode as _, Patch},
            context::Context,
            writer::{Cold, ColdCode as _, ColdKind},
        },
        site::{Check, Site, SiteKind},
    },
};

/// The most bytes of cold code for a jump, with its site.
const COLD_BYTES: usize = 128;
/// The most bytes of a jump to a block of another unit.
const FAR_BYTES: usize = 24;

fn bits(width: Width) -> Bits {
    if width == Width::W64 { Bits::B64 } else { Bits::B32 }
}

fn flag(cond: Cond) -> Flag {
    match cond {
        Cond::Eq => Flag::Equal,
        Cond::Ne | Cond::Set => Flag::NotEqual,
        Cond::Gt => Flag::Above,
        Cond::Ge => Flag::AboveOrEqual,
        Cond::Lt => Flag::Below,
        Cond::Le => Flag::BelowOrEqual,
        Cond::Sgt => Flag::Greater,
        Cond::Sge => Flag::GreaterOrEqual,
        Cond::Slt => Flag::Less,
        Cond::Sle => Flag::LessOrEqual,
    }
}

impl Target for Writer<'_> {
    const POINTS_TO_LAST: bool = true;

    #[inline(always)]
    fn is_written(&self, pc: usize) -> bool {
        self.labels[pc] != 0
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.has_reached_maximum(COLD_BYTES, FAR_BYTES)
    }

    #[inline(always)]
    fn block(&mut self, pc: u32, cost: u8) {
        self.code.reserve();
        self.record_span(pc, false);
        self.labels[pc as usize] = self.code.here();
        self.blocks.push(pc);
        // Control may also come from elsewhere, with other flags.
        self.code.flags = (SCRATCH, 0);
        if self.shape.metered {
            self.code.arith_imm(Bits::B64, Arith::Sub, METER, cost.into());
            let jump = self.code.jump_if(Flag::Below);
            self.cold_give_up(jump, SideExit { pc, refund: cost });
        }
    }

    #[inline(always)]
    fn instruction(&mut self, pc: u32) {
        self.record_span(pc, false);
        if self.rng.wants_noop() {
            self.code.nop();
        }
    }

    #[inline(always)]
    fn alu(&mut self, alu: Alu, width: Width, register: Register, value: Value) {
        let dst = REGISTERS[register as usize];
        let bits = bits(width);
        match alu {
            Alu::Add | Alu::Sub | Alu::Or | Alu::And | Alu::Xor => {
                let op = match alu {
                    Alu::Add => Arith::Add,
                    Alu::Sub => Arith::Sub,
                    Alu::Or => Arith::Or,
                    Alu::And => Arith::And,
                    _ => Arith::Xor,
                };
                self.arith_value(bits, op, dst, value);
                if bits == Bits::B64 {
                    self.code.flags = (dst, self.code.here());
                }
            }
            Alu::Rsub => self.reverse_subtract(bits, dst, value),
            Alu::Mov => return self.mov(width, dst, value),
            Alu::Mul => self.multiply(bits, dst, value),
            Alu::Lsh => self.shift(bits, Shift::Shl, dst, value),
            Alu::Rsh => self.shift(bits, Shift::Shr, dst, value),
            Alu::Arsh => self.shift(bits, Shift::Sar, dst, value),
            Alu::Hor => {
                let value = match value {
                    Value::Constant(constant) => Value::Constant(constant << 32),
                    value => value,
                };
                let src = self.register(value);
                self.code.arith(Bits::B64, Arith::Or, dst, src);
            }
            Alu::Uhmul => self.multiply_high(Unary::Mul, dst, value),
            Alu::Shmul => self.multiply_high(Unary::Imul, dst, value),
            // See `divide`.
            Alu::Div | Alu::Mod | Alu::Sdiv | Alu::Srem => self.code.ud2(),
        }
        if width == Width::S32 {
            self.code.movsxd(dst, dst);
        }
    }

    fn divide(&mut self, alu: Alu, width: Width, dst: Register, value: Value, exit: SideExit) {
        let dst = REGISTERS[dst as usize];
        let bits = bits(width);
        let signed = matches!(alu, Alu::Sdiv | Alu::Srem);
        let src = self.register(value);
        if src != SCRATCH {
            self.code.mov(bits, SCRATCH, src);
        }
        if !matches!(value, Value::Constant(_)) {
            self.code.test(bits, SCRATCH, SCRATCH);
            let jump = self.code.jump_if(Flag::Equal);
            self.cold_give_up(jump, exit);
        }
        if signed {
            self.code.arith_imm(bits, Arith::Cmp, SCRATCH, -1);
            let past = self.code.jump_if(Flag::NotEqual);
            let least = if width == Width::W64 { 1 << 63 } else { 1 << 31 };
            self.code.mov_imm(Reg::Rax, least);
            self.code.arith(bits, Arith::Cmp, dst, Reg::Rax);
            let jump = self.code.jump_if(Flag::Equal);
            self.cold_give_up(jump, exit);
            let here = self.code.here();
            self.code.patch(past, here);
        }
        let high = matches!(alu, Alu::Mod | Alu::Srem);
        self.with_rdx(bits, dst, high, |code| {
            if signed {
                code.cqo(bits);
                code.unary(bits, Unary::Idiv, SCRATCH);
            } else {
                code.arith(Bits::B32, Arith::Xor, Reg::Rdx, Reg::Rdx);
                code.unary(bits, Unary::Div, SCRATCH);
            }
        });
        if width == Width::S32 {
            self.code.movsxd(dst, dst);
        }
    }

    #[inline(always)]
    fn sum(&mut self, dst: Register, value: Value, addend: i32) {
        let dst = REGISTERS[dst as usize];
        let (addend, rest) = if self.rng.blinds(i64::from(addend).cast_unsigned()) {
            self.parts(addend)
        } else {
            (addend, 0)
        };
        match value {
            Value::FramePointer => self.guest_frame(dst, addend),
            Value::Register(src) => self.code.lea(dst, Mem::at(REGISTERS[src as usize], addend)),
            Value::Constant(constant) => self.constant(dst, constant),
        }
        if rest != 0 {
            self.code.lea(dst, Mem::at(dst, rest));
        }
    }

    fn negate(&mut self, width: Width, dst: Register) {
        let dst = REGISTERS[dst as usize];
        self.code.unary(bits(width), Unary::Neg, dst);
        if width == Width::S32 {
            self.code.movsxd(dst, dst);
        }
    }

    fn endian(&mut self, order: Endian, bits: u8, dst: Register) {
        let dst = REGISTERS[dst as usize];
        match (order, bits) {
            (Endian::Little, 16) => self.code.movzx16(dst, dst),
            (Endian::Little, 32) => self.code.mov(Bits::B32, dst, dst),
            (Endian::Little, _) => {}
            (Endian::Big, 16) => {
                self.code.rol16_by_8(dst);
                self.code.movzx16(dst, dst);
            }
            (Endian::Big, 32) => self.code.bswap(Bits::B32, dst),
            (Endian::Big, _) => self.code.bswap(Bits::B64, dst),
        }
    }

    // Not inlined into every load and store, because it is long.
    #[inline(never)]
    fn check(&mut self, check: Check, spilled: Option<u8>, exit: SideExit) {
        let Check { disp, base, span, stride, store, .. } = check;
        let last = i32::from(span) - 1;
        let limits = offset_of!(Context<()>, windows.limits) + if store { 8 } else { 0 };
        let bases = offset_of!(Context<()>, windows.bases);
        let mut jumps = [Patch(0); 2];
        let mut count = 0;
        if self.shape.gaps && stride > 0 {
            self.address(POINTER, base, disp + i32::from(stride));
        }
        self.address(SCRATCH, base, disp);
        if self.shape.gaps && stride > 0 {
            // If the first or the last access starts in a gap, the bit is set in their disjunction.
            self.code.arith(Bits::B64, Arith::Or, POINTER, SCRATCH);
        }
        self.code.shift_imm(Bits::B64, Shift::Shr, SCRATCH, WINDOW_SHIFT);
        self.code.arith_imm(Bits::B32, Arith::And, SCRATCH, WINDOWS_MASK);
        if self.shape.gaps {
            jumps[0] = self.check_gap(check);
            count = 1;
            if last > 0 {
                self.code.arith_imm(Bits::B64, Arith::Add, POINTER, last);
            }
        } else {
            self.address(POINTER, base, disp + last);
        }
        self.code.arith_mem(Bits::B64, Arith::Cmp, POINTER, self.window(limits));
        jumps[usize::from(count)] = self.code.jump_if(Flag::AboveOrEqual);
        count += 1;
        self.code.arith_mem(Bits::B64, Arith::Add, POINTER, self.window(bases));
        let back = self.code.here();
        if let Some(spilled) = spilled {
            let spilled = self.context(offset_of!(Context<()>, spilled) + 8 * usize::from(spilled));
            self.code.store(3, spilled, POINTER);
        }
        let mut site = Site::new(exit.pc, exit.refund, SiteKind::Check);
        site.check = Check { hint: self.next_hint(), ..check };
        self.cold.push(Cold { jumps, count, kind: ColdKind::Check, back, slot: 0, site });
    }

    #[inline(always)]
    fn reload(&mut self, spilled: u8) {
        let spilled = self.context(offset_of!(Context<()>, spilled) + 8 * usize::from(spilled));
        self.code.load(3, POINTER, spilled);
    }

    #[inline(always)]
    fn load(&mut self, size: Size, dst: Register, location: MemLocation) {
        self.code.load(size as u8, REGISTERS[dst as usize], self.memory(location));
    }

    #[inline(always)]
    fn store(&mut self, size: Size, location: MemLocation, value: Value) {
        let memory = self.memory(location);
        if let Value::Constant(constant) = value
            && let Ok(imm) = i32::try_from(constant.cast_signed())
            && !self.rng.blinds(constant)
        {
            return self.code.store_imm(size as u8, memory, imm);
        }
        let src = self.register(value);
        self.code.store(size as u8, memory, src);
    }

    #[inline(always)]
    fn branch(
        &mut self,
        cond: Cond,
        width: Width,
        left: Value,
        right: Value,
        next: Next,
        refund: u8,
    ) {
        let bits = bits(width);
        let mut saved = false;
        let left = match (left, right) {
            (Value::FramePointer, Value::Constant(_)) => {
                // Both sides may need the scratch register.
                self.code.push(POINTER);
                saved = true;
                self.guest_frame(POINTER, 0);
                POINTER
            }
            _ => self.register(left),
        };
        self.compare(cond, bits, left, right);
        if saved {
            self.code.pop(POINTER);
        }
        self.branch_to(flag(cond), next, refund);
    }

    fn jump(&mut self, next: Next) {
        match next {
            Next::Block(slot) => self.jump_to_block(slot),
            Next::Exit(exit) => self.give_up(exit),
        }
    }

    fn call(&mut self, slot: u32, overwritten: u8, exit: SideExit) {
        self.calls.push([exit.pc, self.code.here()]);
        self.check_depth(exit);
        self.call_slot(slot, overwritten, exit);
    }

    fn call_inlined(&mut self, slot: u32, cost: u8, exit: SideExit) {
        self.calls.push([exit.pc, self.code.here()]);
        self.check_depth(exit);
        if self.shape.metered {
            self.code.arith_imm(Bits::B64, Arith::Sub, METER, cost.into());
            let jump = self.code.jump_if(Flag::Below);
            self.inlined = Some((jump, slot, SideExit { pc: exit.pc, refund: cost }));
        }
    }

    fn end_inlined(&mut self) {
        if let Some((jump, slot, exit)) = self.inlined.take() {
            let back = self.code.here();
            self.cold_jump(jump, exit, ColdKind::Inlined, back);
            if let Some(cold) = self.cold.last_mut() {
                cold.slot = slot;
            }
        }
    }

    fn call_register(&mut self, register: Register, exit: SideExit) {
        self.calls.push([exit.pc, self.code.here()]);
        self.check_depth(exit);
        self.code.mov(Bits::B64, POINTER, REGISTERS[register as usize]);
        let text_vaddr = self.context(offset_of!(Context<()>, text_vaddr));
        self.code.arith_mem(Bits::B64, Arith::Sub, POINTER, text_vaddr);
        self.code.shift_imm(Bits::B64, Shift::Shr, POINTER, 3);
        let slots = self.context(offset_of!(Context<()>, slots));
        self.code.arith_mem(Bits::B64, Arith::Cmp, POINTER, slots);
        let jump = self.code.jump_if(Flag::AboveOrEqual);
        self.cold_give_up(jump, exit);
        self.code.load(3, SCRATCH, self.context(offset_of!(Context<()>, entries)));
        self.code.load(3, SCRATCH, Mem::indexed(SCRATCH, POINTER, 3, 0));
        self.code.test(Bits::B64, SCRATCH, SCRATCH);
        let jump = self.code.jump_if(Flag::Equal);
        let back = self.code.here();
        self.cold_jump(jump, exit, ColdKind::Missing, back);
        self.call_around(exit, 0b1111, |it| it.code.call_reg(SCRATCH));
    }

    fn syscall(&mut self, id: u32, exit: SideExit) {
        self.code.mov_imm(Reg::Rax, id.into());
        let routine = self.memory_routine(id).unwrap_or(self.routines.syscall);
        self.code.call_to(routine);
        let site = Site::new(exit.pc, 0, SiteKind::Syscall);
        self.sites.push(self.code.here(), site);
    }

    fn exit(&mut self, pc: u32) {
        self.code.mov_imm(Reg::Rax, pc.into());
        self.code.ret();
    }

    fn give_up(&mut self, exit: SideExit) {
        self.leave(Site::new(exit.pc, exit.refund, SiteKind::GiveUp));
    }

    fn end_block(&mut self, open: bool) {
        let cold = self.cold.len() + self.exits.len();
        if !open && cold >= 16 {
            self.write_cold();
        } else if cold >= 1024 {
            self.code.reserve();
            let past = self.code.jump();
            self.write_cold();
            let here = self.code.here();
            self.code.patch(past, here);
        }
    }
}

impl Writer<'_> {
    #[inline(always)]
    fn reverse_subtract(&mut self, bits: Bits, dst: Reg, value: Value) {
        let right = self.register(value);
        if right != SCRATCH {
            self.code.mov(Bits::B64, SCRATCH, right);
        }
        self.code.arith(bits, Arith::Sub, SCRATCH, dst);
        self.code.mov(bits, dst, SCRATCH);
    }

    #[inline(always)]
    fn mov(&mut self, width: Width, dst: Reg, value: Value) {
        match value {
            Value::Constant(constant) => {
                match Alu::Mov.eval(width, 0, constant).unwrap_or_default() {
                    0 => self.code.arith(Bits::B32, Arith::Xor, dst, dst),
                    constant => self.constant(dst, constant),
                }
            }
            Value::Register(src) => {
                let src = REGISTERS[src as usize];
                match width {
                    Width::S32 => self.code.movsxd(dst, src),
                    _ => self.code.mov(bits(width), dst, src),
                }
            }
            Value::FramePointer => {
                self.guest_frame(dst, 0);
                match width {
                    Width::W64 => {}
                    Width::Z32 => self.code.mov(Bits::B32, dst, dst),
                    Width::S32 => self.code.movsxd(dst, dst),
                }
            }
        }
    }

    #[inline(always)]
    fn multiply(&mut self, bits: Bits, dst: Reg, value: Value) {
        let imm = match value {
            Value::Constant(constant) => i32::try_from(constant.cast_signed()).ok(),
            _ => None,
        };
        match imm {
            Some(imm) if !self.rng.blinds(i64::from(imm).cast_unsigned()) => {
                self.code.imul_imm(bits, dst, dst, imm);
            }
            _ => {
                let src = self.register(value);
                self.code.imul(bits, dst, src);
            }
        }
    }

    /// Emits the check that the accesses of a group start outside of gaps: returns the jump that is
    /// taken if one does not. The pointer register then holds the dense address of the first byte.
    fn check_gap(&mut self, check: Check) -> Patch {
        let Check { disp, base, stride, .. } = check;
        let gap = self.window(offset_of!(Context<()>, windows.bases) + 8);
        if stride == 0 {
            self.address(POINTER, base, disp);
        }
        self.code.test_mem(POINTER, gap);
        let in_gap = self.code.jump_if(Flag::NotEqual);
        if stride > 0 {
            self.address(POINTER, base, disp);
        }
        if self.shape.features.pext {
            let mask = self.window(offset_of!(Context<()>, windows.masks));
            self.code.pext(POINTER, POINTER, mask);
        }
        in_gap
    }

    /// Sets the flags for a branch.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "a half is what 32-bit conditions see")]
    fn compare(&mut self, cond: Cond, bits: Bits, left: Reg, right: Value) {
        match (cond, right) {
            (Cond::Eq | Cond::Ne, Value::Constant(0)) => {
                let known = bits == Bits::B64 && self.code.flags == (left, self.code.here());
                if !known {
                    self.code.test(bits, left, left);
                }
            }
            (Cond::Set, Value::Constant(constant)) => {
                let imm = match bits {
                    Bits::B32 => (constant as u32).cast_signed(),
                    Bits::B64 => i32::try_from(constant.cast_signed()).unwrap_or_default(),
                };
                if self.rng.blinds(i64::from(imm).cast_unsigned()) {
                    self.constant(SCRATCH, constant);
                    self.code.test(bits, left, SCRATCH);
                } else {
                    self.code.test_imm(bits, left, imm);
                }
            }
            (Cond::Set, right) => {
                let right = self.register(right);
                self.code.test(bits, left, right);
            }
            (_, right) => self.arith_value(bits, Arith::Cmp, left, right),
        }
    }

    fn shift(&mut self, bits: Bits, op: Shift, dst: Reg, value: Value) {
        if let Value::Constant(count) = value {
            let mask = if bits == Bits::B64 { 63 } else { 31 };
            let [count, ..] = (count & mask).to_le_bytes();
            if count == 0 && bits == Bits::B32 {
                self.code.mov(bits, dst, dst);
            } else {
                self.code.shift_imm(bits, op, dst, count);
            }
            return;
        }
        let src = self.register(value);
        if self.shape.features.bmi2 {
            self.code.shift_by(bits, op, dst, dst, src);
            return;
        }
        if src != SCRATCH {
            self.code.mov(Bits::B32, SCRATCH, src);
        }
        self.code.shift_cl(bits, op, dst);
    }
}
