//! Lowers instructions to the operations of a processor, independent of its kind.
//!
//! Only the common case becomes machine code. For any other (a refused access, a budget that ends
//! within a block, a division by zero, an invalid instruction), machine code exits before the
//! instruction, and the interpreter executes it.

use selkie_isa::{Alu, Cond, Endian, Kind, Op, Operand, Size, Width, for_each_op};

use super::{
    class::{self, class_of},
    plan::{AccessPath, Block, Group, Planner, Step},
    scope::{Effects, Scope},
    site::Check,
};
use crate::{
    config::Config,
    decoded::{ACTIONS, Action, DecodedInsn, Register, code},
    program::Program,
};

/// A side exit: where the interpreter takes over from machine code.
#[derive(Clone, Copy, Debug)]
pub(super) struct SideExit {
    /// The slot of the instruction, which was not executed.
    pub(super) pc: u32,
    /// Compute units already charged for it and for the rest of its block.
    pub(super) refund: u8,
}

/// The right-hand side of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Register(Register),
    Constant(u64),
    /// r10, if only calls change it, so that it is not in a register.
    FramePointer,
}

/// The location of an access that has been checked.
#[derive(Clone, Copy, Debug)]
pub(super) enum MemLocation {
    /// This far from the end of the current stack frame.
    Frame(i32),
    /// This far from the pointer of the last check or reload: see [`Target::POINTS_TO_LAST`].
    Pointer(i32),
}

/// Where control continues.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// At a block.
    Block(u32),
    /// In the interpreter, because there is no such slot.
    Exit(SideExit),
}

/// What is told of branches before they are emitted.
pub(super) trait NumberBranch {
    /// Names the branch that comes next, for counters.
    fn number_branch(&mut self, pc: u32);
}

/// The code generator of a processor. Registers are r0 to r9, and r10 if the program changes it.
pub(super) trait Target: NumberBranch {
    /// Whether the pointers of checks point to the last byte of their groups, and not to the first.
    const POINTS_TO_LAST: bool;

    /// Returns whether the block of a slot is written.
    fn is_written(&self, pc: usize) -> bool;
    /// Returns whether the unit has reached its maximum size. Code that is not written then is
    /// compiled later, or interpreted.
    fn is_full(&self) -> bool;
    /// Starts a block: charges its instructions.
    fn block(&mut self, pc: u32, cost: u8);
    /// Starts an instruction.
    fn instruction(&mut self, pc: u32);
    /// All arithmetic except divisions.
    fn alu(&mut self, alu: Alu, width: Width, dst: Register, value: Value);
    /// Quotients and remainders. Exits where they trap. A constant divisor is not 0.
    fn divide(&mut self, alu: Alu, width: Width, dst: Register, value: Value, exit: SideExit);
    /// `dst = value + addend`, 64 bits.
    fn sum(&mut self, dst: Register, value: Value, addend: i32);
    fn negate(&mut self, width: Width, dst: Register);
    /// `bits` is 16, 32 or 64.
    fn endian(&mut self, order: Endian, bits: u8, dst: Register);
    /// Emits a bounds check, and exits if it fails. The pointer register then holds the host
    /// address of the first or last byte of the group, and is spilled under the given index, if
    /// any.
    fn check(&mut self, check: Check, spilled: Option<u8>, exit: SideExit);
    /// Reloads a spilled pointer into the pointer register.
    fn reload(&mut self, spilled: u8);
    fn load(&mut self, size: Size, dst: Register, location: MemLocation);
    fn store(&mut self, size: Size, location: MemLocation, value: Value);
    /// Continues at `next` if the condition holds; then `refund` compute units of the block are
    /// refunded.
    fn branch(
        &mut self,
        cond: Cond,
        width: Width,
        left: Value,
        right: Value,
        next: Next,
        refund: u8,
    );
    fn jump(&mut self, next: Next);
    /// Calls a function that overwrites these of r6 to r9 (lowest bit first).
    fn call(&mut self, slot: u32, overwritten: u8, exit: SideExit);
    /// Starts an inlined call. The instructions of the function follow; they cost `cost` compute
    /// units, never exit, and neither change r6 to r10 nor read r10.
    fn call_inlined(&mut self, slot: u32, cost: u8, exit: SideExit);
    /// Ends an inlined call.
    fn end_inlined(&mut self);
    fn call_register(&mut self, register: Register, exit: SideExit);
    fn syscall(&mut self, id: u32, exit: SideExit);
    fn exit(&mut self, pc: u32);
    fn give_up(&mut self, exit: SideExit);
    /// Ends a block. Cold code may be emitted here, unless `open` says that control continues in
    /// the next block.
    fn end_block(&mut self, open: bool);
}

/// Emits the code of a compilation unit.
pub(super) fn lower<T: Target>(
    program: &Program,
    config: &Config,
    scope: &Scope,
    effects: &mut Effects,
    target: &mut T,
) {
    let mut planner = Planner::new(program, config);
    let fixed_frames = !program.executable().version().dynamic_frames();
    let slots = program.slots();
    let mut lowering = Lowering { program, slots, fixed_frames, effects, target };
    let mut block = Block::new(program);
    lowering.effects.begin_unit(scope.slots);
    for start in &scope.starts {
        let mut start = *start as usize;
        while !lowering.target.is_written(start) && !lowering.target.is_full() {
            planner.plan(start, &scope.leaders, &mut block);
            lowering.block(start, &block);
            start = block.end;
            if !block.falls_through || start >= slots {
                break;
            }
            let target = &lowering.target;
            if !scope.is_own(start) || target.is_written(start) || target.is_full() {
                lowering.target.jump(Next::Block(slot(start)));
                break;
            }
            lowering.target.end_block(true);
        }
        lowering.target.end_block(false);
    }
}

/// The most instructions of an inlined function, without its `exit`.
const LEAF_MAX: usize = 8;

/// Returns the instructions of a function before its `exit`, if it can be inlined: none of them can
/// exit to the interpreter or changes a register that calls save.
fn leaf(program: &Program, slot: usize) -> Option<&[DecodedInsn]> {
    let insns = program.decoded().text.all().get(slot..)?;
    let mut short = insns.iter().take(LEAF_MAX + 1);
    let len = short.position(|insn| insn.action() == Action::Row(Kind::Exit))?;
    let is_simple = |insn: &DecodedInsn| {
        let first_saved = Register::R6 as usize;
        let class = class_of(insn) & !(class::COPIES | class::ADDS | class::SUBTRACTS);
        class == class::WRITES
            && !matches!(insn.action(), Action::Row(Kind::Endian(_)))
            && (insn.dst as usize) < first_saved
            && insn.src != Register::R10
            && (insn.src as usize) < 11
    };
    insns[..len].iter().all(is_simple).then_some(&insns[..len])
}

struct Lowering<'t, T> {
    slots: usize,
    /// Whether only calls change r10.
    fixed_frames: bool,
    program: &'t Program,
    effects: &'t mut Effects,
    target: &'t mut T,
}

/// Emits a step of a block, of which so many compute units are left.
type Row<T> = fn(&mut Lowering<'_, T>, &Step<'_>, &[Group], u8);

fn step<T: Target, const CODE: usize>(
    lowering: &mut Lowering<'_, T>,
    step: &Step<'_>,
    groups: &[Group],
    refund: u8,
) {
    let exit = SideExit { pc: step.pc, refund };
    lowering.step(const { ACTIONS[CODE] }, step, exit, groups);
}

/// A function for each code of [`ACTIONS`], specialized for that code, so that each instruction is
/// dispatched once.
struct Rows<T>(T);

impl<T: Target> Rows<T> {
    const ROWS: [Row<T>; 256] = {
        macro_rules! rows {
            ($($opcode:literal, $versions:ident => $name:ident = $mnemonic:literal, $kind:expr;)*) => {
                [$(step::<T, { Op::$name as usize }> as Row<T>),*]
            };
        }
        let rows = for_each_op!(rows);
        let mut all: [Row<T>; 256] = [step::<T, { code::UNSUPPORTED as usize }>; 256];
        let mut index = 0;
        while index < rows.len() {
            all[index] = rows[index];
            index += 1;
        }
        all[code::CALL_LOCAL as usize] = step::<T, { code::CALL_LOCAL as usize }>;
        all[code::CALL_SYSCALL as usize] = step::<T, { code::CALL_SYSCALL as usize }>;
        all[code::CALL_REGISTER as usize] = step::<T, { code::CALL_REGISTER as usize }>;
        all
    };
}

/// Converts a slot, which fits 32 bits.
#[allow(clippy::cast_possible_truncation, reason = "instructions hold targets in 32 bits")]
fn slot(slot: usize) -> u32 {
    slot as u32
}

impl<T: Target> Lowering<'_, T> {
    fn next(&self, target: usize, refund: u8) -> Next {
        if target < self.slots {
            Next::Block(slot(target))
        } else {
            Next::Exit(SideExit { pc: slot(target), refund })
        }
    }

    fn block(&mut self, start: usize, block: &Block<'_>) {
        let steps = block.steps();
        let mut left = u8::try_from(steps.len()).expect("blocks are short");
        self.target.block(slot(start), left);
        let mut steps = steps.iter();
        while let Some(step) = steps.next() {
            self.target.instruction(step.pc);
            if step.insn.code == Op::Mov64Reg as u8
                && let [second, ..] = steps.as_slice()
                && self.fused(step.insn, second.insn)
            {
                let _ = steps.next();
                left -= 2;
                continue;
            }
            Rows::<T>::ROWS[usize::from(step.insn.code)](self, step, &block.groups, left);
            left -= 1;
        }
        if block.falls_through && block.end >= self.slots {
            self.target.give_up(SideExit { pc: slot(block.end), refund: 0 });
        }
    }

    /// Fuses a copy and an addition to its result.
    fn fused(&mut self, first: &DecodedInsn, second: &DecodedInsn) -> bool {
        if second.code != Op::Add64Imm as u8 || second.dst != first.dst {
            return false;
        }
        let Ok(addend) = i32::try_from(second.imm.cast_signed()) else { return false };
        let fits = self.is_written(first.dst) && (first.src as usize) < 11;
        if fits {
            let value = self.register(first.src);
            self.target.sum(first.dst, value, addend);
        }
        fits
    }

    /// Returns whether machine code has the register and may write it. Verified programs write no
    /// others.
    #[inline(always)]
    fn is_written(&self, register: Register) -> bool {
        (register as usize) < if self.fixed_frames { 10 } else { 11 }
    }

    #[inline(always)]
    fn register(&self, register: Register) -> Value {
        if self.fixed_frames && register == Register::R10 {
            Value::FramePointer
        } else {
            Value::Register(register)
        }
    }

    #[inline(always)]
    fn value(&self, insn: &DecodedInsn, operand: Operand) -> Value {
        match operand {
            Operand::Reg => self.register(insn.src),
            Operand::Imm | Operand::Uimm => Value::Constant(insn.imm),
        }
    }

    #[inline(always)]
    fn step(&mut self, action: Action, step: &Step<'_>, exit: SideExit, groups: &[Group]) {
        let insn = step.insn;
        let (dst, src) = (insn.dst, insn.src);
        let known = (dst as usize) < 11 && (src as usize) < 11;
        let Action::Row(kind) = action else {
            return self.call(action, insn, exit);
        };
        match kind {
            _ if !known => self.target.give_up(exit),
            Kind::StoreImm(size) => {
                self.store(size, Value::Constant(insn.imm), step, groups, exit);
            }
            Kind::StoreReg(size) => self.store(size, self.register(src), step, groups, exit),
            Kind::Jump => {
                let next = self.next(insn.aux as usize, 0);
                self.jump(next, exit);
            }
            Kind::Branch(cond, width, right) => {
                let refund = exit.refund - 1;
                let next = match self.next(insn.aux as usize, refund) {
                    Next::Block(slot) => Next::Block(slot),
                    // The interpreter executes the jump to nowhere.
                    Next::Exit(_) => Next::Exit(exit),
                };
                let (left, right) = (self.register(dst), self.value(insn, right));
                self.target.number_branch(exit.pc);
                self.target.branch(cond, width, left, right, next, refund);
            }
            Kind::Exit => self.target.exit(exit.pc),
            _ if !self.is_written(dst) => self.target.give_up(exit),
            Kind::Load(size) => match self.locate(step, groups, exit) {
                Some(location) => self.target.load(size, dst, location),
                None => self.target.give_up(exit),
            },
            Kind::Alu(alu, width, right) => {
                let value = self.value(insn, right);
                self.alu(alu, width, dst, value, exit);
            }
            Kind::Neg(width) => self.target.negate(width, dst),
            Kind::Endian(order) => match insn.imm {
                16 => self.target.endian(order, 16, dst),
                32 => self.target.endian(order, 32, dst),
                64 => self.target.endian(order, 64, dst),
                _ => self.target.give_up(exit),
            },
            Kind::LoadImm64 => {
                self.target.alu(Alu::Mov, Width::W64, dst, Value::Constant(insn.imm));
            }
            Kind::Tail | Kind::CallHash | Kind::CallStatic | Kind::CallReg(_) => {
                self.target.give_up(exit);
            }
        }
    }

    /// Lowers calls, and everything that is not a row of the instruction table.
    #[inline(always)]
    fn call(&mut self, action: Action, insn: &DecodedInsn, exit: SideExit) {
        match action {
            Action::CallLocal if (insn.aux as usize) < self.slots => {
                if let Some(insns) = leaf(self.program, insn.aux as usize) {
                    return self.inline(insns, insn.aux, exit);
                }
                let overwritten = self.effects.overwritten(self.program, insn.aux);
                self.target.call(insn.aux, overwritten, exit);
            }
            Action::CallSyscall => self.target.syscall(insn.aux, exit),
            Action::CallRegister if self.is_written(insn.src) => {
                self.target.call_register(insn.src, exit);
            }
            _ => self.target.give_up(exit),
        }
    }

    #[inline(always)]
    fn store(
        &mut self,
        size: Size,
        value: Value,
        step: &Step<'_>,
        groups: &[Group],
        exit: SideExit,
    ) {
        match self.locate(step, groups, exit) {
            Some(location) => self.target.store(size, location, value),
            None => self.target.give_up(exit),
        }
    }

    #[inline(always)]
    fn alu(&mut self, alu: Alu, width: Width, dst: Register, value: Value, exit: SideExit) {
        match (alu, value) {
            (Alu::Div | Alu::Mod | Alu::Sdiv | Alu::Srem, Value::Constant(constant))
                if width.truncate(constant) == 0 =>
            {
                self.target.give_up(exit);
            }
            (Alu::Div | Alu::Mod | Alu::Sdiv | Alu::Srem, _) => {
                self.target.divide(alu, width, dst, value, exit);
            }
            (Alu::Mov, Value::FramePointer) if width == Width::W64 => {
                self.target.sum(dst, value, 0);
            }
            _ => self.target.alu(alu, width, dst, value),
        }
    }

    #[inline(never)]
    fn inline(&mut self, insns: &[DecodedInsn], slot: u32, exit: SideExit) {
        let cost = u8::try_from(insns.len() + 1).expect("inlined functions are short");
        self.target.call_inlined(slot, cost, exit);
        for insn in insns {
            let step = Step { insn, pc: exit.pc, at: 0, group: 0, access: AccessPath::No };
            self.target.instruction(step.pc);
            Rows::<T>::ROWS[usize::from(insn.code)](self, &step, &[], 1);
        }
        self.target.end_inlined();
    }

    fn jump(&mut self, next: Next, exit: SideExit) {
        match next {
            Next::Block(_) => self.target.jump(next),
            Next::Exit(_) => self.target.give_up(exit),
        }
    }

    /// Emits what an access needs to get its pointer, and returns the location.
    #[inline(always)]
    fn locate(&mut self, step: &Step<'_>, groups: &[Group], exit: SideExit) -> Option<MemLocation> {
        let at = step.at;
        match step.access {
            AccessPath::No => return None,
            AccessPath::Frame => return Some(MemLocation::Frame(at)),
            AccessPath::First => {
                let group = groups.get(usize::from(step.group))?;
                let check = Check {
                    base: group.base,
                    disp: group.disp(),
                    span: group.span(),
                    stride: group.stride(),
                    store: group.store,
                    hint: 0,
                };
                self.target.check(check, group.is_spilled.then_some(group.number), exit);
            }
            AccessPath::Reload => {
                let group = groups.get(usize::from(step.group))?;
                self.target.reload(group.number);
            }
            AccessPath::InRegister => {}
        }
        let group = groups.get(usize::from(step.group))?;
        let pointer = if T::POINTS_TO_LAST { group.end - 1 } else { group.min };
        Some(MemLocation::Pointer(at - pointer))
    }
}

trait Truncate {
    fn truncate(self, value: u64) -> u64;
}

impl Truncate for Width {
    /// Returns what an operation of this width sees of a value.
    fn truncate(self, value: u64) -> u64 {
        if self == Width::W64 { value } else { value & u64::from(u32::MAX) }
    }
}
