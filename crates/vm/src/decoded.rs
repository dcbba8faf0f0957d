//! The decoded form of a program: what it is made of.
//!
//! Every slot of the text has a `DecodedInsn`, so that a slot's number is an index. A *run* is what is
//! executed from some slot on as long as no branch is taken: it ends with a jump, call or exit.
//! Each decoded instruction knows how many instructions its run has from there, so that a whole run can be
//! charged at once when it is entered, and the rest of it be refunded where it is left early.
//!
//! Invariant: behind the decoded instructions stands a sentinel, which ends every walk: its handler is that of
//! [`code::END`], which never moves on. So a handler may step to the next decoded instruction without asking
//! whether there is one.

#![allow(unsafe_code, reason = "cursors step without a look at the length")]

use core::{fmt, marker::PhantomData};

use selkie_isa::{Kind, Op, for_each_op};

use crate::machine::Machine;

/// What a decoded instruction makes an engine do.
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
    /// Where a run of straight code was cut: charge anew, then do what the decoded instruction at the index
    /// `aux` of [`DecodedProgram::cut`] does.
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
pub(crate) struct DecodedInsn {
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

const _: () = assert!(size_of::<DecodedInsn>() == 24);

impl DecodedInsn {
    pub(crate) fn new(code: u8, handlers: &[Handler; 256]) -> Self {
        Self {
            handler: handlers[usize::from(code)],
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

/// A program's decoded instructions.
#[derive(Debug)]
pub(crate) struct DecodedProgram {
    pub(crate) text: DecodedText,
    /// The decoded instructions that stand where runs were cut.
    pub(crate) cut: Vec<DecodedInsn>,
    /// The most units that a chain of handlers may use.
    pub(crate) chain_units: u64,
}

impl DecodedProgram {
    /// The decoded instruction at a slot, with cuts looked through.
    #[inline(always)]
    pub(crate) fn insn(&self, pc: usize) -> Option<&DecodedInsn> {
        let insn = self.text.get(pc)?;
        match insn.action() {
            Action::Cut => Some(&self.cut[insn.aux as usize]),
            _ => Some(insn),
        }
    }
}

/// Executes the instruction at the cursor and those behind it, within a run that is charged
/// already. Gives the units that are left.
pub(crate) type Handler = for<'p> fn(&mut Machine<'_>, &'p DecodedProgram, Cursor<'p>, u64) -> u64;

/// The decoded instructions of a program, and the sentinel.
pub(crate) struct DecodedText(Box<[DecodedInsn]>);

impl DecodedText {
    /// As many decoded instructions as there are slots, each to be written, and the sentinel.
    pub(crate) fn new(slots: usize, handlers: &[Handler; 256]) -> Self {
        Self(vec![DecodedInsn::new(code::END, handlers); slots + 1].into_boxed_slice())
    }

    /// The decoded instruction of a slot, to be written.
    ///
    /// # Panics
    /// If there is no such slot: the sentinel stays.
    #[inline(always)]
    pub(crate) fn slot(&mut self, pc: usize) -> &mut DecodedInsn {
        assert!(pc < self.len(), "the sentinel stays");
        &mut self.0[pc]
    }

    /// Slots of the program.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.0.len() - 1
    }

    /// The decoded instruction of a slot.
    #[inline(always)]
    pub(crate) fn get(&self, pc: usize) -> Option<&DecodedInsn> {
        self.0.get(pc).filter(|_| pc < self.len())
    }

    /// The decoded instructions of all slots.
    #[inline(always)]
    pub(crate) fn all(&self) -> &[DecodedInsn] {
        &self.0[..self.len()]
    }

    /// The sentinel.
    pub(crate) fn end(&self) -> &DecodedInsn {
        &self.0[self.len()]
    }

    /// A cursor at a slot, or at the end.
    #[inline(always)]
    pub(crate) fn cursor(&self, pc: usize) -> Option<Cursor<'_>> {
        (pc < self.0.len())
            .then(|| Cursor { insn: self.0.as_ptr().wrapping_add(pc), text: PhantomData })
    }

    /// The slot that a cursor of these decoded instructions is at.
    #[inline(always)]
    pub(crate) fn pc(&self, cursor: Cursor<'_>) -> usize {
        (cursor.insn as usize).wrapping_sub(self.0.as_ptr() as usize) / size_of::<DecodedInsn>()
    }
}

impl fmt::Debug for DecodedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

/// A place among the decoded instructions of a program, the sentinel included.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'p> {
    insn: *const DecodedInsn,
    text: PhantomData<&'p DecodedText>,
}

impl<'p> Cursor<'p> {
    /// The decoded instruction there.
    #[inline(always)]
    pub(crate) fn insn(self) -> &'p DecodedInsn {
        // SAFETY: `DecodedText::cursor` and `Cursor::next` stay within the decoded instructions and the sentinel, which
        // are borrowed for `'p`.
        unsafe { &*self.insn }
    }

    /// The next place.
    ///
    /// # Safety
    /// The cursor must not be at the sentinel.
    #[inline(always)]
    pub(crate) unsafe fn next(self) -> Self {
        Self { insn: self.insn.wrapping_add(1), ..self }
    }
}
