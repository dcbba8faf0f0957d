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

/// The compute units that are left to a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Meter {
    remaining: u64,
}

/// The error of consuming more compute units than are left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeterExceeded;

impl Meter {
    /// Creates a meter with `remaining` compute units.
    #[must_use]
    pub fn new(remaining: u64) -> Self {
        Self { remaining }
    }

    /// Returns the compute units that are left.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Consumes `compute_units`.
    ///
    /// # Errors
    /// If fewer are left; all of them are consumed then.
    pub fn consume(&mut self, compute_units: u64) -> Result<(), MeterExceeded> {
        let enough = self.remaining >= compute_units;
        self.remaining = self.remaining.saturating_sub(compute_units);
        if enough { Ok(()) } else { Err(MeterExceeded) }
    }

    /// Sets the compute units that are left, for hosts that run programs inside syscalls.
    pub fn set_remaining(&mut self, remaining: u64) {
        self.remaining = remaining;
    }
}

/// A call frame: what a call saves, which is r6 to r10 and the slot to return to.
///
/// The saved registers are not adjacent, so that the compiler does not copy them in pairs: a wide
/// load directly after narrow stores to its halves stalls.
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
    /// Creates a frame from r6 to r10 and the slot to return to.
    pub(crate) fn new([r6, r7, r8, r9, frame_pointer]: [u64; 5], return_pc: u64) -> Self {
        Self { r6, return_pc, r7, frame_pointer, r8, spacing: 0, r9 }
    }
}

/// The allocations of a [`Machine`], to be reused by the next one.
#[derive(Default, Debug)]
pub struct MachineBuffers {
    frames: Vec<CallFrame>,
    windows: WindowBuffer,
}

/// The state of a running program.
#[derive(Debug)]
pub struct Machine<'a> {
    /// r0 to r10, and after them r11 to r15, which only unverified programs can name.
    pub(crate) registers: [u64; 16],
    /// The slot of the next instruction.
    pub(crate) pc: usize,
    /// All call frames that a run may use.
    pub(crate) frames: Vec<CallFrame>,
    /// Frames in use.
    pub(crate) depth: usize,
    /// Bytes by which a call moves the frame pointer.
    pub(crate) frame_step: u64,
    /// Guest address of the first instruction.
    pub(crate) text_vaddr: u64,
    pub(crate) metered: bool,
    /// The host's stack pointer at the end of the program, or 0: for `chain.rs`.
    pub(crate) chain_end: usize,
    /// The guest's memory.
    pub memory: MemoryMap<'a>,
    /// The compute units that are left.
    pub meter: Meter,
}

impl<'a> Machine<'a> {
    /// Creates a machine that is about to run a program with `budget` compute units: r1 points to
    /// the input, r10 to the end of the first stack frame, or with dynamic frames to the end of the
    /// stack.
    #[must_use]
    pub fn new(
        executable: &Executable,
        config: &Config,
        memory: MemoryMap<'a>,
        budget: u64,
    ) -> Self {
        let mut machine =
            Self::with_buffers(executable, config, memory, budget, MachineBuffers::default());
        machine.memory.cache_all_windows();
        machine
    }

    /// Creates a machine like [`Machine::new`] that reuses the allocations of another one. Call
    /// frames are written before they are read, so their old contents do not matter. The window
    /// cache is made when the interpreter first accesses memory.
    #[must_use]
    #[inline]
    pub fn with_buffers(
        executable: &Executable,
        config: &Config,
        mut memory: MemoryMap<'a>,
        budget: u64,
        MachineBuffers { mut frames, windows }: MachineBuffers,
    ) -> Self {
        memory.set_window_buffer(windows);
        frames.resize(config.call_depth_max, CallFrame::default());
        let version = executable.version();
        let stack_bytes = config.stack_bytes() as u64;
        let mut registers = [0; 16];
        registers[1] = INPUT_START;
        registers[usize::from(FRAME_POINTER)] = STACK_START
            + if version.dynamic_frames() { stack_bytes } else { config.stack_frame_bytes };
        Self {
            registers,
            pc: executable.entry_pc() as usize,
            frames,
            depth: 0,
            frame_step: frame_step(version, config),
            text_vaddr: executable.text_vaddr(),
            metered: config.metered,
            chain_end: 0,
            memory,
            meter: Meter::new(budget),
        }
    }

    /// Returns the allocations, for [`Machine::with_buffers`].
    #[must_use]
    pub fn into_buffers(mut self) -> MachineBuffers {
        MachineBuffers { windows: self.memory.take_window_buffer(), frames: self.frames }
    }

    /// Returns r0 to r10.
    #[must_use]
    pub fn registers(&self) -> &[u64; REGISTER_COUNT] {
        self.registers.first_chunk().expect("16 registers include the first 11")
    }

    /// Returns r0 to r10, to be set before a run.
    pub fn registers_mut(&mut self) -> &mut [u64; REGISTER_COUNT] {
        self.registers.first_chunk_mut().expect("16 registers include the first 11")
    }

    /// Returns the slot of the next instruction; after a run, of the one that ended it.
    #[must_use]
    pub fn pc(&self) -> usize {
        self.pc
    }

    /// Returns the number of calls that have not returned.
    #[must_use]
    pub fn call_depth(&self) -> usize {
        self.depth
    }

    /// Returns the return slots of the calls that have not returned, outermost first.
    pub fn return_pcs(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.frames.iter().take(self.depth).map(|frame| slot(frame.return_pc))
    }

    /// Returns what each call that has not returned has saved, outermost first: r6 to r10 of the
    /// caller, and the slot to return to.
    pub fn saved_frames(&self) -> impl DoubleEndedIterator<Item = ([u64; 5], usize)> {
        let frames = self.frames.iter().take(self.depth);
        frames.map(|it| ([it.r6, it.r7, it.r8, it.r9, it.frame_pointer], slot(it.return_pc)))
    }

    /// Saves the caller's state and moves to the next frame. Returns `false`, with nothing changed,
    /// if the maximum call depth is reached.
    #[inline(always)]
    pub(crate) fn push_frame(&mut self, return_pc: u64) -> bool {
        let Some([frame, _, ..]) = self.frames.get_mut(self.depth..) else { return false };
        save(frame, &self.registers, return_pc);
        self.depth += 1;
        let frame_pointer = &mut self.registers[usize::from(FRAME_POINTER)];
        *frame_pointer = frame_pointer.wrapping_add(self.frame_step);
        true
    }

    /// Saves the caller's state in the last frame, whose call fails with
    /// [`Trap::CallDepthExceeded`](crate::Trap::CallDepthExceeded).
    #[cold]
    pub(crate) fn push_last_frame(&mut self, return_pc: u64) {
        if let Some(frame) = self.frames.get_mut(self.depth) {
            save(frame, &self.registers, return_pc);
            self.depth += 1;
        }
    }

    /// Restores the caller's state and returns the slot to return to, or `None` in the entry
    /// function.
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

/// Converts a saved return slot.
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

/// Returns by how many bytes a call moves the frame pointer.
pub(crate) fn frame_step(version: Version, config: &Config) -> u64 {
    if version.dynamic_frames() {
        0
    } else if version.stack_frame_gaps() && config.stack_frame_gaps {
        config.stack_frame_bytes * 2
    } else {
        config.stack_frame_bytes
    }
}
