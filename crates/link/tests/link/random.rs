//! Random programs that use all registers, compared with an interpreter of eBPF written from the
//! kernel's documentation (`Documentation/bpf/standardization/instruction-set.rst`).

use selkie_isa::symbol::murmur3;

use crate::{
    machine::{VERSIONS, linked, run},
    object::{Object, word},
};

/// A deterministic pseudo-random number generator.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }

    /// A number of the kind that shows differences.
    fn number(&mut self) -> u64 {
        let edges = [0, 1, 7, 0x7fff_ffff, 0x8000_0000, u64::MAX, 1 << 63, 0xffff_fffb];
        match self.below(3) {
            0 => self.of(&edges),
            1 => self.next() >> self.below(64),
            _ => self.of(&edges).wrapping_add(self.below(5)).rotate_left(self.of(&[0, 0, 32])),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "any number will do")]
    fn imm(&mut self) -> i32 {
        self.number() as i32
    }

    #[allow(clippy::cast_possible_truncation, reason = "it is below 10")]
    fn register(&mut self) -> u8 {
        self.below(10) as u8
    }
}

const FRAME: u64 = 0x2_0000_1000;
const CELLS: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Step {
    code: u8,
    dst: u8,
    src: u8,
    off: i16,
    imm: i32,
}

/// Returns a random instruction after which control continues with one of the next.
fn step(random: &mut Random, left: u64) -> Step {
    let (dst, src) = (random.register(), random.register());
    let plain = Step { code: 0, dst, src, off: 0, imm: 0 };
    let with_imm = |code, imm| Step { code, imm, src: 0, ..plain };
    let class = random.of(&[4_u8, 7]);
    let cell = -8 * (1 + i16::try_from(random.below(CELLS as u64)).unwrap());
    match random.below(16) {
        0..=4 => {
            let op = random.of(&[0x00_u8, 0x10, 0x20, 0x40, 0x50, 0xa0, 0xb0]);
            match random.below(2) {
                0 => with_imm(op | class, random.imm()),
                _ => Step { code: op | class | 8, ..plain },
            }
        }
        5 => {
            let op = random.of(&[0x60_u8, 0x70, 0xc0]);
            let bits = if class == 7 { 64 } else { 32 };
            match random.below(2) {
                0 => with_imm(op | class, i32::try_from(random.below(bits)).unwrap()),
                _ => Step { code: op | class | 8, ..plain },
            }
        }
        6 => with_imm(0x80 | class, 0),
        7 => {
            // Division by zero traps in sBPF, so only numbers divide without a sign.
            let op = random.of(&[0x30_u8, 0x90]);
            with_imm(op | class, random.imm() | 1)
        }
        8 | 9 => {
            let op = random.of(&[0x30_u8, 0x90]);
            Step { off: 1, ..with_imm(op | class, random.imm() | 1) }
        }
        10 => {
            let bits = if class == 7 { &[8_i16, 16, 32][..] } else { &[8, 16][..] };
            Step { code: 0xb0 | class | 8, off: random.of(bits), ..plain }
        }
        11 => {
            let code = random.of(&[0xd7_u8, 0xd4, 0xdc]);
            with_imm(code, random.of(&[16, 32, 64]))
        }
        12 => match random.below(3) {
            0 => {
                let code = random.of(&[0x81_u8, 0x89, 0x91, 0x61, 0x69, 0x71, 0x79]);
                Step {
                    code,
                    src: 10,
                    off: cell + i16::try_from(random.below(5)).unwrap() - 4,
                    ..plain
                }
            }
            1 => {
                Step { code: random.of(&[0x63_u8, 0x6b, 0x73, 0x7b]), dst: 10, off: cell, ..plain }
            }
            _ => {
                let code = random.of(&[0x62_u8, 0x6a, 0x72, 0x7a]);
                Step { dst: 10, off: cell, ..with_imm(code, random.imm()) }
            }
        },
        13 => {
            let imm = random.of(&[0, 1, 0x40, 0x41, 0x50, 0x51, 0xa0, 0xa1, 0xe1, 0xf1]);
            Step { code: random.of(&[0xc3_u8, 0xdb]), dst: 10, off: cell, imm, ..plain }
        }
        _ => {
            let op =
                random.of(&[0x10_u8, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0]);
            let class = random.of(&[5_u8, 6, 6]);
            let off = i16::try_from(random.below(left.min(6))).unwrap();
            match random.below(2) {
                0 => Step { off, ..with_imm(op | class, random.imm()) },
                _ => Step { code: op | class | 8, off, ..plain },
            }
        }
    }
}

/// The state of the eBPF interpreter.
struct Reference {
    registers: [u64; 11],
    stack: [u8; 256],
}

impl Reference {
    fn at(&self, address: u64) -> usize {
        usize::try_from(address - (FRAME - 256)).unwrap()
    }

    fn load(&self, address: u64, bytes: usize) -> u64 {
        let at = self.at(address);
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(&self.stack[at..at + bytes]);
        u64::from_le_bytes(value)
    }

    fn store(&mut self, address: u64, bytes: usize, value: u64) {
        let at = self.at(address);
        self.stack[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    }

    /// Executes an instruction, and says how far it jumps.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        reason = "that is what the instructions do"
    )]
    fn step(&mut self, it: Step) -> i16 {
        let (a, b) = (self.registers[it.dst as usize], self.registers[it.src as usize]);
        let right = if it.code & 8 != 0 { b } else { i64::from(it.imm) as u64 };
        let address = a.wrapping_add_signed(it.off.into());
        let class = it.code & 7;
        match class {
            4 | 7 if it.code == 0xd7 || it.code & 0xf0 == 0xd0 => {
                let swaps = it.code != 0xd4;
                self.registers[it.dst as usize] = match (it.imm, swaps) {
                    (16, true) => (a as u16).swap_bytes().into(),
                    (32, true) => (a as u32).swap_bytes().into(),
                    (64, true) => a.swap_bytes(),
                    (16, false) => u64::from(a as u16),
                    (32, false) => u64::from(a as u32),
                    _ => a,
                };
            }
            7 => {
                self.registers[it.dst as usize] = match (it.code & 0xf0, it.off) {
                    (0x00, _) => a.wrapping_add(right),
                    (0x10, _) => a.wrapping_sub(right),
                    (0x20, _) => a.wrapping_mul(right),
                    (0x30, 0) => a / right,
                    (0x30, _) => (a as i64).wrapping_div(right as i64) as u64,
                    (0x90, 0) => a % right,
                    (0x90, _) => (a as i64).wrapping_rem(right as i64) as u64,
                    (0x40, _) => a | right,
                    (0x50, _) => a & right,
                    (0xa0, _) => a ^ right,
                    (0x60, _) => a.wrapping_shl(right as u32),
                    (0x70, _) => a.wrapping_shr(right as u32),
                    (0xc0, _) => (a as i64).wrapping_shr(right as u32) as u64,
                    (0x80, _) => a.wrapping_neg(),
                    (_, 8) => right as i8 as u64,
                    (_, 16) => right as i16 as u64,
                    (_, 32) => right as i32 as u64,
                    _ => right,
                };
            }
            4 => {
                let (a, right) = (a as u32, right as u32);
                self.registers[it.dst as usize] = u64::from(match (it.code & 0xf0, it.off) {
                    (0x00, _) => a.wrapping_add(right),
                    (0x10, _) => a.wrapping_sub(right),
                    (0x20, _) => a.wrapping_mul(right),
                    (0x30, 0) => a / right,
                    (0x30, _) => (a as i32).wrapping_div(right as i32) as u32,
                    (0x90, 0) => a % right,
                    (0x90, _) => (a as i32).wrapping_rem(right as i32) as u32,
                    (0x40, _) => a | right,
                    (0x50, _) => a & right,
                    (0xa0, _) => a ^ right,
                    (0x60, _) => a.wrapping_shl(right),
                    (0x70, _) => a.wrapping_shr(right),
                    (0xc0, _) => (a as i32).wrapping_shr(right) as u32,
                    (0x80, _) => a.wrapping_neg(),
                    (_, 8) => right as i8 as u32,
                    (_, 16) => right as i16 as u32,
                    _ => right,
                });
            }
            5 | 6 => {
                let (a, b) = match class {
                    5 => (a, right),
                    _ => (i64::from(a as i32) as u64, i64::from(right as i32) as u64),
                };
                let (sa, sb) = (a as i64, b as i64);
                let taken = match it.code & 0xf0 {
                    0x10 => a == b,
                    0x20 => a > b,
                    0x30 => a >= b,
                    0x40 => a & b != 0,
                    0x50 => a != b,
                    0x60 => sa > sb,
                    0x70 => sa >= sb,
                    0xa0 => a < b,
                    0xb0 => a <= b,
                    0xc0 => sa < sb,
                    _ => sa <= sb,
                };
                return if taken { it.off } else { 0 };
            }
            1 => {
                let address = b.wrapping_add_signed(it.off.into());
                self.registers[it.dst as usize] = match it.code {
                    0x81 => self.load(address, 4) as i32 as u64,
                    0x89 => self.load(address, 2) as i16 as u64,
                    0x91 => self.load(address, 1) as i8 as u64,
                    0x61 => self.load(address, 4),
                    0x69 => self.load(address, 2),
                    0x71 => self.load(address, 1),
                    _ => self.load(address, 8),
                };
            }
            _ if it.code & 0xe0 == 0xc0 => self.atomic(it, address),
            _ => {
                let bytes = [4, 2, 1, 8][usize::from(it.code >> 3 & 3)];
                let value = if class == 3 { b } else { i64::from(it.imm) as u64 };
                self.store(address, bytes, value);
            }
        }
        0
    }

    #[allow(clippy::cast_possible_truncation, reason = "that is what the instructions do")]
    fn atomic(&mut self, it: Step, address: u64) {
        let bytes = if it.code == 0xdb { 8 } else { 4 };
        let narrow = |value: u64| if bytes == 8 { value } else { u64::from(value as u32) };
        let (old, b) = (self.load(address, bytes), self.registers[it.src as usize]);
        let new = match it.imm & 0xfe {
            0x00 => old.wrapping_add(b),
            0x40 => old | b,
            0x50 => old & b,
            0xa0 => old ^ b,
            0xe0 => b,
            _ => {
                if old == narrow(self.registers[0]) {
                    self.store(address, bytes, b);
                }
                self.registers[0] = old;
                return;
            }
        };
        self.store(address, bytes, new);
        if it.imm & 1 != 0 {
            self.registers[it.src as usize] = old;
        }
    }
}

/// Puts all registers and cells into the return data.
fn epilogue(text: &mut Vec<u8>) {
    for register in 0..10 {
        text.extend(word(0x7b, 10, register, -128 + 8 * i16::from(register), 0));
    }
    text.extend(word(0xbf, 1, 10, 0, 0));
    text.extend(word(0x07, 1, 0, 0, -128));
    text.extend(word(0xb7, 2, 0, 0, 128));
    let hash = murmur3(b"sol_set_return_data").cast_signed();
    text.extend(word(0x85, 0, 0, 0, hash));
    text.extend(word(0xb7, 0, 0, 0, 0));
    text.extend(word(0x95, 0, 0, 0, 0));
}

fn check(seed: u64) {
    let mut random = Random(seed);
    let mut text = Vec::new();
    let mut reference = Reference { registers: [0; 11], stack: [0; 256] };
    for cell in 1..=16 {
        let value = random.imm();
        text.extend(word(0x7a, 10, 0, -8 * cell, value));
        let step = Step { code: 0x7a, dst: 10, src: 0, off: -8 * cell, imm: value };
        reference.registers[10] = FRAME;
        reference.step(step);
    }
    for register in 0..10 {
        let value = random.number();
        reference.registers[usize::from(register)] = value;
        let half = |bits: u64| i32::from_le_bytes(*bits.to_le_bytes().first_chunk().unwrap());
        text.extend(word(0x18, register, 0, 0, half(value)));
        text.extend(word(0, 0, 0, 0, half(value >> 32)));
    }
    let count = 40;
    let steps: Vec<Step> = (0..count).map(|index| step(&mut random, count - index)).collect();
    for it in &steps {
        text.extend(word(it.code, it.dst, it.src, it.off, it.imm));
    }
    epilogue(&mut text);
    let mut pc = 0;
    while let Some(&it) = steps.get(pc) {
        pc += 1 + usize::try_from(reference.step(it)).unwrap();
    }
    let mut expected = Vec::new();
    reference.registers[..10].iter().for_each(|it| expected.extend(it.to_le_bytes()));
    expected.extend(&reference.stack[256 - 48..]);
    let object = Object::function(text).write();
    for version in VERSIONS {
        let linked = linked(&[("random.o", &object)], version);
        let run = run(&linked.elf, &[]);
        assert_eq!(run.result, Ok(()), "seed {seed} {version}");
        assert_eq!(run.data, expected, "seed {seed} {version}: {steps:x?}");
    }
}

#[test]
fn random_programs_compute_the_same_as_an_ebpf_interpreter() {
    let count = std::env::var("SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(300);
    (0..count).for_each(check);
}
