//! Sequences of instructions for which machine code is most likely to be wrong: accesses that share
//! a bounds check, accesses at the edges of frames, divisions that trap, functions that must save
//! registers.

use selkie_isa::{Alu, Field, Kind, Op, Operand, Slot, Width, layout::BYTECODE_START};

use super::Generator;

/// A call or a function's address, to be filled in when all functions are generated.
pub(super) struct Fixup {
    pc: usize,
    function: usize,
}

impl Generator {
    /// Adds a random sequence.
    pub(super) fn pattern(&mut self) {
        match self.rng.below(100) {
            0..=21 => self.cluster(),
            22..=31 => self.frame_edges(),
            32..=35 => self.far_offset(),
            36..=41 => self.division(),
            42..=45 => self.shift(),
            46..=53 => self.wide_immediate(),
            54..=61 => self.counted_loop(),
            62..=67 => self.syscall(),
            68..=71 => self.call(),
            72..=75 => self.call_into_anything(),
            76..=84 => self.branch(),
            85..=88 => self.constant(),
            89 => self.push(Op::Exit, 0, 0, 0, 0),
            90..=94 => self.memory(),
            _ => self.alu(),
        }
    }

    /// A load or store of any size.
    fn access(&mut self, base: u8, off: i16) {
        let wanted = |kind| matches!(kind, Kind::Load(_) | Kind::StoreImm(_) | Kind::StoreReg(_));
        let Some(op) = self.op(wanted) else { return };
        let other = if self.rng.chance(90) { self.data() } else { self.source() };
        let other = if other == 10 && matches!(op.kind(), Kind::Load(_)) { 0 } else { other };
        let imm = self.rng.word() as i32;
        match op.kind() {
            Kind::Load(_) => self.push(op, other, base, off, 0),
            Kind::StoreReg(_) => self.push(op, base, other, off, 0),
            _ => self.push(op, base, 0, off, imm),
        }
    }

    /// Several accesses from one base, for which the JIT may emit a single check. One may be out of
    /// range, the base may change between them, and a branch may skip some.
    fn cluster(&mut self) {
        let mut base = 6 + self.rng.below(4) as u8;
        if self.rng.chance(75) {
            let address = self.addresses.pick_base(&mut self.rng);
            self.load_constant(base, address);
        } else if self.rng.chance(30) {
            base = 10;
        }
        let first = match self.rng.below(4) {
            _ if base == 10 => -self.rng.range(16, 200),
            0 => 0,
            1 if self.rng.chance(20) => self.rng.range(-40, 8),
            _ => self.rng.range(0, 24),
        };
        let aligned = self.rng.chance(60);
        for _ in 0..self.rng.range(2, 7) {
            let mut off = first + self.rng.range(0, 40);
            if aligned {
                off &= !7;
            }
            if self.rng.chance(5) {
                off += self.rng.range(-4200, 4200);
            }
            self.access(base, off as i16);
            match self.rng.below(24) {
                0 | 1 if base != 10 => {
                    let step = self.rng.range(-16, 16) as i32;
                    self.push(Op::Add64Imm, base, 0, 0, step);
                }
                2 => {
                    let other = 6 + self.rng.below(4) as u8;
                    self.push(Op::Mov64Reg, other, base, 0, 0);
                    base = other;
                }
                3 => self.skip(),
                4 if base != 10 => {
                    let other = self.source();
                    self.push(Op::Add64Reg, base, other, 0, 0);
                }
                5 => self.alu(),
                6 if base != 10 => {
                    // A base that comes from memory.
                    let load = self.op(|kind| matches!(kind, Kind::Load(_)));
                    load.into_iter().for_each(|op| self.push(op, base, base, 0, 0));
                }
                7 => self.push(Op::Ja, 0, 0, 0, 0),
                _ => {}
            }
        }
    }

    /// A branch over up to three slots that follow.
    fn skip(&mut self) {
        let Some(op) = self.op(|kind| matches!(kind, Kind::Branch(..))) else { return };
        let (dst, src) = (self.data(), self.source());
        let (off, imm) = (self.rng.range(1, 3) as i16, self.rng.range(-2, 70) as i32);
        self.push(op, dst, src, off, imm);
    }

    /// Accesses at, over and across the edges of stack frames, by r10 and by copies of it.
    fn frame_edges(&mut self) {
        let mut base = 10;
        if self.rng.chance(35) {
            base = 6 + self.rng.below(4) as u8;
            self.push(Op::Mov64Reg, base, 10, 0, 0);
            if self.rng.chance(70) {
                let frames = if self.rng.chance(70) { 0 } else { self.rng.range(-3, 2) };
                let step = frames * self.frame_bytes - self.rng.range(0, 24) * 4;
                self.push(Op::Add64Imm, base, 0, 0, step as i32);
            }
        }
        for _ in 0..self.rng.range(1, 4) {
            let off = match self.rng.below(20) {
                0..=16 => -8 * self.rng.range(1, self.frame_bytes / 8),
                17 => -self.rng.range(1, 12),
                18 if self.rng.chance(50) => -self.frame_bytes + self.rng.range(-9, 9),
                18 => self.rng.range(-9, 9),
                _ => self.rng.range(-2, 3) * self.frame_bytes + self.rng.range(-9, 9),
            };
            self.access(base, off.clamp(i16::MIN.into(), i16::MAX.into()) as i16);
        }
    }

    /// The largest and smallest offsets of an instruction, from bases that far away.
    fn far_offset(&mut self) {
        let (address, short) = (self.addresses.pick(&mut self.rng), self.rng.range(0, 12) as i16);
        let off = if self.rng.chance(50) { i16::MIN + short } else { i16::MAX - short };
        let base = 6 + self.rng.below(4) as u8;
        self.load_constant(base, address.wrapping_add_signed(-i64::from(off)));
        self.access(base, off);
        let near = self.rng.range(-8, 8) as i16;
        self.access(base, off.saturating_add(near));
    }

    /// Operands for which division traps or overflows in some width.
    fn division(&mut self) {
        const NUMBERS: [u64; 14] = [
            0,
            1,
            2,
            7,
            u64::MAX,
            1 << 63,
            1 << 31,
            0xffff_ffff,
            1 << 32,
            0xffff_ffff_8000_0000,
            0x8000_0000_0000_0001,
            0x7fff_ffff_ffff_ffff,
            0x1_0000_0001,
            0xffff_ffff_0000_0000,
        ];
        let divides = |kind| matches!(kind, Kind::Alu(alu, ..) if alu.divides());
        let multiplies = |kind| {
            matches!(kind, Kind::Alu(Alu::Mul | Alu::Uhmul | Alu::Shmul, ..)) || divides(kind)
        };
        let Some(op) = self.op(multiplies) else { return };
        let (dst, src) = (self.rng.below(6) as u8, self.rng.below(10) as u8);
        let mut by = self.rng.pick(&NUMBERS);
        if by as u32 == 0 && !self.rng.chance(25) {
            by |= 3;
        }
        let left = self.rng.pick(&NUMBERS);
        self.load_constant(dst, left);
        if matches!(op.kind(), Kind::Alu(_, _, Operand::Reg)) {
            self.load_constant(src, by);
        }
        let imm = self.rng.pick(&[1, -1, 2, 3, 10, i32::MIN, i32::MAX, 1 << 16, -7]);
        self.push(op, dst, src, 0, imm);
    }

    /// Shifts by amounts around the width, in registers.
    fn shift(&mut self) {
        let shifts =
            |kind| matches!(kind, Kind::Alu(Alu::Lsh | Alu::Rsh | Alu::Arsh, _, Operand::Reg));
        let Some(op) = self.op(shifts) else { return };
        let (dst, src) = (self.rng.below(10) as u8, self.rng.below(6) as u8);
        let amount = self.rng.pick(&[0, 1, 7, 31, 32, 33, 63, 64, 65, 255, -1, -31, -32]);
        self.push(Op::Mov64Imm, src, 0, 0, amount);
        self.push(op, dst, src, 0, 0);
    }

    /// Instructions with large immediates.
    fn wide_immediate(&mut self) {
        let Some(op) = self.op(|kind| match kind {
            Kind::Alu(alu, _, operand) => {
                operand != Operand::Reg && !matches!(alu, Alu::Lsh | Alu::Rsh | Alu::Arsh)
            }
            Kind::Branch(_, _, operand) => operand != Operand::Reg,
            _ => false,
        }) else {
            return;
        };
        let imm = match self.rng.below(4) {
            0 => self.rng.pick(&[i32::MIN, i32::MAX, -1, 0xff, 0x100, -0x100, -0x101, 0x7f, -0x80]),
            1 => 1 << self.rng.below(32),
            _ => self.rng.word() as i32,
        };
        let (dst, off) = (self.rng.below(10) as u8, self.rng.range(0, 3) as i16);
        let off = if matches!(op.kind(), Kind::Branch(..)) { off } else { 0 };
        self.push(op, dst, 0, off, if imm == 0 { 1 } else { imm });
    }

    /// A loop that counts down, around memory and arithmetic.
    fn counted_loop(&mut self) {
        let counter = self.rng.pick(&[0, 2, 3, 4, 5, 9]);
        let rounds = self.rng.range(1, 40) as i32;
        self.push(Op::Mov64Imm, counter, 0, 0, rounds);
        let start = self.words.len() as i64;
        for _ in 0..self.rng.range(1, 5) {
            match self.rng.below(10) {
                0..=2 => self.cluster(),
                3 => self.frame_edges(),
                4 | 5 => self.memory(),
                6 => self.skip(),
                7 => self.syscall(),
                8 => self.wide_immediate(),
                _ => self.alu(),
            }
        }
        self.push(Op::Add64Imm, counter, 0, 0, -1);
        let back = (start - self.words.len() as i64 - 1) as i16;
        let op = self.rng.pick(&[Op::Jne64Imm, Op::Jsgt64Imm]);
        self.push(op, counter, 0, back, 0);
    }

    /// `callx` to the start of a function, into a basic block, into an `lddw`, between two slots, or
    /// out of the text.
    fn call_into_anything(&mut self) {
        let tails: Vec<usize> =
            (0..self.words.len()).filter(|&pc| self.words[pc] as u8 == 0).collect();
        let pc = match self.rng.below(10) {
            0 if !tails.is_empty() => self.rng.pick(&tails),
            1..=3 if !self.functions.is_empty() => {
                self.functions[self.rng.below(self.functions.len())].1 as usize
            }
            4 => self.slots + self.rng.below(40),
            _ => self.words.len() + self.rng.below(20),
        };
        let between = if self.rng.chance(15) { self.rng.below(8) } else { 0 };
        let register = self.rng.below(10) as u8;
        self.load_constant(register, BYTECODE_START + 8 * pc as u64 + between as u64);
        self.callx(register);
    }

    pub(super) fn callx(&mut self, register: u8) {
        let Some(op) = self.op(|kind| matches!(kind, Kind::CallReg(_))) else { return };
        match op.kind() {
            Kind::CallReg(Field::InImm) => self.push(op, 0, 0, 0, i32::from(register)),
            Kind::CallReg(Field::InSrc) => self.push(op, 0, register, 0, 0),
            _ => self.push(op, register, 0, 0, 0),
        }
    }

    /// A program of functions that clobber what their callers rely on, call and jump into each
    /// other, and recurse.
    pub(super) fn function_text(&mut self) {
        let count = 2 + self.rng.below(6);
        let mut starts = Vec::new();
        let mut fixups = Vec::new();
        for function in 0..count {
            starts.push(self.words.len());
            if function > 0 && self.rng.chance(30) {
                self.recursion(function, &mut fixups);
                continue;
            }
            for _ in 0..self.rng.range(1, 6) {
                match self.rng.below(12) {
                    0..=2 => self.clobber(),
                    3..=5 => {
                        // Mostly forward, so that the program ends.
                        let from = if self.rng.chance(85) { function + 1 } else { 0 };
                        let callee = from + self.rng.below(count - from.min(count - 1));
                        self.call_function(callee.min(count - 1), &mut fixups);
                    }
                    6 if self.rng.chance(40) => {
                        // Into another function, or past the end of this one.
                        let off = self.rng.range(-12, 30).max(-(self.words.len() as i64) - 1);
                        let op = self.rng.pick(&[Op::Ja, Op::Jne64Imm, Op::Jgt64Imm]);
                        self.push(op, 0, 0, off as i16, 0);
                    }
                    7 => self.frame_edges(),
                    _ => self.pattern(),
                }
            }
            if self.rng.chance(94) {
                self.push(Op::Exit, 0, 0, 0, 0);
            }
        }
        self.link(&starts, &fixups);
    }

    /// Writes to some callee-saved registers, and possibly to others.
    fn clobber(&mut self) {
        let subset = self.rng.below(16) as u8;
        for register in (0..4).filter(|bit| subset >> bit & 1 == 1) {
            match self.rng.below(4) {
                0 => self.push(Op::Mov64Imm, 6 + register, 0, 0, i32::from(register) * 77),
                1 => self.push(Op::Add64Imm, 6 + register, 0, 0, 8),
                2 => {
                    let address = self.addresses.pick(&mut self.rng);
                    self.load_constant(6 + register, address);
                }
                _ => {
                    let source = self.source();
                    self.push(Op::Add64Reg, 6 + register, source, 0, 0);
                }
            }
        }
        // Makes the saved values part of the result.
        if self.rng.chance(50) {
            let (dst, kept) = (self.rng.below(6) as u8, 6 + self.rng.below(4) as u8);
            self.push(Op::Add64Reg, dst, kept, 0, 0);
        }
    }

    /// A function that recurses to about the maximum call depth.
    fn recursion(&mut self, function: usize, fixups: &mut Vec<Fixup>) {
        // The first entry sets the counter: r5 is odd by chance, and r4 counts.
        let depth = self.call_depth as i64;
        let rounds = self.rng.range((depth - 3).max(1), depth + 2) as i32;
        self.push(Op::Jne64Imm, 5, 0, 2, 0x5eed);
        self.push(Op::Add64Imm, 4, 0, 0, -1);
        self.push(Op::Ja, 0, 0, 2, 0);
        self.push(Op::Mov64Imm, 5, 0, 0, 0x5eed);
        self.push(Op::Mov64Imm, 4, 0, 0, rounds);
        self.push(Op::Jsgt64Imm, 4, 0, 1, 0);
        self.push(Op::Exit, 0, 0, 0, 0);
        if self.rng.chance(60) {
            self.clobber();
        }
        if self.rng.chance(50) {
            self.frame_edges();
        }
        self.call_function(function, fixups);
        if self.rng.chance(60) {
            self.clobber();
        }
        self.push(Op::Exit, 0, 0, 0, 0);
    }

    fn call_function(&mut self, function: usize, fixups: &mut Vec<Fixup>) {
        let pc = self.words.len();
        if self.rng.chance(25) {
            let register = self.rng.below(10) as u8;
            self.load_constant(register, BYTECODE_START);
            self.callx(register);
        } else if self.version.static_calls() {
            self.push(Op::CallStatic, 0, 1, 0, 0);
        } else {
            self.push(Op::CallHash, 0, 0, 0, 0);
        }
        fixups.push(Fixup { pc, function });
    }

    /// Fills in the targets of calls and the addresses of functions.
    fn link(&mut self, starts: &[usize], fixups: &[Fixup]) {
        const FIRST_KEY: i32 = 0x1234_5600;
        self.functions = if self.version.static_calls() {
            Vec::new()
        } else {
            let keys = FIRST_KEY.cast_unsigned()..;
            keys.zip(starts).map(|(key, &start)| (key, start as u32)).collect()
        };
        for &Fixup { pc, function } in fixups {
            let start = starts[function] as i32;
            let mut slot = Slot::from_word(self.words[pc]);
            let kind = Op::decode(self.version, slot.code).map(Op::kind);
            slot.imm = match kind {
                Some(Kind::CallStatic) => start - pc as i32 - 1,
                Some(Kind::CallHash) => FIRST_KEY + function as i32,
                // The lower half of an address.
                Some(Kind::LoadImm64 | Kind::Alu(Alu::Mov, Width::Z32, _)) => 8 * start,
                _ => slot.imm,
            };
            self.words[pc] = slot.to_word();
        }
    }
}
