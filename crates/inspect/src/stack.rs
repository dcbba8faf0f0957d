//! The stack use of each function.
//!
//! It is determined by tracking the frame pointer through each basic block: offsets of loads and
//! stores, and addresses computed by additions. Addresses that depend on run-time values are not
//! tracked. Functions are live if the entry calls them, directly or indirectly, or if their address
//! is taken.
//!
//! Arguments beyond the fifth are at the bottom of the caller's frame, the sixth lowest. Locations
//! that the caller only stores to, and the callee only loads from, count as stack use of neither.

use std::collections::{BTreeMap, BTreeSet};

use selkie_isa::{
    Insn, Kind, Version,
    layout::{FRAME_POINTER, REGISTER_COUNT, STACK_FRAME_BYTES},
};

use crate::{
    Style,
    cfg::{Block, Graph},
    frame::{Effect, Value},
    program::NamedProgram,
    symbols::demangle,
};

/// The stack use of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StackUse {
    /// The slot of its first instruction.
    pub pc: u32,
    /// Its demangled name.
    pub function: String,
    /// Its size in slots.
    pub slots: u32,
    /// The number of bytes below the frame pointer that it uses.
    pub bytes: u64,
    /// The slot of the instruction that uses the lowest byte.
    pub deepest_pc: Option<u32>,
    /// The size of its frame in bytes, or of its frames, if it begins with calls of what follows, which
    /// give it the frames below; `None` if frames are dynamic.
    pub limit: Option<u64>,
    /// Whether it is reachable from the entry, or its address is taken.
    pub is_live: bool,
}

impl StackUse {
    /// Returns the number of bytes beyond the end of the frame.
    #[must_use]
    pub fn excess(&self) -> u64 {
        self.limit.map_or(0, |limit| self.bytes.saturating_sub(limit))
    }

    /// Returns what the function pays for more than one frame: `None` if it has one.
    ///
    /// ```
    /// use selkie_inspect::StackUse;
    /// let mut it = StackUse {
    ///     pc: 4, function: "big".into(), slots: 9, bytes: 9000, deepest_pc: None,
    ///     limit: Some(3 * 4096), is_live: true,
    /// };
    /// let text = "uses 9000 bytes of stack, so it takes 3 frames of 4096 and each call 4 compute \
    ///             units more";
    /// assert_eq!(it.note().unwrap(), text);
    /// it.limit = Some(4096);
    /// assert_eq!(it.note(), None);
    /// ```
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let frames = self.limit.filter(|_| self.bytes > STACK_FRAME_BYTES)? / STACK_FRAME_BYTES;
        let units = 2 * frames.checked_sub(1).filter(|it| *it > 0)?;
        Some(format!(
            "uses {} bytes of stack, so it takes {frames} frames of {STACK_FRAME_BYTES} and each \
             call {units} compute units more",
            self.bytes
        ))
    }

    /// Returns a warning, in the words of Solana's LLVM, if the frame is too small.
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

/// Returns the stack use of each function of a program, in the order of the functions.
#[must_use]
pub fn stack_use(program: &NamedProgram) -> Vec<StackUse> {
    let graph = Graph::new(program, Style::Selkie);
    let live = live_functions(program, &graph);
    let dynamic = program.version().dynamic_frames();
    let functions = graph.by_function().map(|(range, blocks)| {
        let mut frame = Frame::default();
        for block in blocks {
            frame.reset();
            for it in &graph.instructions[block.instructions.clone()] {
                frame.step(it.pc, it.insn.as_ref());
            }
        }
        let frames = frames(program, &graph, range.start);
        let deepest = frame.deepest(program.version(), frames);
        StackUse {
            pc: range.start,
            slots: range.end - range.start,
            function: graph.functions.get(&range.start).map(|it| demangle(it)).unwrap_or_default(),
            bytes: deepest.map_or(0, |(offset, _)| offset.unsigned_abs()),
            deepest_pc: deepest.map(|(_, pc)| pc),
            limit: (!dynamic).then(|| frames * STACK_FRAME_BYTES),
            is_live: live.contains(&range.start),
        }
    });
    functions.collect()
}

/// Returns the number of frames of the function at `pc`: one, and one for each pair of a call of what
/// follows and an exit before it.
fn frames(program: &NamedProgram, graph: &Graph, pc: u32) -> u64 {
    let at = |pc: u32| {
        let found = graph.instructions.binary_search_by_key(&pc, |it| it.pc).ok()?;
        graph.instructions[found].insn
    };
    let is_pair = |start: &u32| {
        let (call, exit) = (at(*start), at(*start + 1));
        call.is_some_and(|it| program.callee(*start, &it) == Some(*start + 2))
            && exit.is_some_and(|it| it.op.kind() == Kind::Exit)
    };
    let starts = core::iter::successors(pc.checked_sub(2), |it| it.checked_sub(2));
    match program.version().stack_frame_gaps() {
        true => 1,
        false => 1 + starts.take_while(is_pair).count() as u64,
    }
}

/// The use of a stack location.
#[derive(Clone, Copy, Debug)]
struct Use {
    /// The slot of the first instruction that uses it.
    pc: u32,
    is_stored: bool,
    is_loaded: bool,
    /// Whether its address was computed, so that it may be accessed in any way.
    is_pointed_to: bool,
}

/// The tracked registers of a function, and the stack locations that it used so far.
#[derive(Default)]
struct Frame {
    registers: [Value; REGISTER_COUNT],
    /// The offset by which the function changed the frame pointer.
    moved: i64,
    /// By offset from the frame pointer, below 0.
    used: BTreeMap<i64, Use>,
}

/// The size of a stack argument in bytes.
const ARGUMENT_BYTES: i64 = 8;

/// The assumed maximum number of stack arguments.
const ARGUMENTS_MAX: i64 = 64;

impl Frame {
    /// Returns the lowest offset that the function uses other than for arguments, and the slot of
    /// the instruction. `frames` is the number of frames of the function.
    fn deepest(&self, version: Version, frames: u64) -> Option<(i64, u32)> {
        let offset_and_pc = |(&offset, it): (&i64, &Use)| (offset, it.pc);
        if version.dynamic_frames() {
            return self.used.iter().next().map(offset_and_pc);
        }
        let frame = STACK_FRAME_BYTES.cast_signed();
        // A gap has the size of a frame.
        let step = if version.stack_frame_gaps() { 2 * frame } else { frame };
        let arguments = |bottom: i64| bottom..bottom + ARGUMENTS_MAX * ARGUMENT_BYTES;
        let is_parameter = |offset: &i64, it: &Use| {
            arguments(-step * frames.cast_signed() - frame).contains(offset)
                && !it.is_stored
                && !it.is_pointed_to
        };
        let passed = self.passed_end(-frame);
        let is_passed = |offset: &i64| (-frame..passed).contains(offset);
        let mut used = self.used.iter().filter(|(at, it)| !is_parameter(at, it) && !is_passed(at));
        used.next().map(offset_and_pc)
    }

    /// Returns the end of the arguments that the function passes: locations from the bottom of the
    /// frame on that are only stored to.
    fn passed_end(&self, bottom: i64) -> i64 {
        let mut end = bottom;
        while self.used.get(&end).is_some_and(|it| !it.is_loaded && !it.is_pointed_to) {
            end += ARGUMENT_BYTES;
        }
        end
    }

    /// Resets the registers at the start of a block.
    fn reset(&mut self) {
        self.registers = Default::default();
        self.registers[usize::from(FRAME_POINTER)] = Value::Frame(self.moved);
    }

    fn get(&self, register: u8) -> Value {
        self.registers.get(usize::from(register)).copied().unwrap_or_default()
    }

    /// Records the use of an address, if it is below the frame pointer.
    fn record_use(&mut self, pc: u32, value: Value, record: impl Fn(&mut Use)) {
        if let Value::Frame(offset @ ..0) = value {
            let unused = Use { pc, is_stored: false, is_loaded: false, is_pointed_to: false };
            record(self.used.entry(offset).or_insert(unused));
        }
    }

    fn step(&mut self, pc: u32, insn: Option<&Insn>) {
        let Some(insn) = insn else { return };
        let result = match Effect::of(insn, |register| self.get(register)) {
            Effect::None => return,
            Effect::Call => return self.registers[..6].fill(Value::Unknown),
            Effect::Store(address) => {
                return self.record_use(pc, address, |it| it.is_stored = true);
            }
            Effect::Load(address) => {
                self.record_use(pc, address, |it| it.is_loaded = true);
                Value::Unknown
            }
            Effect::Set(value) => value,
        };
        self.record_use(pc, result, |it| it.is_pointed_to = true);
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

/// Returns the live functions by slot.
fn live_functions(program: &NamedProgram, graph: &Graph) -> BTreeSet<u32> {
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
