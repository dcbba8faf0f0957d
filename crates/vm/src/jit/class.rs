//! The classes of instructions that the planner distinguishes: sets of the bits below.

use selkie_isa::{Alu, Kind, Operand, Width};

use crate::decoded::{ACTIONS, Action, DecodedInsn, DecodedProgram};

/// Changes the destination register.
pub(super) const WRITES: u16 = 1 << 0;
/// With `WRITES`: sets it to the source register.
pub(super) const COPIES: u16 = 1 << 1;
/// With `WRITES`: adds the immediate to it.
pub(super) const ADDS: u16 = 1 << 2;
/// With `WRITES`: subtracts the immediate from it.
pub(super) const SUBTRACTS: u16 = 1 << 3;
/// Overwrites the pointer register.
pub(super) const DIVIDES: u16 = 1 << 4;
pub(super) const LOADS: u16 = 1 << 5;
pub(super) const STORES: u16 = 1 << 6;
/// The shift of two bits that hold the logarithm of the size of an access.
pub(super) const SIZE_SHIFT: u32 = 7;
pub(super) const BRANCHES: u16 = 1 << 9;
pub(super) const JUMPS: u16 = 1 << 10;
/// Calls a function whose slot is known.
pub(super) const CALLS: u16 = 1 << 11;
/// Calls a syscall, or a function whose slot is not known.
pub(super) const CALLS_OUT: u16 = 1 << 12;
/// Control does not continue after it.
pub(super) const ENDS: u16 = 1 << 13;
pub(super) const WIDE: u16 = 1 << 14;
/// Stands for another instruction: see `Action::Cut`.
pub(super) const CUT: u16 = 1 << 15;

pub(super) const LEADS: u16 = BRANCHES | JUMPS | CALLS | CALLS_OUT;
pub(super) const ENDS_BLOCK: u16 = JUMPS | CALLS | CALLS_OUT | ENDS;

/// The classes of all codes, like [`ACTIONS`].
static CLASSES: [u16; 256] = {
    let mut classes = [0; 256];
    let mut code = 0;
    while code < 256 {
        classes[code] = class_of_action(ACTIONS[code]);
        code += 1;
    }
    classes
};

const fn class_of_action(action: Action) -> u16 {
    let kind = match action {
        Action::Row(kind) => kind,
        Action::CallLocal => return CALLS,
        Action::CallSyscall | Action::CallRegister => return CALLS_OUT,
        Action::Cut => return CUT,
        Action::Unsupported | Action::End => return ENDS,
    };
    match kind {
        Kind::Alu(Alu::Mov, Width::W64, Operand::Reg) => WRITES | COPIES,
        Kind::Alu(Alu::Add, Width::W64, Operand::Imm) => WRITES | ADDS,
        Kind::Alu(Alu::Sub, Width::W64, Operand::Imm) => WRITES | SUBTRACTS,
        Kind::Alu(Alu::Div | Alu::Mod | Alu::Sdiv | Alu::Srem | Alu::Uhmul | Alu::Shmul, _, _) => {
            WRITES | DIVIDES
        }
        Kind::Alu(..) | Kind::Neg(_) | Kind::Endian(_) => WRITES,
        Kind::LoadImm64 => WRITES | WIDE,
        Kind::Load(size) => WRITES | LOADS | (size as u16) << SIZE_SHIFT,
        Kind::StoreImm(size) | Kind::StoreReg(size) => STORES | (size as u16) << SIZE_SHIFT,
        Kind::Branch(..) => BRANCHES,
        Kind::Jump => JUMPS,
        Kind::Exit | Kind::Tail | Kind::CallHash | Kind::CallStatic | Kind::CallReg(_) => ENDS,
    }
}

#[inline(always)]
pub(super) fn class_of(insn: &DecodedInsn) -> u16 {
    CLASSES[usize::from(insn.code)]
}

/// Returns an instruction and its class; for a cut, those of the instruction in whose place it is.
#[inline(always)]
pub(super) fn classify<'p>(
    program: &'p DecodedProgram,
    insn: &'p DecodedInsn,
) -> (&'p DecodedInsn, u16) {
    match class_of(insn) {
        CUT => {
            let insn = &program.cut[insn.aux as usize];
            (insn, class_of(insn))
        }
        class => (insn, class),
    }
}
