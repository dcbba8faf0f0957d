//! The decoded form of a program.
//!
//! Every slot of the text has a [`DecodedInsn`], so the number of a slot is its index. A *block* is
//! what is executed from a slot on as long as no branch is taken: it ends with a jump, call or
//! exit. Each instruction holds the length of its block from there on, so that the interpreter can
//! charge a whole block when it enters it, and refund the rest where it leaves the block early.
//!
//! Invariant: a sentinel with the handler of [`code::END`], which never moves on, follows the last
//! instruction. So a handler may step to the next instruction without checking that there is one.

#![allow(
    unsafe_code,
    reason = "cursors step without a bounds check, and texts are written from the end"
)]

use core::{fmt, marker::PhantomData, mem::MaybeUninit};

use selkie_isa::{Kind, Op, for_each_op};

use crate::machine::Machine;

/// The operation of a decoded instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// That of a row of the instruction table.
    Row(Kind),
    /// Call the function at slot `aux`.
    CallLocal,
    /// Call syscall number `aux`.
    CallSyscall,
    /// Call the address in register `src`.
    CallRegister,
    /// The start of a new block where a long one was cut: charge again, then execute the
    /// instruction at index `aux` of [`DecodedProgram::cut`].
    Cut,
    /// Invalid, or a call of an unknown function: traps when it is reached.
    Unsupported,
    /// The end of the program: traps when it is reached.
    End,
}

/// Codes of [`Action`]s. The rows of the instruction table come first.
pub(crate) mod code {
    use selkie_isa::Op;

    #[allow(clippy::cast_possible_truncation, reason = "the table has fewer than 250 rows")]
    const ROWS: u8 = Op::ALL.len() as u8;
    pub(crate) const CALL_LOCAL: u8 = ROWS;
    pub(crate) const CALL_SYSCALL: u8 = ROWS + 1;
    pub(crate) const CALL_REGISTER: u8 = ROWS + 2;
    pub(crate) const CUT: u8 = ROWS + 3;
    pub(crate) const UNSUPPORTED: u8 = ROWS + 4;
    /// Only used for the sentinel.
    pub(crate) const END: u8 = ROWS + 5;
}

/// The action of each code. Unused codes are unsupported.
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

/// A register number of four bits. An enumeration, so that the compiler omits bounds checks on the
/// sixteen registers of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[rustfmt::skip]
pub(crate) enum Register { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10, R11, R12, R13, R14, R15 }

impl Register {
    /// Returns the register of the low four bits, which are its representation.
    #[inline(always)]
    #[rustfmt::skip]
    pub(crate) fn new(number: u8) -> Self {
        use Register::*;
        match number & 15 {
            0 => R0, 1 => R1, 2 => R2, 3 => R3, 4 => R4, 5 => R5, 6 => R6, 7 => R7,
            8 => R8, 9 => R9, 10 => R10, 11 => R11, 12 => R12, 13 => R13, 14 => R14, _ => R15,
        }
    }
}

/// A decoded instruction, one for each slot of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodedInsn {
    /// The interpreter's handler.
    pub(crate) handler: Handler,
    /// The immediate, zero- or sign-extended as the instruction requires; for calls, the slot to
    /// return to.
    pub(crate) imm: u64,
    /// The target slot of a jump or call, the offset of a memory access, or as [`Action`] says.
    pub(crate) aux: u32,
    /// Index into [`ACTIONS`].
    pub(crate) code: u8,
    pub(crate) dst: Register,
    pub(crate) src: Register,
    /// Instructions from here to the end of the block; 0 for a cut.
    pub(crate) block_len: u8,
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
            block_len: 1,
        }
    }

    #[inline(always)]
    pub(crate) fn action(&self) -> Action {
        ACTIONS[usize::from(self.code)]
    }

    /// Returns the offset of a memory access, sign-extended.
    #[inline(always)]
    pub(crate) fn offset(&self) -> u64 {
        i64::from(self.aux.cast_signed()).cast_unsigned()
    }
}

/// A decoded program.
#[derive(Debug)]
pub(crate) struct DecodedProgram {
    pub(crate) text: DecodedText,
    /// The instructions in whose place blocks were cut.
    pub(crate) cut: Vec<DecodedInsn>,
    /// One bit per slot, 64 slots per word: clear if the instruction takes one slot and control
    /// always continues with the next one.
    pub(crate) breaks: Vec<u64>,
    /// The most compute units that a chain of handlers may use.
    pub(crate) chain_compute_units: u64,
}

impl DecodedProgram {
    /// Returns whether the bit of a slot in `breaks` is set.
    #[inline(always)]
    pub(crate) fn breaks_at(&self, pc: usize) -> bool {
        self.breaks.get(pc / 64).is_some_and(|word| word >> (pc % 64) & 1 == 1)
    }

    /// Returns the instruction at a slot; for a cut, the one in whose place it is.
    #[inline(always)]
    pub(crate) fn insn(&self, pc: usize) -> Option<&DecodedInsn> {
        let insn = self.text.get(pc)?;
        match insn.action() {
            Action::Cut => Some(&self.cut[insn.aux as usize]),
            _ => Some(insn),
        }
    }
}

/// Executes the instruction at the cursor and those after it, in a block that is already charged.
/// Takes the compute units that are left, and returns those that are left afterwards.
pub(crate) type Handler = for<'p> fn(&mut Machine<'_>, &'p DecodedProgram, Cursor<'p>, u64) -> u64;

/// The decoded instructions of a program, followed by the sentinel.
pub(crate) struct DecodedText(Box<[DecodedInsn]>);

impl DecodedText {
    /// Returns the number of slots.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.0.len() - 1
    }

    /// Returns the instruction at a slot.
    #[inline(always)]
    pub(crate) fn get(&self, pc: usize) -> Option<&DecodedInsn> {
        self.0.get(pc).filter(|_| pc < self.len())
    }

    /// Returns the instructions of all slots.
    #[inline(always)]
    pub(crate) fn all(&self) -> &[DecodedInsn] {
        &self.0[..self.len()]
    }

    /// Returns the sentinel.
    pub(crate) fn end(&self) -> &DecodedInsn {
        &self.0[self.len()]
    }

    /// Returns a cursor at a slot or at the sentinel.
    #[inline(always)]
    pub(crate) fn cursor(&self, pc: usize) -> Option<Cursor<'_>> {
        (pc < self.0.len())
            .then(|| Cursor { insn: self.0.as_ptr().wrapping_add(pc), text: PhantomData })
    }

    /// Returns the slot of a cursor, which must be one of this text.
    #[inline(always)]
    pub(crate) fn pc(&self, cursor: Cursor<'_>) -> usize {
        (cursor.insn as usize).wrapping_sub(self.0.as_ptr() as usize) / size_of::<DecodedInsn>()
    }
}

/// A text while it is written, from its end to its start.
pub(crate) struct DecodedTextBuilder {
    /// Those from `first` on are written. The last one is the sentinel.
    insns: Box<[MaybeUninit<DecodedInsn>]>,
    first: usize,
}

impl DecodedTextBuilder {
    /// Creates a text of `slots` instructions, of which only the sentinel is written.
    pub(crate) fn new(slots: usize, handlers: &[Handler; 256]) -> Self {
        let mut insns = Box::new_uninit_slice(slots + 1);
        insns[slots].write(DecodedInsn::new(code::END, handlers));
        Self { insns, first: slots }
    }

    /// Writes the `count` instructions before those that are written, the last one first. Calls
    /// `insn` with their numbers among these.
    ///
    /// # Panics
    /// If so many slots are not left.
    #[inline(always)]
    pub(crate) fn extend_front(
        &mut self,
        count: usize,
        mut insn: impl FnMut(usize) -> DecodedInsn,
    ) {
        let first = self.first.checked_sub(count).expect("there are so many slots");
        let places = self.insns[first..self.first].iter_mut();
        for (index, place) in places.enumerate().rev() {
            place.write(insn(index));
        }
        self.first = first;
    }

    /// Returns the instruction at a slot, for writing.
    ///
    /// # Panics
    /// If it is not written yet, or there is no such slot: the sentinel must not change.
    pub(crate) fn slot(&mut self, pc: usize) -> &mut DecodedInsn {
        assert!(pc >= self.first, "slot {pc} is written");
        assert!(pc < self.insns.len() - 1, "the sentinel is not written again");
        // SAFETY: those from `first` on are written.
        unsafe { self.insns[pc].assume_init_mut() }
    }

    /// Returns the text.
    ///
    /// # Panics
    /// If not all slots are written.
    pub(crate) fn finish(self) -> DecodedText {
        assert_eq!(self.first, 0, "all slots are written");
        // SAFETY: those from `first` on are written.
        DecodedText(unsafe { self.insns.assume_init() })
    }
}

impl fmt::Debug for DecodedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

/// A position in a [`DecodedText`]: a slot or the sentinel.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'p> {
    insn: *const DecodedInsn,
    text: PhantomData<&'p DecodedText>,
}

impl<'p> Cursor<'p> {
    /// Returns the instruction at the cursor.
    #[inline(always)]
    pub(crate) fn insn(self) -> &'p DecodedInsn {
        // SAFETY: `DecodedText::cursor` and `Cursor::next` stay within the text and its sentinel,
        // which are borrowed for `'p`.
        unsafe { &*self.insn }
    }

    /// Returns the next position.
    ///
    /// # Safety
    /// The cursor must not be at the sentinel.
    #[inline(always)]
    pub(crate) unsafe fn next(self) -> Self {
        Self { insn: self.insn.wrapping_add(1), ..self }
    }
}
