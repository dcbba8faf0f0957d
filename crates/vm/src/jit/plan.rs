//! The planner: finds the blocks of a program and groups their memory accesses.
//!
//! A *block* is straight code with one entry: it starts at a leader, and ends before the next
//! leader, or with a jump, call, exit or backward branch. Forward branches may leave it in the
//! middle. A whole block is charged when it is entered.
//!
//! Accesses relative to the same unchanged base are checked together, by the first of them. If the
//! check fails, the interpreter executes the rest of the block and finds the access that is
//! refused, if there is one. If each window has one region, the check includes accesses after a
//! branch, since they most likely belong to the same region. With several regions per window that
//! is not likely. A store after a branch is not included if no store precedes it, because the
//! branch may exist to avoid writing to a read-only region.

use super::{
    class::{self, class_of, classify},
    slots::{Slots, next_slot},
};
use crate::{
    config::Config,
    decoded::{DecodedInsn, DecodedProgram, Register},
    program::Program,
};

/// How a load or store gets its host pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AccessPath {
    /// The instruction is not an access.
    No,
    /// The access is in the current stack frame: no check is needed.
    Frame,
    /// The access checks its group.
    First,
    /// The group is checked, but the pointer register was overwritten since: the pointer is
    /// reloaded.
    Reload,
    /// The pointer of the group is in the pointer register.
    InRegister,
}

/// A group: accesses that are checked together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// The group before this one whose addresses are offsets from the same base value, or
    /// [`NO_GROUP`].
    before: u8,
    /// The offset of the base register from that value at the first access.
    base_at: i32,
    /// The offset of the first byte from the base value.
    pub(super) min: i32,
    /// The offset after the last byte.
    pub(super) end: i32,
    /// The offset of the first byte of the last access.
    last: i32,
    /// The base register of the first access.
    pub(super) base: Register,
    /// Whether one of the accesses is a store.
    pub(super) store: bool,
    /// The index under which the pointer is spilled, if it is.
    pub(super) number: u8,
    pub(super) is_spilled: bool,
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "spans are short")]
impl Group {
    const NONE: Self = Self {
        before: NO_GROUP,
        base_at: 0,
        min: 0,
        end: 0,
        last: 0,
        base: Register::R0,
        store: false,
        number: 0,
        is_spilled: false,
    };

    /// Adds an access of the bytes from `at` to `end`.
    #[inline(always)]
    fn join(&mut self, at: i32, end: i32, store: bool) {
        self.min = self.min.min(at);
        self.end = self.end.max(end);
        self.last = self.last.max(at);
        self.store |= store;
    }

    /// Returns the offset of the first byte from the base register.
    #[inline(always)]
    pub(super) fn disp(&self) -> i32 {
        self.min - self.base_at
    }

    /// Returns the number of bytes from the first to the last.
    #[inline(always)]
    pub(super) fn span(&self) -> u16 {
        (self.end - self.min) as u16
    }

    /// Returns the distance from the start of the first access to that of the last, by address.
    #[inline(always)]
    pub(super) fn stride(&self) -> u16 {
        (self.last - self.min) as u16
    }
}

/// An instruction of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'p> {
    pub(super) insn: &'p DecodedInsn,
    pub(super) pc: u32,
    /// For accesses: the offset from the end of the stack frame, or from the base value of the
    /// group.
    pub(super) at: i32,
    pub(super) group: u8,
    pub(super) access: AccessPath,
}

/// A block. Steps and groups are written in place, field by field: wide copies directly after
/// narrow stores stall.
#[derive(Debug)]
pub(super) struct Block<'p> {
    steps: Vec<Step<'p>>,
    len: usize,
    pub(super) groups: Vec<Group>,
    group_count: u8,
    /// The slot after the last instruction.
    pub(super) end: usize,
    /// Whether control continues there.
    pub(super) falls_through: bool,
}

impl<'p> Block<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        let insn = program.decoded().text.end();
        let none = Step { insn, pc: 0, at: 0, group: 0, access: AccessPath::No };
        Self {
            steps: vec![none; STEPS_MAX],
            len: 0,
            groups: vec![Group::NONE; STEPS_MAX],
            group_count: 0,
            end: 0,
            falls_through: false,
        }
    }

    pub(super) fn steps(&self) -> &[Step<'p>] {
        &self.steps[..self.len]
    }
}

/// The most instructions of a block.
const STEPS_MAX: usize = 64;
/// The most bytes that one check covers.
const SPAN_MAX: i32 = 2048;
/// The largest offset from a base value that is tracked.
const FAR: i64 = 1 << 24;
/// The most pointers that are spilled.
pub(super) const SPILLED_MAX: u8 = 8;
const NO_GROUP: u8 = u8::MAX;
/// The base value of r10, if only calls change it.
const FRAME: u32 = 0;
/// The most base values of a block, rounded up: [`FRAME`], those of all registers at its start, and
/// one per instruction.
const VALUES_MAX: usize = 128;

/// Returns the most bytes that one check covers: no more than a stack frame, so that if both ends
/// are outside of gaps, so is everything between them.
pub(super) fn span_max(config: &Config) -> i32 {
    i32::try_from(config.stack_frame_bytes).unwrap_or(SPAN_MAX).min(SPAN_MAX)
}

/// Plans the blocks of a program.
#[derive(Debug)]
pub(super) struct Planner<'p> {
    program: &'p DecodedProgram,
    /// Bytes of a stack frame if only calls change r10; 0 otherwise.
    frame_bytes: i32,
    /// Whether checks cover accesses after a branch.
    speculates: bool,
    /// The most bytes that one check covers; in a stack with gaps, a frame at most.
    span_max: i32,
    /// For each register, a base value and the offset from it. The last entry is written in place
    /// of registers that do not change.
    values: [(u32, i32); 17],
    value_count: u32,
    /// For each base value, its latest group.
    latest: [u8; VALUES_MAX],
    /// The number of groups before the last branch.
    crossed: u8,
    /// The group whose pointer is in the pointer register.
    current_group: u8,
}

impl<'p> Planner<'p> {
    pub(super) fn new(program: &'p Program, config: &Config) -> Self {
        let version = program.executable().version();
        let fixed = !version.dynamic_frames();
        let bytes = i32::try_from(config.stack_frame_bytes).ok();
        Self {
            program: program.decoded(),
            frame_bytes: bytes.filter(|_| fixed).unwrap_or(0),
            speculates: config.aligned_memory || version.aligned_memory(),
            span_max: span_max(config),
            values: [(0, 0); 17],
            value_count: 0,
            latest: [NO_GROUP; VALUES_MAX],
            crossed: 0,
            current_group: NO_GROUP,
        }
    }

    /// Plans the block that starts at a slot.
    pub(super) fn plan(&mut self, start: usize, leaders: &Slots, block: &mut Block<'p>) {
        self.start();
        block.group_count = 0;
        block.falls_through = true;
        let (mut pc, mut len) = (start, 0);
        let program = self.program;
        let insns = program.text.all();
        loop {
            let from = if pc == start && !program.breaks_at(pc) { pc + 1 } else { pc };
            let straight_end = next_slot(&program.breaks, [leaders], from).min(insns.len());
            let count = straight_end.saturating_sub(pc).min(STEPS_MAX - len);
            for insn in &insns[pc..pc + count] {
                self.step(insn, class_of(insn), pc, len, block);
                (pc, len) = (pc + 1, len + 1);
            }
            let is_end = len == STEPS_MAX || pc != start && leaders.contains(pc);
            let Some(insn) = insns.get(pc).filter(|_| !is_end) else { break };
            let (insn, class) = classify(program, insn);
            self.step(insn, class, pc, len, block);
            len += 1;
            pc += 1 + usize::from(class & class::WIDE != 0);
            if class & class::ENDS_BLOCK != 0 {
                block.falls_through = class & (class::CALLS | class::CALLS_OUT) != 0;
                break;
            }
            if class & class::BRANCHES != 0 {
                if (insn.aux as usize) < pc {
                    break;
                }
                self.crossed = block.group_count;
            }
        }
        block.len = len;
        block.end = pc;
    }

    fn start(&mut self) {
        self.values = const {
            let mut values = [(0, 0); 17];
            let mut number = 0;
            while number < 16 {
                values[number as usize] = (number + 1, 0);
                number += 1;
            }
            values
        };
        if self.frame_bytes > 0 {
            self.values[10] = (FRAME, 0);
        }
        self.value_count = 17;
        self.latest.fill(NO_GROUP);
        self.crossed = 0;
        self.current_group = NO_GROUP;
    }

    /// Plans an instruction: how it gets its pointer, and what it does to the registers.
    #[inline(always)]
    fn step(
        &mut self,
        insn: &'p DecodedInsn,
        class: u16,
        pc: usize,
        index: usize,
        block: &mut Block<'p>,
    ) {
        let Block { steps, groups, group_count, .. } = block;
        let step = &mut steps[index];
        step.insn = insn;
        step.pc = number(pc);
        step.access = AccessPath::No;
        if class & (class::LOADS | class::STORES) != 0 {
            self.access(class, insn, step, groups, group_count);
        }
        self.follow(class, insn);
    }

    /// Tracks the effect of an instruction on the registers.
    #[inline(always)]
    fn follow(&mut self, class: u16, insn: &DecodedInsn) {
        if class & (class::COPIES | class::ADDS | class::SUBTRACTS | class::DIVIDES) != 0 {
            return self.follow_arithmetic(class, insn);
        }
        // Without a branch, which would be mispredicted.
        let to = if class & class::WRITES != 0 { insn.dst as usize } else { 16 };
        self.values[to] = (self.value_count, 0);
        self.value_count += 1;
    }

    #[inline(always)]
    fn follow_arithmetic(&mut self, class: u16, insn: &DecodedInsn) {
        if class & class::DIVIDES != 0 {
            self.current_group = NO_GROUP;
        }
        let from = if class & class::COPIES != 0 { insn.src } else { insn.dst };
        let (value, at) = self.values[from as usize];
        let imm = insn.imm.cast_signed();
        let added = if class & class::ADDS != 0 { imm } else { 0 };
        let added = if class & class::SUBTRACTS != 0 { imm.wrapping_neg() } else { added };
        let at = i64::from(at).wrapping_add(added);
        let is_known = class & class::DIVIDES == 0 && (-FAR..FAR).contains(&at);
        let fresh = self.value_count;
        #[allow(clippy::cast_possible_truncation, reason = "it is near")]
        let new = if is_known { (value, at as i32) } else { (fresh, 0) };
        self.values[insn.dst as usize] = new;
        self.value_count += 1;
    }

    /// Assigns an access to a group, or starts a new one.
    #[inline(always)]
    fn access(
        &mut self,
        class: u16,
        insn: &DecodedInsn,
        step: &mut Step<'_>,
        groups: &mut [Group],
        group_count: &mut u8,
    ) {
        let store = class & class::STORES != 0;
        let base = if store { insn.dst } else { insn.src };
        let (value, base_at) = self.values[base as usize];
        let at = base_at + insn.aux.cast_signed();
        let end = at + (1 << (class >> class::SIZE_SHIFT & 3));
        step.at = at;
        if value == FRAME && at >= -self.frame_bytes && end <= 0 {
            step.access = AccessPath::Frame;
            return;
        }
        let count = *group_count;
        let latest = value as usize % VALUES_MAX;
        let before = self.latest[latest];
        if let Some(index) = self.joinable(groups, count, before, (at, end), store) {
            let group = &mut groups[usize::from(index)];
            group.join(at, end, store);
            group.is_spilled |= self.current_group != index;
            step.access = match self.current_group == index {
                true => AccessPath::InRegister,
                false => AccessPath::Reload,
            };
            step.group = index;
            self.current_group = index;
            return;
        }
        self.latest[latest] = count;
        *group_count += 1;
        let group = &mut groups[usize::from(count)];
        group.before = before;
        group.base = base;
        group.base_at = base_at;
        group.min = at;
        group.end = end;
        group.last = at;
        group.store = store;
        group.is_spilled = false;
        group.number = count % SPILLED_MAX;
        self.current_group = count;
        step.group = count;
        step.access = AccessPath::First;
    }

    /// Returns the group that an access of the bytes from `at` to `end` may join, if there is one.
    /// `index` is the latest group of its base value, `count` the number of groups.
    #[inline(always)]
    fn joinable(
        &self,
        groups: &[Group],
        count: u8,
        mut index: u8,
        (at, end): (i32, i32),
        store: bool,
    ) -> Option<u8> {
        // The pointers of older groups may not be in their places any more.
        while index != NO_GROUP && count - index <= SPILLED_MAX {
            let group = &groups[usize::from(index)];
            let (min, max) = (group.min.min(at), group.end.max(end));
            let is_covered = (min, max) == (group.min, group.end) && at <= group.last;
            let is_crossed = index < self.crossed;
            let is_barred =
                is_crossed && (store && !group.store || !is_covered && !self.speculates);
            if !is_barred && max - min <= self.span_max {
                return Some(index);
            }
            index = group.before;
        }
        None
    }
}

/// Converts a slot, which fits 32 bits.
#[allow(clippy::cast_possible_truncation, reason = "instructions hold slots in 32 bits")]
fn number(slot: usize) -> u32 {
    slot as u32
}
