//! The frame pointer, followed through instructions.

use selkie_isa::{Alu, Insn, Kind, Operand, Width};

/// What a register is known to hold.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Value {
    /// Anything.
    #[default]
    Unknown,
    /// A number.
    Number(i64),
    /// The frame pointer as it was at the function's start, and so many bytes.
    Frame(i64),
}

impl Value {
    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => Self::Number(a.wrapping_add(b)),
            (Self::Frame(a), Self::Number(b)) | (Self::Number(a), Self::Frame(b)) => {
                Self::Frame(a.wrapping_add(b))
            }
            _ => Self::Unknown,
        }
    }

    fn negate(self) -> Self {
        match self {
            Self::Number(number) => Self::Number(number.wrapping_neg()),
            _ => Self::Unknown,
        }
    }
}

/// What an instruction does, as far as it concerns the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing.
    None,
    /// It accesses memory at an address.
    Store(Value),
    /// It accesses memory at an address, and writes what is there to its destination.
    Load(Value),
    /// It writes this to its destination.
    Set(Value),
    /// It is a call: r0 to r5 may hold anything then.
    Call,
}

impl Effect {
    /// The effect of an instruction where registers hold what `get` says.
    #[must_use]
    pub fn of(insn: &Insn, get: impl Fn(u8) -> Value) -> Self {
        let Insn { dst, src, imm, .. } = *insn;
        let off = Value::Number(insn.off.into());
        match insn.op.kind() {
            Kind::Load(_) => Self::Load(get(src).plus(off)),
            Kind::StoreImm(_) | Kind::StoreReg(_) => Self::Store(get(dst).plus(off)),
            Kind::Alu(alu, Width::W64, operand) => {
                let right = match operand {
                    Operand::Imm => Value::Number(imm),
                    Operand::Uimm => Value::Unknown,
                    Operand::Reg => get(src),
                };
                Self::Set(match alu {
                    Alu::Mov => right,
                    Alu::Add => get(dst).plus(right),
                    Alu::Sub => get(dst).plus(right.negate()),
                    _ => Value::Unknown,
                })
            }
            Kind::LoadImm64 => Self::Set(Value::Number(imm)),
            Kind::CallHash | Kind::CallStatic | Kind::CallReg(_) => Self::Call,
            Kind::Jump | Kind::Branch(..) | Kind::Exit | Kind::Tail => Self::None,
            Kind::Alu(..) | Kind::Neg(_) | Kind::Endian(_) => Self::Set(Value::Unknown),
        }
    }
}
