//! What all operations have in common.

use core::mem::offset_of;

use super::{
    encoder::Encoder,
    operands::{Arith, Bits, Flag, Index, Reg, STACK, Shift, When, logical_imm},
    registers::{
        CONTEXT, FRAME, IMMEDIATE, LINK, OUTER_LINK, POINTER, REGISTERS, SCRATCH, SECOND,
        displacement,
    },
};
use crate::{
    decoded::Register,
    jit::{
        lower::{Next, SideExit, Value},
        native::{
            code_buffer::{Encode as _, Patch},
            context::Context,
            writer::{self, ColdKind},
        },
        site::{Site, SiteKind},
    },
};

/// The writer of a unit's code.
pub(in crate::jit) type Writer<'o> = writer::Writer<'o, Encoder>;

/// The most slots of units in which conditional branches reach everything.
const NEAR_SLOTS_MAX: usize = 1024;
/// How far backward branches are not made longer.
const NEAR_BYTES_MAX: u32 = 1 << 19;

impl Writer<'_> {
    /// Loads a field of the context.
    #[inline(always)]
    pub(super) fn load_field(&mut self, to: Reg, field: usize) {
        let disp = self.disp(field);
        self.code.load(3, to, CONTEXT, disp);
    }

    #[inline(always)]
    pub(super) fn store_field(&mut self, from: Reg, field: usize) {
        let disp = self.disp(field);
        self.code.store(3, from, CONTEXT, disp);
    }

    /// Returns the distance of a field from the context register.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "it is small")]
    pub(super) fn disp(&self, field: usize) -> i32 {
        field as i32 + displacement(self.shape.key).cast_signed()
    }

    /// Loads the address of a slot's code. The pointer register gets the slot, for the routine
    /// `missing`.
    pub(super) fn load_entry(&mut self, slot: u32) {
        self.far.push(slot);
        self.code.mov_imm(POINTER, slot.into());
        self.load_field(SCRATCH, offset_of!(Context<()>, entries));
        self.code.load_entry(SCRATCH, SCRATCH, POINTER);
    }

    /// `dst = r10 + addend`, where r10 is not in a register.
    #[inline(never)]
    pub(super) fn guest_frame(&mut self, dst: Reg, addend: i32) {
        self.load_field(dst, offset_of!(Context<()>, frame_key));
        let frame = (FRAME, Shift::Lsl, u8::from(self.shape.gaps));
        self.code.arith_shifted(Arith::Add, dst, dst, frame);
        if addend != 0 {
            self.code.add_imm(Bits::B64, Arith::Add, dst, dst, addend.into());
        }
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
    fn blinded_constant(&mut self, dst: Reg, number: u64) {
        let is_half = u32::try_from(number).is_ok();
        if is_half || i32::try_from(number.cast_signed()).is_ok() {
            let part = self.rng.number() as u32;
            self.code.mov_imm(dst, part.into());
            self.code.mov_imm(IMMEDIATE, (number as u32).wrapping_sub(part).into());
            self.code.arith(Bits::B32, Arith::Add, dst, dst, IMMEDIATE);
            if !is_half {
                self.code.sign_extend(dst, dst);
            }
        } else {
            self.code.mov_imm(dst, number.wrapping_sub(self.shape.blinding_key));
            self.load_field(IMMEDIATE, offset_of!(Context<()>, blinding_key));
            self.code.arith(Bits::B64, Arith::Add, dst, dst, IMMEDIATE);
        }
    }

    /// Returns a register with the right-hand side: its own, the zero register, or the scratch
    /// register.
    #[inline(always)]
    pub(super) fn register(&mut self, value: Value) -> Reg {
        match value {
            Value::Register(register) => REGISTERS[register as usize],
            Value::Constant(0) => Reg::Zero,
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

    /// `dst = left op value`, with the low 32 bits or all 64 bits of a constant.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "a half is what 32-bit operations see")]
    pub(super) fn arith_value(&mut self, bits: Bits, op: Arith, dst: Reg, left: Reg, value: Value) {
        let Value::Constant(constant) = value else {
            let src = self.register(value);
            return self.code.arith(bits, op, dst, left, src);
        };
        let number = match bits {
            Bits::B32 => i64::from((constant as u32).cast_signed()),
            Bits::B64 => constant.cast_signed(),
        };
        if !self.rng.blinds(number.cast_unsigned()) {
            match op {
                Arith::Add | Arith::Adds | Arith::Sub | Arith::Subs => {
                    return self.code.add_imm(bits, op, dst, left, number);
                }
                Arith::And | Arith::Ands | Arith::Orr | Arith::Eor => {
                    if let Some(imm) = logical_imm(bits, number.cast_unsigned()) {
                        return self.code.logical(bits, op, dst, left, imm);
                    }
                }
            }
        }
        let src = self.register(Value::Constant(number.cast_unsigned()));
        self.code.arith(bits, op, dst, left, src);
    }

    /// Calls a routine of this unit.
    pub(super) fn call_routine(&mut self, routine: u32) {
        self.code.mov(Bits::B64, OUTER_LINK, LINK);
        self.code.call_to(routine);
    }

    pub(super) fn leave(&mut self, site: Site) {
        self.call_routine(self.routines.leave);
        self.sites.push(self.code.here(), site);
    }

    pub(super) fn jump_to_block(&mut self, slot: u32) {
        let jump = self.code.jump();
        self.lead(jump, slot);
    }

    /// `dst = base + disp`, a guest address.
    #[inline(always)]
    pub(super) fn address(&mut self, dst: Reg, base: Register, disp: i32) {
        if self.shape.fixed_frames && base == Register::R10 {
            self.guest_frame(dst, disp);
        } else if disp == 0 {
            self.code.mov(Bits::B64, dst, REGISTERS[base as usize]);
        } else {
            self.code.add_imm(Bits::B64, Arith::Add, dst, REGISTERS[base as usize], disp.into());
        }
    }

    #[inline(never)]
    pub(super) fn branch_to(&mut self, when: When, next: Next, refund: u8) {
        if let Some(number) = self.counted.take()
            && let Next::Block(slot) = next
        {
            let jump = self.code.jump_when(when);
            self.cold_counted(jump, number, slot, refund);
            return self.count_branch(number, 0);
        }
        if let Next::Block(slot) = next
            && (refund == 0 || !self.shape.metered)
        {
            let label = self.labels[slot as usize];
            let is_near = match label {
                0 => self.scope.slots <= NEAR_SLOTS_MAX,
                label => self.code.here() - label < NEAR_BYTES_MAX,
            };
            let jump =
                if is_near { self.code.jump_when(when) } else { self.code.jump_far_when(when) };
            return self.lead(jump, slot);
        }
        let jump = self.code.jump_when(when);
        match next {
            Next::Exit(exit) => self.cold_give_up(jump, exit),
            Next::Block(pc) => self.cold_jump(jump, SideExit { pc, refund }, ColdKind::Refund, 0),
        }
    }

    /// Increments one of the two counters of a branch.
    pub(super) fn count_branch(&mut self, number: u32, taken: u32) {
        self.code.reserve();
        self.load_field(SCRATCH, offset_of!(Context<()>, counts));
        let index = i64::from(2 * number + taken);
        self.code.add_imm(Bits::B64, Arith::Add, SCRATCH, SCRATCH, index);
        self.code.load(0, SECOND, SCRATCH, 0);
        self.code.add_imm(Bits::B32, Arith::Add, SECOND, SECOND, 1);
        self.code.store(0, SECOND, SCRATCH, 0);
    }

    /// Calls a function in this unit or another. It overwrites these of r6 to r9.
    pub(super) fn call_slot(&mut self, slot: u32, overwritten: u8, exit: SideExit) {
        let is_own = self.scope.is_own(slot as usize);
        self.call_around(exit, overwritten, |it| {
            if is_own {
                let call = it.code.call();
                it.lead(call, slot);
            } else {
                it.load_entry(slot);
                it.code.call_reg(SCRATCH);
            }
        });
    }

    /// Emits a call between saving and restoring registers and the frame register.
    ///
    /// With the link register, an even number of registers is saved, since the stack pointer must
    /// be a multiple of 16. They are where an unwinder finds them: see `take_frames`.
    pub(super) fn call_around(&mut self, exit: SideExit, saved: u8, call: impl FnOnce(&mut Self)) {
        let saved = if self.shape.fixed_frames { odd(saved) } else { 0b1_1111 };
        let mut words = [LINK; 6];
        let mut count = 0;
        for number in (0..5).rev().filter(|number| saved >> number & 1 == 1) {
            words[count] = REGISTERS[6 + number];
            count += 1;
        }
        let pairs = words[..=count].as_chunks().0;
        let bytes = i32::try_from(16 * pairs.len()).expect("there are three at most");
        self.code.pair(false, Index::Before, pairs[0], STACK, -bytes);
        for (pair, at) in pairs.iter().zip((0..).step_by(16)).skip(1) {
            self.code.pair(false, Index::Offset, *pair, STACK, at);
        }
        let frame_bytes = i64::from(self.shape.frame_bytes);
        if self.shape.fixed_frames {
            self.code.add_imm(Bits::B64, Arith::Add, FRAME, FRAME, frame_bytes);
        }
        call(self);
        let site = Site { saved, ..Site::new(exit.pc, 0, SiteKind::Call) };
        self.sites.push(self.code.here(), site);
        if self.shape.fixed_frames && !words.contains(&FRAME) {
            self.code.add_imm(Bits::B64, Arith::Sub, FRAME, FRAME, frame_bytes);
        }
        for (pair, at) in pairs.iter().zip((0..).step_by(16)).skip(1) {
            self.code.pair(true, Index::Offset, *pair, STACK, at);
        }
        self.code.pair(true, Index::After, pairs[0], STACK, bytes);
    }

    /// Emits the check of the call depth.
    pub(super) fn check_depth(&mut self, exit: SideExit) {
        let start = self.code.here();
        self.load_field(SCRATCH, offset_of!(Context<()>, frame_limit));
        let (register, flag) = if self.shape.fixed_frames {
            (FRAME, Flag::HigherOrSame)
        } else {
            self.code.mov_stack(SECOND, STACK);
            (SECOND, Flag::Lower)
        };
        self.code.arith(Bits::B64, Arith::Subs, Reg::Zero, register, SCRATCH);
        let jump = self.code.jump_if(flag);
        self.cold_jump(jump, exit, ColdKind::Call, start);
    }

    /// Sets the target of a jump to the next instruction.
    pub(super) fn land(&mut self, jump: Patch) {
        let here = self.code.here();
        self.code.patch(jump, here);
    }
}

/// Adds a register to those that are saved if their number is even: one of r6 to r9, or the frame
/// register.
fn odd(saved: u8) -> u8 {
    if saved.count_ones() % 2 == 1 { saved } else { saved | (saved + 1) }
}

#[cfg(test)]
mod tests {
    use super::odd;

    #[test]
    fn an_odd_number_of_registers_is_saved_including_those_asked_for() {
        for saved in 0..16 {
            let all = odd(saved);
            assert_eq!(all.count_ones() % 2, 1);
            assert_eq!((all & saved, all >> 5), (saved, 0));
            assert!(all.count_ones() <= saved.count_ones() + 1);
        }
    }
}
