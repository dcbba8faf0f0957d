//! The verifier: the rules that a program must keep before engines run it.
//!
//! The first slot that breaks a rule decides, and within a slot the rule of its opcode comes
//! before the rules on registers (anza sbpf: `verifier.rs`). There are no rules on reachability,
//! call targets or a final exit: those trap when they are reached.
//!
//! Nearly every program is valid, so a quick pass (`quick.rs`) comes first. Only programs that it
//! does not accept are checked rule by rule, to find the error. It accepts no program that the
//! rules refuse.

mod quick;
mod rules;

use core::fmt;

use selkie_elf::Executable;
use selkie_isa::{
    Field, Op, Slot, insn,
    layout::{FRAME_POINTER, SLOT_BYTES},
};

use self::rules::{DEMANDS, Demand, Rule};

/// Why a program is refused. The texts are those of anza sbpf's `VerifierError`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VerifyError {
    /// The length of the text is not a multiple of 8.
    ProgramLengthNotMultiple,
    /// The text is empty.
    NoProgram,
    /// A division by an immediate of zero.
    DivisionByZero {
        /// The slot of the instruction.
        pc: usize,
    },
    /// The immediate of `le` or `be` is not 16, 32 or 64.
    UnsupportedEndianArgument {
        /// The slot of the instruction.
        pc: usize,
    },
    /// An `lddw` in the last slot.
    LddwCannotBeLast,
    /// The second slot of an `lddw` has an opcode other than 0.
    IncompleteLddw {
        /// The slot of the instruction.
        pc: usize,
    },
    /// A jump to a slot outside of the text.
    JumpOutOfCode {
        /// The target slot; the number wraps around below 0.
        target: u64,
        /// The slot of the instruction.
        pc: usize,
    },
    /// A jump to the second slot of an `lddw`.
    JumpToMiddleOfLddw {
        /// The target slot.
        target: usize,
        /// The slot of the instruction.
        pc: usize,
    },
    /// A source register above r10.
    InvalidSourceRegister {
        /// The slot of the instruction; for an `lddw`, its second slot.
        pc: usize,
    },
    /// A write to r10.
    CannotWriteR10 {
        /// The slot of the instruction; for an `lddw`, its second slot.
        pc: usize,
    },
    /// A destination register above r10.
    InvalidDestinationRegister {
        /// The slot of the instruction; for an `lddw`, its second slot.
        pc: usize,
    },
    /// An opcode that this version does not have.
    UnknownOpcode {
        /// The opcode.
        code: u8,
        /// The slot of the instruction.
        pc: usize,
    },
    /// A shift by an immediate that is not less than the width.
    ShiftWithOverflow {
        /// The immediate, sign-extended.
        shift: u64,
        /// The width in bits.
        bits: u64,
        /// The slot of the instruction.
        pc: usize,
    },
    /// A `callx` of a register other than r0 to r9.
    InvalidRegister {
        /// The slot of the instruction.
        pc: usize,
    },
    /// A call that was never linked; only [`verify_calls`] refuses it.
    InvalidFunction {
        /// The slot of the instruction.
        pc: usize,
    },
    /// A call of an unknown syscall; only [`verify_calls`] refuses it.
    InvalidSyscall {
        /// The immediate of the call: the hash of the name.
        key: u32,
        /// The slot of the instruction.
        pc: usize,
    },
    /// `add64 r10` with an immediate that is not a multiple of 64.
    UnalignedImmediate {
        /// The slot of the instruction.
        pc: usize,
    },
}

impl VerifyError {
    /// Returns the slot that breaks the rule, if it is a rule on a slot.
    #[must_use]
    pub fn pc(&self) -> Option<usize> {
        match *self {
            Self::ProgramLengthNotMultiple | Self::NoProgram | Self::LddwCannotBeLast => None,
            Self::DivisionByZero { pc }
            | Self::UnsupportedEndianArgument { pc }
            | Self::IncompleteLddw { pc }
            | Self::JumpOutOfCode { pc, .. }
            | Self::JumpToMiddleOfLddw { pc, .. }
            | Self::InvalidSourceRegister { pc }
            | Self::CannotWriteR10 { pc }
            | Self::InvalidDestinationRegister { pc }
            | Self::UnknownOpcode { pc, .. }
            | Self::ShiftWithOverflow { pc, .. }
            | Self::InvalidRegister { pc }
            | Self::InvalidFunction { pc }
            | Self::InvalidSyscall { pc, .. }
            | Self::UnalignedImmediate { pc } => Some(pc),
        }
    }

    /// Returns the index of the variant in the validator's `VerifierError`.
    #[must_use]
    pub fn discriminant(&self) -> u32 {
        match self {
            Self::ProgramLengthNotMultiple => 0,
            Self::NoProgram => 2,
            Self::DivisionByZero { .. } => 3,
            Self::UnsupportedEndianArgument { .. } => 4,
            Self::LddwCannotBeLast => 5,
            Self::IncompleteLddw { .. } => 6,
            Self::JumpOutOfCode { .. } => 8,
            Self::JumpToMiddleOfLddw { .. } => 9,
            Self::InvalidSourceRegister { .. } => 10,
            Self::CannotWriteR10 { .. } => 11,
            Self::InvalidDestinationRegister { .. } => 12,
            Self::UnknownOpcode { .. } => 13,
            Self::ShiftWithOverflow { .. } => 14,
            Self::InvalidRegister { .. } => 15,
            Self::InvalidFunction { .. } => 16,
            Self::InvalidSyscall { .. } => 17,
            Self::UnalignedImmediate { .. } => 18,
        }
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ProgramLengthNotMultiple => {
                f.write_str("program length must be a multiple of 8 octets")
            }
            Self::NoProgram => f.write_str("no program set, call prog_set() to load one"),
            Self::DivisionByZero { pc } => write!(f, "division by 0 (insn #{pc})"),
            Self::UnsupportedEndianArgument { pc } => {
                write!(f, "unsupported argument for LE/BE (insn #{pc})")
            }
            Self::LddwCannotBeLast => f.write_str("LD_DW instruction cannot be last in program"),
            Self::IncompleteLddw { pc } => {
                write!(f, "incomplete LD_DW instruction (insn #{pc})")
            }
            Self::JumpOutOfCode { target, pc } => {
                write!(f, "jump out of code to #{target} (insn #{pc})")
            }
            Self::JumpToMiddleOfLddw { target, pc } => {
                write!(f, "jump to middle of LD_DW at #{target} (insn #{pc})")
            }
            Self::InvalidSourceRegister { pc } => {
                write!(f, "invalid source register (insn #{pc})")
            }
            Self::CannotWriteR10 { pc } => {
                write!(f, "cannot write into register r10 (insn #{pc})")
            }
            Self::InvalidDestinationRegister { pc } => {
                write!(f, "invalid destination register (insn #{pc})")
            }
            Self::UnknownOpcode { code, pc } => {
                write!(f, "unknown eBPF opcode {code:#x} (insn #{pc})")
            }
            // The text is the validator's, which swaps the two numbers.
            Self::ShiftWithOverflow { shift, bits, pc } => {
                write!(f, "Shift with overflow of {shift}-bit value by {bits} (insn #{pc})")
            }
            Self::InvalidRegister { pc } => {
                write!(f, "Invalid register specified at instruction {pc}")
            }
            Self::InvalidFunction { pc } => write!(f, "Invalid function at instruction {pc}"),
            Self::InvalidSyscall { key, .. } => write!(f, "Invalid syscall code {key}"),
            Self::UnalignedImmediate { pc } => write!(f, "Unaligned immediate (insn #{pc})"),
        }
    }
}

impl core::error::Error for VerifyError {}

/// Verifies every instruction of a program.
///
/// # Errors
/// The first rule that the program breaks.
pub fn verify(executable: &Executable) -> Result<(), VerifyError> {
    let text = executable.text();
    if !text.len().is_multiple_of(SLOT_BYTES) {
        return Err(VerifyError::ProgramLengthNotMultiple);
    }
    if text.is_empty() {
        return Err(VerifyError::NoProgram);
    }
    let verifier = Verifier { demands: &DEMANDS[executable.version() as usize], text };
    match quick::is_valid(executable.version(), text, |pc| verifier.check(pc).is_ok()) {
        true => Ok(()),
        false => verifier.check_all(),
    }
}

/// Verifies the calls of a program whose calls need no relocation (V3 and later). Deployment tools
/// do this besides [`verify`], because the validator accepts unknown calls, which trap when they
/// are reached.
///
/// # Errors
/// The first call of an unknown syscall, or the first call that was not linked.
pub fn verify_calls(executable: &Executable) -> Result<(), VerifyError> {
    if !executable.version().static_calls() {
        return Ok(());
    }
    for (pc, insn) in insn::instructions(executable.version(), executable.text()) {
        let Some(insn) = insn.filter(|insn| insn.op == Op::CallStatic) else { continue };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "keys are u32")]
        let key = insn.imm as u32;
        if insn.src == 0 && executable.syscalls().find(key).is_none() {
            return Err(VerifyError::InvalidSyscall { key, pc });
        }
        if insn.src == 1 && insn.imm == -1 {
            return Err(VerifyError::InvalidFunction { pc });
        }
    }
    Ok(())
}

struct Verifier<'a> {
    demands: &'static [Demand; 256],
    text: &'a [u8],
}

impl Verifier<'_> {
    fn slots(&self) -> usize {
        self.text.len() / SLOT_BYTES
    }

    fn check_all(&self) -> Result<(), VerifyError> {
        let mut pc = 0;
        while pc < self.slots() {
            pc += self.check(pc)?;
        }
        Ok(())
    }

    /// Checks the instruction at `pc`, and returns how many slots it takes.
    fn check(&self, pc: usize) -> Result<usize, VerifyError> {
        let slot = Slot::read(self.text, pc).expect("callers pass slots of the text");
        let demand = self.demands[usize::from(slot.code)];
        let mut slots = 1;
        let mut moves_frame_pointer = false;
        match demand.rule {
            Rule::Nothing => {}
            Rule::Unknown => return Err(VerifyError::UnknownOpcode { code: slot.code, pc }),
            Rule::Divisor if slot.imm == 0 => return Err(VerifyError::DivisionByZero { pc }),
            Rule::Divisor => {}
            Rule::Shift(bits) => {
                let (shift, bits) = (i64::from(slot.imm).cast_unsigned(), u64::from(bits));
                if shift >= bits {
                    return Err(VerifyError::ShiftWithOverflow { shift, bits, pc });
                }
            }
            Rule::FrameSize => {
                // Functions allocate their frames with `add64 r10, imm` (SIMD-0166).
                moves_frame_pointer = slot.dst == FRAME_POINTER;
                if moves_frame_pointer && slot.imm & 63 != 0 {
                    return Err(VerifyError::UnalignedImmediate { pc });
                }
            }
            Rule::Endian if !matches!(slot.imm, 16 | 32 | 64) => {
                return Err(VerifyError::UnsupportedEndianArgument { pc });
            }
            Rule::Endian => {}
            Rule::Lddw => {
                self.check_tail(pc)?;
                slots = 2;
            }
            Rule::Jump => self.check_jump(pc, slot)?,
            Rule::CallReg(field) => check_call_register(pc, slot, field)?,
        }
        // The validator has advanced to the second slot of an `lddw` before it checks registers.
        let at = pc + slots - 1;
        if slot.src > FRAME_POINTER {
            return Err(VerifyError::InvalidSourceRegister { pc: at });
        }
        if slot.dst >= FRAME_POINTER {
            check_high_destination(at, slot.dst, demand.stores || moves_frame_pointer)?;
        }
        Ok(slots)
    }

    fn check_tail(&self, pc: usize) -> Result<(), VerifyError> {
        match Slot::read(self.text, pc + 1) {
            None => Err(VerifyError::LddwCannotBeLast),
            Some(tail) if tail.code != 0 => Err(VerifyError::IncompleteLddw { pc }),
            Some(_) => Ok(()),
        }
    }

    fn check_jump(&self, pc: usize, slot: Slot) -> Result<(), VerifyError> {
        let out = (pc as u64 + 1).wrapping_add_signed(i64::from(slot.off));
        let target = usize::try_from(out).unwrap_or(usize::MAX);
        match Slot::read(self.text, target) {
            None => Err(VerifyError::JumpOutOfCode { target: out, pc }),
            Some(there) if there.code == 0 => Err(VerifyError::JumpToMiddleOfLddw { target, pc }),
            Some(_) => Ok(()),
        }
    }
}

fn check_call_register(pc: usize, slot: Slot, field: Field) -> Result<(), VerifyError> {
    let register = match field {
        Field::InImm => i64::from(slot.imm),
        Field::InSrc => i64::from(slot.src),
        Field::InDst => i64::from(slot.dst),
    };
    let holds_address = (0..i64::from(FRAME_POINTER)).contains(&register);
    if holds_address { Ok(()) } else { Err(VerifyError::InvalidRegister { pc }) }
}

#[cold]
fn check_high_destination(pc: usize, dst: u8, allowed: bool) -> Result<(), VerifyError> {
    match dst {
        FRAME_POINTER if allowed => Ok(()),
        FRAME_POINTER => Err(VerifyError::CannotWriteR10 { pc }),
        _ => Err(VerifyError::InvalidDestinationRegister { pc }),
    }
}
