//! The quick pass of the verifier: accepts valid programs, but does not say what is wrong with
//! others.
//!
//! Invariant: a program that passes here passes the rules of [`verify`](super).
//!
//! The pass avoids branches on opcodes, which are mispredicted. Each slot is checked against a mask
//! of forbidden bits that follows from its opcode and registers. Instructions that point at another
//! slot are listed meanwhile, and checked after each block of slots.

use selkie_isa::{
    Op, Slot, Version,
    layout::{FRAME_POINTER, SLOT_BYTES},
};

use super::rules::{DEMANDS, Demand, Rule};

/// Slots of a block.
const BLOCK: usize = 1024;

/// Returns whether a text is valid. `check` tells whether the instruction at a slot keeps its rule;
/// it is called for rare instructions.
pub(super) fn is_valid(version: Version, text: &[u8], check: impl Fn(usize) -> bool) -> bool {
    let sketches = &SKETCHES[version as usize];
    let slots = text.as_chunks::<SLOT_BYTES>().0;
    let mut listed = [0_u16; BLOCK];
    let (mut broken, mut lddw_balance) = (0, 0);
    for (block_start, block) in (0..).step_by(BLOCK).zip(slots.chunks(BLOCK)) {
        let mut counts = Counts::NONE;
        for (index, bytes) in (0..).zip(block) {
            let word = u64::from_le_bytes(*bytes);
            let [code, registers] = [word, word >> 8].map(|it| (it & 0xff) as usize);
            let sketch = sketches[code];
            broken |= word & FORBIDDEN[registers][sketch.class as usize];
            listed[counts.listed() % BLOCK] = index;
            counts = counts.plus(sketch.counts);
        }
        lddw_balance += counts.lddw_balance();
        for index in listed.iter().take(counts.listed()) {
            let pc = block_start + usize::from(*index);
            let slot = Slot::from_word(u64::from_le_bytes(slots[pc]));
            let is_valid = match sketches[usize::from(slot.code)].is_rare {
                true => check(pc),
                false => target_fits(pc, slot, slots),
            };
            if !is_valid {
                return false;
            }
        }
    }
    // Every `lddw` is followed by a tail of its own, so if there are as many tails as `lddw`, every
    // tail belongs to one.
    broken == 0 && lddw_balance == 0
}

/// Returns whether a jump leads to an instruction, or an `lddw` is followed by a tail.
#[inline(always)]
fn target_fits(pc: usize, slot: Slot, slots: &[[u8; SLOT_BYTES]]) -> bool {
    let is_lddw = slot.code == Op::Lddw.code();
    let off = if is_lddw { 0 } else { slot.off };
    let target = slots.get((pc + 1).wrapping_add_signed(off.into()));
    target.is_some_and(|there| (there[0] == TAIL) == is_lddw)
}

const TAIL: u8 = Op::Tail.code();

/// What the quick pass checks of an opcode.
#[derive(Clone, Copy)]
struct Sketch {
    class: Class,
    counts: Counts,
    /// Whether it is listed and checked by the rule itself, being too rare for one here.
    is_rare: bool,
}

impl Sketch {
    const fn of(code: u8, demand: Demand) -> Self {
        let (class, counts, is_rare) = match demand.rule {
            Rule::Unknown if code == TAIL => (Class::Tail, Counts::TAIL, false),
            Rule::Unknown => (Class::Unknown, Counts::NONE, false),
            Rule::Nothing if demand.stores => (Class::Stores, Counts::NONE, false),
            Rule::Nothing => (Class::Plain, Counts::NONE, false),
            Rule::Shift(32) => (Class::Shift32, Counts::NONE, false),
            Rule::Shift(_) => (Class::Shift64, Counts::NONE, false),
            Rule::FrameSize => (Class::FrameSize, Counts::NONE, false),
            Rule::Lddw => (Class::Plain, Counts::LDDW, false),
            Rule::Jump => (Class::Plain, Counts::LISTED, false),
            Rule::Divisor | Rule::Endian | Rule::CallReg(_) => (Class::Plain, Counts::LISTED, true),
        };
        Self { class, counts, is_rare }
    }
}

static SKETCHES: [[Sketch; 256]; Version::ALL.len()] = {
    const UNKNOWN: Sketch = Sketch { class: Class::Unknown, counts: Counts::NONE, is_rare: false };
    let mut tables = [[UNKNOWN; 256]; Version::ALL.len()];
    let mut version = 0;
    while version < tables.len() {
        let mut code = 0;
        while code < 256 {
            #[allow(clippy::cast_possible_truncation, reason = "opcodes are below 256")]
            let sketch = Sketch::of(code as u8, DEMANDS[version][code]);
            tables[version][code] = sketch;
            code += 1;
        }
        version += 1;
    }
    tables
};

/// How many slots of a block are listed, and in the upper half the number of `lddw` minus that of
/// tails.
#[derive(Clone, Copy)]
struct Counts(u32);

impl Counts {
    const NONE: Self = Self(0);
    const LISTED: Self = Self(1);
    const LDDW: Self = Self(1 << 16 | 1);
    const TAIL: Self = Self((-1_i32 << 16).cast_unsigned());

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    #[inline(always)]
    fn listed(self) -> usize {
        (self.0 & 0xffff) as usize
    }

    fn lddw_balance(self) -> i64 {
        i64::from(self.0.cast_signed() >> 16)
    }
}

/// The classes of opcodes with the same forbidden bits.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Class {
    Unknown,
    Tail,
    Plain,
    Stores,
    FrameSize,
    Shift32,
    Shift64,
}

impl Class {
    const ALL: [Self; 7] = [
        Self::Unknown,
        Self::Tail,
        Self::Plain,
        Self::Stores,
        Self::FrameSize,
        Self::Shift32,
        Self::Shift64,
    ];

    /// Returns the bits that a word with these registers must not have.
    const fn forbidden(self, registers: u8) -> u64 {
        // Every opcode except that of tails has one of these bits.
        const ANY_OPCODE: u64 = 0xff;
        let (dst, src) = (registers & 15, registers >> 4);
        let dst_max = match self {
            Self::Stores | Self::FrameSize => FRAME_POINTER,
            _ => FRAME_POINTER - 1,
        };
        match self {
            Self::Tail => 0,
            Self::Unknown => ANY_OPCODE,
            _ if src > FRAME_POINTER || dst > dst_max => ANY_OPCODE,
            Self::FrameSize if dst == FRAME_POINTER => 63 << 32,
            Self::Plain | Self::Stores | Self::FrameSize => 0,
            Self::Shift32 => !31 << 32,
            Self::Shift64 => !63 << 32,
        }
    }
}

/// [`Class::forbidden`] by the byte of the registers and by class: one cache line per byte.
static FORBIDDEN: [[u64; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut registers = 0;
    while registers < 256 {
        let mut class = 0;
        while class < Class::ALL.len() {
            #[allow(clippy::cast_possible_truncation, reason = "a byte is below 256")]
            let forbidden = Class::ALL[class].forbidden(registers as u8);
            table[registers][class] = forbidden;
            class += 1;
        }
        registers += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Verifier;

    /// Returns the verdicts of the quick pass and of the rules.
    fn verdicts(version: Version, text: &[u8]) -> [bool; 2] {
        let verifier = Verifier { demands: &DEMANDS[version as usize], text };
        let quick = is_valid(version, text, |pc| verifier.check(pc).is_ok());
        [quick, verifier.check_all().is_ok()]
    }

    fn text(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn both_passes_agree_on_every_opcode_with_every_register() {
        let immediates = [0, 1, 15, 16, 31, 32, 63, 64, 128, -1, -64, i32::MIN, 9, 10];
        for version in Version::ALL {
            for low in 0..=u16::MAX {
                for imm in immediates {
                    let word = u64::from(low) | u64::from(imm.cast_unsigned()) << 32;
                    for words in [[word, 0x95], [word, 0]] {
                        let [quick, exact] = verdicts(version, &text(&words));
                        assert_eq!(quick, exact, "{version:?} {words:#x?}");
                    }
                }
            }
        }
    }

    #[test]
    fn both_passes_agree_on_all_programs_of_four_slots() {
        // Jumps to everywhere, `lddw`, tails, and other instructions.
        let offs = [-4_i16, -3, -2, -1, 0, 1, 2, 3, i16::MIN, i16::MAX];
        let jumps = offs.map(|off| 0x05 | u64::from(off.cast_unsigned()) << 16);
        let others = [0x18, 0, 0x95, 0x0018_0000_0000, 0x37, 0x8d];
        let words = [&jumps[..], &others].concat();
        let count = words.len();
        for number in 0..count.pow(4) {
            let digits = [0, 1, 2, 3].map(|place| words[number / count.pow(place) % count]);
            for version in [Version::V0, Version::V2, Version::V3] {
                let [quick, exact] = verdicts(version, &text(&digits));
                assert_eq!(quick, exact, "{version:?} {digits:#x?}");
            }
        }
    }

    #[test]
    fn both_passes_agree_on_lddw_at_block_boundaries() {
        for len in [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 1] {
            for lddw in [0, len - 2, len - 1, BLOCK - 2, BLOCK.min(len - 1)] {
                // Every slot is listed: jumps to the next slot.
                let mut words = vec![0x05; len];
                words[len - 1] = 0x95;
                words[lddw] = 0x18;
                assert_eq!(verdicts(Version::V0, &text(&words)), [false; 2]);
                if let Some(tail) = words.get_mut(lddw + 1) {
                    *tail = 0;
                    assert_eq!(verdicts(Version::V0, &text(&words)), [true; 2]);
                }
            }
        }
    }
}
