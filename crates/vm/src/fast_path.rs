//! The interpreter's fast path: instructions that neither need the host nor raise a trap.
//!
//! There is a handler for each row of the instruction table, and each ends by calling the handler
//! of the next instruction. The optimizer turns these calls into jumps, which predict better than
//! one central dispatch. In builds where it does not, the calls nest on the host's stack, so a
//! chain of them must be short: see `chain.rs`.

use core::array;

use selkie_isa::{Kind, Op, Operand, Size, Version, for_each_op, layout::SLOT_BYTES};

use crate::{
    decoded::{ACTIONS, Action, Cursor, DecodedInsn, DecodedProgram, Handler, Register, code},
    machine::Machine,
};

/// Where control goes after an instruction.
pub(crate) enum Flow {
    /// To the next slot, within the block.
    Next,
    /// Over the second slot of an `lddw`, within the block.
    Skip,
    /// To a slot at which another block starts.
    Goto(usize),
    /// The same, from within a block: a branch that is taken.
    Branch(usize),
    /// Nowhere: the instruction was not executed, because it needs the host, raises a trap or ends
    /// the program. From `Machine::execute_slow`: the program has ended.
    Bail,
}

impl Machine<'_> {
    #[inline(always)]
    pub(crate) fn get(&self, register: Register) -> u64 {
        self.registers[register as usize]
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, register: Register, value: u64) {
        self.registers[register as usize] = value;
    }

    /// Executes an instruction in the common case, or returns [`Flow::Bail`] with nothing changed.
    ///
    /// `action` is `insn.action()`. Callers pass a constant so that only its arm is compiled.
    #[inline(always)]
    pub(crate) fn execute<const GAPS: bool>(
        &mut self,
        action: Action,
        insn: &DecodedInsn,
        slots: usize,
    ) -> Flow {
        let Action::Row(kind) = action else {
            return match action {
                Action::CallLocal => self.call(insn, insn.aux as usize),
                Action::CallRegister => {
                    let offset = self.get(insn.src).wrapping_sub(self.text_vaddr);
                    match usize::try_from(offset / SLOT_BYTES as u64) {
                        Ok(target) if target < slots => self.call(insn, target),
                        _ => Flow::Bail,
                    }
                }
                _ => Flow::Bail,
            };
        };
        let operand = |machine: &Self, operand| match operand {
            Operand::Reg => machine.get(insn.src),
            Operand::Imm | Operand::Uimm => insn.imm,
        };
        match kind {
            Kind::Alu(alu, width, right) => {
                let right = operand(self, right);
                match alu.eval(width, self.get(insn.dst), right) {
                    Ok(value) => self.set(insn.dst, value),
                    Err(_) => return Flow::Bail,
                }
                Flow::Next
            }
            Kind::Neg(width) => {
                let value = selkie_isa::Alu::Sub.eval(width, 0, self.get(insn.dst));
                self.set(insn.dst, value.unwrap_or_default());
                Flow::Next
            }
            Kind::Endian(order) => {
                match order.eval(insn.imm.cast_signed(), self.get(insn.dst)) {
                    Some(value) => self.set(insn.dst, value),
                    None => return Flow::Bail,
                }
                Flow::Next
            }
            Kind::LoadImm64 => {
                self.set(insn.dst, insn.imm);
                Flow::Skip
            }
            Kind::Load(size) => {
                let vaddr = self.get(insn.src).wrapping_add(insn.offset());
                match self.load::<GAPS>(size, vaddr) {
                    Some(value) => self.set(insn.dst, value),
                    None => return Flow::Bail,
                }
                Flow::Next
            }
            Kind::StoreImm(size) => self.store_flow::<GAPS>(size, insn, insn.imm),
            Kind::StoreReg(size) => self.store_flow::<GAPS>(size, insn, self.get(insn.src)),
            Kind::Jump => Flow::Goto(insn.aux as usize),
            Kind::Branch(cond, width, right) => {
                let right = operand(self, right);
                if cond.eval(width, self.get(insn.dst), right) {
                    Flow::Branch(insn.aux as usize)
                } else {
                    Flow::Next
                }
            }
            Kind::Exit => match self.pop_frame() {
                Some(return_pc) => Flow::Goto(return_pc),
                None => Flow::Bail,
            },
            Kind::Tail | Kind::CallHash | Kind::CallStatic | Kind::CallReg(_) => Flow::Bail,
        }
    }

    #[inline(always)]
    fn call(&mut self, insn: &DecodedInsn, target: usize) -> Flow {
        if self.push_frame(insn.imm) { Flow::Goto(target) } else { Flow::Bail }
    }

    #[inline(always)]
    fn store_flow<const GAPS: bool>(&mut self, size: Size, insn: &DecodedInsn, value: u64) -> Flow {
        let vaddr = self.get(insn.dst).wrapping_add(insn.offset());
        match self.store::<GAPS>(size, vaddr, value) {
            Some(()) => Flow::Next,
            None => Flow::Bail,
        }
    }

    #[inline(always)]
    fn load<const GAPS: bool>(&mut self, size: Size, vaddr: u64) -> Option<u64> {
        let memory = &mut self.memory;
        Some(match size {
            Size::B => u64::from(u8::from_le_bytes(memory.load::<_, GAPS>(vaddr)?)),
            Size::H => u64::from(u16::from_le_bytes(memory.load::<_, GAPS>(vaddr)?)),
            Size::W => u64::from(u32::from_le_bytes(memory.load::<_, GAPS>(vaddr)?)),
            Size::Dw => u64::from_le_bytes(memory.load::<_, GAPS>(vaddr)?),
        })
    }

    #[inline(always)]
    fn store<const GAPS: bool>(&mut self, size: Size, vaddr: u64, value: u64) -> Option<()> {
        let memory = &mut self.memory;
        let bytes = value.to_le_bytes();
        match size {
            Size::B => memory.store::<1, GAPS>(vaddr, cut(bytes)),
            Size::H => memory.store::<2, GAPS>(vaddr, cut(bytes)),
            Size::W => memory.store::<4, GAPS>(vaddr, cut(bytes)),
            Size::Dw => memory.store::<8, GAPS>(vaddr, bytes),
        }
    }

    /// Executes a load or store through whichever region its address belongs to. Returns `None` if
    /// the access is refused.
    #[inline(always)]
    pub(crate) fn access_any_region(&mut self, action: Action, insn: &DecodedInsn) -> Option<()> {
        let memory = &mut self.memory;
        if let Action::Row(Kind::Load(size)) = action {
            let vaddr = self.registers[insn.src as usize].wrapping_add(insn.offset());
            self.registers[insn.dst as usize] = match size {
                Size::B => u64::from(u8::from_le_bytes(memory.load_any_region(vaddr)?)),
                Size::H => u64::from(u16::from_le_bytes(memory.load_any_region(vaddr)?)),
                Size::W => u64::from(u32::from_le_bytes(memory.load_any_region(vaddr)?)),
                Size::Dw => u64::from_le_bytes(memory.load_any_region(vaddr)?),
            };
            return Some(());
        }
        let (size, value) = match action {
            Action::Row(Kind::StoreImm(size)) => (size, insn.imm),
            Action::Row(Kind::StoreReg(size)) => (size, self.registers[insn.src as usize]),
            _ => return None,
        };
        let vaddr = self.registers[insn.dst as usize].wrapping_add(insn.offset());
        let bytes = value.to_le_bytes();
        match size {
            Size::B => memory.store_any_region::<1>(vaddr, cut(bytes)),
            Size::H => memory.store_any_region::<2>(vaddr, cut(bytes)),
            Size::W => memory.store_any_region::<4>(vaddr, cut(bytes)),
            Size::Dw => memory.store_any_region::<8>(vaddr, bytes),
        }
    }
}

#[inline(always)]
fn cut<const N: usize>(bytes: [u8; 8]) -> [u8; N] {
    array::from_fn(|index| bytes[index])
}

/// Executes blocks until an instruction needs the slow path, the next block might exceed the
/// budget, or the chain of handlers has reached its maximum length.
pub(crate) fn run_blocks(program: &DecodedProgram, machine: &mut Machine<'_>) {
    let remaining = if machine.metered { machine.meter.remaining() } else { u64::MAX };
    let compute_units = remaining.min(program.chain_compute_units);
    let left = enter(machine, program, machine.pc, compute_units);
    if machine.metered {
        machine.meter.set_remaining(remaining - compute_units + left);
    }
}

/// Charges the block that starts at `pc`, and executes it.
#[inline(always)]
fn enter(
    machine: &mut Machine<'_>,
    program: &DecodedProgram,
    pc: usize,
    compute_units: u64,
) -> u64 {
    if let Some(cursor) = program.text.cursor(pc)
        && let Some(compute_units) = compute_units.checked_sub(u64::from(cursor.insn().block_len))
    {
        return go(machine, program, cursor, compute_units);
    }
    stop(machine, pc, compute_units)
}

#[inline(always)]
fn go<'p>(
    machine: &mut Machine<'_>,
    program: &'p DecodedProgram,
    cursor: Cursor<'p>,
    compute_units: u64,
) -> u64 {
    (cursor.insn().handler)(machine, program, cursor, compute_units)
}

#[inline(always)]
fn stop(machine: &mut Machine<'_>, pc: usize, compute_units: u64) -> u64 {
    machine.pc = pc;
    compute_units
}

/// Stops before the instruction at the cursor, and refunds it and the rest of its block.
#[inline(always)]
fn stop_before(
    machine: &mut Machine<'_>,
    program: &DecodedProgram,
    cursor: Cursor<'_>,
    compute_units: u64,
) -> u64 {
    stop(machine, program.text.pc(cursor), compute_units + u64::from(cursor.insn().block_len))
}

#[allow(unsafe_code, reason = "the handler of the sentinel does not move on")]
fn handle<const CODE: usize, const GAPS: bool>(
    machine: &mut Machine<'_>,
    program: &DecodedProgram,
    cursor: Cursor<'_>,
    compute_units: u64,
) -> u64 {
    if const { CODE == code::END as usize } {
        return end(machine, program, cursor, compute_units);
    }
    let insn = cursor.insn();
    // SAFETY: the cursor is not at the sentinel: each instruction has the handler of its code, only
    // the sentinel has `code::END`, and for that code this line is not reached.
    let next = unsafe { cursor.next() };
    match machine.execute::<GAPS>(const { ACTIONS[CODE] }, insn, program.text.len()) {
        Flow::Next => go(machine, program, next, compute_units),
        // SAFETY: an `lddw` in the last slot is decoded as an unsupported instruction.
        Flow::Skip => go(machine, program, unsafe { next.next() }, compute_units),
        Flow::Goto(target) => enter(machine, program, target, compute_units),
        // The rest of the block is refunded.
        Flow::Branch(target) => {
            enter(machine, program, target, compute_units + u64::from(insn.block_len) - 1)
        }
        Flow::Bail if const { accesses_memory(ACTIONS[CODE]) } => {
            handle_any_region::<CODE>(machine, program, cursor, compute_units)
        }
        Flow::Bail => stop_before(machine, program, cursor, compute_units),
    }
}

/// The handler of the sentinel. Records the host's stack pointer for `chain.rs`.
#[cold]
#[inline(never)]
fn end(
    machine: &mut Machine<'_>,
    program: &DecodedProgram,
    cursor: Cursor<'_>,
    compute_units: u64,
) -> u64 {
    let here = 0_u8;
    machine.chain_end = &raw const here as usize;
    stop_before(machine, program, cursor, compute_units)
}

const fn accesses_memory(action: Action) -> bool {
    matches!(action, Action::Row(Kind::Load(_) | Kind::StoreImm(_) | Kind::StoreReg(_)))
}

/// Executes a load or store through a region that is not cached. A handler of its own, so that the
/// handlers of loads and stores call nothing and need no stack.
#[allow(unsafe_code, reason = "loads and stores are not the sentinel")]
#[inline(never)]
fn handle_any_region<const CODE: usize>(
    machine: &mut Machine<'_>,
    program: &DecodedProgram,
    cursor: Cursor<'_>,
    compute_units: u64,
) -> u64 {
    match machine.access_any_region(const { ACTIONS[CODE] }, cursor.insn()) {
        // SAFETY: the cursor is at a load or store, which is not the sentinel.
        Some(()) => go(machine, program, unsafe { cursor.next() }, compute_units),
        None => stop_before(machine, program, cursor, compute_units),
    }
}

/// Returns the handlers for a version, by the codes of [`ACTIONS`].
pub(crate) const fn handlers(version: Version) -> &'static [Handler; 256] {
    static FLAT: [Handler; 256] = handler_table::<false>();
    static GAPPED: [Handler; 256] = handler_table::<true>();
    if version.stack_frame_gaps() { &GAPPED } else { &FLAT }
}

const fn handler_table<const GAPS: bool>() -> [Handler; 256] {
    macro_rules! rows {
        ($($opcode:literal, $versions:ident => $name:ident = $mnemonic:literal, $kind:expr;)*) => {
            [$(handle::<{ Op::$name as usize }, GAPS> as Handler),*]
        };
    }
    let rows = for_each_op!(rows);
    let mut handlers: [Handler; 256] = [handle::<{ code::UNSUPPORTED as usize }, GAPS>; 256];
    let mut index = 0;
    while index < rows.len() {
        handlers[index] = rows[index];
        index += 1;
    }
    handlers[code::END as usize] = handle::<{ code::END as usize }, GAPS>;
    handlers[code::CALL_LOCAL as usize] = handle::<{ code::CALL_LOCAL as usize }, GAPS>;
    handlers[code::CALL_REGISTER as usize] = handle::<{ code::CALL_REGISTER as usize }, GAPS>;
    handlers
}
