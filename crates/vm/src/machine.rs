//! The state of a running program: registers, call frames, meter, memory.

use selkie_elf::Executable;
use selkie_isa::{
    Version,
    layout::{FRAME_POINTER, INPUT_START, REGISTER_COUNT, STACK_START},
};

use crate::{
    config::Config,
    memory::{MemoryMap, WindowBuffer},
};

/// The compute units that are left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Meter {
    remaining: u64,
}

/// More compute units were asked for than are left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeterExceeded;

impl Meter {
    /// A meter with `remaining` compute units.
    #[must_use]
    pub fn new(remaining: u64) -> Self {
        Self { remaining }
    }

    /// The compute units that are left.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Takes `units`.
    ///
    /// # Errors
    /// If fewer are left, all of them are taken.
    pub fn consume(&mut self, units: u64) -> Result<(), MeterExceeded> {
        let enough = self.remaining >= units;
        self.remaining = self.remaining.saturating_sub(units);
        if enough { Ok(()) } else { Err(MeterExceeded) }
    }

    /// Sets what is left: for hosts that nest programs.
    pub fn set_remaining(&mut self, remaining: u64) {
        self.remaining = remaining;
    }
}

/// What a call saves: r6 to r9, r10 and the slot to return to.
///
/// The scratch registers do not lie side by side, lest the compiler copy them pairwise: a wide
/// load right behind the narrow store of one of its halves has to wait for the store.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(crate) struct CallFrame {
    r6: u64,
    return_pc: u64,
    r7: u64,
    frame_pointer: u64,
    r8: u64,
    spacing: u64,
    r9: u64,
}

impl CallFrame {
    /// r6 to r10, and the slot to return to.
    pub(crate) fn new([r6, r7, r8, r9, frame_pointer]: [u64; 5], return_pc: u64) -> Self {
        Self { r6, return_pc, r7, frame_pointer, r8, spacing: 0, r9 }
    }
}

/// Buffer for a machine's call frames and what else it must have, to be used again by the next.
#[derive(Default, Debug)]
pub struct MachineBuffers {
    frames: Vec<CallFrame>,
    windows: WindowBuffer,
}

/// The state of a running program.
#[derive(Debug)]
pub struct Machine<'a> {
    /// r0 to r10; behind them, as far as four bits of register number reach, cells that only
    /// unverified programs can name.
    pub(crate) registers: [u64; 16],
    pub(crate) pc: usize,
    pub(crate) frames: Vec<CallFrame>,
    pub(crate) depth: usize,
    /// How far a call moves the frame pointer.
    pub(crate) frame_step: u64,
    /// Guest address of the first instruction.
    pub(crate) text_vaddr: u64,
    pub(crate) metered: bool,
    /// Where the host's stack was when the interpreter came to the program's end; 0 before that.
    pub(crate) chain_end: usize,
    /// The guest's memory.
    pub memory: MemoryMap<'a>,
    /// The compute units that are left.
    pub meter: Meter,
}

impl<'a> Machine<'a> {
    /// A machine about to run `program`: r1 points to the input, r10 to the end of the first
    /// stack frame, or with dynamic frames to the end of the stack.
    #[must_use]
    pub fn new(program: &Executable, config: &Config, memory: MemoryMap<'a>, budget: u64) -> Self {
        let mut machine =
            Self::with_buffers(program, config, memory, budget, MachineBuffers::default());
        machine.memory.cache_all_windows();
        machine
    }

    /// As [`Machine::new`], with the frames of a machine that is no more: a frame is written when it
    /// is pushed, so what is left in them does not matter. What the interpreter alone needs is made
    /// when it does.
    #[must_use]
    pub fn with_buffers(
        program: &Executable,
        config: &Config,
        mut memory: MemoryMap<'a>,
        budget: u64,
        MachineBuffers { mut frames, windows }: MachineBuffers,
    ) -> Self {
        memory.set_window_buffer(windows);
        frames.resize(config.call_depth_max, CallFrame::default());
        let version = program.version();
        let stack_bytes = config.stack_bytes() as u64;
        let mut registers = [0; 16];
        registers[1] = INPUT_START;
        registers[usize::from(FRAME_POINTER)] = STACK_START
            + if version.dynamic_frames() { stack_bytes } else { config.stack_frame_bytes };
        Self {
            registers,
            pc: program.entry_pc() as usize,
            frames,
            depth: 0,
            frame_step: frame_step(version, config),
            text_vaddr: program.text_vaddr(),
            metered: config.metered,
            chain_end: 0,
            memory,
            meter: Meter::new(budget),
        }
    }

    /// The room for frames, for another machine.
    #[must_use]
    pub fn into_buffers(mut self) -> MachineBuffers {
        MachineBuffers { windows: self.memory.take_window_buffer(), frames: self.frames }
    }

    /// r0 to r10.
    #[must_use]
    pub fn registers(&self) -> &[u64; REGISTER_COUNT] {
        self.registers.first_chunk().expect("16 cells hold 11 registers")
    }

    /// r0 to r10, to be set before a run.
    pub fn registers_mut(&mut self) -> &mut [u64; REGISTER_COUNT] {
        self.registers.first_chunk_mut().expect("16 cells hold 11 registers")
    }

    /// The slot of the next instruction; after a run, of the one that ended it.
    #[must_use]
    pub fn pc(&self) -> usize {
        self.pc
    }

    /// Calls that have not returned.
    #[must_use]
    pub fn call_depth(&self) -> usize {
        self.depth
    }

    /// The slots that the calls that have not returned will return to, outermost first.
    pub fn return_pcs(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.frames.iter().take(self.depth).map(|frame| slot(frame.return_pc))
    }

    /// Saves the caller's state and moves to the next frame. `false`, with nothing changed, if
    /// there is none.
    #[inline(always)]
    pub(crate) fn push_frame(&mut self, return_pc: u64) -> bool {
        let Some([frame, _, ..]) = self.frames.get_mut(self.depth..) else { return false };
        save(frame, &self.registers, return_pc);
        self.depth += 1;
        let frame_pointer = &mut self.registers[usize::from(FRAME_POINTER)];
        *frame_pointer = frame_pointer.wrapping_add(self.frame_step);
        true
    }

    /// Saves the caller's state in the last frame, from which nothing can be called.
    #[cold]
    pub(crate) fn fill_frames(&mut self, return_pc: u64) {
        if let Some(frame) = self.frames.get_mut(self.depth) {
            save(frame, &self.registers, return_pc);
            self.depth += 1;
        }
    }

    /// Restores the caller's state and gives the slot to return to; `None` at the outermost call.
    #[inline(always)]
    pub(crate) fn pop_frame(&mut self) -> Option<usize> {
        let depth = self.depth.checked_sub(1)?;
        let frame = self.frames.get(depth)?;
        self.depth = depth;
        self.registers[6] = frame.r6;
        self.registers[7] = frame.r7;
        self.registers[8] = frame.r8;
        self.registers[9] = frame.r9;
        self.registers[usize::from(FRAME_POINTER)] = frame.frame_pointer;
        Some(slot(frame.return_pc))
    }
}

/// The slot that a frame returns to.
#[inline(always)]
fn slot(return_pc: u64) -> usize {
    usize::try_from(return_pc).unwrap_or(usize::MAX)
}

#[inline(always)]
fn save(frame: &mut CallFrame, registers: &[u64; 16], return_pc: u64) {
    frame.r6 = registers[6];
    frame.r7 = registers[7];
    frame.r8 = registers[8];
    frame.r9 = registers[9];
    frame.frame_pointer = registers[usize::from(FRAME_POINTER)];
    frame.return_pc = return_pc;
}

/// How far a call moves the frame pointer.
pub(crate) fn frame_step(version: Version, config: &Config) -> u64 {
    if version.dynamic_frames() {
        0
    } else if version.stack_frame_gaps() && config.stack_frame_gaps {
        config.stack_frame_bytes * 2
    } else {
        config.stack_frame_bytes
    }
}
