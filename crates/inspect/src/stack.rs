//! How much of its stack frame each function uses.
//!
//! Found by following the frame pointer through each basic block: offsets of loads and stores, and
//! addresses made of it by additions. What a function computes at run time is not seen. Only code
//! that can run counts as live: what the entry calls, directly or not, and what has its address
//! taken.
//!
//! Arguments beyond the fifth travel at the bottom of the caller's frame, the sixth lowest. Only
//! stored there, and only loaded from there by who is called, they count for neither.

use std::collections::{BTreeMap, BTreeSet};

use selkie_isa::{
    Insn, Version,
    layout::{FRAME_POINTER, REGISTER_COUNT, STACK_FRAME_BYTES},
};

use crate::{
    Style,
    cfg::{Block, Graph},
    frame::{Effect, Value},
    program::Program,
    symbols::demangle,
};

/// The stack that a function uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StackUse {
    /// The slot of the function's first instruction.
    pub pc: u32,
    /// The function's demangled name.
    pub function: String,
    /// Its instructions, in slots.
    pub slots: u32,
    /// The bytes below the frame pointer, down to the lowest that is used.
    pub bytes: u64,
    /// The instruction that reaches down to there.
    pub deepest_pc: Option<u32>,
    /// The bytes that a frame has; `None` if functions make their own frames.
    pub limit: Option<u64>,
    /// Whether the function can be reached from the entry.
    pub is_live: bool,
}

impl StackUse {
    /// The bytes beyond the end of the frame; 0 if all is well.
    #[must_use]
    pub fn excess(&self) -> u64 {
        self.limit.map_or(0, |limit| self.bytes.saturating_sub(limit))
    }

    /// What is wrong, in the words that compilers use; `None` if all is well.
    ///
    /// ```
    /// use selkie_inspect::StackUse;
    /// let mut it = StackUse {
    ///     pc: 0, function: "big".into(), slots: 9, bytes: 30728, deepest_pc: None,
    ///     limit: Some(4096), is_live: true,
    /// };
    /// let text = "Stack offset of -30728 exceeded max offset of -4096 by 26632 bytes, \
    ///             please minimize large stack variables";
    /// assert_eq!(it.warning().unwrap(), text);
    /// it.bytes = 4096;
    /// assert_eq!(it.warning(), None);
    /// ```
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let limit = self.limit.filter(|_| self.excess() > 0)?;
        let (bytes, excess) = (self.bytes, self.excess());
        Some(format!(
            "Stack offset of -{bytes} exceeded max offset of -{limit} by {excess} bytes, please \
             minimize large stack variables"
        ))
    }
}

/// The stack that each function of a program uses, in the order of the functions.
#[must_use]
pub fn stack_use(program: &Program) -> Vec<StackUse> {
    let graph = Graph::new(program, Style::Selkie);
    let live = live_functions(program, &graph);
    let dynamic = program.version().dynamic_frames();
    let functions = graph.by_function().map(|(range, blocks)| {
        let mut frame = Frame::default();
        for block in blocks {
            frame.forget();
            for it in &graph.instructions[block.instructions.clone()] {
                frame.step(it.pc, it.insn.as_ref());
            }
        }
        let deepest = frame.deepest(program.version());
        StackUse {
            pc: range.start,
            slots: range.end - range.start,
            function: graph.functions.get(&range.start).map(|it| demangle(it)).unwrap_or_default(),
            bytes: deepest.map_or(0, |(offset, _)| offset.unsigned_abs()),
            deepest_pc: deepest.map(|(_, pc)| pc),
            limit: (!dynamic).then_some(STACK_FRAME_BYTES),
            is_live: live.contains(&range.start),
        }
    });
    functions.collect()
}

/// How a place of the stack is used, and by which instruction first.
#[derive(Clone, Copy, Debug)]
struct Use {
    pc: u32,
    is_stored: bool,
    is_loaded: bool,
    /// Its address was computed: whatever may be done with it.
    is_pointed_to: bool,
}

/// The registers of a function, and what it used of the stack so far.
#[derive(Default)]
struct Frame {
    registers: [Value; REGISTER_COUNT],
    /// How far the function itself moved the frame pointer.
    moved: i64,
    /// By offset from the frame pointer, below it.
    used: BTreeMap<i64, Use>,
}

/// Bytes of an argument on the stack.
const ARGUMENT_BYTES: i64 = 8;

/// No function has more arguments on the stack than this.
const ARGUMENTS_MAX: i64 = 64;

impl Frame {
    /// The lowest place that the function uses for itself, and the instruction that does.
    fn deepest(&self, version: Version) -> Option<(i64, u32)> {
        let own = |(&offset, it): (&i64, &Use)| (offset, it.pc);
        if version.dynamic_frames() {
            return self.used.iter().next().map(own);
        }
        let frame = STACK_FRAME_BYTES.cast_signed();
        // Where there are gaps, a frame is followed by as much again.
        let step = if version.stack_frame_gaps() { 2 * frame } else { frame };
        let arguments = |bottom: i64| bottom..bottom + ARGUMENTS_MAX * ARGUMENT_BYTES;
        let is_given = |offset: &i64, it: &Use| {
            arguments(-step - frame).contains(offset) && !it.is_stored && !it.is_pointed_to
        };
        let passed = self.passed(-frame);
        let is_passed = |offset: &i64| (-frame..passed).contains(offset);
        let mut used = self.used.iter().filter(|(at, it)| !is_given(at, it) && !is_passed(at));
        used.next().map(own)
    }

    /// The end of what is stored in one row from the bottom of the frame, and not read again.
    fn passed(&self, bottom: i64) -> i64 {
        let mut end = bottom;
        while self.used.get(&end).is_some_and(|it| !it.is_loaded && !it.is_pointed_to) {
            end += ARGUMENT_BYTES;
        }
        end
    }

    fn forget(&mut self) {
        self.registers = Default::default();
        self.registers[usize::from(FRAME_POINTER)] = Value::Frame(self.moved);
    }

    fn get(&self, register: u8) -> Value {
        self.registers.get(usize::from(register)).copied().unwrap_or_default()
    }

    /// Notes the use of a place, if it is one of the stack.
    fn touch(&mut self, pc: u32, value: Value, note: impl Fn(&mut Use)) {
        if let Value::Frame(offset @ ..0) = value {
            let unused = Use { pc, is_stored: false, is_loaded: false, is_pointed_to: false };
            note(self.used.entry(offset).or_insert(unused));
        }
    }

    fn step(&mut self, pc: u32, insn: Option<&Insn>) {
        let Some(insn) = insn else { return };
        let result = match Effect::of(insn, |register| self.get(register)) {
            Effect::None => return,
            Effect::Call => return self.registers[..6].fill(Value::Unknown),
            Effect::Store(address) => return self.touch(pc, address, |it| it.is_stored = true),
            Effect::Load(address) => {
                self.touch(pc, address, |it| it.is_loaded = true);
                Value::Unknown
            }
            Effect::Set(value) => value,
        };
        self.touch(pc, result, |it| it.is_pointed_to = true);
        let dst = insn.dst;
        if dst == FRAME_POINTER
            && let Value::Frame(offset) = result
        {
            self.moved = offset;
        }
        if let Some(register) = self.registers.get_mut(usize::from(dst)) {
            *register = result;
        }
    }
}

/// The functions that can run, by slot.
fn live_functions(program: &Program, graph: &Graph) -> BTreeSet<u32> {
    let image = program.image();
    let function_of = |pc: u32| graph.functions.range(..=pc).next_back().map(|(&start, _)| start);
    let by_function: BTreeMap<u32, &[Block]> =
        graph.by_function().map(|(range, blocks)| (range.start, blocks)).collect();

    let entry = program.executable().entry_pc();
    let held = image.pointers().filter_map(|addr| image.slot_of(addr));
    let mut pending: Vec<u32> = held.chain([entry]).filter_map(function_of).collect();
    let mut live = BTreeSet::new();
    while let Some(function) = pending.pop() {
        if !live.insert(function) {
            continue;
        }
        for block in by_function.get(&function).copied().unwrap_or_default() {
            pending.extend(block.destinations.iter().filter_map(|&pc| function_of(pc)));
            for it in &graph.instructions[block.instructions.clone()] {
                let Some(insn) = it.insn else { continue };
                let reached = program.callee(it.pc, &insn).or(program.pointee(&insn));
                pending.extend(reached.and_then(function_of));
            }
        }
    }
    live
}
