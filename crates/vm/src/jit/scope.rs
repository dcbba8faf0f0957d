//! What is compiled at a time: the code that control comes to from one slot on.
//!
//! A *unit* starts with a function, and has all that its jumps lead to. Functions that it calls are
//! units of their own, compiled once they are called, unless more is asked for at a time. Code that
//! an earlier unit has is not written again where a block of it starts.

use selkie_isa::layout::SLOT_BYTES;

use crate::{
    jit::plan::{class, classify},
    program::Program,
};

/// A set of slots.
#[derive(Debug)]
pub(super) struct Slots(Vec<u64>);

impl Slots {
    fn new(len: usize) -> Self {
        Self(vec![0; len / 64 + 1])
    }

    /// Tells whether it is new. Numbers beyond the program are ignored.
    #[inline(always)]
    fn insert(&mut self, slot: usize) -> bool {
        let Some(word) = self.0.get_mut(slot / 64) else { return false };
        let before = *word;
        *word |= 1 << (slot % 64);
        *word != before
    }

    #[inline(always)]
    pub(super) fn contains(&self, slot: usize) -> bool {
        self.0.get(slot / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    fn remove(&mut self, slot: usize) {
        if let Some(word) = self.0.get_mut(slot / 64) {
            *word &= !(1 << (slot % 64));
        }
    }
}

/// What belongs to a unit.
#[derive(Debug)]
pub(super) struct Scope {
    /// Slots of the program.
    len: usize,
    /// Where blocks start, those of other units included that control goes on at.
    pub(super) leaders: Slots,
    /// Where the unit's own blocks start, in ascending order.
    pub(super) starts: Vec<u32>,
    /// How many slots the unit has.
    pub(super) slots: usize,
    /// Leaders of other units.
    others: Vec<u32>,
    callees: Vec<u32>,
    seen: Slots,
    /// Stretches of slots that were seen.
    walks: Vec<(usize, usize)>,
    /// Where blocks of earlier units start.
    compiled: Slots,
}

impl Scope {
    pub(super) fn new(program: &Program) -> Self {
        let len = program.cells.len();
        Self {
            len,
            leaders: Slots::new(len),
            starts: Vec::new(),
            slots: 0,
            others: Vec::new(),
            callees: Vec::new(),
            seen: Slots::new(len),
            walks: Vec::new(),
            compiled: Slots::new(len),
        }
    }

    /// Whether a block of an earlier unit starts at a slot.
    #[inline(always)]
    pub(super) fn is_compiled(&self, slot: usize) -> bool {
        self.compiled.contains(slot)
    }

    pub(super) fn set_compiled(&mut self, slot: usize) {
        self.compiled.insert(slot);
    }

    /// Finds what belongs to the unit of a slot. With fewer slots than are wanted, functions that
    /// it calls belong to it too, and what they call, until there are as many; and where a register
    /// may lead, which is guessed from constants that are addresses of code.
    pub(super) fn find(&mut self, program: &Program, root: usize, slots_wanted: usize) {
        self.clear();
        let text = Text::new(program);
        self.lead(root);
        if slots_wanted == usize::MAX {
            text.pointers(program, &mut self.callees);
        }
        let (mut walked, mut called) = (0, 0);
        loop {
            while let Some(&start) = self.starts.get(walked) {
                walked += 1;
                self.walk(program, &text, start as usize);
            }
            let next = self.callees.get(called).filter(|_| self.slots < slots_wanted);
            let Some(&callee) = next else { break };
            called += 1;
            self.lead(callee as usize);
        }
        self.starts.sort_unstable();
    }

    fn clear(&mut self) {
        for slot in self.starts.drain(..).chain(self.others.drain(..)) {
            self.leaders.remove(slot as usize);
        }
        for (start, end) in self.walks.drain(..) {
            self.seen.0[start / 64..=end / 64].fill(0);
        }
        self.callees.clear();
        self.slots = 0;
    }

    #[inline(always)]
    fn lead(&mut self, slot: usize) {
        if slot < self.len && self.leaders.insert(slot) {
            let list = if self.compiled.contains(slot) { &mut self.others } else { &mut self.starts };
            list.push(number(slot));
        }
    }

    /// Follows straight code to its end.
    fn walk(&mut self, program: &Program, text: &Text, start: usize) {
        let cells = program.cells.all();
        let mut pc = start;
        while let Some(cell) = cells.get(pc) {
            if pc != start && self.compiled.contains(pc) {
                self.lead(pc);
                break;
            }
            if !self.seen.insert(pc) {
                break;
            }
            self.slots += 1;
            let (cell, class) = classify(program, cell);
            let at = pc;
            pc += 1;
            if class & (class::LEADS | class::WIDE | class::ENDS) == 0 {
                continue;
            }
            let target = cell.aux as usize;
            if class & class::WIDE != 0 {
                pc += 1;
                self.callees.extend(text.slot(cell.imm).map(number));
            } else if class & class::BRANCHES != 0 {
                self.lead(target);
                if target <= at {
                    self.lead(pc);
                }
            } else if class & class::JUMPS != 0 {
                self.lead(target);
                break;
            } else if class & class::ENDS != 0 {
                break;
            } else {
                self.lead(pc);
                if class & class::CALLS != 0 {
                    self.callees.push(cell.aux);
                }
            }
        }
        self.walks.push((start, pc.min(self.len)));
    }
}

#[allow(clippy::cast_possible_truncation, reason = "cells hold slots in 32 bits")]
fn number(slot: usize) -> u32 {
    slot as u32
}

/// Where the code is in the guest's memory.
struct Text {
    vaddr: u64,
    bytes: u64,
}

impl Text {
    fn new(program: &Program) -> Self {
        let bytes = (program.cells.len() * SLOT_BYTES) as u64;
        Self { vaddr: program.executable().text_vaddr(), bytes }
    }

    /// The slot at an address.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "less than the length of the text")]
    fn slot(&self, vaddr: u64) -> Option<usize> {
        let offset = vaddr.wrapping_sub(self.vaddr);
        (offset < self.bytes && offset.is_multiple_of(SLOT_BYTES as u64))
            .then_some(offset as usize / SLOT_BYTES)
    }

    /// Adds the slots that addresses in read-only data point to.
    fn pointers(&self, program: &Program, slots: &mut Vec<u32>) {
        let data = program.executable().read_only();
        let bytes: &[u8] = &data.bytes;
        // Where the code itself is part of it.
        let start = usize::try_from(self.vaddr.wrapping_sub(data.vaddr)).unwrap_or(usize::MAX);
        let start = start.min(bytes.len());
        let end = start.saturating_add(program.cells.len() * SLOT_BYTES).min(bytes.len());
        for bytes in [&bytes[..start], &bytes[end..]] {
            let words = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
            slots.extend(words.filter_map(|word| self.slot(word)).map(number));
        }
    }
}

/// What calls of functions change, found out once for each.
#[derive(Debug)]
pub(super) struct Effects {
    /// By slot: 0 where nothing is known yet.
    known: Vec<u8>,
}

/// Stands beside the registers of what is known.
const KNOWN: u8 = 1 << 7;
/// All of r6 to r9.
const ALL: u8 = 0b1111;
/// How far a function is followed.
const FUNCTION_SLOTS_MAX: usize = 1024;

impl Effects {
    pub(super) fn new(program: &Program) -> Self {
        Self { known: vec![0; program.cells.len()] }
    }

    /// Which of r6 to r9 (lowest bit first) may have changed when a function returns, if its call
    /// saves none. What it calls saves them in turn.
    pub(super) fn overwritten(&mut self, program: &Program, slot: u32) -> u8 {
        let Some(known) = self.known.get_mut(slot as usize) else { return ALL };
        if *known == 0 {
            *known = KNOWN | written(program, slot as usize);
        }
        *known & ALL
    }
}

/// Which of r6 to r9 the code of a function writes; all of them if control may leave it other than
/// by an exit. The function is what lies between its start and the first end behind all that its
/// jumps lead to.
fn written(program: &Program, start: usize) -> u8 {
    let mut written: u32 = 0;
    let mut reach = start;
    let mut is_tail = false;
    for (pc, cell) in program.cells.all().iter().enumerate().skip(start).take(FUNCTION_SLOTS_MAX) {
        let (cell, class) = classify(program, cell);
        written |= u32::from(class & class::WRITES) << (cell.dst as u8);
        if class & (class::BRANCHES | class::JUMPS) != 0 {
            let target = cell.aux as usize;
            if target < start {
                return ALL;
            }
            reach = reach.max(target);
        }
        let [registers, _, _, _] = (written >> 6).to_le_bytes();
        if registers & ALL == ALL {
            return ALL;
        }
        // The second half of an `lddw` is not what comes last.
        if class & (class::ENDS | class::JUMPS) != 0 && !is_tail && pc >= reach {
            return registers & ALL;
        }
        is_tail = !is_tail && class & class::WIDE != 0;
    }
    ALL
}
