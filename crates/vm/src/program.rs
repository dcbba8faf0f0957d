//! A program in the form that engines run: decoded once, calls resolved, runs counted.
//!
//! Every slot of the text has a [`Cell`], so that a slot's number is an index. A *run* is what is
//! executed from some slot on as long as no branch is taken: it ends with a jump, call or exit.
//! Each cell knows how many instructions its run has from there, so that a whole run can be
//! charged at once when it is entered, and the rest of it be refunded where it is left early.

use core::ops::Deref;

use selkie_elf::{Executable, SyscallId};
use selkie_isa::{Insn, Kind, Op, Operand, Version, for_each_op};

use crate::{
    cells::Cells,
    interp::{Handler, handlers},
    verify::{VerifyError, verify},
};

/// What a cell makes an engine do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// What the row of the instruction table says.
    Row(Kind),
    /// Call the function at the slot `aux`.
    CallLocal,
    /// Call the syscall of number `aux`.
    CallSyscall,
    /// Call the address in the register `src`.
    CallRegister,
    /// Where a run of straight code was cut: charge anew, then do what the cell at the index
    /// `aux` of [`Program::cut`] does.
    Cut,
    /// Not an instruction, or a call of something unknown: traps when reached.
    Unsupported,
    /// The end of the program: traps when reached.
    End,
}

/// Numbers for [`Action`]s: rows of the instruction table first.
pub(crate) mod code {
    use selkie_isa::Op;

    #[allow(clippy::cast_possible_truncation, reason = "the table has fewer than 250 rows")]
    const ROWS: u8 = Op::ALL.len() as u8;
    pub(crate) const CALL_LOCAL: u8 = ROWS;
    pub(crate) const CALL_SYSCALL: u8 = ROWS + 1;
    pub(crate) const CALL_REGISTER: u8 = ROWS + 2;
    pub(crate) const CUT: u8 = ROWS + 3;
    pub(crate) const UNSUPPORTED: u8 = ROWS + 4;
    /// Stands behind the last slot, and nowhere else.
    pub(crate) const END: u8 = ROWS + 5;
}

/// What each code means. Codes that are not in use are unsupported.
pub(crate) static ACTIONS: [Action; 256] = {
    macro_rules! rows {
        ($($opcode:literal, $versions:ident => $name:ident = $mnemonic:literal, $kind:expr;)*) => {
            [$(Op::$name),*]
        };
    }
    let rows = for_each_op!(rows);
    let mut actions = [Action::Unsupported; 256];
    let mut index = 0;
    while index < rows.len() {
        actions[index] = match rows[index].kind() {
            // Calls are resolved into actions of their own; a tail is no instruction.
            Kind::CallHash | Kind::CallStatic | Kind::CallReg(_) | Kind::Tail => {
                Action::Unsupported
            }
            kind => Action::Row(kind),
        };
        index += 1;
    }
    actions[code::CALL_LOCAL as usize] = Action::CallLocal;
    actions[code::CALL_SYSCALL as usize] = Action::CallSyscall;
    actions[code::CALL_REGISTER as usize] = Action::CallRegister;
    actions[code::CUT as usize] = Action::Cut;
    actions[code::END as usize] = Action::End;
    actions
};

/// A register number as a slot can hold it. An enumeration, so that the compiler knows that it is
/// within the machine's sixteen cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[rustfmt::skip]
pub(crate) enum Register { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10, R11, R12, R13, R14, R15 }

impl Register {
    #[rustfmt::skip]
    const ALL: [Self; 16] = {
        use Register::*;
        [R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10, R11, R12, R13, R14, R15]
    };

    fn new(number: u8) -> Self {
        Self::ALL[usize::from(number & 15)]
    }
}

/// One slot of a program, decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    /// What the interpreter does.
    pub(crate) handler: Handler,
    /// The immediate, widened as the instruction wants it; of calls, the slot to return to.
    pub(crate) imm: u64,
    /// The target slot of a jump or call, the offset of a memory access, or what the action says.
    pub(crate) aux: u32,
    /// Index into [`ACTIONS`].
    pub(crate) code: u8,
    pub(crate) dst: Register,
    pub(crate) src: Register,
    /// Instructions from here to the end of the run; 0 for a cut.
    pub(crate) run: u8,
}

const _: () = assert!(size_of::<Cell>() == 24);

/// The longest run; longer ones are cut.
const RUN_MAX: u8 = 255;

impl Cell {
    pub(crate) fn new(code: u8, version: Version) -> Self {
        Self {
            handler: handlers(version)[usize::from(code)],
            imm: 0,
            aux: 0,
            code,
            dst: Register::R0,
            src: Register::R0,
            run: 1,
        }
    }

    #[inline(always)]
    pub(crate) fn action(&self) -> Action {
        ACTIONS[usize::from(self.code)]
    }

    /// The offset of a memory access, widened.
    #[inline(always)]
    pub(crate) fn offset(&self) -> u64 {
        i64::from(self.aux.cast_signed()).cast_unsigned()
    }
}

/// A program, decoded.
#[derive(Debug)]
pub struct Program {
    executable: Executable,
    pub(crate) cells: Cells,
    /// The cells that stand where runs were cut.
    pub(crate) cut: Vec<Cell>,
}

impl Program {
    /// Decodes a program without verifying it. What the verifier would have refused traps when
    /// it is reached.
    #[must_use]
    pub fn new(executable: Executable) -> Self {
        let version = executable.version();
        let mut cells = decode(&executable);
        let cut = count_runs(&mut cells, version);
        Self { executable, cells: Cells::new(cells, version), cut }
    }

    /// The program as it was loaded.
    #[must_use]
    pub fn executable(&self) -> &Executable {
        &self.executable
    }

    /// The cell at a slot, with cuts looked through.
    #[inline(always)]
    pub(crate) fn cell(&self, pc: usize) -> Option<&Cell> {
        let cell = self.cells.get(pc)?;
        match cell.action() {
            Action::Cut => Some(&self.cut[cell.aux as usize]),
            _ => Some(cell),
        }
    }
}

/// A program that passed the verifier.
#[derive(Debug)]
pub struct Verified(Program);

impl Verified {
    /// Verifies and decodes a program.
    ///
    /// # Errors
    /// The first rule that the program breaks.
    pub fn new(executable: Executable) -> Result<Self, VerifyError> {
        verify(&executable)?;
        Ok(Self(Program::new(executable)))
    }
}

impl Deref for Verified {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.0
    }
}

fn decode(executable: &Executable) -> Vec<Cell> {
    let (version, text) = (executable.version(), executable.text());
    (0..text.len() / selkie_isa::layout::SLOT_BYTES)
        .map(|pc| match Insn::decode(version, text, pc) {
            Some(insn) => decode_insn(executable, pc, &insn),
            None => Cell::new(code::UNSUPPORTED, version),
        })
        .collect()
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "keys and slots are 32 bits wide; a target out of the program is out of any"
)]
fn decode_insn(executable: &Executable, pc: usize, insn: &Insn) -> Cell {
    let Insn { op, dst, src, off, imm } = *insn;
    let version = executable.version();
    let row = Cell {
        imm: imm.cast_unsigned(),
        aux: i32::from(off).cast_unsigned(),
        dst: Register::new(dst),
        src: Register::new(src),
        ..Cell::new(op as u8, version)
    };
    let unsupported = Cell::new(code::UNSUPPORTED, version);
    let return_pc = pc as u64 + 1;
    let local =
        |target: u32| Cell { imm: return_pc, aux: target, ..Cell::new(code::CALL_LOCAL, version) };
    let syscall =
        |id: SyscallId| Cell { aux: u32::from(id.0), ..Cell::new(code::CALL_SYSCALL, version) };
    let key = imm as u32;
    match op.kind() {
        Kind::Alu(_, _, Operand::Uimm) => Cell { imm: u64::from(key), ..row },
        Kind::Jump | Kind::Branch(..) => {
            Cell { aux: insn.jump_target(pc).unwrap_or_default() as u32, ..row }
        }
        // A syscall's key is looked for first: both can only be known if the loader let a
        // collision pass, which it does not.
        Kind::CallHash => {
            match (executable.syscalls().find(key), executable.functions().get(key)) {
                (Some(id), _) => syscall(id),
                (None, Some(function)) => local(function.pc),
                (None, None) => unsupported,
            }
        }
        Kind::CallStatic => match src {
            0 => executable.syscalls().find(key).map_or(unsupported, syscall),
            1 => {
                let slots = (executable.text().len() / selkie_isa::layout::SLOT_BYTES) as i64;
                let target = pc as i64 + 1 + imm;
                if (0..slots).contains(&target) { local(target as u32) } else { unsupported }
            }
            _ => unsupported,
        },
        Kind::CallReg(_) => match insn.call_register() {
            Some(register @ 0..=15) => {
                let src = Register::new(register as u8);
                Cell { imm: return_pc, src, ..Cell::new(code::CALL_REGISTER, version) }
            }
            _ => unsupported,
        },
        _ => row,
    }
}

/// Whether control never goes on behind this cell as a matter of course.
fn ends_run(cell: &Cell) -> bool {
    match cell.action() {
        Action::Row(kind) => matches!(kind, Kind::Jump | Kind::Exit),
        Action::Cut => false,
        _ => true,
    }
}

/// Counts the runs from the back, and cuts those that are too long. Returns the cells that cuts
/// took the place of.
fn count_runs(cells: &mut [Cell], version: Version) -> Vec<Cell> {
    let mut cut = Vec::new();
    for pc in (0..cells.len()).rev() {
        let slots = match cells[pc].action() {
            Action::Row(Kind::LoadImm64) => 2,
            _ => 1,
        };
        // Passing the end of the program counts as one more instruction.
        let behind = cells.get(pc + slots).map_or(1, |cell| cell.run);
        cells[pc].run = if ends_run(&cells[pc]) { 1 } else { behind + 1 };
        if cells[pc].run == RUN_MAX {
            let aux = u32::try_from(cut.len()).expect("fewer cuts than slots");
            cut.push(cells[pc]);
            cells[pc] = Cell { aux, run: 0, ..Cell::new(code::CUT, version) };
        }
    }
    cut
}
