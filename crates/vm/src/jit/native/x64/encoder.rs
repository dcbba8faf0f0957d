//! An encoder of x86-64 instructions, with the forms that the JIT needs.
//!
//! Each is tested against a disassembler.

use crate::jit::native::code_buffer::{CodeBuffer, Encode, Patch};

/// A general-purpose register, with its number in instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[rustfmt::skip]
pub(crate) enum Reg { Rax, Rcx, Rdx, Rbx, Rsp, Rbp, Rsi, Rdi, R8, R9, R10, R11, R12, R13, R14, R15 }

/// A memory operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mem {
    base: Reg,
    index: Option<Reg>,
    /// The index is shifted left by this.
    shift: u8,
    disp: i32,
}

impl Mem {
    pub(crate) fn at(base: Reg, disp: i32) -> Self {
        Self { base, index: None, shift: 0, disp }
    }

    /// `index` may not be `rsp`.
    pub(crate) fn indexed(base: Reg, index: Reg, shift: u8, disp: i32) -> Self {
        debug_assert!(index != Reg::Rsp, "rsp cannot be an index");
        Self { base, index: Some(index), shift, disp }
    }
}

/// The width of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bits {
    B32,
    B64,
}

/// The two-operand operations with a common encoding; the number is the one in `81 /n`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Arith {
    Add = 0,
    Or = 1,
    And = 4,
    Sub = 5,
    Xor = 6,
    Cmp = 7,
}

/// Shifts; the number is the one in `d3 /n`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Shift {
    Rol = 0,
    Shl = 4,
    Shr = 5,
    Sar = 7,
}

/// Operations on `rdx:rax` and single operands; the number is the one in `f7 /n`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Unary {
    Neg = 3,
    Mul = 4,
    Imul = 5,
    Div = 6,
    Idiv = 7,
}

/// A condition; the number is the one in `0f 8n`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Flag {
    Below = 2,
    AboveOrEqual = 3,
    Equal = 4,
    NotEqual = 5,
    BelowOrEqual = 6,
    Above = 7,
    Less = 12,
    GreaterOrEqual = 13,
    LessOrEqual = 14,
    Greater = 15,
}

/// The encoder, with the code written so far.
#[derive(Debug)]
pub(crate) struct Encoder {
    code: CodeBuffer,
    /// The register whose value the flags reflect (64 bits), and the offset at which they do.
    pub(super) flags: (Reg, u32),
}

impl Encode for Encoder {
    const NOP_BYTES: u64 = 1;

    fn new(capacity: usize) -> Self {
        Self { code: CodeBuffer::new(capacity), flags: (Reg::Rcx, 0) }
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    fn reserve(&mut self) {
        self.code.reserve();
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    fn here(&self) -> u32 {
        self.code.here()
    }

    fn bytes(&self) -> &[u8] {
        self.code.bytes()
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    fn nop(&mut self) {
        self.put(0x90, 1);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    fn patch(&mut self, Patch(at): Patch, target: u32) {
        let distance = target.wrapping_sub(at + 4);
        *self.code.word(at) = distance.to_le_bytes();
    }
}

#[rustfmt::skip]
impl Encoder {
    /// Writes the low `len` of eight bytes.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn put(&mut self, bytes: u64, len: usize) {
        self.code.put(bytes, len);
    }

    /// Writes the low bytes of two numbers.
    #[cfg_attr(not(unoptimized), inline(always))]
    fn put_both(&mut self, first: u64, first_len: usize, second: i32, second_len: usize) {
        let bytes = self.code.next();
        bytes[..8].copy_from_slice(&first.to_le_bytes());
        // At most 8; the mask lets the optimizer omit a bounds check.
        let at = first_len & 15;
        bytes[at.min(12)..][..4].copy_from_slice(&second.to_le_bytes());
        self.code.advance(first_len + second_len);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    fn put_i32(&mut self, value: i32) {
        self.put(u64::from(value.cast_unsigned()), 4);
    }

    /// Returns the bytes before the operands and their length in bits: a prefix, REX, and an opcode
    /// of one byte, or of two beginning with `0f`. Computed without branches, which would be
    /// mispredicted.
    #[cfg_attr(not(unoptimized), inline(always))]
    fn head(prefix: u64, rex: u8, byte: bool, opcode: u64) -> (u64, u32) {
        let prefix_bits = if prefix != 0 { 8 } else { 0 };
        // Without REX, 4 to 7 name the second-lowest bytes of other registers.
        let needs_rex = rex != 0 || byte;
        let rex = if needs_rex { u64::from(0x40 | rex) } else { 0 };
        let rex_bits = if needs_rex { 8 } else { 0 };
        let opcode_bits = if opcode > 0xff { 16 } else { 8 };
        let word = prefix | (rex | opcode << rex_bits) << prefix_bits;
        (word, prefix_bits + rex_bits + opcode_bits)
    }

    /// Writes opcode and operands: a register and another.
    #[cfg_attr(not(unoptimized), inline(always))]
    fn with_reg(&mut self, bits: Bits, prefix: u64, opcode: u64, reg: u8, rm: Reg, byte: bool) {
        let rm = rm as u8;
        let rex = (bits as u8) << 3 | (reg >> 3) << 2 | rm >> 3;
        let (word, len) = Self::head(prefix, rex, byte, opcode);
        let word = word | u64::from(0xc0 | (reg & 7) << 3 | rm & 7) << len;
        self.put(word, len as usize / 8 + 1);
    }

    /// Writes opcode and operands: a register and a memory operand.
    #[cfg_attr(not(unoptimized), inline(always))]
    fn with_mem(&mut self, bits: Bits, prefix: u64, opcode: u64, reg: u8, mem: Mem, byte: bool) {
        let base = mem.base as u8;
        let index = mem.index.map_or(0, |index| index as u8);
        let rex = (bits as u8) << 3 | (reg >> 3) << 2 | (index >> 3) << 1 | base >> 3;
        let (mut word, mut len) = Self::head(prefix, rex, byte, opcode);
        let needs_sib = mem.index.is_some() || base & 7 == 4;
        let (mode, disp_bytes) = Self::disp_mode(mem);
        let rm = if needs_sib { 4 } else { base & 7 };
        let index = if mem.index.is_some() { index & 7 } else { 4 };
        let sib = mem.shift << 6 | index << 3 | base & 7;
        word |= (u64::from(mode | (reg & 7) << 3 | rm) | u64::from(sib) << 8) << len;
        len += if needs_sib { 16 } else { 8 };
        self.put_both(word, len as usize / 8, mem.disp, disp_bytes);
    }

    /// Returns the mode of a displacement, and its length in bytes.
    #[cfg_attr(not(unoptimized), inline(always))]
    fn disp_mode(mem: Mem) -> (u8, usize) {
        // rbp and r13 as a base need a displacement.
        let none = mem.disp == 0 && mem.base as u8 & 7 != 5;
        let short = i8::try_from(mem.disp).is_ok();
        let (mode, bytes) = if short { (0x40, 1) } else { (0x80, 4) };
        if none { (0, 0) } else { (mode, bytes) }
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn arith(&mut self, bits: Bits, op: Arith, dst: Reg, src: Reg) {
        self.with_reg(bits, 0, (op as u64) << 3 | 1, src as u8, dst, false);
    }

    /// The immediate is sign-extended.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn arith_imm(&mut self, bits: Bits, op: Arith, dst: Reg, imm: i32) {
        let short = i8::try_from(imm).is_ok();
        let (opcode, bytes) = if short { (0x83, 1) } else { (0x81, 4) };
        self.with_reg(bits, 0, opcode, op as u8, dst, false);
        self.put(u64::from(imm.cast_unsigned()), bytes);
    }

    /// The right-hand operand is in memory.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn arith_mem(&mut self, bits: Bits, op: Arith, dst: Reg, src: Mem) {
        self.with_mem(bits, 0, (op as u64) << 3 | 3, dst as u8, src, false);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn test(&mut self, bits: Bits, a: Reg, b: Reg) {
        self.with_reg(bits, 0, 0x85, b as u8, a, false);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn test_imm(&mut self, bits: Bits, a: Reg, imm: i32) {
        self.with_reg(bits, 0, 0xf7, 0, a, false);
        self.put_i32(imm);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn test_mem(&mut self, a: Reg, mem: Mem) {
        self.with_mem(Bits::B64, 0, 0x85, a as u8, mem, false);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn mov(&mut self, bits: Bits, dst: Reg, src: Reg) {
        self.with_reg(bits, 0, 0x89, src as u8, dst, false);
    }

    /// Sign-extends the low half of a register.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn movsxd(&mut self, dst: Reg, src: Reg) {
        self.with_reg(Bits::B64, 0, 0x63, dst as u8, src, false);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn movzx16(&mut self, dst: Reg, src: Reg) {
        self.with_reg(Bits::B32, 0, 0xb70f, dst as u8, src, false);
    }

    /// Uses the shortest instruction. Does not change the flags.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn mov_imm(&mut self, dst: Reg, imm: u64) {
        let number = dst as u8;
        if let Ok(imm) = u32::try_from(imm) {
            let opcode = u64::from(0xb8 | number & 7);
            if number < 8 { self.put(opcode, 1) } else { self.put(0x41 | opcode << 8, 2) }
            self.put(u64::from(imm), 4);
        } else if let Ok(imm) = i32::try_from(imm.cast_signed()) {
            self.with_reg(Bits::B64, 0, 0xc7, 0, dst, false);
            self.put_i32(imm);
        } else {
            let rex = u64::from(0x48 | number >> 3);
            self.put(rex | u64::from(0xb8 | number & 7) << 8, 2);
            self.put(imm, 8);
        }
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn lea(&mut self, dst: Reg, mem: Mem) {
        self.with_mem(Bits::B64, 0, 0x8d, dst as u8, mem, false);
    }

    /// `lea` of 32 bits.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn lea32(&mut self, dst: Reg, mem: Mem) {
        self.with_mem(Bits::B32, 0, 0x8d, dst as u8, mem, false);
    }

    /// Loads 16 bytes into xmm0, which is scratch everywhere.
    pub(crate) fn load_xmm(&mut self, mem: Mem) {
        self.with_mem(Bits::B32, 0, 0x100f, 0, mem, false);
    }

    /// Stores xmm0.
    pub(crate) fn store_xmm(&mut self, mem: Mem) {
        self.with_mem(Bits::B32, 0, 0x110f, 0, mem, false);
    }

    /// Loads 1, 2, 4 or 8 bytes, zero-extended; `size` is the logarithm.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn load(&mut self, size: u8, dst: Reg, mem: Mem) {
        match size {
            0 => self.with_mem(Bits::B32, 0, 0xb60f, dst as u8, mem, false),
            1 => self.with_mem(Bits::B32, 0, 0xb70f, dst as u8, mem, false),
            2 => self.with_mem(Bits::B32, 0, 0x8b, dst as u8, mem, false),
            _ => self.with_mem(Bits::B64, 0, 0x8b, dst as u8, mem, false),
        }
    }

    /// Stores the low 1, 2, 4 or 8 bytes; `size` is the logarithm.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn store(&mut self, size: u8, mem: Mem, src: Reg) {
        match size {
            0 => self.with_mem(Bits::B32, 0, 0x88, src as u8, mem, src as u8 >= 4),
            1 => self.with_mem(Bits::B32, 0x66, 0x89, src as u8, mem, false),
            2 => self.with_mem(Bits::B32, 0, 0x89, src as u8, mem, false),
            _ => self.with_mem(Bits::B64, 0, 0x89, src as u8, mem, false),
        }
    }

    /// Stores the low 1, 2, 4 or, sign-extended, 8 bytes of an immediate.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn store_imm(&mut self, size: u8, mem: Mem, imm: i32) {
        let bytes = u64::from(imm.cast_unsigned());
        match size {
            0 => { self.with_mem(Bits::B32, 0, 0xc6, 0, mem, false); self.put(bytes, 1) }
            1 => { self.with_mem(Bits::B32, 0x66, 0xc7, 0, mem, false); self.put(bytes, 2) }
            2 => { self.with_mem(Bits::B32, 0, 0xc7, 0, mem, false); self.put(bytes, 4) }
            _ => { self.with_mem(Bits::B64, 0, 0xc7, 0, mem, false); self.put(bytes, 4) }
        }
    }

    /// Adds 1 to a byte.
    pub(crate) fn increment_byte(&mut self, mem: Mem) {
        self.with_mem(Bits::B32, 0, 0xfe, 0, mem, false);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn shift_imm(&mut self, bits: Bits, op: Shift, dst: Reg, count: u8) {
        self.with_reg(bits, 0, 0xc1, op as u8, dst, false);
        self.put(u64::from(count), 1);
    }

    /// Shifts by `cl`.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn shift_cl(&mut self, bits: Bits, op: Shift, dst: Reg) {
        self.with_reg(bits, 0, 0xd3, op as u8, dst, false);
    }

    /// Swaps the bytes of the low 16 bits.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn rol16_by_8(&mut self, dst: Reg) {
        self.with_reg(Bits::B32, 0x66, 0xc1, Shift::Rol as u8, dst, false);
        self.put(8, 1);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn bswap(&mut self, bits: Bits, dst: Reg) {
        let number = dst as u8;
        let rex = u64::from(0x40 | (bits as u8) << 3 | number >> 3);
        self.put(rex | 0x0f << 8 | u64::from(0xc8 | number & 7) << 16, 3);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn unary(&mut self, bits: Bits, op: Unary, operand: Reg) {
        self.with_reg(bits, 0, 0xf7, op as u8, operand, false);
    }

    /// Sign-extends `rax` into `rdx`.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn cqo(&mut self, bits: Bits) {
        match bits {
            Bits::B32 => self.put(0x99, 1),
            Bits::B64 => self.put(0x9948, 2),
        }
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn imul(&mut self, bits: Bits, dst: Reg, src: Reg) {
        self.with_reg(bits, 0, 0xaf0f, dst as u8, src, false);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn imul_imm(&mut self, bits: Bits, dst: Reg, src: Reg, imm: i32) {
        if let Ok(imm) = i8::try_from(imm) {
            self.with_reg(bits, 0, 0x6b, dst as u8, src, false);
            self.put(u64::from(imm.cast_unsigned()), 1);
        } else {
            self.with_reg(bits, 0, 0x69, dst as u8, src, false);
            self.put_i32(imm);
        }
    }

    /// The three-byte prefix of BMI2 instructions, opcode and operands.
    #[cfg_attr(not(unoptimized), inline(always))]
    fn vex(&mut self, bits: Bits, pp: u64, opcode: u64, [reg, second]: [Reg; 2], operand: [u8; 2]) {
        let ([base, index], w) = (operand, bits as u64);
        let (reg, second) = (reg as u8, second as u8);
        let inverted = (reg >> 3 ^ 1) << 7 | (index >> 3 ^ 1) << 6 | (base >> 3 ^ 1) << 5;
        let first = u64::from(inverted | 2);
        let third = w << 7 | u64::from(!second & 15) << 3 | pp;
        self.put(0xc4 | first << 8 | third << 16 | opcode << 24, 4);
    }

    /// Collects the bits of `src` that a mask in memory selects (BMI2).
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn pext(&mut self, dst: Reg, src: Reg, mask: Mem) {
        let base = mask.base as u8;
        let index = mask.index.map_or(0, |index| index as u8);
        self.vex(Bits::B64, 2, 0xf5, [dst, src], [base, index]);
        let (mode, disp_bytes) = Self::disp_mode(mask);
        let sib = mask.index.is_some() || base & 7 == 4;
        let rm = if sib { 4 } else { base & 7 };
        self.put(u64::from(mode | (dst as u8 & 7) << 3 | rm), 1);
        if sib {
            let index = if mask.index.is_some() { index & 7 } else { 4 };
            self.put(u64::from(mask.shift << 6 | index << 3 | base & 7), 1);
        }
        self.put(u64::from(mask.disp.cast_unsigned()), disp_bytes);
    }

    /// Shifts by a register, with no flags (BMI2).
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn shift_by(&mut self, bits: Bits, op: Shift, dst: Reg, src: Reg, count: Reg) {
        let pp = match op { Shift::Shl => 1, Shift::Sar => 2, Shift::Shr | Shift::Rol => 3 };
        debug_assert!(op != Shift::Rol, "no such instruction");
        self.vex(bits, pp, 0xf7, [dst, count], [src as u8, 0]);
        self.put(u64::from(0xc0 | (dst as u8 & 7) << 3 | src as u8 & 7), 1);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn push(&mut self, reg: Reg) {
        let number = reg as u8;
        let opcode = u64::from(0x50 | number & 7);
        if number < 8 { self.put(opcode, 1) } else { self.put(0x41 | opcode << 8, 2) }
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn pop(&mut self, reg: Reg) {
        let number = reg as u8;
        let opcode = u64::from(0x58 | number & 7);
        if number < 8 { self.put(opcode, 1) } else { self.put(0x41 | opcode << 8, 2) }
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn ret(&mut self) {
        self.put(0xc3, 1);
    }

    /// A trap of the processor, where control never arrives.
    pub(crate) fn ud2(&mut self) {
        self.put(0x0b0f, 2);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn jump_reg(&mut self, target: Reg) {
        self.with_reg(Bits::B32, 0, 0xff, 4, target, false);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn call_reg(&mut self, target: Reg) {
        self.with_reg(Bits::B32, 0, 0xff, 2, target, false);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn call_mem(&mut self, target: Mem) {
        self.with_mem(Bits::B32, 0, 0xff, 2, target, false);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn jump_mem(&mut self, target: Mem) {
        self.with_mem(Bits::B32, 0, 0xff, 4, target, false);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn jump(&mut self) -> Patch {
        self.put(0xe9, 5);
        Patch(self.here() - 4)
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn call(&mut self) -> Patch {
        self.put(0xe8, 5);
        Patch(self.here() - 4)
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn jump_if(&mut self, flag: Flag) -> Patch {
        self.put(0x0f | (0x80 | flag as u64) << 8, 6);
        Patch(self.here() - 4)
    }

    /// Jumps to code that is already written.
    pub(crate) fn jump_to(&mut self, target: u32) {
        if let Some(distance) = self.short(target) {
            return self.put(0xeb | distance << 8, 2);
        }
        self.put(0xe9 | self.distance(target, 5) << 8, 5);
    }

    /// Jumps to code that is already written.
    pub(crate) fn jump_if_to(&mut self, flag: Flag, target: u32) {
        if let Some(distance) = self.short(target) {
            return self.put(0x70 | flag as u64 | distance << 8, 2);
        }
        self.put(0x0f | (0x80 | flag as u64) << 8 | self.distance(target, 6) << 16, 6);
    }

    /// Returns the displacement of a jump of two bytes, if it fits into one byte.
    fn short(&self, target: u32) -> Option<u64> {
        let distance = target.wrapping_sub(self.here() + 2).cast_signed();
        i8::try_from(distance).ok().map(|distance| distance.cast_unsigned().into())
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(crate) fn call_to(&mut self, target: u32) {
        self.put(0xe8 | self.distance(target, 5) << 8, 5);
    }

    /// Returns the displacement to a target from the end of an instruction of `len` bytes.
    #[cfg_attr(not(unoptimized), inline(always))]
    fn distance(&self, target: u32, len: u32) -> u64 {
        target.wrapping_sub(self.here() + len).into()
    }
}
