//! What is compiled at a time: a compilation unit.
//!
//! A unit consists of the code that is most likely to be executed from a slot on: straight code to
//! its end, the functions that it calls, and then the targets of its branches, until the unit is
//! large enough. Other code is compiled when control first reaches it. A unit does not contain
//! blocks of earlier units again. Once runs no longer cause compilations, all units are joined:
//! everything is compiled again as one unit, whose jumps and calls are direct.

use selkie_isa::layout::SLOT_BYTES;

use super::{
    class::{self, classify},
    slots::{Slots, next_slot},
};
use crate::{decoded::DecodedProgram, program::Program};

/// What a compilation unit is to contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Selection {
    /// From a slot on, about this many slots: those first that are most likely to be executed.
    Slots(usize, usize),
    /// All code that may be executed, up to the maximum size. Targets of `callx` are guessed from
    /// constants that are addresses of code.
    Everything,
    /// All blocks that are already compiled.
    Compiled,
}

/// The slots and blocks of a compilation unit.
#[derive(Debug)]
pub(super) struct Scope {
    /// Slots of the program.
    len: usize,
    /// Where blocks start, including those of other units.
    pub(super) leaders: Slots,
    /// Where the blocks of this unit start, in ascending order.
    pub(super) starts: Vec<u32>,
    /// The number of slots of this unit.
    pub(super) slots: usize,
    /// The slots of this unit.
    seen: Slots,
    /// The same, as spans.
    walks: Vec<[u32; 2]>,
    /// Leaders that may be part of this unit, in the order in which they were found.
    queue: Vec<u32>,
    /// Leaders that are not part of this unit.
    others: Vec<u32>,
    callees: Vec<u32>,
    /// Where blocks of earlier units start.
    compiled: Slots,
    /// The same, as a list.
    blocks: Vec<u32>,
    selection: Selection,
}

impl Scope {
    pub(super) fn new(program: &Program) -> Self {
        let len = program.slots();
        Self {
            len,
            leaders: Slots::new(len),
            starts: Vec::new(),
            slots: 0,
            seen: Slots::new(len),
            walks: Vec::new(),
            queue: Vec::new(),
            others: Vec::new(),
            callees: Vec::new(),
            compiled: Slots::new(len),
            blocks: Vec::new(),
            selection: Selection::Everything,
        }
    }

    /// Returns whether a slot is part of this unit.
    #[inline(always)]
    pub(super) fn is_own(&self, slot: usize) -> bool {
        self.seen.contains(slot)
    }

    /// Records that a block is compiled, for later units.
    pub(super) fn set_compiled(&mut self, slot: u32) {
        if self.compiled.insert(slot as usize) {
            self.blocks.push(slot);
        }
    }

    /// Selects the slots of a unit, about `slots_max` at most.
    pub(super) fn find(&mut self, program: &Program, selection: Selection, slots_max: usize) {
        self.clear();
        self.selection = selection;
        let text = Text::new(program);
        let mut wanted = slots_max;
        match selection {
            Selection::Slots(root, slots) => {
                wanted = slots.min(slots_max);
                let _ = self.lead(root);
            }
            Selection::Everything => {
                let _ = self.lead(program.executable().entry_pc() as usize);
                text.pointers(program, &mut self.callees);
            }
            Selection::Compiled => {
                let blocks = core::mem::take(&mut self.blocks);
                for slot in &blocks {
                    let _ = self.lead(*slot as usize);
                }
                self.blocks = blocks;
            }
        }
        let decoded = program.decoded();
        let (mut walked, mut called) = (0, 0);
        while self.slots < wanted {
            if let Some(&callee) = self.callees.get(called) {
                called += 1;
                if self.lead(callee as usize) {
                    self.walk(decoded, &text, callee as usize, wanted);
                }
            } else if let Some(&start) = self.queue.get(walked) {
                walked += 1;
                self.walk(decoded, &text, start as usize, wanted);
            } else {
                break;
            }
        }
        self.sort_starts();
    }

    /// Lists the leaders that were reached, in order. Walks do not overlap, and there are far fewer
    /// of them than leaders.
    fn sort_starts(&mut self) {
        self.walks.sort_unstable_by_key(|[start, _]| *start);
        let Self { starts, leaders, walks, .. } = self;
        for [start, end] in walks {
            let range = *start as usize..*end as usize;
            leaders.for_each_in(range, |slot| starts.push(number(slot)));
        }
    }

    fn clear(&mut self) {
        for slot in self.queue.drain(..).chain(self.others.drain(..)) {
            self.leaders.remove(slot as usize);
        }
        for [start, end] in self.walks.drain(..) {
            self.seen.remove_all(start as usize..end as usize);
        }
        self.starts.clear();
        self.callees.clear();
        self.slots = 0;
    }

    /// Records that a block starts at a slot. Returns whether that is new and the block may be part
    /// of this unit.
    #[inline(always)]
    fn lead(&mut self, slot: usize) -> bool {
        if slot >= self.len || !self.leaders.insert(slot) {
            return false;
        }
        // A unit of all compiled blocks contains no others.
        let is_own = self.compiled.contains(slot) == (self.selection == Selection::Compiled);
        let list = if is_own { &mut self.queue } else { &mut self.others };
        list.push(number(slot));
        is_own
    }

    /// Follows straight code to its end, or until the unit has `wanted` slots.
    fn walk(&mut self, program: &DecodedProgram, text: &Text, start: usize, wanted: usize) {
        if self.seen.contains(start) {
            return;
        }
        let mut pc = start;
        let end = loop {
            // The first slot may be that of a compiled block.
            let known = [&self.seen, &self.compiled];
            let from = if pc == start && !program.breaks_at(pc) { pc + 1 } else { pc };
            let at = next_slot(&program.breaks, known, from).min(self.len);
            let left = wanted - self.slots;
            if at - pc >= left {
                self.slots = wanted;
                let _ = self.lead(pc + left);
                break pc + left;
            }
            self.slots += at - pc;
            if at == self.len || at != start && known.iter().any(|it| it.contains(at)) {
                let _ = self.lead(at);
                break at;
            }
            self.slots += 1;
            match self.follow(program, text, at) {
                Some(next) => pc = next,
                None => break at + 1,
            }
        };
        self.seen.insert_all(start..end);
        self.walks.push([number(start), number(end)]);
    }

    /// Records where control may continue after an instruction that is not straight code. Returns
    /// the slot of the next instruction, or `None` if straight code ends.
    #[inline(always)]
    fn follow(&mut self, program: &DecodedProgram, text: &Text, at: usize) -> Option<usize> {
        let (insn, class) = classify(program, program.text.get(at)?);
        let target = insn.aux as usize;
        let next = at + 1;
        if class & class::BRANCHES != 0 {
            let _ = self.lead(target);
            if target <= at {
                let _ = self.lead(next);
            }
        } else if class & class::WIDE != 0 {
            if self.selection == Selection::Everything {
                self.callees.extend(text.slot(insn.imm).map(number));
            }
            return Some(next + 1);
        } else if class & class::JUMPS != 0 {
            let _ = self.lead(target);
            return None;
        } else if class & class::ENDS != 0 {
            return None;
        } else if class & class::LEADS != 0 {
            let _ = self.lead(next);
            if class & class::CALLS != 0 && self.selection != Selection::Compiled {
                self.callees.push(insn.aux);
            }
        }
        Some(next)
    }
}

#[allow(clippy::cast_possible_truncation, reason = "instructions hold slots in 32 bits")]
fn number(slot: usize) -> u32 {
    slot as u32
}

/// The address range of the text in guest memory.
struct Text {
    vaddr: u64,
    bytes: u64,
}

impl Text {
    fn new(program: &Program) -> Self {
        let bytes = (program.slots() * SLOT_BYTES) as u64;
        Self { vaddr: program.executable().text_vaddr(), bytes }
    }

    /// Returns the slot at an address.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "less than the length of the text")]
    fn slot(&self, vaddr: u64) -> Option<usize> {
        let offset = vaddr.wrapping_sub(self.vaddr);
        (offset < self.bytes && offset.is_multiple_of(SLOT_BYTES as u64))
            .then_some(offset as usize / SLOT_BYTES)
    }

    /// Adds the slots that addresses in the read-only data point to.
    fn pointers(&self, program: &Program, slots: &mut Vec<u32>) {
        let data = program.executable().read_only();
        let bytes: &[u8] = &data.bytes;
        // The text itself may be part of the read-only data.
        let start = usize::try_from(self.vaddr.wrapping_sub(data.vaddr)).unwrap_or(usize::MAX);
        let start = start.min(bytes.len());
        let end = start.saturating_add(program.slots() * SLOT_BYTES).min(bytes.len());
        for bytes in [&bytes[..start], &bytes[end..]] {
            let words = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
            slots.extend(words.filter_map(|word| self.slot(word)).map(number));
        }
    }
}

/// Which registers functions overwrite, computed once per function.
#[derive(Default, Debug)]
pub(super) struct Effects {
    /// By slot of the function; 0 if not known yet. Empty until it is first needed.
    known: Vec<u8>,
    /// Slots that may still be scanned for the current unit.
    left: usize,
    /// Slots that were scanned for all units.
    pub(super) scanned: u64,
}

/// The bit of `known` that is set for known functions.
const KNOWN: u8 = 1 << 7;
/// All of r6 to r9.
const ALL: u8 = 0b1111;
/// The most slots that are scanned of a function.
const FUNCTION_SLOTS_MAX: usize = 1024;
/// Slots that may be scanned per slot of a unit, and besides: as many as compiled programs need, so
/// that the limits do not cause needless saving of registers.
const SCANNED_FOR_SLOT: usize = 16;
const SCANNED_FOR_UNIT: usize = 8 * FUNCTION_SLOTS_MAX;

impl Effects {
    /// Frees the memory.
    pub(super) fn forget(&mut self) {
        self.known = Vec::new();
    }

    /// Starts a unit of `slots` slots.
    pub(super) fn begin_unit(&mut self, slots: usize) {
        self.left = slots.saturating_mul(SCANNED_FOR_SLOT).saturating_add(SCANNED_FOR_UNIT);
    }

    /// Returns which of r6 to r9 (lowest bit first) a function may have changed when it returns.
    /// Functions that it calls do not count, since those calls save registers in turn. Returns all
    /// of them once the limits of the unit are reached.
    pub(super) fn overwritten(&mut self, program: &Program, slot: u32) -> u8 {
        if self.known.is_empty() {
            self.known = vec![0; program.slots()];
        }
        let Some(known) = self.known.get_mut(slot as usize) else { return ALL };
        if *known == 0 {
            if self.left == 0 {
                return ALL;
            }
            let at_most = self.left.min(FUNCTION_SLOTS_MAX);
            let (registers, scanned) = written(program.decoded(), slot as usize, at_most);
            self.left -= scanned;
            self.scanned += scanned as u64;
            *known = KNOWN | registers;
        }
        *known & ALL
    }
}

/// Returns which of r6 to r9 a function writes, and how many slots were scanned. The function ends
/// with the first end of straight code after all targets of its jumps. All registers count as
/// written if control may leave the function other than by `exit`, or if its end is not within
/// `at_most` slots.
fn written(program: &DecodedProgram, start: usize, at_most: usize) -> (u8, usize) {
    let mut written: u32 = 0;
    let mut reach = start;
    let mut is_tail = false;
    for (pc, insn) in program.text.all().iter().enumerate().skip(start).take(at_most) {
        let scanned = pc - start + 1;
        let (insn, class) = classify(program, insn);
        written |= u32::from(class & class::WRITES) << (insn.dst as u8);
        if class & (class::BRANCHES | class::JUMPS) != 0 {
            let target = insn.aux as usize;
            if target < start {
                return (ALL, scanned);
            }
            reach = reach.max(target);
        }
        let [registers, _, _, _] = (written >> 6).to_le_bytes();
        if registers & ALL == ALL {
            return (ALL, scanned);
        }
        // An opcode in the second slot of an `lddw` does not end the function.
        if class & (class::ENDS | class::JUMPS) != 0 && !is_tail && pc >= reach {
            return (registers & ALL, scanned);
        }
        is_tail = !is_tail && class & class::WIDE != 0;
    }
    (ALL, at_most)
}
