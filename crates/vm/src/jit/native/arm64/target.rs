//! The operations of [`Target`] as instructions of Arm64.

use core::mem::offset_of;

use selkie_isa::{Alu, Cond, Endian, Size, Width};

use super::{
    operands::{Arith, Bits, Flag, Reg, Shift, When},
    registers::{FRAME, LINK, METER, POINTER, REGISTERS, SCRATCH, SECOND},
    writer::Writer,
};
use crate::{
    decoded::Register,
    jit::{
        lower::{MemLocation, Next, SideExit, Target, Value},
        native::{
            code_buffer::{Encode as _, Patch},
            context::Context,
            writer::{ColdCode as _, ColdKind},
        },
        site::{Check, Site, SiteKind},
    },
};

/// The most bytes of cold code for a jump, with its site.
const COLD_BYTES: usize = 160;
/// The most bytes of a jump to a block of another unit.
const FAR_BYTES: usize = 32;
/// The distance from a jump at which its cold code is written, even where that is in the way: far
/// less than conditional branches reach.
const COLD_DISTANCE: u32 = 1 << 18;

fn bits(width: Width) -> Bits {
    if width == Width::W64 { Bits::B64 } else { Bits::B32 }
}

fn flag(cond: Cond) -> Flag {
    match cond {
        Cond::Eq => Flag::Equal,
        Cond::Ne | Cond::Set => Flag::NotEqual,
        Cond::Gt => Flag::Higher,
        Cond::Ge => Flag::HigherOrSame,
        Cond::Lt => Flag::Lower,
        Cond::Le => Flag::LowerOrSame,
        Cond::Sgt => Flag::Greater,
        Cond::Sge => Flag::GreaterOrEqual,
        Cond::Slt => Flag::Less,
        Cond::Sle => Flag::LessOrEqual,
    }
}

impl Target for Writer<'_> {
    const POINTS_TO_LAST: bool = false;

    #[inline(always)]
    fn is_written(&self, pc: usize) -> bool {
        self.labels[pc] != 0
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.has_reached_maximum(COLD_BYTES, FAR_BYTES) || self.code.here() >= UNIT_BYTES_MAX
    }

    #[inline(always)]
    fn block(&mut self, pc: u32, cost: u8) {
        self.code.reserve();
        self.record_span(pc, false);
        self.labels[pc as usize] = self.code.here();
        self.blocks.push(pc);
        if self.shape.metered {
            self.code.add_imm(Bits::B64, Arith::Subs, METER, METER, cost.into());
            let jump = self.code.jump_if(Flag::Lower);
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
            Alu::Add => self.arith_value(bits, Arith::Add, dst, dst, value),
            Alu::Sub => self.arith_value(bits, Arith::Sub, dst, dst, value),
            Alu::Or => self.arith_value(bits, Arith::Orr, dst, dst, value),
            Alu::And => self.arith_value(bits, Arith::And, dst, dst, value),
            Alu::Xor => self.arith_value(bits, Arith::Eor, dst, dst, value),
            Alu::Rsub => {
                let src = self.register(value);
                self.code.arith(bits, Arith::Sub, dst, src, dst);
            }
            Alu::Mov => return self.copy(width, dst, value),
            Alu::Mul => {
                let src = self.register(value);
                self.code.multiply(bits, dst, dst, src);
            }
            Alu::Lsh => self.shift(bits, Shift::Lsl, dst, value),
            Alu::Rsh => self.shift(bits, Shift::Lsr, dst, value),
            Alu::Arsh => self.shift(bits, Shift::Asr, dst, value),
            Alu::Hor => {
                let value = match value {
                    Value::Constant(constant) => Value::Constant(constant << 32),
                    value => value,
                };
                self.arith_value(Bits::B64, Arith::Orr, dst, dst, value);
            }
            Alu::Uhmul | Alu::Shmul => {
                let src = self.register(value);
                self.code.multiply_high(alu == Alu::Shmul, dst, dst, src);
            }
            // See `divide`.
            Alu::Div | Alu::Mod | Alu::Sdiv | Alu::Srem => self.code.udf(),
        }
        if width == Width::S32 {
            self.code.sign_extend(dst, dst);
        }
    }

    fn divide(&mut self, alu: Alu, width: Width, dst: Register, value: Value, exit: SideExit) {
        let dst = REGISTERS[dst as usize];
        let bits = bits(width);
        let signed = matches!(alu, Alu::Sdiv | Alu::Srem);
        let src = self.register(value);
        if !matches!(value, Value::Constant(_)) {
            let jump = self.code.jump_when(When::Zero(bits, src));
            self.cold_give_up(jump, exit);
        }
        if signed {
            // The least number divided by -1 overflows, as its negation does.
            self.code.add_imm(bits, Arith::Adds, Reg::Zero, src, 1);
            let past = self.code.jump_if(Flag::NotEqual);
            self.code.arith(bits, Arith::Subs, Reg::Zero, Reg::Zero, dst);
            let jump = self.code.jump_if(Flag::Overflow);
            self.cold_give_up(jump, exit);
            self.land(past);
        }
        if matches!(alu, Alu::Mod | Alu::Srem) {
            self.code.divide(bits, signed, SECOND, dst, src);
            self.code.multiply_subtract(bits, dst, [SECOND, src, dst]);
        } else {
            self.code.divide(bits, signed, dst, dst, src);
        }
        if width == Width::S32 {
            self.code.sign_extend(dst, dst);
        }
    }

    #[inline(always)]
    fn sum(&mut self, dst: Register, value: Value, addend: i32) {
        let dst = REGISTERS[dst as usize];
        let addend = Value::Constant(i64::from(addend).cast_unsigned());
        let left = match value {
            Value::FramePointer => {
                self.guest_frame(dst, 0);
                dst
            }
            value => self.register(value),
        };
        self.arith_value(Bits::B64, Arith::Add, dst, left, addend);
    }

    fn negate(&mut self, width: Width, dst: Register) {
        let dst = REGISTERS[dst as usize];
        self.code.arith(bits(width), Arith::Sub, dst, Reg::Zero, dst);
        if width == Width::S32 {
            self.code.sign_extend(dst, dst);
        }
    }

    fn endian(&mut self, order: Endian, bits: u8, dst: Register) {
        let dst = REGISTERS[dst as usize];
        match (order, bits) {
            (Endian::Little, 16) => self.code.bits_of(Bits::B32, dst, dst, 0, 15),
            (Endian::Little, 32) => self.code.mov(Bits::B32, dst, dst),
            (Endian::Little, _) => {}
            (Endian::Big, 16) => {
                self.code.reverse16(dst, dst);
                self.code.bits_of(Bits::B32, dst, dst, 0, 15);
            }
            (Endian::Big, 32) => self.code.reverse(Bits::B32, dst, dst),
            (Endian::Big, _) => self.code.reverse(Bits::B64, dst, dst),
        }
    }

    fn check(&mut self, check: Check, spilled: Option<u8>, exit: SideExit) {
        self.write_check(check, spilled, exit);
    }

    #[inline(always)]
    fn reload(&mut self, spilled: u8) {
        self.load_field(POINTER, offset_of!(Context<()>, spilled) + 8 * usize::from(spilled));
    }

    #[inline(always)]
    fn load(&mut self, size: Size, dst: Register, location: MemLocation) {
        let (base, offset) = self.place(location);
        self.code.load(size as u8, REGISTERS[dst as usize], base, offset);
    }

    #[inline(always)]
    fn store(&mut self, size: Size, location: MemLocation, value: Value) {
        let src = self.register(value);
        let (base, offset) = self.place(location);
        self.code.store(size as u8, src, base, offset);
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
        let left = match left {
            Value::FramePointer => {
                // The right-hand side may need the scratch register.
                self.guest_frame(SECOND, 0);
                SECOND
            }
            left => self.register(left),
        };
        let when = self.compare(cond, bits(width), left, right);
        self.branch_to(when, next, refund);
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
            self.code.add_imm(Bits::B64, Arith::Subs, METER, METER, cost.into());
            let jump = self.code.jump_if(Flag::Lower);
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
        self.load_field(SCRATCH, offset_of!(Context<()>, text_vaddr));
        self.code.arith(Bits::B64, Arith::Sub, POINTER, REGISTERS[register as usize], SCRATCH);
        self.code.shift_imm(Bits::B64, Shift::Lsr, POINTER, POINTER, 3);
        self.load_field(SCRATCH, offset_of!(Context<()>, slots));
        self.code.arith(Bits::B64, Arith::Subs, Reg::Zero, POINTER, SCRATCH);
        let jump = self.code.jump_if(Flag::HigherOrSame);
        self.cold_give_up(jump, exit);
        self.load_field(SCRATCH, offset_of!(Context<()>, entries));
        self.code.load_entry(SCRATCH, SCRATCH, POINTER);
        let jump = self.code.jump_when(When::Zero(Bits::B64, SCRATCH));
        let back = self.code.here();
        self.cold_jump(jump, exit, ColdKind::Missing, back);
        self.call_around(exit, 0b1111, |it| it.code.call_reg(SCRATCH));
    }

    fn syscall(&mut self, id: u32, exit: SideExit) {
        self.code.mov_imm(POINTER, id.into());
        let routine = self.memory_routine(id).unwrap_or(self.routines.syscall);
        self.call_routine(routine);
        let site = Site::new(exit.pc, 0, SiteKind::Syscall);
        self.sites.push(self.code.here(), site);
    }

    fn exit(&mut self, pc: u32) {
        self.code.mov_imm(POINTER, pc.into());
        self.code.ret(LINK);
    }

    fn give_up(&mut self, exit: SideExit) {
        self.leave(Site::new(exit.pc, exit.refund, SiteKind::GiveUp));
    }

    fn end_block(&mut self, open: bool) {
        let cold = self.cold.len() + self.exits.len();
        if !open && cold >= 16 {
            self.write_cold();
        } else if cold >= 1024 || self.oldest_jump().is_some_and(|at| self.is_distant(at)) {
            self.code.reserve();
            let past = self.code.jump();
            self.write_cold();
            self.land(past);
        }
    }
}

/// The most bytes of a unit: jumps within it reach 128 MiB.
const UNIT_BYTES_MAX: u32 = 64 << 20;

impl Writer<'_> {
    /// Returns the offset of the first jump to cold code that is not written yet.
    fn oldest_jump(&self) -> Option<u32> {
        let exit = self.exits.first().map(|(Patch(at), _)| *at);
        let cold = self.cold.first().map(|cold| cold.jumps[0].0);
        exit.into_iter().chain(cold).min()
    }

    fn is_distant(&self, at: u32) -> bool {
        self.code.here() - at > COLD_DISTANCE
    }

    /// Returns base register and offset of an access.
    #[inline(always)]
    fn place(&self, location: MemLocation) -> (Reg, i32) {
        match location {
            // The frame register points to the start of the frame.
            MemLocation::Frame(at) => (FRAME, self.shape.frame_bytes + at),
            MemLocation::Pointer(at) => (POINTER, at),
        }
    }

    #[inline(always)]
    fn copy(&mut self, width: Width, dst: Reg, value: Value) {
        let src = match value {
            Value::Constant(constant) => {
                let constant = Alu::Mov.eval(width, 0, constant).unwrap_or_default();
                return self.constant(dst, constant);
            }
            Value::Register(src) => REGISTERS[src as usize],
            Value::FramePointer => {
                self.guest_frame(dst, 0);
                dst
            }
        };
        match width {
            Width::W64 if src == dst => {}
            Width::S32 => self.code.sign_extend(dst, src),
            _ => self.code.mov(bits(width), dst, src),
        }
    }

    /// Compares, and returns when the branch is taken.
    #[inline(always)]
    fn compare(&mut self, cond: Cond, bits: Bits, left: Reg, right: Value) -> When {
        match (cond, right) {
            (Cond::Eq, Value::Constant(0)) => return When::Zero(bits, left),
            (Cond::Ne, Value::Constant(0)) => return When::NotZero(bits, left),
            (Cond::Set, right) => self.arith_value(bits, Arith::Ands, Reg::Zero, left, right),
            (_, right) => self.arith_value(bits, Arith::Subs, Reg::Zero, left, right),
        }
        When::Flag(flag(cond))
    }

    #[inline(always)]
    fn shift(&mut self, bits: Bits, op: Shift, dst: Reg, value: Value) {
        if let Value::Constant(count) = value {
            let mask = if bits == Bits::B64 { 63 } else { 31 };
            let [count, ..] = (count & mask).to_le_bytes();
            self.code.shift_imm(bits, op, dst, dst, count.into());
        } else {
            let src = self.register(value);
            self.code.shift(bits, op, dst, dst, src);
        }
    }
}
