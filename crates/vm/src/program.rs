//! A program in the form that engines run: decoded once, calls resolved, runs counted.
//!
//! Every slot of the text has a `Cell`, so that a slot's number is an index. A *run* is what is
//! executed from some slot on as long as no branch is taken: it ends with a jump, call or exit.
//! Each cell knows how many instructions its run has from there, so that a whole run can be
//! charged at once when it is entered, and the rest of it be refunded where it is left early.

use core::{
    ops::Deref,
    sync::atomic::{AtomicU64, Ordering},
};
use std::sync::OnceLock;

use selkie_elf::Executable;
use selkie_isa::{Kind, Op, Version, for_each_op, layout::SLOT_BYTES};

use crate::{
    cells::Cells,
    decode::decode,
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

    #[inline(always)]
    pub(crate) fn new(number: u8) -> Self {
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

/// A program's cells.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) cells: Cells,
    /// The cells that stand where runs were cut.
    pub(crate) cut: Vec<Cell>,
    /// The most units that a chain of handlers may use.
    pub(crate) chain_units: u64,
}

impl Decoded {
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

/// A program, decoded.
#[derive(Debug)]
pub struct Program {
    executable: Executable,
    /// Programs that were thawed are decoded when somebody asks: machine code does not.
    decoded: OnceLock<Decoded>,
    /// Tells it from every other program of this process.
    pub(crate) id: u64,
}

static PROGRAM_COUNT: AtomicU64 = AtomicU64::new(0);

impl Program {
    /// Decodes a program without verifying it. What the verifier would have refused traps when
    /// it is reached.
    #[must_use]
    pub fn new(executable: Executable) -> Self {
        let program = Self::later(executable);
        program.decoded();
        program
    }

    /// As [`Program::new`]; it is decoded when that is asked for.
    pub(crate) fn later(executable: Executable) -> Self {
        let id = PROGRAM_COUNT.fetch_add(1, Ordering::Relaxed);
        Self { executable, decoded: OnceLock::new(), id }
    }

    /// The program as it was loaded.
    #[must_use]
    pub fn executable(&self) -> &Executable {
        &self.executable
    }

    /// Bytes of memory that the program takes, its file's parts included.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let cells = self.decoded.get().map_or(0, |it| self.slots() + it.cut.len());
        self.executable.text().len()
            + self.executable.read_only().bytes.len()
            + cells * size_of::<Cell>()
    }

    /// Slots of the text.
    pub(crate) fn slots(&self) -> usize {
        self.executable.text().len() / SLOT_BYTES
    }

    #[inline]
    pub(crate) fn decoded(&self) -> &Decoded {
        self.decoded.get_or_init(|| decode(&self.executable))
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

    /// A program that passed the verifier before it was frozen.
    pub(crate) fn trusted(program: Program) -> Self {
        Self(program)
    }
}

impl Deref for Verified {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.0
    }
}
