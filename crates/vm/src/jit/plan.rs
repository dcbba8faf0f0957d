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
    class::{self, classify},
    scope::Slots,
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
    /// The number of the base value: all addresses of the group are offsets from it.
    value: u32,
    /// The offset of the base register from that value at the first access.
    base_at: i32,
    /// The offset of the first byte from the base value.
    min: i32,
    /// The offset after the last byte.
    pub(super) end: i32,
    /// The offset of the first byte of the last access.
    last: i32,
    /// The base register of the first access.
    pub(super) base: Register,
    /// Whether one of the accesses is a store.
    pub(super) store: bool,
    /// Whether a branch followed the first access.
    is_crossed: bool,
    /// The index under which the pointer is spilled, if it is.
    pub(super) number: u8,
    pub(super) is_spilled: bool,
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "spans are short")]
impl Group {
    const NONE: Self = Self {
        value: 0,
        base_at: 0,
        min: 0,
        end: 0,
        last: 0,
        base: Register::R0,
        store: false,
        is_crossed: false,
        number: 0,
        is_spilled: false,
    };

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
    pub(super) group: u16,
    pub(super) access: AccessPath,
}

/// A block. Steps and groups are written in place, field by field: wide copies directly after
/// narrow stores stall.
#[derive(Debug)]
pub(super) struct Block<'p> {
    steps: Vec<Step<'p>>,
    len: usize,
    pub(super) groups: Vec<Group>,
    group_count: u16,
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
pub(super) const SPILLED_MAX: usize = 8;
const NO_GROUP: u16 = u16::MAX;
/// The base value of r10, if only calls change it.
const FRAME: u32 = 0;

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
    /// For each register, a base value and the offset from it.
    values: [(u32, i32); 16],
    value_count: u32,
    /// The groups that accesses may join, by the index under which their pointer is spilled.
    recent: [u16; SPILLED_MAX],
    next_number: usize,
    /// The group whose pointer is in the pointer register.
    current_group: u16,
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
            values: [(0, 0); 16],
            value_count: 0,
            recent: [NO_GROUP; SPILLED_MAX],
            next_number: 0,
            current_group: NO_GROUP,
        }
    }

    /// Plans the block that starts at a slot.
    pub(super) fn plan(&mut self, start: usize, leaders: &Slots, block: &mut Block<'p>) {
        self.start();
        let mut pc = start;
        let mut len = 0;
        block.group_count = 0;
        block.falls_through = true;
        let insns = self.program.text.all();
        while let Some(insn) = insns.get(pc) {
            let Some(step) = block.steps.get_mut(len) else { break };
            if pc != start && leaders.contains(pc) {
                break;
            }
            let (insn, class) = classify(self.program, insn);
            step.insn = insn;
            step.pc = u32::try_from(pc).expect("instructions hold slots in 32 bits");
            step.access = AccessPath::No;
            if class == class::WRITES {
                self.set_unknown(insn.dst);
            } else if class & (class::LOADS | class::STORES) != 0 {
                let groups = &mut block.groups[..];
                self.access(class, insn, step, groups, &mut block.group_count);
                if class & class::LOADS != 0 {
                    self.set_unknown(insn.dst);
                }
            } else if class & class::WRITES != 0 {
                self.follow(class, insn);
            }
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
                let groups = &mut block.groups[..usize::from(block.group_count)];
                groups.iter_mut().for_each(|group| group.is_crossed = true);
            }
        }
        block.len = len;
        block.end = pc;
    }

    fn start(&mut self) {
        self.values = const {
            let mut values = [(0, 0); 16];
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
        self.recent = [NO_GROUP; SPILLED_MAX];
        self.next_number = 0;
        self.current_group = NO_GROUP;
    }

    #[inline(always)]
    fn set_unknown(&mut self, register: Register) {
        self.value_count += 1;
        self.values[register as usize] = (self.value_count, 0);
    }

    /// Tracks the effect of an instruction other than an access on the registers.
    #[inline(always)]
    fn follow(&mut self, class: u16, insn: &DecodedInsn) {
        if class & class::COPIES != 0 {
            self.values[insn.dst as usize] = self.values[insn.src as usize];
        } else if class & (class::ADDS | class::SUBTRACTS) != 0 {
            let imm = insn.imm.cast_signed();
            let imm = if class & class::ADDS != 0 { imm } else { imm.wrapping_neg() };
            let (value, at) = self.values[insn.dst as usize];
            let at = i64::from(at).wrapping_add(imm);
            match i32::try_from(at) {
                Ok(near) if (-FAR..FAR).contains(&at) => {
                    self.values[insn.dst as usize] = (value, near);
                }
                _ => self.set_unknown(insn.dst),
            }
        } else {
            self.set_unknown(insn.dst);
            if class & class::DIVIDES != 0 {
                self.current_group = NO_GROUP;
            }
        }
    }

    /// Assigns an access to a group, or starts a new one.
    #[inline(always)]
    fn access(
        &mut self,
        class: u16,
        insn: &DecodedInsn,
        step: &mut Step<'_>,
        groups: &mut [Group],
        group_count: &mut u16,
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
        if self.join_group(value, at, end, store, step, groups) {
            return;
        }
        let index = *group_count;
        *group_count += 1;
        let group = &mut groups[usize::from(index)];
        group.value = value;
        group.base = base;
        group.base_at = base_at;
        group.min = at;
        group.end = end;
        group.last = at;
        group.store = store;
        group.is_crossed = false;
        group.is_spilled = false;
        let [number, ..] = self.next_number.to_le_bytes();
        group.number = number;
        self.recent[self.next_number] = index;
        self.next_number = (self.next_number + 1) % SPILLED_MAX;
        self.current_group = index;
        step.group = index;
        step.access = AccessPath::First;
    }

    /// Adds an access of the bytes from `at` to `end` to a recent group. Returns whether there is
    /// one that it can join.
    #[inline(always)]
    fn join_group(
        &mut self,
        value: u32,
        at: i32,
        end: i32,
        store: bool,
        step: &mut Step<'_>,
        groups: &mut [Group],
    ) -> bool {
        for index in self.recent {
            if index == NO_GROUP {
                break;
            }
            let group = &mut groups[usize::from(index)];
            if group.value != value {
                continue;
            }
            let (min, max) = (group.min.min(at), group.end.max(end));
            let is_covered = (min, max) == (group.min, group.end) && at <= group.last;
            if group.is_crossed && (store && !group.store || !is_covered && !self.speculates) {
                continue;
            }
            if max - min > self.span_max {
                continue;
            }
            (group.min, group.end) = (min, max);
            group.last = group.last.max(at);
            group.store |= store;
            step.group = index;
            step.access = AccessPath::InRegister;
            if self.current_group != index {
                step.access = AccessPath::Reload;
                group.is_spilled = true;
            }
            self.current_group = index;
            return true;
        }
        false
    }
}
