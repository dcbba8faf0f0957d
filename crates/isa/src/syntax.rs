//! The text of instructions: mnemonics and operand shapes.
//!
//! [`Op::find`] finds the row for a mnemonic and its operands; [`Insn::display`] disassembles. The
//! text is that of anza sbpf's disassembler (`disassembler.rs`), which register traces use too.

use core::fmt;
use std::borrow::Cow;

use crate::{
    insn::Insn,
    op::{Alu, Cond, Endian, Field, Kind, Op, Operand, Version, Width},
};

/// The operands of an instruction, in the order in which they are written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// `exit`
    None,
    /// `neg64 dst`, `be16 dst`
    Dst,
    /// `add64 dst, imm`
    DstImm,
    /// `add64 dst, src`
    DstSrc,
    /// `lddw dst, imm64`
    DstImm64,
    /// `ldxw dst, [src + off]`
    DstMem,
    /// `stw [dst + off], imm`
    MemImm,
    /// `stxw [dst + off], src`
    MemSrc,
    /// `ja target`
    Target,
    /// `jeq dst, imm, target`
    DstImmTarget,
    /// `jeq dst, src, target`
    DstSrcTarget,
    /// `call target`
    Call,
    /// `callx register`
    CallReg,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "no operands",
            Self::Dst => "dst",
            Self::DstImm => "dst, imm",
            Self::DstSrc => "dst, src",
            Self::DstImm64 => "dst, imm64",
            Self::DstMem => "dst, [src + off]",
            Self::MemImm => "[dst + off], imm",
            Self::MemSrc => "[dst + off], src",
            Self::Target => "target",
            Self::DstImmTarget => "dst, imm, target",
            Self::DstSrcTarget => "dst, src, target",
            Self::Call => "function or syscall",
            Self::CallReg => "register",
        })
    }
}

impl Kind {
    /// Returns the operands that the instruction is written with.
    #[must_use]
    pub const fn shape(self) -> Shape {
        match self {
            Self::Alu(_, _, Operand::Imm | Operand::Uimm) => Shape::DstImm,
            Self::Alu(_, _, Operand::Reg) => Shape::DstSrc,
            Self::Neg(_) | Self::Endian(_) => Shape::Dst,
            Self::Load(_) => Shape::DstMem,
            Self::StoreImm(_) => Shape::MemImm,
            Self::StoreReg(_) => Shape::MemSrc,
            Self::LoadImm64 => Shape::DstImm64,
            Self::Jump => Shape::Target,
            Self::Branch(_, _, Operand::Imm | Operand::Uimm) => Shape::DstImmTarget,
            Self::Branch(_, _, Operand::Reg) => Shape::DstSrcTarget,
            Self::CallHash | Self::CallStatic => Shape::Call,
            Self::CallReg(_) => Shape::CallReg,
            Self::Exit | Self::Tail => Shape::None,
        }
    }
}

/// Splits the mnemonic of a byte order conversion into `le` or `be` and the width in bits, which is
/// the instruction's immediate. Other mnemonics are returned as they are.
///
/// ```
/// use selkie_isa::syntax::split_endian;
/// assert_eq!(split_endian("be32"), ("be", Some(32)));
/// assert_eq!(split_endian("le64"), ("le", Some(64)));
/// assert_eq!(split_endian("add64"), ("add64", None));
/// ```
#[must_use]
pub fn split_endian(mnemonic: &str) -> (&str, Option<i64>) {
    for order in ["be", "le"] {
        for bits in [16, 32, 64] {
            if mnemonic.strip_prefix(order).is_some_and(|rest| rest == bits.to_string()) {
                return (order, Some(bits));
            }
        }
    }
    (mnemonic, None)
}

impl Op {
    /// Returns the row for a mnemonic with operands of this shape in `version`.
    ///
    /// `le` and `be` are passed without their width (see [`split_endian`]).
    ///
    /// ```
    /// use selkie_isa::{Op, Shape, Version};
    /// assert_eq!(Op::find(Version::V2, "ldxdw", Shape::DstMem), Some(Op::LdxdwV2));
    /// assert_eq!(Op::find(Version::V0, "jeq32", Shape::DstImmTarget), None);
    /// ```
    #[must_use]
    pub fn find(version: Version, mnemonic: &str, shape: Shape) -> Option<Self> {
        Self::named(mnemonic)
            .find(|op| op.versions().contains(version) && op.kind().shape() == shape)
    }

    /// Iterates over all rows with this mnemonic, of any version and shape.
    pub fn named(mnemonic: &str) -> impl Iterator<Item = Self> + '_ {
        Self::ALL
            .iter()
            .copied()
            .filter(move |op| !mnemonic.is_empty() && op.mnemonic() == mnemonic)
    }
}

/// The target of a jump or call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// The instruction at a slot; may be negative or past the end of the program.
    Slot(i64),
    /// The function with a key: until V2 the hash it is registered under, from V3 its slot.
    Function(u32),
    /// The syscall whose name has this hash.
    Syscall(u32),
}

/// Provides the names of jump and call targets to [`Insn::display`].
pub trait Names {
    /// Returns the name of `target`, if it has one.
    fn name(&self, target: Target) -> Option<Cow<'_, str>>;
}

/// Provides no names: targets are displayed as numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNames;

impl Names for NoNames {
    fn name(&self, _: Target) -> Option<Cow<'_, str>> {
        None
    }
}

impl Insn {
    /// Returns the text of the instruction, which is at slot `pc`.
    ///
    /// ```
    /// use selkie_isa::{Insn, NoNames, Version};
    /// let text = 0x0000_0000_fff8_a679_u64.to_le_bytes();
    /// let insn = Insn::decode(Version::V0, &text, 0).unwrap();
    /// assert_eq!(insn.display(0, &NoNames).to_string(), "ldxdw r6, [r10-0x8]");
    /// ```
    #[must_use]
    pub fn display<'a>(&'a self, pc: usize, names: &'a dyn Names) -> InsnText<'a> {
        InsnText { insn: self, pc, names }
    }

    /// Returns the target slot of a jump at slot `pc`; `None` if this is not a jump.
    #[must_use]
    #[allow(clippy::cast_possible_wrap, reason = "programs have fewer than 2^63 slots")]
    pub const fn jump_target(&self, pc: usize) -> Option<i64> {
        match self.op.kind() {
            Kind::Jump | Kind::Branch(..) => Some(pc as i64 + 1 + self.off as i64),
            _ => None,
        }
    }

    /// Returns the number of the register that holds the address to call; `None` if this is not a
    /// `callx`. Only verification guarantees that the number is valid.
    #[must_use]
    pub const fn call_register(&self) -> Option<i64> {
        match self.op.kind() {
            Kind::CallReg(Field::InImm) => Some(self.imm),
            Kind::CallReg(Field::InSrc) => Some(self.src as i64),
            Kind::CallReg(Field::InDst) => Some(self.dst as i64),
            _ => None,
        }
    }
}

/// The text of an instruction, returned by [`Insn::display`].
#[derive(Clone, Copy)]
pub struct InsnText<'a> {
    insn: &'a Insn,
    pc: usize,
    names: &'a dyn Names,
}

impl fmt::Debug for InsnText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl InsnText<'_> {
    fn label(&self, slot: i64) -> Cow<'_, str> {
        self.names.name(Target::Slot(slot)).unwrap_or_else(|| format!("lbb_{slot}").into())
    }

    /// Until V2 a call is a function's if its key has the name of a function, and else a syscall's.
    /// From V3 the source nibble tells them apart.
    fn call(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Insn { op, src, imm, .. } = *self.insn;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "keys are u32")]
        let key = |value: i64| value as u32;
        let is_static = op.kind() == Kind::CallStatic;
        #[allow(clippy::cast_possible_wrap, reason = "programs have fewer than 2^63 slots")]
        let slot = (self.pc as i64).wrapping_add(1).wrapping_add(imm);
        let function_key = key(if is_static { slot } else { imm });
        let syscall = || self.names.name(Target::Syscall(key(imm)));
        let function = || self.names.name(Target::Function(function_key));
        let (verb, name) = match (is_static, src) {
            (true, 0) => ("syscall", syscall()),
            (true, 1) => ("call", function()),
            (true, _) => ("call", None),
            (false, _) => {
                function().map_or_else(|| ("syscall", syscall()), |it| ("call", Some(it)))
            }
        };
        match name {
            Some(name) => write!(f, "{verb} {name}"),
            None => write!(f, "{verb} {imm}"),
        }
    }
}

impl fmt::Display for InsnText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Insn { op, dst, src, off, imm } = *self.insn;
        let mnemonic = op.mnemonic();
        let target = || self.label(self.insn.jump_target(self.pc).unwrap_or_default());
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "truncated as in anza's disassembler"
        )]
        let register = || self.insn.call_register().unwrap_or_default() as u8;
        match op.kind().shape() {
            Shape::None if op == Op::Tail => f.write_str("unknown opcode=0x0"),
            Shape::None => f.write_str(mnemonic),
            Shape::Dst if matches!(op.kind(), Kind::Endian(_)) => {
                write!(f, "{mnemonic}{imm} r{dst}")
            }
            Shape::Dst => write!(f, "{mnemonic} r{dst}"),
            Shape::DstImm => write!(f, "{mnemonic} r{dst}, {imm}"),
            Shape::DstSrc => write!(f, "{mnemonic} r{dst}, r{src}"),
            Shape::DstImm64 => write!(f, "{mnemonic} r{dst}, {imm:#x}"),
            Shape::DstMem => write!(f, "{mnemonic} r{dst}, {}", Memory(src, off)),
            Shape::MemImm => write!(f, "{mnemonic} {}, {imm}", Memory(dst, off)),
            Shape::MemSrc => write!(f, "{mnemonic} {}, r{src}", Memory(dst, off)),
            Shape::Target => write!(f, "{mnemonic} {}", target()),
            Shape::DstImmTarget => write!(f, "{mnemonic} r{dst}, {imm}, {}", target()),
            Shape::DstSrcTarget => write!(f, "{mnemonic} r{dst}, r{src}, {}", target()),
            Shape::Call => self.call(f),
            Shape::CallReg => write!(f, "{mnemonic} r{}", register()),
        }
    }
}

struct Memory(u8, i16);

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(base, off) = *self;
        let sign = if off < 0 { '-' } else { '+' };
        write!(f, "[r{base}{sign}{:#x}]", off.unsigned_abs())
    }
}

/// Returns what an instruction computes as one line of pseudo-code, for documentation and editors.
#[must_use]
pub fn meaning(op: Op) -> String {
    match op.kind() {
        Kind::Alu(alu, width, right) => {
            let value = alu_value(alu, width, operand(right));
            match width {
                Width::W64 => format!("dst = {value}"),
                Width::Z32 => format!("dst = zero_extend32({value})"),
                Width::S32 => format!("dst = sign_extend32({value})"),
            }
        }
        Kind::Neg(Width::W64) => "dst = -dst".to_owned(),
        Kind::Neg(_) => "dst = zero_extend32(-dst)".to_owned(),
        Kind::Endian(Endian::Little) => "dst = low bits of dst".to_owned(),
        Kind::Endian(Endian::Big) => "dst = low bits of dst, bytes swapped".to_owned(),
        Kind::Load(size) => format!("dst = *(u{} *)(src + off)", size.bytes() * 8),
        Kind::StoreImm(size) => format!("*(u{} *)(dst + off) = imm", size.bytes() * 8),
        Kind::StoreReg(size) => format!("*(u{} *)(dst + off) = src", size.bytes() * 8),
        Kind::LoadImm64 => "dst = imm64".to_owned(),
        Kind::Tail => "upper half of lddw".to_owned(),
        Kind::Jump => "pc += off".to_owned(),
        Kind::Branch(cond, width, right) => {
            let test = condition(cond, operand(right));
            let halves = if width == Width::W64 { "" } else { ", low halves" };
            format!("if {test}{halves}: pc += off")
        }
        Kind::CallHash => "call the syscall or function of key imm".to_owned(),
        Kind::CallStatic => {
            "src 0: call the syscall of key imm; src 1: call pc + 1 + imm".to_owned()
        }
        Kind::CallReg(Field::InImm) => "call the address in register imm".to_owned(),
        Kind::CallReg(Field::InSrc) => "call the address in src".to_owned(),
        Kind::CallReg(Field::InDst) => "call the address in dst".to_owned(),
        Kind::Exit => "return, or end the program with r0".to_owned(),
    }
}

fn operand(operand: Operand) -> &'static str {
    match operand {
        Operand::Imm => "imm",
        Operand::Uimm => "(u32)imm",
        Operand::Reg => "src",
    }
}

fn alu_value(alu: Alu, width: Width, right: &str) -> String {
    let shift_mask = width.bits() - 1;
    match alu {
        Alu::Add => format!("dst + {right}"),
        Alu::Sub => format!("dst - {right}"),
        Alu::Rsub => format!("{right} - dst"),
        Alu::Mul => format!("dst * {right}"),
        Alu::Div => format!("dst / {right}"),
        Alu::Mod => format!("dst % {right}"),
        Alu::Or => format!("dst | {right}"),
        Alu::And => format!("dst & {right}"),
        Alu::Xor => format!("dst ^ {right}"),
        Alu::Mov => right.to_owned(),
        Alu::Lsh => format!("dst << ({right} & {shift_mask})"),
        Alu::Rsh => format!("dst >> ({right} & {shift_mask})"),
        Alu::Arsh => format!("dst >> ({right} & {shift_mask}), signed"),
        Alu::Hor => format!("dst | {right} << 32"),
        Alu::Uhmul => format!("(dst * {right}) >> 64"),
        Alu::Shmul => format!("(dst * {right}) >> 64, signed"),
        Alu::Sdiv => format!("dst / {right}, signed"),
        Alu::Srem => format!("dst % {right}, signed"),
    }
}

fn condition(cond: Cond, right: &str) -> String {
    match cond {
        Cond::Eq => format!("dst == {right}"),
        Cond::Ne => format!("dst != {right}"),
        Cond::Gt => format!("dst > {right}"),
        Cond::Ge => format!("dst >= {right}"),
        Cond::Lt => format!("dst < {right}"),
        Cond::Le => format!("dst <= {right}"),
        Cond::Set => format!("dst & {right} != 0"),
        Cond::Sgt => format!("dst > {right}, signed"),
        Cond::Sge => format!("dst >= {right}, signed"),
        Cond::Slt => format!("dst < {right}, signed"),
        Cond::Sle => format!("dst <= {right}, signed"),
    }
}

/// Iterates over the mnemonics of `version` in the table's order, `le` and `be` with their widths.
pub fn mnemonics(version: Version) -> impl Iterator<Item = Cow<'static, str>> {
    let mut seen = std::collections::BTreeSet::new();
    Op::ALL
        .iter()
        .filter(move |op| op.versions().contains(version) && **op != Op::Tail)
        .flat_map(|op| match op.kind() {
            Kind::Endian(_) => {
                [16, 32, 64].map(|bits| Cow::Owned(format!("{}{bits}", op.mnemonic()))).to_vec()
            }
            _ => vec![Cow::Borrowed(op.mnemonic())],
        })
        .filter(move |mnemonic| seen.insert(mnemonic.clone()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::insn::Slot;

    #[test]
    fn every_row_is_found_by_its_opcode_and_by_its_mnemonic_and_shape() {
        for &op in Op::ALL {
            if op == Op::Tail {
                continue;
            }
            for version in op.versions().iter() {
                assert_eq!(Op::decode(version, op.code()), Some(op));
                assert_eq!(Op::find(version, op.mnemonic(), op.kind().shape()), Some(op));
            }
        }
    }

    proptest! {
        #[test]
        fn decoded_words_encode_to_the_same_words(word: u64, upper: u64, version in 0_usize..5) {
            prop_assert_eq!(Slot::from_word(word).to_word(), word);
            let version = Version::ALL[version];
            let text = [word.to_le_bytes(), upper.to_le_bytes()].concat();
            if let Some(insn) = Insn::decode(version, &text, 0) {
                let (first, second) = insn.encode();
                prop_assert_eq!(first, word);
                prop_assert_eq!(second, (insn.slots() == 2).then_some(upper >> 32 << 32));
            }
        }
    }
}
