//! What all operations have in common.

use core::mem::offset_of;

use super::{
    encoder::{Arith, Bits, Encoder, Flag, Mem, Reg, Unary},
    registers::{CONTEXT, CONTEXT_BIAS, FRAME, POINTER, REGISTERS, SCRATCH},
};
use crate::{
    decoded::Register,
    jit::{
        lower::{MemLocation, Next, SideExit, Value},
        native::{
            code_buffer::Encode as _,
            context::Context,
            writer::{self, ColdKind},
        },
        site::{Site, SiteKind},
    },
};

/// The writer of a unit's code.
pub(in crate::jit) type Writer<'o> = writer::Writer<'o, Encoder>;

impl Writer<'_> {
    /// Returns the location of the address of a slot's code. The pointer register gets the slot,
    /// for the routine `missing`.
    pub(super) fn entry(&mut self, slot: u32) -> Mem {
        self.far.push(slot);
        self.code.mov_imm(POINTER, slot.into());
        self.code.load(3, SCRATCH, self.context(offset_of!(Context<()>, entries)));
        Mem::at(SCRATCH, 8 * slot.cast_signed())
    }

    /// Returns a field of the context.
    #[inline(always)]
    pub(super) fn context(&self, field: usize) -> Mem {
        Mem::at(CONTEXT, self.disp(field))
    }

    /// Returns a field of a window's entry, whose offset is in the scratch register.
    #[inline(always)]
    pub(super) fn window(&self, field: usize) -> Mem {
        Mem::indexed(CONTEXT, SCRATCH, 0, self.disp(field))
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "it is small")]
    pub(super) fn disp(&self, field: usize) -> i32 {
        (field as i32 - CONTEXT_BIAS).wrapping_add(self.shape.key)
    }

    /// `dst = r10 + addend`, where r10 is not in a register.
    #[inline(never)]
    pub(super) fn guest_frame(&mut self, dst: Reg, addend: i32) {
        self.code.load(3, dst, self.context(offset_of!(Context<()>, frame_key)));
        self.code.lea(dst, Mem::indexed(dst, FRAME, u8::from(self.shape.gaps), addend));
    }

    /// Loads a constant of the program.
    #[inline(always)]
    pub(super) fn constant(&mut self, dst: Reg, number: u64) {
        if !self.rng.blinds(number) {
            self.code.mov_imm(dst, number);
            return;
        }
        self.blinded_constant(dst, number);
    }

    #[allow(clippy::cast_possible_truncation, reason = "halves are taken apart on purpose")]
    pub(super) fn blinded_constant(&mut self, dst: Reg, number: u64) {
        if let Ok(number) = u32::try_from(number) {
            let part = self.rng.number() as u32;
            self.code.mov_imm(dst, part.into());
            self.code.lea32(dst, Mem::at(dst, number.wrapping_sub(part).cast_signed()));
        } else if let Ok(number) = i32::try_from(number.cast_signed()) {
            let (a, b) = self.parts(number);
            self.code.mov_imm(dst, i64::from(a).cast_unsigned());
            self.code.lea(dst, Mem::at(dst, b));
        } else {
            self.code.mov_imm(dst, number.wrapping_sub(self.shape.blinding_key));
            let key = self.context(offset_of!(Context<()>, blinding_key));
            self.code.arith_mem(Bits::B64, Arith::Add, dst, key);
        }
    }

    /// Splits a number into two random summands, without overflow.
    #[allow(clippy::cast_possible_truncation, reason = "any bits will do")]
    pub(super) fn parts(&mut self, number: i32) -> (i32, i32) {
        let random = (self.rng.number() as u32).cast_signed();
        let part = if number < 0 { random | i32::MIN } else { random & i32::MAX };
        (part, number - part)
    }

    /// Returns a register with the right-hand side: its own, or the scratch register.
    #[inline(always)]
    pub(super) fn register(&mut self, value: Value) -> Reg {
        match value {
            Value::Register(register) => REGISTERS[register as usize],
            Value::Constant(constant) => {
                self.constant(SCRATCH, constant);
                SCRATCH
            }
            Value::FramePointer => {
                self.guest_frame(SCRATCH, 0);
                SCRATCH
            }
        }
    }

    /// `dst = dst op value`, with the low 32 bits or all 64 bits of an immediate.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "a half is what 32-bit operations see")]
    pub(super) fn arith_value(&mut self, bits: Bits, op: Arith, dst: Reg, value: Value) {
        let Value::Constant(constant) = value else {
            let src = self.register(value);
            return self.code.arith(bits, op, dst, src);
        };
        let imm = match bits {
            Bits::B32 => Ok((constant as u32).cast_signed()),
            Bits::B64 => i32::try_from(constant.cast_signed()),
        };
        match imm {
            Ok(imm) if !self.rng.blinds(i64::from(imm).cast_unsigned()) => {
                self.code.arith_imm(bits, op, dst, imm);
            }
            Ok(imm) if matches!(op, Arith::Add | Arith::Sub) => {
                let (a, b) = self.parts(imm);
                self.code.arith_imm(bits, op, dst, a);
                self.code.arith_imm(bits, op, dst, b);
            }
            Ok(imm) if op == Arith::Xor => {
                let part = (self.rng.number() as u32).cast_signed();
                self.code.arith_imm(bits, op, dst, part);
                self.code.arith_imm(bits, op, dst, part ^ imm);
            }
            _ => {
                self.constant(SCRATCH, constant);
                self.code.arith(bits, op, dst, SCRATCH);
            }
        }
    }

    pub(super) fn leave(&mut self, site: Site) {
        self.code.call_to(self.routines.leave);
        self.sites.push(self.code.here(), site);
    }

    pub(super) fn jump_to_block(&mut self, slot: u32) {
        let label = self.labels[slot as usize];
        if label != 0 {
            return self.code.jump_to(label);
        }
        let jump = self.code.jump();
        self.lead(jump, slot);
    }

    pub(super) fn memory(&self, location: MemLocation) -> Mem {
        match location {
            MemLocation::Frame(disp) => Mem::at(FRAME, disp),
            MemLocation::Pointer(disp) => Mem::at(POINTER, disp),
        }
    }

    /// `dst = base + disp`, a guest address.
    #[inline(always)]
    pub(super) fn address(&mut self, dst: Reg, base: Register, disp: i32) {
        if self.shape.fixed_frames && base == Register::R10 {
            self.guest_frame(dst, disp);
            return;
        }
        let base = REGISTERS[base as usize];
        if disp == 0 {
            self.code.mov(Bits::B64, dst, base);
        } else {
            self.code.lea(dst, Mem::at(base, disp));
        }
    }

    #[inline(never)]
    pub(super) fn branch_to(&mut self, flag: Flag, next: Next, refund: u8) {
        if let Some(number) = self.counted.take()
            && let Next::Block(slot) = next
        {
            let jump = self.code.jump_if(flag);
            self.cold_counted(jump, number, slot, refund);
            return self.count_branch(number, 0);
        }
        if let Next::Block(slot) = next
            && (refund == 0 || !self.shape.metered)
        {
            let label = self.labels[slot as usize];
            if label != 0 {
                return self.code.jump_if_to(flag, label);
            }
            let jump = self.code.jump_if(flag);
            return self.lead(jump, slot);
        }
        let jump = self.code.jump_if(flag);
        match next {
            Next::Exit(exit) => self.cold_give_up(jump, exit),
            Next::Block(pc) => self.cold_jump(jump, SideExit { pc, refund }, ColdKind::Refund, 0),
        }
    }

    /// Increments one of the two counters of a branch. Changes the flags.
    pub(super) fn count_branch(&mut self, number: u32, taken: u32) {
        self.code.reserve();
        self.code.load(3, SCRATCH, self.context(offset_of!(Context<()>, counts)));
        let index = (2 * number + taken).cast_signed();
        self.code.increment_byte(Mem::at(SCRATCH, index));
    }

    /// Calls a function in this unit or another. It overwrites these of r6 to r9.
    pub(super) fn call_slot(&mut self, slot: u32, overwritten: u8, exit: SideExit) {
        if self.scope.is_own(slot as usize) {
            return self.call_around(exit, overwritten, |it| {
                let call = it.code.call();
                it.lead(call, slot);
            });
        }
        self.call_around(exit, overwritten, |it| {
            let entry = it.entry(slot);
            it.code.call_mem(entry);
        });
    }

    /// Emits a call between saving and restoring registers and the frame register.
    pub(super) fn call_around(&mut self, exit: SideExit, saved: u8, call: impl FnOnce(&mut Self)) {
        let saved = if self.shape.fixed_frames { saved } else { 0b1_1111 };
        for number in 0..5 {
            if saved >> number & 1 == 1 {
                self.code.push(REGISTERS[6 + number]);
            }
        }
        if self.shape.fixed_frames {
            self.code.arith_imm(Bits::B64, Arith::Add, FRAME, self.shape.frame_bytes);
        }
        call(self);
        let site = Site { saved, ..Site::new(exit.pc, 0, SiteKind::Call) };
        self.sites.push(self.code.here(), site);
        if self.shape.fixed_frames {
            self.code.arith_imm(Bits::B64, Arith::Sub, FRAME, self.shape.frame_bytes);
        }
        for number in (0..5).rev() {
            if saved >> number & 1 == 1 {
                self.code.pop(REGISTERS[6 + number]);
            }
        }
    }

    /// Emits the check of the call depth.
    pub(super) fn check_depth(&mut self, exit: SideExit) {
        let start = self.code.here();
        let limit = self.context(offset_of!(Context<()>, frame_limit));
        let (register, flag) = if self.shape.fixed_frames {
            (FRAME, Flag::AboveOrEqual)
        } else {
            (Reg::Rsp, Flag::Below)
        };
        self.code.arith_mem(Bits::B64, Arith::Cmp, register, limit);
        let jump = self.code.jump_if(flag);
        self.cold_jump(jump, exit, ColdKind::Call, start);
    }

    /// Multiplies or divides `rax` by the scratch register, with `rdx` saved. `high` tells whether
    /// the result is in `rdx`.
    pub(super) fn with_rdx(
        &mut self,
        bits: Bits,
        dst: Reg,
        high: bool,
        work: impl FnOnce(&mut Encoder),
    ) {
        let save = dst != Reg::Rdx;
        self.code.mov(bits, Reg::Rax, dst);
        if save {
            self.code.push(Reg::Rdx);
        }
        work(&mut self.code);
        let result = if high { Reg::Rdx } else { Reg::Rax };
        if dst != result {
            self.code.mov(bits, dst, result);
        }
        if save {
            self.code.pop(Reg::Rdx);
        }
    }

    #[inline(always)]
    pub(super) fn multiply_high(&mut self, op: Unary, dst: Reg, value: Value) {
        let src = self.register(value);
        if src != SCRATCH {
            self.code.mov(Bits::B64, SCRATCH, src);
        }
        self.with_rdx(Bits::B64, dst, true, |code| code.unary(Bits::B64, op, SCRATCH));
    }
}
