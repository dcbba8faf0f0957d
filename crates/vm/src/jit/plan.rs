//! What is settled about a program before any of its machine code is written.
//!
//! A *block* is straight code with one way in: it starts at a leader, and ends before the next
//! leader, with a jump, call or exit, or with a branch backwards. Branches forward may leave it on
//! the way. The whole block is charged when it is entered.
//!
//! Within a block, accesses off the same unchanged base are checked together by the first of them,
//! as long as no branch comes between: so the check covers nothing but what will be accessed, and
//! if it fails, the interpreter goes on from that first access and finds the one that is refused.

use selkie_isa::{Alu, Kind, Operand, Size, Width, layout::SLOT_BYTES};

use crate::{
    config::Config,
    program::{Action, Cell, Program, Register},
};

/// A set of slots.
#[derive(Debug)]
pub(super) struct Slots(Vec<u64>);

impl Slots {
    fn new(len: usize) -> Self {
        Self(vec![0; len / 64 + 1])
    }

    /// Numbers beyond the program are ignored.
    #[inline(always)]
    fn insert(&mut self, slot: usize) {
        if let Some(word) = self.0.get_mut(slot / 64) {
            *word |= 1 << (slot % 64);
        }
    }

    #[inline(always)]
    pub(super) fn contains(&self, slot: usize) -> bool {
        self.0.get(slot / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    /// The first one from `slot` on.
    pub(super) fn next(&self, slot: usize) -> Option<usize> {
        let mut index = slot / 64;
        let mut word = self.0.get(index)? & u64::MAX << (slot % 64);
        while word == 0 {
            index += 1;
            word = *self.0.get(index)?;
        }
        Some(index * 64 + word.trailing_zeros() as usize)
    }
}

/// The slots that control may come to other than from the slot before: what jumps, calls and
/// returns lead to. Where a register may lead is guessed, from constants that are addresses of
/// code; the interpreter takes over where the guess was wrong.
pub(super) fn leaders(program: &Program) -> Slots {
    let executable = program.executable();
    let slots = program.cells.len();
    let mut leaders = Slots::new(slots);
    leaders.insert(executable.entry_pc() as usize);
    let text_vaddr = executable.text_vaddr();
    let text_bytes = (slots * SLOT_BYTES) as u64;
    let slot_of = |vaddr: u64| {
        let offset = vaddr.wrapping_sub(text_vaddr);
        #[allow(clippy::cast_possible_truncation, reason = "less than the length of the text")]
        (offset < text_bytes && offset.is_multiple_of(SLOT_BYTES as u64))
            .then_some(offset as usize / SLOT_BYTES)
    };
    for pc in 0..slots {
        let Some(cell) = program.cell(pc) else { break };
        match cell.action() {
            Action::Row(Kind::Jump) => leaders.insert(cell.aux as usize),
            Action::Row(Kind::Branch(..)) => {
                let target = cell.aux as usize;
                leaders.insert(target);
                if target <= pc {
                    leaders.insert(pc + 1);
                }
            }
            Action::CallLocal => {
                leaders.insert(cell.aux as usize);
                leaders.insert(pc + 1);
            }
            Action::CallRegister | Action::CallSyscall => leaders.insert(pc + 1),
            Action::Row(Kind::LoadImm64) => {
                if let Some(slot) = slot_of(cell.imm) {
                    leaders.insert(slot);
                }
            }
            _ => {}
        }
    }
    let read_only = executable.read_only();
    let text_at = usize::try_from(text_vaddr.wrapping_sub(read_only.vaddr)).unwrap_or(usize::MAX);
    for (index, word) in read_only.bytes.chunks_exact(8).enumerate() {
        let in_text = index * 8 >= text_at && index * 8 - text_at < slots * SLOT_BYTES;
        let word = u64::from_le_bytes(word.try_into().expect("chunks of eight bytes"));
        if let Some(slot) = slot_of(word).filter(|_| !in_text) {
            leaders.insert(slot);
        }
    }
    leaders
}

/// What functions do to the registers that a call saves.
#[derive(Debug)]
pub(super) struct Functions {
    /// Slots of functions in ascending order, and which of r6 to r9 their code writes (lowest bit
    /// first).
    all: Vec<(u32, u8)>,
}

impl Functions {
    /// Which of r6 to r9 may have changed when a function returns, as a call of it does not save
    /// them all for nothing. What it calls saves them in turn.
    pub(super) fn overwritten(&self, slot: u32) -> u8 {
        match self.all.binary_search_by_key(&slot, |(slot, _)| *slot) {
            Ok(index) => self.all[index].1,
            Err(_) => 0b1111,
        }
    }

    /// A function is what lies between its slot and that of the next one, if control leaves that
    /// by returning alone; of others nothing is known.
    pub(super) fn new(program: &Program) -> Self {
        let mut is_start = Slots::new(program.cells.len());
        for pc in 0..program.cells.len() {
            if let Some(cell) = program.cell(pc)
                && cell.action() == Action::CallLocal
            {
                is_start.insert(cell.aux as usize);
            }
        }
        let mut all = Vec::new();
        let mut next = is_start.next(0);
        while let Some(start) = next {
            next = is_start.next(start + 1);
            let end = next.unwrap_or(program.cells.len());
            let slot = u32::try_from(start).expect("slots are counted by it");
            all.push((slot, written(program, start..end)));
        }
        Self { all }
    }
}

/// Which of r6 to r9 are written by straight code; all of them if control may leave it other than
/// by an exit.
fn written(program: &Program, range: core::ops::Range<usize>) -> u8 {
    let mut written = 0;
    let mut leaves = true;
    for pc in range.clone() {
        let Some(cell) = program.cell(pc) else { break };
        let action = cell.action();
        leaves = !matches!(action, Action::Row(Kind::Exit | Kind::Jump));
        match action {
            Action::Row(Kind::Jump | Kind::Branch(..)) => {
                if !range.contains(&(cell.aux as usize)) {
                    return 0b1111;
                }
            }
            Action::Row(
                Kind::Alu(..) | Kind::Neg(_) | Kind::Endian(_) | Kind::LoadImm64 | Kind::Load(_),
            ) => {
                let number = cell.dst as u8;
                if (6..10).contains(&number) {
                    written |= 1 << (number - 6);
                }
            }
            // A tail behind an `lddw` comes after it only in the order of slots.
            _ => {}
        }
    }
    if leaves { 0b1111 } else { written }
}

/// How a load or store gets at its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    /// It is none.
    No,
    /// It lies in the current stack frame, this far from the frame's end: no check is needed.
    Frame(i32),
    /// It checks its group.
    First { group: u16, at: i32 },
    /// Its group is checked; the pointer has to be fetched if something else was done since.
    Again { group: u16, at: i32, fetch: bool },
}

/// Accesses that are checked together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// The value that all addresses of the group are offsets from.
    value: u16,
    /// The register that the first access names.
    pub(super) base: Register,
    /// How far the register was from the value then.
    base_at: i32,
    /// The first byte, relative to the value.
    min: i32,
    /// One past the last byte.
    pub(super) end: i32,
    /// The last access's first byte.
    last: i32,
    /// Whether one of them is a store.
    pub(super) store: bool,
    /// A branch came since: nothing may be added.
    closed: bool,
    /// The number under which the pointer is kept, if it has to be.
    pub(super) kept: Option<u8>,
}

impl Group {
    /// From the base register to the first byte.
    pub(super) fn disp(&self) -> i32 {
        self.min - self.base_at
    }

    /// Bytes from the first to the last.
    pub(super) fn span(&self) -> i32 {
        self.end - self.min
    }

    /// From the first byte of the first access in the order of addresses to that of the last.
    pub(super) fn stride(&self) -> i32 {
        self.last - self.min
    }
}

/// An instruction of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'p> {
    pub(super) pc: usize,
    pub(super) cell: &'p Cell,
    pub(super) access: Access,
}

/// Straight code with one way in.
#[derive(Debug, Default)]
pub(super) struct Block<'p> {
    pub(super) steps: Vec<Step<'p>>,
    pub(super) groups: Vec<Group>,
    /// The slot behind the last instruction.
    pub(super) end: usize,
    /// Whether control goes on there.
    pub(super) falls_through: bool,
}

/// The most instructions of a block.
const STEPS_MAX: usize = 64;
/// The most bytes that one check covers.
const SPAN_MAX: i32 = 2048;
/// How far from a value addresses are followed.
const FAR: i64 = 1 << 24;
/// The most pointers that are kept.
pub(super) const KEPT_MAX: usize = 8;
/// The value of r10, where it moves by calls alone.
const FRAME: u16 = 0;

/// Finds a program's blocks.
#[derive(Debug)]
pub(super) struct Planner<'p> {
    program: &'p Program,
    /// Bytes of a frame, where r10 moves by calls alone.
    frame_bytes: Option<i32>,
    /// The most bytes that one check covers: in a stack with gaps, no more than a frame.
    span_max: i32,
    values: [(u16, i32); 11],
    value_count: u16,
    /// The groups that accesses may belong to, by the number that their pointer is kept under.
    recent: [Option<u16>; KEPT_MAX],
    next_kept: usize,
    /// The group whose pointer is at hand.
    at_hand: Option<u16>,
}

impl<'p> Planner<'p> {
    pub(super) fn new(program: &'p Program, config: &Config) -> Self {
        let fixed = !program.executable().version().dynamic_frames();
        let bytes = i32::try_from(config.stack_frame_bytes).ok();
        Self {
            program,
            frame_bytes: bytes.filter(|_| fixed),
            span_max: bytes.unwrap_or(SPAN_MAX).min(SPAN_MAX),
            values: [(0, 0); 11],
            value_count: 0,
            recent: [None; KEPT_MAX],
            next_kept: 0,
            at_hand: None,
        }
    }

    /// The block that starts at a slot.
    pub(super) fn plan(&mut self, start: usize, leaders: &Slots, block: &mut Block<'p>) {
        block.steps.clear();
        block.groups.clear();
        self.start();
        let mut pc = start;
        loop {
            if pc != start && (leaders.contains(pc) || block.steps.len() == STEPS_MAX) {
                block.falls_through = true;
                break;
            }
            let Some(cell) = self.program.cell(pc) else {
                block.falls_through = true;
                break;
            };
            let action = cell.action();
            let access = self.step(action, cell, &mut block.groups);
            block.steps.push(Step { pc, cell, access });
            pc += if let Action::Row(Kind::LoadImm64) = action { 2 } else { 1 };
            match action {
                Action::Row(Kind::Branch(..)) => {
                    if cell.aux as usize <= pc - 1 {
                        block.falls_through = true;
                        break;
                    }
                    block.groups.iter_mut().for_each(|group| group.closed = true);
                }
                Action::Row(Kind::Jump | Kind::Exit) => {
                    block.falls_through = false;
                    break;
                }
                Action::Row(_) => {}
                Action::CallLocal | Action::CallSyscall | Action::CallRegister => {
                    block.falls_through = true;
                    break;
                }
                Action::Cut | Action::Unsupported | Action::End => {
                    block.falls_through = false;
                    break;
                }
            }
        }
        block.end = pc;
    }

    fn start(&mut self) {
        for (number, value) in (0..).zip(&mut self.values) {
            *value = (number + 1, 0);
        }
        if self.frame_bytes.is_some() {
            self.values[10] = (FRAME, 0);
        }
        self.value_count = 12;
        self.recent = [None; KEPT_MAX];
        self.next_kept = 0;
        self.at_hand = None;
    }

    fn set(&mut self, register: Register, value: (u16, i32)) {
        if let Some(known) = self.values.get_mut(register as usize) {
            *known = value;
        }
    }

    fn set_unknown(&mut self, register: Register) {
        self.value_count += 1;
        self.set(register, (self.value_count, 0));
    }

    /// Follows what an instruction does to the registers, and says how it gets at memory.
    fn step(&mut self, action: Action, cell: &Cell, groups: &mut Vec<Group>) -> Access {
        let Action::Row(kind) = action else { return Access::No };
        match kind {
            Kind::Load(size) => {
                let access = self.access(cell.src, cell, size, false, groups);
                self.set_unknown(cell.dst);
                return access;
            }
            Kind::StoreImm(size) | Kind::StoreReg(size) => {
                return self.access(cell.dst, cell, size, true, groups);
            }
            Kind::Alu(Alu::Mov, Width::W64, Operand::Reg) => {
                let value = self.values.get(cell.src as usize).copied();
                if let Some(value) = value {
                    self.set(cell.dst, value);
                }
            }
            Kind::Alu(alu @ (Alu::Add | Alu::Sub), Width::W64, Operand::Imm) => {
                let imm = i64::from_le_bytes(cell.imm.to_le_bytes());
                let imm = if alu == Alu::Add { imm } else { imm.wrapping_neg() };
                let known = self.values.get(cell.dst as usize).copied();
                let moved = known.and_then(|(value, at)| {
                    let at = i64::from(at).checked_add(imm)?;
                    let near = (-FAR..FAR).contains(&at);
                    Some((value, i32::try_from(at).ok().filter(|_| near)?))
                });
                match moved {
                    Some(value) => self.set(cell.dst, value),
                    None => self.set_unknown(cell.dst),
                }
            }
            Kind::Alu(alu, ..) => {
                if matches!(
                    alu,
                    Alu::Div | Alu::Mod | Alu::Sdiv | Alu::Srem | Alu::Uhmul | Alu::Shmul
                ) {
                    self.at_hand = None;
                }
                self.set_unknown(cell.dst);
            }
            Kind::Neg(_) | Kind::Endian(_) | Kind::LoadImm64 => self.set_unknown(cell.dst),
            _ => {}
        }
        Access::No
    }

    fn access(
        &mut self,
        base: Register,
        cell: &Cell,
        size: Size,
        store: bool,
        groups: &mut Vec<Group>,
    ) -> Access {
        let Some(&(value, base_at)) = self.values.get(base as usize) else { return Access::No };
        let at = base_at + cell.aux.cast_signed();
        #[allow(clippy::cast_possible_truncation, reason = "8 at most")]
        let end = at + size.bytes() as i32;
        if let (FRAME, Some(frame_bytes)) = (value, self.frame_bytes)
            && at >= -frame_bytes
            && end <= 0
        {
            return Access::Frame(at);
        }
        for (kept, index) in (0..).zip(self.recent) {
            let Some(index) = index else { break };
            let group = &mut groups[usize::from(index)];
            if group.value != value {
                continue;
            }
            let (min, max) = (group.min.min(at), group.end.max(end));
            if group.closed {
                if (min, max) != (group.min, group.end) || store > group.store || at > group.last {
                    continue;
                }
            } else if max - min > self.span_max {
                continue;
            } else {
                (group.min, group.end) = (min, max);
                group.last = group.last.max(at);
                group.store |= store;
            }
            let fetch = self.at_hand != Some(index);
            if fetch {
                group.kept = Some(kept);
            }
            self.at_hand = Some(index);
            return Access::Again { group: index, at, fetch };
        }
        let group = u16::try_from(groups.len()).expect("blocks are short");
        let (min, last) = (at, at);
        let closed = false;
        let kept = None;
        groups.push(Group { value, base, base_at, min, end, last, store, closed, kept });
        self.recent[self.next_kept] = Some(group);
        self.next_kept = (self.next_kept + 1) % KEPT_MAX;
        self.at_hand = Some(group);
        Access::First { group, at }
    }
}
