//! Tracking of the frame pointer through instructions.

use selkie_isa::{Alu, Insn, Kind, Operand, Width};

/// The known value of a register.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Value {
    /// Any value.
    #[default]
    Unknown,
    /// A number.
    Number(i64),
    /// The frame pointer at the start of the function, plus this many bytes.
    Frame(i64),
}

impl Value {
    /// Returns the sum of two values.
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

/// The effect of an instruction on stack and registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// No effect.
    None,
    /// Writes to memory at this address.
    Store(Value),
    /// Reads memory at this address into the destination register.
    Load(Value),
    /// Writes this value to the destination register.
    Set(Value),
    /// A call, after which r0 to r5 are unknown.
    Call,
}

impl Effect {
    /// Returns the effect of an instruction. `get` returns the values of registers before it.
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
