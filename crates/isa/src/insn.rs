//! Decoding and encoding of instructions, which are eight-byte words.

use core::fmt;

use crate::{
    layout::SLOT_BYTES,
    op::{Kind, Op, Version},
};

/// The fields of one eight-byte instruction slot, split without looking at the opcode.
///
/// | byte 0 | byte 1 | bytes 2, 3 | bytes 4 to 7 |
/// |---|---|---|---|
/// | opcode | `dst` (low nibble), `src` (high) | `off`, little endian | `imm`, little endian |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Opcode.
    pub code: u8,
    /// Destination register, 0 to 15; only 0 to 10 exist.
    pub dst: u8,
    /// Source register, 0 to 15; only 0 to 10 exist.
    pub src: u8,
    /// Offset of a jump in slots, or of a memory access in bytes.
    pub off: i16,
    /// Immediate.
    pub imm: i32,
}

impl Slot {
    /// Splits a word into its fields.
    #[must_use]
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "fields are extracted from the word")]
    pub const fn from_word(word: u64) -> Self {
        Self {
            code: word as u8,
            dst: (word >> 8) as u8 & 15,
            src: (word >> 12) as u8 & 15,
            off: (word >> 16) as i16,
            imm: (word >> 32) as i32,
        }
    }

    /// Packs the fields into a word. Register numbers are truncated to a nibble.
    #[must_use]
    #[inline]
    pub const fn to_word(self) -> u64 {
        let registers = (self.dst & 15) as u64 | ((self.src & 15) as u64) << 4;
        self.code as u64
            | registers << 8
            | (self.off.cast_unsigned() as u64) << 16
            | (self.imm.cast_unsigned() as u64) << 32
    }

    /// Reads slot `pc` of `text`; `None` if `text` ends before the slot does.
    #[must_use]
    #[inline]
    pub fn read(text: &[u8], pc: usize) -> Option<Self> {
        let start = pc.checked_mul(SLOT_BYTES)?;
        let bytes = text.get(start..)?.first_chunk::<SLOT_BYTES>()?;
        Some(Self::from_word(u64::from_le_bytes(*bytes)))
    }
}

/// A decoded instruction: a row of the table and its operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Insn {
    /// Immediate, sign-extended from 32 bits; all 64 bits for `lddw`.
    pub imm: i64,
    /// Offset of a jump in slots, or of a memory access in bytes.
    pub off: i16,
    /// Destination register, 0 to 15; only 0 to 10 exist.
    pub dst: u8,
    /// Source register, 0 to 15; only 0 to 10 exist.
    pub src: u8,
    /// The row of the instruction table.
    pub op: Op,
}

const _: () = assert!(size_of::<Insn>() == 16);

impl Insn {
    /// Decodes the instruction at slot `pc` of `text` by the rules of `version`.
    ///
    /// Returns `None` if `text` has no such slot, if `version` has no such opcode, or if the second
    /// slot of an `lddw` is missing. The second slot of an `lddw` decodes as [`Op::Tail`].
    ///
    /// ```
    /// use selkie_isa::{Insn, Op, Version};
    /// let text = 0x0000_0005_0000_0107_u64.to_le_bytes();
    /// let insn = Insn::decode(Version::V0, &text, 0).unwrap();
    /// assert_eq!((insn.op, insn.dst, insn.imm), (Op::Add64Imm, 1, 5));
    /// ```
    #[must_use]
    #[inline]
    pub fn decode(version: Version, text: &[u8], pc: usize) -> Option<Self> {
        let slot = Slot::read(text, pc)?;
        let op = Op::decode(version, slot.code)?;
        let mut imm = i64::from(slot.imm);
        if let Kind::LoadImm64 = op.kind() {
            let upper = Slot::read(text, pc + 1)?.imm;
            imm = i64::from(slot.imm.cast_unsigned()) | i64::from(upper) << 32;
        }
        Some(Self { imm, off: slot.off, dst: slot.dst, src: slot.src, op })
    }

    /// Encodes the instruction as one word; `lddw` has a second one.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "the immediate is split into halves")]
    pub const fn encode(self) -> (u64, Option<u64>) {
        let slot = Slot {
            code: self.op.code(),
            dst: self.dst,
            src: self.src,
            off: self.off,
            imm: self.imm as i32,
        };
        let tail = match self.op.kind() {
            Kind::LoadImm64 => Some((self.imm.cast_unsigned() >> 32) << 32),
            _ => None,
        };
        (slot.to_word(), tail)
    }

    /// Returns how many slots the instruction takes: 2 for `lddw`, otherwise 1.
    #[must_use]
    pub const fn slots(self) -> usize {
        match self.op.kind() {
            Kind::LoadImm64 => 2,
            _ => 1,
        }
    }
}

impl fmt::Debug for Insn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { op, dst, src, off, imm } = self;
        write!(f, "{op:?} {{ dst: {dst}, src: {src}, off: {off}, imm: {imm:#x} }}")
    }
}

/// Iterates over the instructions of `text` in `version`, each with the slot that it starts at.
///
/// A slot that does not decode yields `None`; the second slot of an `lddw` is skipped.
pub fn instructions(
    version: Version,
    text: &[u8],
) -> impl Iterator<Item = (usize, Option<Insn>)> + '_ {
    let mut pc = 0;
    core::iter::from_fn(move || {
        Slot::read(text, pc)?;
        let (start, insn) = (pc, Insn::decode(version, text, pc));
        pc += insn.map_or(1, Insn::slots);
        Some((start, insn))
    })
}
