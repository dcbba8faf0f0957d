//! An encoder of Arm64 instructions, with the forms that the JIT needs.
//!
//! Each is tested against a disassembler.

use super::{
    operands::{Arith, Bits, Flag, Index, Reg, Shift, When, logical_imm},
    registers::IMMEDIATE,
};
use crate::jit::native::code_buffer::{CodeBuffer, Encode, Patch};

/// The encoder, with the code written so far.
#[derive(Debug)]
pub(crate) struct Encoder(CodeBuffer);

impl Encode for Encoder {
    /// The shortest instruction.
    const NOP_BYTES: u64 = 4;

    fn new(capacity: usize) -> Self {
        Self(CodeBuffer::new(capacity))
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    fn reserve(&mut self) {
        self.0.reserve();
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    fn here(&self) -> u32 {
        self.0.here()
    }

    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    fn nop(&mut self) {
        self.put(0xd503_201f);
    }

    /// # Panics
    /// If the target is out of reach. The writer knows the size of units.
    fn patch(&mut self, Patch(at): Patch, target: u32) {
        let place = self.0.word(at);
        let distance = target.wrapping_sub(at).cast_signed() >> 2;
        let (bits, shift) = if place[3] & 0x7c == 0x14 { (26, 0) } else { (19, 5) };
        let limit = 1 << (bits - 1);
        assert!((-limit..limit).contains(&distance), "the target of a branch is in reach");
        let field = distance.cast_unsigned() & ((1 << bits) - 1);
        *place = (u32::from_le_bytes(*place) | field << shift).to_le_bytes();
    }
}

fn long(bits: Bits) -> u32 {
    (bits as u32) << 31
}

/// Returns the fields of three registers: Rd (or Rt), Rn, Rm.
fn fields(d: Reg, n: Reg, m: Reg) -> u32 {
    d as u32 | (n as u32) << 5 | (m as u32) << 16
}

impl Encoder {
    #[cfg_attr(not(unoptimized), inline(always))]
    fn put(&mut self, word: u32) {
        self.0.put(u64::from(word), 4);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn arith(&mut self, bits: Bits, op: Arith, d: Reg, n: Reg, m: Reg) {
        self.put(long(bits) | (op as u32) << 24 | fields(d, n, m));
    }

    /// The second operand is shifted.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn arith_shifted(
        &mut self,
        op: Arith,
        d: Reg,
        n: Reg,
        (m, shift, count): (Reg, Shift, u8),
    ) {
        let shifted = (shift as u32) << 22 | u32::from(count) << 10;
        self.put(long(Bits::B64) | (op as u32) << 24 | shifted | fields(d, n, m));
    }

    /// An addition or subtraction of a number, in one instruction if possible, else by way of a
    /// register. Where the flags are set, they are those of the operation.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn add_imm(&mut self, bits: Bits, op: Arith, d: Reg, n: Reg, number: i64) {
        let opposite = match op {
            Arith::Add => Arith::Sub,
            Arith::Adds => Arith::Subs,
            Arith::Subs => Arith::Adds,
            _ => Arith::Add,
        };
        // `0 - 0` and `0 + 0` differ in their carry.
        let op_used = if number < 0 { opposite } else { op };
        let magnitude = number.unsigned_abs();
        // With immediates, the operation has another number.
        let head = long(bits) | (op_used as u32 + 6) << 24 | fields(d, n, Reg::X0);
        match u32::try_from(magnitude) {
            Ok(low @ 0..0x1000) => self.put(head | low << 10),
            Ok(high @ 0..0x100_0000) if high & 0xfff == 0 => self.put(head | 1 << 22 | high >> 2),
            _ => {
                self.mov_imm(IMMEDIATE, number.cast_unsigned());
                self.arith(bits, op, d, n, IMMEDIATE);
            }
        }
    }

    /// A logical operation on a number that has the form of [`logical_imm`].
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn logical(&mut self, bits: Bits, op: Arith, d: Reg, n: Reg, imm: u32) {
        self.put(long(bits) | (op as u32 + 8) << 24 | imm | fields(d, n, Reg::X0));
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn mov(&mut self, bits: Bits, d: Reg, m: Reg) {
        self.arith(bits, Arith::Orr, d, Reg::Zero, m);
    }

    /// Copies from or to the stack pointer.
    pub(crate) fn mov_stack(&mut self, d: Reg, n: Reg) {
        self.put(long(Bits::B64) | 0x1100_0000 | fields(d, n, Reg::X0));
    }

    /// Uses the fewest instructions. Does not change the flags.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn mov_imm(&mut self, d: Reg, number: u64) {
        let chunk = |number: u64, index: u32| {
            let [low, high, ..] = (number >> (16 * index)).to_le_bytes();
            u32::from(u16::from_le_bytes([low, high]))
        };
        if number >> 16 == 0 {
            return self.mov_wide(0xd280_0000, d, 0, chunk(number, 0));
        }
        let zeros = (0..4).filter(|index| chunk(number, *index) == 0).count();
        let ones = (0..4).filter(|index| chunk(number, *index) == 0xffff).count();
        if zeros.max(ones) < 3
            && let Some(imm) = logical_imm(Bits::B64, number)
        {
            return self.logical(Bits::B64, Arith::Orr, d, Reg::Zero, imm);
        }
        let (opcode, rest, flip) =
            if ones > zeros { (0x9280_0000, 0xffff, 0xffff) } else { (0xd280_0000, 0, 0) };
        let mut opcode = opcode;
        for index in (0..4).filter(|index| chunk(number, *index) != rest) {
            let chunk = chunk(number, index);
            let is_first = opcode != MOVK;
            self.mov_wide(opcode, d, index, if is_first { chunk ^ flip } else { chunk });
            opcode = MOVK;
        }
        if opcode != MOVK {
            self.mov_wide(opcode, d, 0, 0);
        }
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    fn mov_wide(&mut self, opcode: u32, d: Reg, index: u32, chunk: u32) {
        self.put(opcode | index << 21 | chunk << 5 | d as u32);
    }

    /// Bits `low` to `high` of a register, zero-extended.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn bits_of(&mut self, bits: Bits, d: Reg, n: Reg, low: u32, high: u32) {
        self.bitfield(0x5300_0000, bits, d, n, [low, high]);
    }

    /// Sign-extends the low half of a register.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn sign_extend(&mut self, d: Reg, n: Reg) {
        self.bitfield(0x1300_0000, Bits::B64, d, n, [0, 31]);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    fn bitfield(&mut self, op: u32, bits: Bits, d: Reg, n: Reg, [rotation, last]: [u32; 2]) {
        let fields = fields(d, n, Reg::X0) | rotation << 16 | last << 10;
        self.put(long(bits) | op | (bits as u32) << 22 | fields);
    }

    /// Shifts by a constant less than the width.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn shift_imm(&mut self, bits: Bits, op: Shift, d: Reg, n: Reg, count: u32) {
        let width = if bits == Bits::B64 { 64 } else { 32 };
        match op {
            Shift::Lsl => {
                let numbers = [(width - count) % width, width - 1 - count];
                self.bitfield(0x5300_0000, bits, d, n, numbers);
            }
            Shift::Lsr => self.bitfield(0x5300_0000, bits, d, n, [count, width - 1]),
            Shift::Asr => self.bitfield(0x1300_0000, bits, d, n, [count, width - 1]),
        }
    }

    /// Shifts by a register, modulo the width.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn shift(&mut self, bits: Bits, op: Shift, d: Reg, n: Reg, m: Reg) {
        self.put(long(bits) | 0x1ac0_2000 | (op as u32) << 10 | fields(d, n, m));
    }

    /// Division by 0 gives 0, and the least number divided by -1 itself.
    pub(crate) fn divide(&mut self, bits: Bits, signed: bool, d: Reg, n: Reg, m: Reg) {
        self.put(long(bits) | 0x1ac0_0800 | u32::from(signed) << 10 | fields(d, n, m));
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn multiply(&mut self, bits: Bits, d: Reg, n: Reg, m: Reg) {
        self.put(long(bits) | 0x1b00_7c00 | fields(d, n, m));
    }

    /// `d = a - n * m`.
    pub(crate) fn multiply_subtract(&mut self, bits: Bits, d: Reg, [n, m, a]: [Reg; 3]) {
        self.put(long(bits) | 0x1b00_8000 | (a as u32) << 10 | fields(d, n, m));
    }

    /// The high half of a product of 128 bits.
    pub(crate) fn multiply_high(&mut self, signed: bool, d: Reg, n: Reg, m: Reg) {
        let op = if signed { 0x9b40_7c00 } else { 0x9bc0_7c00 };
        self.put(op | fields(d, n, m));
    }

    /// Swaps the bytes of a register.
    pub(crate) fn reverse(&mut self, bits: Bits, d: Reg, n: Reg) {
        self.put(long(bits) | 0x5ac0_0800 | (bits as u32) << 10 | fields(d, n, Reg::X0));
    }

    /// Swaps the bytes of each 16 bits of the low half.
    pub(crate) fn reverse16(&mut self, d: Reg, n: Reg) {
        self.put(0x5ac0_0400 | fields(d, n, Reg::X0));
    }

    /// Loads 1, 2, 4 or 8 bytes, zero-extended; `size` is the logarithm.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn load(&mut self, size: u8, t: Reg, base: Reg, offset: i32) {
        self.access(size, 0x40_0000, t, base, offset);
    }

    /// Stores the low 1, 2, 4 or 8 bytes; `size` is the logarithm.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn store(&mut self, size: u8, t: Reg, base: Reg, offset: i32) {
        self.access(size, 0, t, base, offset);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    fn access(&mut self, size: u8, direction: u32, t: Reg, base: Reg, offset: i32) {
        let head = u32::from(size) << 30 | direction;
        let unsigned = offset.cast_unsigned();
        if unsigned & ((1 << size) - 1) == 0 && unsigned >> size < 0x1000 {
            let scaled = unsigned >> size << 10;
            self.put(0x3900_0000 | head | scaled | fields(t, base, Reg::X0));
        } else if (-256..256).contains(&offset) {
            let field = (unsigned & 0x1ff) << 12;
            self.put(0x3800_0000 | head | field | fields(t, base, Reg::X0));
        } else {
            self.add_imm(Bits::B64, Arith::Add, IMMEDIATE, base, offset.into());
            self.put(0x3900_0000 | head | fields(t, IMMEDIATE, Reg::X0));
        }
    }

    /// Accesses memory at a register, and adds `1 << size` to that.
    pub(crate) fn access_next(&mut self, is_load: bool, size: u8, t: Reg, base: Reg) {
        let head = u32::from(size) << 30 | u32::from(is_load) << 22;
        self.put(0x3800_0400 | head | 1 << (12 + size) | fields(t, base, Reg::X0));
    }

    /// Loads eight bytes at `base + 8 * index`.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn load_entry(&mut self, t: Reg, base: Reg, index: Reg) {
        self.put(0xf860_7800 | fields(t, base, index));
    }

    /// Loads or stores two registers. The offset is a multiple of 8 between -512 and 504.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn pair(
        &mut self,
        is_load: bool,
        index: Index,
        t: [Reg; 2],
        base: Reg,
        offset: i32,
    ) {
        let head = 0xa800_0000 | (index as u32) << 23 | u32::from(is_load) << 22;
        let field = (offset.cast_unsigned() >> 3 & 0x7f) << 15;
        self.put(head | field | (t[1] as u32) << 10 | fields(t[0], base, Reg::X0));
    }

    /// Returns from a call, to the address in a register.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn ret(&mut self, to: Reg) {
        self.put(0xd65f_0000 | (to as u32) << 5);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn jump_reg(&mut self, target: Reg) {
        self.put(0xd61f_0000 | (target as u32) << 5);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn call_reg(&mut self, target: Reg) {
        self.put(0xd63f_0000 | (target as u32) << 5);
    }

    /// Makes instructions that were fetched before be fetched again.
    pub(crate) fn isb(&mut self) {
        self.put(0xd503_3fdf);
    }

    /// A trap of the processor, where control never arrives.
    pub(crate) fn udf(&mut self) {
        self.put(0);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    fn branch(&mut self, word: u32) -> Patch {
        let patch = Patch(self.here());
        self.put(word);
        patch
    }

    /// Reaches 128 MiB.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn jump(&mut self) -> Patch {
        self.branch(0x1400_0000)
    }

    /// Reaches 128 MiB.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn call(&mut self) -> Patch {
        self.branch(0x9400_0000)
    }

    /// Reaches 1 MiB.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn jump_when(&mut self, when: When) -> Patch {
        self.branch(match when {
            When::Flag(flag) => 0x5400_0000 | flag as u32,
            When::Zero(bits, reg) => 0x3400_0000 | long(bits) | reg as u32,
            When::NotZero(bits, reg) => 0x3500_0000 | long(bits) | reg as u32,
        })
    }

    /// Reaches 128 MiB.
    pub(crate) fn jump_far_when(&mut self, when: When) -> Patch {
        let opposite = self.branch(match when {
            When::Flag(flag) => 0x5400_0000 | flag as u32 ^ 1,
            When::Zero(bits, reg) => 0x3500_0000 | long(bits) | reg as u32,
            When::NotZero(bits, reg) => 0x3400_0000 | long(bits) | reg as u32,
        });
        let jump = self.jump();
        let here = self.here();
        self.patch(opposite, here);
        jump
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn jump_if(&mut self, flag: Flag) -> Patch {
        self.jump_when(When::Flag(flag))
    }

    /// Jumps to code that is already written.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn jump_to(&mut self, target: u32) {
        let jump = self.jump();
        self.patch(jump, target);
    }

    /// Calls code that is already written.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn call_to(&mut self, target: u32) {
        let call = self.call();
        self.patch(call, target);
    }
}

const MOVK: u32 = 0xf280_0000;
