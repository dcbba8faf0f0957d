//! The linker's form of an instruction, for both eBPF and sBPF.

use selkie_isa::{Insn, Kind, Op, Operand, Size, Width};

use crate::program::Target;

/// The operation of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    /// An sBPF instruction. If it was decoded from eBPF, it is one of V3 except that 32-bit sums,
    /// differences and products are zero-extended, and `callx` has its register in `dst`.
    Insn(Insn),
    /// `dst = dst / operand`, or `dst % operand` if `modulo`, signed, rounded toward zero.
    SignedDivision { modulo: bool, width: Width, dst: u8, operand: Rhs },
    /// `dst = src`, whose low `bits` bits are sign-extended to `width`.
    SignExtend { bits: i32, width: Width, dst: u8, src: u8 },
    /// `dst = *(src + off)`, sign-extended.
    LoadSigned { size: Size, dst: u8, src: u8, off: i16 },
    /// An atomic instruction on `*(dst + off)`.
    Atomic { action: AtomicAction, size: Size, dst: u8, src: u8, off: i16 },
}

/// The right operand: a register or a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rhs {
    Reg(u8),
    Imm(i64),
}

/// What an atomic instruction does to `*(dst + off)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AtomicAction {
    /// Combines it with `src` by the 64-bit operation. With `fetch`, `src` receives the old value.
    Combine { op: Op, fetch: bool },
    /// Stores `src`, which receives the old value.
    Exchange,
    /// Stores `src` if the old value equals r0, which receives the old value.
    CompareExchange,
}

/// The reference of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reference {
    None,
    /// A jump to the item of this index.
    Jump(usize),
    /// A call of a syscall.
    Syscall(&'static str),
    /// A call of a function, or a constant that is an address.
    Target(Target),
}

/// An instruction of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// Its slot in the atom as compiled.
    pub(crate) slot: u32,
    pub(crate) operation: Operation,
    pub(crate) reference: Reference,
}

/// A set of registers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Registers(u16);

impl Registers {
    /// The registers that a call does not preserve.
    const CLOBBERED: Self = Self(0b11_1111);
    const ARGUMENTS: Self = Self(0b11_1110);
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn of(registers: &[u8]) -> Self {
        Self(registers.iter().fold(0, |set, &it| set | 1 << (it & 15)))
    }

    pub(crate) fn has(self, register: u8) -> bool {
        self.0 & 1 << (register & 15) != 0
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = u8> {
        (0..16).filter(move |&it| self.has(it))
    }

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::default() }
    }
}

impl Rhs {
    fn register(self) -> Registers {
        match self {
            Self::Reg(register) => Registers::of(&[register]),
            Self::Imm(_) => Registers::default(),
        }
    }
}

impl Operation {
    /// Returns the registers that the operation reads.
    pub(crate) fn uses(&self) -> Registers {
        match *self {
            Self::Insn(insn) => row_uses(&insn),
            Self::SignedDivision { dst, operand, .. } => {
                Registers::of(&[dst]).with(operand.register())
            }
            Self::SignExtend { src, .. } | Self::LoadSigned { src, .. } => Registers::of(&[src]),
            Self::Atomic { action: AtomicAction::CompareExchange, dst, src, .. } => {
                Registers::of(&[0, dst, src])
            }
            Self::Atomic { dst, src, .. } => Registers::of(&[dst, src]),
        }
    }

    /// Returns the registers that the operation writes or clobbers.
    pub(crate) fn defines(&self) -> Registers {
        match *self {
            Self::Insn(insn) => match insn.op.kind() {
                Kind::Alu(..)
                | Kind::Neg(_)
                | Kind::Endian(_)
                | Kind::Load(_)
                | Kind::LoadImm64 => Registers::of(&[insn.dst]),
                Kind::CallHash | Kind::CallStatic | Kind::CallReg(_) => Registers::CLOBBERED,
                Kind::StoreImm(_)
                | Kind::StoreReg(_)
                | Kind::Jump
                | Kind::Branch(..)
                | Kind::Exit
                | Kind::Tail => Registers::default(),
            },
            Self::SignedDivision { dst, .. }
            | Self::SignExtend { dst, .. }
            | Self::LoadSigned { dst, .. } => Registers::of(&[dst]),
            Self::Atomic { action, src, .. } => match action {
                AtomicAction::Combine { fetch: false, .. } => Registers::default(),
                AtomicAction::Combine { fetch: true, .. } | AtomicAction::Exchange => {
                    Registers::of(&[src])
                }
                AtomicAction::CompareExchange => Registers::of(&[0]),
            },
        }
    }

    /// Returns the registers whose upper halves are live before the operation, if those of `after`
    /// are live after it. Errs on the side of live.
    pub(crate) fn upper_uses(&self, after: Registers) -> Registers {
        match *self {
            Self::Insn(insn) => row_upper_uses(&insn, after),
            Self::SignedDivision { width: Width::W64, dst, operand, .. } => {
                Registers::of(&[dst]).with(operand.register())
            }
            Self::SignedDivision { .. } | Self::SignExtend { .. } => Registers::default(),
            Self::LoadSigned { src, .. } => Registers::of(&[src]),
            Self::Atomic { .. } => self.uses(),
        }
    }

    /// Returns whether control can continue with the next instruction.
    pub(crate) fn falls_through(&self) -> bool {
        !matches!(self, Self::Insn(insn) if matches!(insn.op.kind(), Kind::Jump | Kind::Exit))
    }
}

fn operand(insn: &Insn, operand: Operand) -> Registers {
    Registers::of(&[insn.src]).when(operand == Operand::Reg)
}

fn row_uses(insn: &Insn) -> Registers {
    use selkie_isa::Alu;
    let (dst, src) = (Registers::of(&[insn.dst]), Registers::of(&[insn.src]));
    match insn.op.kind() {
        Kind::Alu(Alu::Mov, _, right) => operand(insn, right),
        Kind::Alu(_, _, right) | Kind::Branch(_, _, right) => dst.with(operand(insn, right)),
        Kind::Neg(_) | Kind::Endian(_) | Kind::StoreImm(_) => dst,
        Kind::Load(_) => src,
        Kind::StoreReg(_) => dst.with(src),
        Kind::LoadImm64 | Kind::Tail | Kind::Jump => Registers::default(),
        Kind::CallHash | Kind::CallStatic => Registers::ARGUMENTS,
        Kind::CallReg(_) => Registers::ARGUMENTS.with(dst),
        Kind::Exit => Registers::of(&[0]),
    }
}

fn row_upper_uses(insn: &Insn, after: Registers) -> Registers {
    use selkie_isa::Alu;
    let (dst, src) = (Registers::of(&[insn.dst]), Registers::of(&[insn.src]));
    let wanted = after.has(insn.dst);
    match insn.op.kind() {
        Kind::Alu(Alu::Mov, Width::W64, right) => operand(insn, right).when(wanted),
        // The lower half of the result depends on lower halves alone.
        Kind::Alu(
            Alu::Add | Alu::Sub | Alu::Mul | Alu::Or | Alu::And | Alu::Xor,
            Width::W64,
            right,
        ) => dst.with(operand(insn, right)).when(wanted),
        Kind::Alu(Alu::Lsh, Width::W64, Operand::Imm) => dst.when(wanted && insn.imm < 32),
        Kind::Alu(_, Width::W64, right) => dst.with(operand(insn, right)),
        Kind::Branch(_, Width::W64, right) => dst.with(operand(insn, right)),
        Kind::Alu(..) | Kind::Branch(..) => Registers::default(),
        Kind::Neg(width) => dst.when(width == Width::W64 && wanted),
        Kind::Endian(_) => dst.when(insn.imm == 64),
        Kind::StoreReg(Size::Dw) => dst.with(src),
        Kind::StoreReg(_) | Kind::StoreImm(_) => dst,
        _ => row_uses(insn),
    }
}
