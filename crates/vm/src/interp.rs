//! The interpreter: the reference for every other engine.
//!
//! It has two gears. `step` executes one instruction exactly: it charges the meter, calls the
//! host, raises every trap. `sprint` runs ahead over instructions that need none of that, whole
//! runs charged at once, and stops *before* the first one that does. Both take what an
//! instruction computes from the same `Machine::execute`, so that there is one meaning, and
//! everything out of the ordinary happens in `step` alone.
//!
//! Sprinting is a chain of handlers, one per row of the instruction table, each of which ends by
//! calling the next: the optimiser turns these calls into jumps, which predict better than one
//! central dispatch. Where it does not, the chain nests, and must be short: see `chain.rs`.

use core::array;

use selkie_elf::SyscallId;
use selkie_isa::{Kind, Op, Operand, Size, Version, for_each_op, layout::SLOT_BYTES};

use crate::{
    cells::Cursor,
    host::{Host, Observer},
    machine::Machine,
    program::{ACTIONS, Action, Cell, Decoded, Program, Register, code},
    trap::{Access, Trap},
};

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// r0, or why the program was stopped. [`Machine::pc`] tells where.
    pub result: Result<u64, Trap>,
    /// Compute units that were used, by instructions and by syscalls; 0 if they are not metered.
    pub consumed: u64,
}

/// Runs a program from the machine's state to its end.
///
/// ```
/// use selkie_elf::{Executable, Functions};
/// use selkie_isa::Version;
/// use selkie_vm::{Config, Machine, MemoryMap, NoHost, Program, run};
///
/// // mov64 r0, 7; exit
/// let text = [0xb7, 0, 0, 0, 7, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];
/// let executable =
///     Executable::from_text(Version::V0, text, 0, Functions::default(), Default::default())?;
/// let program = Program::new(executable);
/// let config = Config::default();
/// let memory = MemoryMap::new(vec![], &config, Version::V0)?;
/// let mut machine = Machine::new(&program, &config, memory, 100);
/// let outcome = run(&program, &mut machine, &mut NoHost);
/// assert_eq!((outcome.result?, outcome.consumed), (7, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(program: &Program, machine: &mut Machine<'_>, host: &mut dyn Host) -> Outcome {
    let budget = machine.meter.remaining();
    let result = finish(program.decoded(), machine, host);
    Outcome { result, consumed: consumed(machine, budget) }
}

/// Runs a program from wherever it is to its end.
pub(crate) fn finish(
    program: &Decoded,
    machine: &mut Machine<'_>,
    host: &mut dyn Host,
) -> Result<u64, Trap> {
    loop {
        sprint(program, machine);
        if let Some(r0) = step_decoded(program, machine, host, &mut ())? {
            return Ok(r0);
        }
    }
}

/// Runs a program with an observer who sees every instruction.
pub fn observe(
    program: &Program,
    machine: &mut Machine<'_>,
    host: &mut dyn Host,
    observer: &mut dyn Observer,
) -> Outcome {
    let budget = machine.meter.remaining();
    let result = loop {
        match step(program, machine, host, observer) {
            Ok(None) => {}
            Ok(Some(r0)) => break Ok(r0),
            Err(trap) => break Err(trap),
        }
    };
    Outcome { result, consumed: consumed(machine, budget) }
}

/// The units that are used of what the meter had.
pub(crate) fn consumed(machine: &Machine<'_>, budget: u64) -> u64 {
    if machine.metered { budget.saturating_sub(machine.meter.remaining()) } else { 0 }
}

/// Executes one instruction. Gives r0 if it ended the program.
///
/// # Errors
/// The trap that ended the program; [`Machine::pc`] is the instruction that raised it, or for
/// [`Trap::ExceededMaxInstructions`] the one that was not executed.
pub fn step<O: Observer + ?Sized>(
    program: &Program,
    machine: &mut Machine<'_>,
    host: &mut dyn Host,
    observer: &mut O,
) -> Result<Option<u64>, Trap> {
    step_decoded(program.decoded(), machine, host, observer)
}

#[inline(always)]
fn step_decoded<O: Observer + ?Sized>(
    program: &Decoded,
    machine: &mut Machine<'_>,
    host: &mut dyn Host,
    observer: &mut O,
) -> Result<Option<u64>, Trap> {
    let pc = machine.pc;
    if machine.metered && machine.meter.consume(1).is_err() {
        return Err(Trap::ExceededMaxInstructions);
    }
    let cell = program.cell(pc).ok_or(Trap::ExecutionOverrun)?;
    observer.instruction(pc, machine.registers());
    if let Action::CallSyscall = cell.action() {
        machine.syscall(cell, host)?;
        machine.pc = pc + 1;
        return Ok(None);
    }
    let flow = match machine.execute::<true>(cell.action(), cell, program.cells.len()) {
        Flow::Bail => machine.execute_slowly(cell, host)?,
        flow => flow,
    };
    machine.pc = match flow {
        Flow::Next => pc + 1,
        Flow::Skip => pc + 2,
        Flow::Goto(target) | Flow::Branch(target) => target,
        Flow::Bail => return Ok(Some(machine.registers[0])),
    };
    Ok(None)
}

/// Where control goes after an instruction.
enum Flow {
    /// To the next slot, within the run.
    Next,
    /// Over the second half of an `lddw`, within the run.
    Skip,
    /// To a slot at which another run starts.
    Goto(usize),
    /// The same, from within a run: a branch that was taken.
    Branch(usize),
    /// Nowhere: the instruction was not executed, because it needs the host, raises a trap or
    /// ends the program. From [`Machine::execute_slowly`]: the program has ended.
    Bail,
}

impl Machine<'_> {
    #[inline(always)]
    fn get(&self, register: Register) -> u64 {
        self.registers[register as usize]
    }

    #[inline(always)]
    fn set(&mut self, register: Register, value: u64) {
        self.registers[register as usize] = value;
    }

    /// What an instruction does when nothing is out of the ordinary.
    ///
    /// `action` is `cell.action()`; where it is a constant, all but its own arm folds away.
    #[inline(always)]
    fn execute<const GAPS: bool>(&mut self, action: Action, cell: &Cell, slots: usize) -> Flow {
        let Action::Row(kind) = action else {
            return match action {
                Action::CallLocal => self.call(cell, cell.aux as usize),
                Action::CallRegister => {
                    let offset = self.get(cell.src).wrapping_sub(self.text_vaddr);
                    match usize::try_from(offset / SLOT_BYTES as u64) {
                        Ok(target) if target < slots => self.call(cell, target),
                        _ => Flow::Bail,
                    }
                }
                _ => Flow::Bail,
            };
        };
        let operand = |machine: &Self, operand| match operand {
            Operand::Reg => machine.get(cell.src),
            Operand::Imm | Operand::Uimm => cell.imm,
        };
        match kind {
            Kind::Alu(alu, width, right) => {
                let right = operand(self, right);
                match alu.eval(width, self.get(cell.dst), right) {
                    Ok(value) => self.set(cell.dst, value),
                    Err(_) => return Flow::Bail,
                }
                Flow::Next
            }
            Kind::Neg(width) => {
                let value = selkie_isa::Alu::Sub.eval(width, 0, self.get(cell.dst));
                self.set(cell.dst, value.unwrap_or_default());
                Flow::Next
            }
            Kind::Endian(order) => {
                match order.eval(cell.imm.cast_signed(), self.get(cell.dst)) {
                    Some(value) => self.set(cell.dst, value),
                    None => return Flow::Bail,
                }
                Flow::Next
            }
            Kind::LoadImm64 => {
                self.set(cell.dst, cell.imm);
                Flow::Skip
            }
            Kind::Load(size) => {
                let vaddr = self.get(cell.src).wrapping_add(cell.offset());
                match self.load::<GAPS>(size, vaddr) {
                    Some(value) => self.set(cell.dst, value),
                    None => return Flow::Bail,
                }
                Flow::Next
            }
            Kind::StoreImm(size) => self.store_flow::<GAPS>(size, cell, cell.imm),
            Kind::StoreReg(size) => self.store_flow::<GAPS>(size, cell, self.get(cell.src)),
            Kind::Jump => Flow::Goto(cell.aux as usize),
            Kind::Branch(cond, width, right) => {
                let right = operand(self, right);
                if cond.eval(width, self.get(cell.dst), right) {
                    Flow::Branch(cell.aux as usize)
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
    fn call(&mut self, cell: &Cell, target: usize) -> Flow {
        if self.push_frame(cell.imm) { Flow::Goto(target) } else { Flow::Bail }
    }

    #[inline(always)]
    fn store_flow<const GAPS: bool>(&mut self, size: Size, cell: &Cell, value: u64) -> Flow {
        let vaddr = self.get(cell.dst).wrapping_add(cell.offset());
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

    /// What [`Machine::execute`] leaves: calls of the host, traps, the end of the program.
    #[cold]
    fn execute_slowly(&mut self, cell: &Cell, host: &mut dyn Host) -> Result<Flow, Trap> {
        let kind = match cell.action() {
            Action::Row(kind) => kind,
            // The frame is pushed before the target is looked at.
            Action::CallRegister if self.push_frame(cell.imm) => {
                return Err(Trap::CallOutsideTextSegment);
            }
            Action::CallLocal | Action::CallRegister => {
                self.fill_frames(cell.imm);
                return Err(Trap::CallDepthExceeded);
            }
            Action::CallSyscall | Action::Cut | Action::Unsupported | Action::End => {
                return Err(Trap::UnsupportedInstruction);
            }
        };
        match kind {
            Kind::Exit => Ok(Flow::Bail),
            Kind::Alu(alu, width, right) => {
                let right = if right == Operand::Reg { self.get(cell.src) } else { cell.imm };
                let value = alu.eval(width, self.get(cell.dst), right)?;
                self.set(cell.dst, value);
                Ok(Flow::Next)
            }
            Kind::Load(_) | Kind::StoreImm(_) | Kind::StoreReg(_) => {
                if self.access_far(cell.action(), cell).is_none() {
                    self.ask_host(cell, host)?;
                }
                Ok(Flow::Next)
            }
            Kind::Endian(_) => Err(Trap::InvalidInstruction),
            _ => Err(Trap::UnsupportedInstruction),
        }
    }

    /// Executes a load or store through whichever region its address belongs to; `None` if it is
    /// refused.
    #[inline(always)]
    fn access_far(&mut self, action: Action, cell: &Cell) -> Option<()> {
        let memory = &mut self.memory;
        if let Action::Row(Kind::Load(size)) = action {
            let vaddr = self.registers[cell.src as usize].wrapping_add(cell.offset());
            self.registers[cell.dst as usize] = match size {
                Size::B => u64::from(u8::from_le_bytes(memory.load_far(vaddr)?)),
                Size::H => u64::from(u16::from_le_bytes(memory.load_far(vaddr)?)),
                Size::W => u64::from(u32::from_le_bytes(memory.load_far(vaddr)?)),
                Size::Dw => u64::from_le_bytes(memory.load_far(vaddr)?),
            };
            return Some(());
        }
        let (size, value) = match action {
            Action::Row(Kind::StoreImm(size)) => (size, cell.imm),
            Action::Row(Kind::StoreReg(size)) => (size, self.registers[cell.src as usize]),
            _ => return None,
        };
        let vaddr = self.registers[cell.dst as usize].wrapping_add(cell.offset());
        let bytes = value.to_le_bytes();
        match size {
            Size::B => memory.store_far::<1>(vaddr, cut(bytes)),
            Size::H => memory.store_far::<2>(vaddr, cut(bytes)),
            Size::W => memory.store_far::<4>(vaddr, cut(bytes)),
            Size::Dw => memory.store_far::<8>(vaddr, bytes),
        }
    }

    /// Lets the host change the region of a refused access, and tries once more.
    fn ask_host(&mut self, cell: &Cell, host: &mut dyn Host) -> Result<(), Trap> {
        let (access, base, size) = match cell.action() {
            Action::Row(Kind::Load(size)) => (Access::Load, cell.src, size),
            Action::Row(Kind::StoreImm(size) | Kind::StoreReg(size)) => {
                (Access::Store, cell.dst, size)
            }
            _ => return Err(Trap::UnsupportedInstruction),
        };
        let (vaddr, len) = (self.get(base).wrapping_add(cell.offset()), size.bytes());
        self.memory.reconsider(access, vaddr, len, |violation, region| {
            host.access_violation(violation, region);
        })?;
        self.access_far(cell.action(), cell)
            .ok_or_else(|| self.memory.violation(access, vaddr, len))
    }

    #[inline]
    fn syscall(&mut self, cell: &Cell, host: &mut dyn Host) -> Result<(), Trap> {
        let id = SyscallId(u16::try_from(cell.aux).map_err(|_| Trap::UnsupportedInstruction)?);
        let arguments = array::from_fn(|index| self.registers[index + 1]);
        self.registers[0] = host
            .syscall(id, arguments, &mut self.memory, &mut self.meter)
            .map_err(Trap::Syscall)?;
        Ok(())
    }
}

#[inline(always)]
fn cut<const N: usize>(bytes: [u8; 8]) -> [u8; N] {
    array::from_fn(|index| bytes[index])
}

/// Runs ahead until an instruction needs [`step`], until a run might exceed the budget, or until the
/// chain of handlers is as long as it may be.
pub(crate) fn sprint(program: &Decoded, machine: &mut Machine<'_>) {
    let remaining = if machine.metered { machine.meter.remaining() } else { u64::MAX };
    let units = remaining.min(program.chain_units);
    let left = enter(machine, program, machine.pc, units);
    if machine.metered {
        machine.meter.set_remaining(remaining - units + left);
    }
}

/// Executes the instruction at the cursor and those behind it, within a run that is charged
/// already. Gives the units that are left.
pub(crate) type Handler = for<'p> fn(&mut Machine<'_>, &'p Decoded, Cursor<'p>, u64) -> u64;

/// Charges the run that starts at `pc`, and executes it.
#[inline(always)]
fn enter(machine: &mut Machine<'_>, program: &Decoded, pc: usize, units: u64) -> u64 {
    if let Some(cursor) = program.cells.cursor(pc)
        && let Some(units) = units.checked_sub(u64::from(cursor.cell().run))
    {
        return go(machine, program, cursor, units);
    }
    stop(machine, pc, units)
}

#[inline(always)]
fn go<'p>(machine: &mut Machine<'_>, program: &'p Decoded, cursor: Cursor<'p>, units: u64) -> u64 {
    (cursor.cell().handler)(machine, program, cursor, units)
}

#[inline(always)]
fn stop(machine: &mut Machine<'_>, pc: usize, units: u64) -> u64 {
    machine.pc = pc;
    units
}

/// Stops before the instruction at the cursor. What was charged for it and for the rest of its run
/// is given back.
#[inline(always)]
fn stop_before(
    machine: &mut Machine<'_>,
    program: &Decoded,
    cursor: Cursor<'_>,
    units: u64,
) -> u64 {
    stop(machine, program.cells.pc(cursor), units + u64::from(cursor.cell().run))
}

#[allow(unsafe_code, reason = "the handler of the end does not move on")]
fn handle<const CODE: usize, const GAPS: bool>(
    machine: &mut Machine<'_>,
    program: &Decoded,
    cursor: Cursor<'_>,
    units: u64,
) -> u64 {
    if const { CODE == code::END as usize } {
        return end(machine, program, cursor, units);
    }
    let cell = cursor.cell();
    // SAFETY: the cursor is not at the end: cells carry the handler of their code, the end has
    // another code than all others, and for that code this line is not reached.
    let next = unsafe { cursor.next() };
    match machine.execute::<GAPS>(const { ACTIONS[CODE] }, cell, program.cells.len()) {
        Flow::Next => go(machine, program, next, units),
        // SAFETY: without a slot behind it, an `lddw` is not decoded as one.
        Flow::Skip => go(machine, program, unsafe { next.next() }, units),
        Flow::Goto(target) => enter(machine, program, target, units),
        // What was charged for the rest of the run is given back.
        Flow::Branch(target) => enter(machine, program, target, units + u64::from(cell.run) - 1),
        Flow::Bail if const { accesses_memory(ACTIONS[CODE]) } => {
            handle_far::<CODE>(machine, program, cursor, units)
        }
        Flow::Bail => stop_before(machine, program, cursor, units),
    }
}

/// The end of the program, which tells how deep the chain is on the host's stack.
#[cold]
#[inline(never)]
fn end(machine: &mut Machine<'_>, program: &Decoded, cursor: Cursor<'_>, units: u64) -> u64 {
    let here = 0_u8;
    machine.chain_end = &raw const here as usize;
    stop_before(machine, program, cursor, units)
}

const fn accesses_memory(action: Action) -> bool {
    matches!(action, Action::Row(Kind::Load(_) | Kind::StoreImm(_) | Kind::StoreReg(_)))
}

/// Loads or stores through another region than the one that the window tries first. A handler of
/// its own, so that those of loads and stores call nothing and need no stack.
#[allow(unsafe_code, reason = "loads and stores are not the end")]
#[inline(never)]
fn handle_far<const CODE: usize>(
    machine: &mut Machine<'_>,
    program: &Decoded,
    cursor: Cursor<'_>,
    units: u64,
) -> u64 {
    match machine.access_far(const { ACTIONS[CODE] }, cursor.cell()) {
        // SAFETY: the cursor is at a load or store, which is not the end.
        Some(()) => go(machine, program, unsafe { cursor.next() }, units),
        None => stop_before(machine, program, cursor, units),
    }
}

/// The handlers for a version, by the codes of [`ACTIONS`].
pub(crate) fn handlers(version: Version) -> &'static [Handler; 256] {
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
