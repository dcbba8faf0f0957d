//! The context: what machine code and Rust share during a run.

use core::{mem::MaybeUninit, sync::atomic::AtomicU64};

use crate::{
    machine::Meter,
    memory::{RegionBounds, WindowTable},
};

/// log2 of a window's size, less that of [`WindowTable`]'s strides.
pub(super) const WINDOW_SHIFT: u8 = 32 - 4;
/// The numbers of windows, times the strides.
pub(super) const WINDOWS_MASK: i32 = 7 << 4;

/// The number of the stack's window.
pub(super) const STACK_WINDOW: usize = 2;
/// Frames that may be used more of the stack at a time.
pub(super) const STACK_STEP_FRAMES: i32 = 1;

/// How many regions are remembered.
pub(super) const REGION_HINTS: u8 = 16;

/// What machine code and Rust share during a run. What machine code sees comes before what depends
/// on the type of Rust's part.
#[repr(C, align(64))]
pub(super) struct Context<R> {
    pub(super) windows: WindowTable,
    /// Pointers that checks gave, for later accesses of the block.
    pub(super) kept: MaybeUninit<[u64; 8]>,
    /// Regions of windows that have several, for the checks that share a number. Code for aligned
    /// memory has no use for them.
    pub(super) near: MaybeUninit<[RegionHint; REGION_HINTS as usize]>,
    /// r0 to r9, and what is in the register for frames: see [`x64`](super::x64).
    pub(super) registers: [u64; 11],
    /// The units that are left, while Rust runs.
    pub(super) meter: Meter,
    /// What the register for frames may not reach at a call; with dynamic frames, what the stack
    /// pointer may not go below.
    pub(super) frame_limit: u64,
    /// How many times that may be moved by a step, along with the limit for stores to the stack.
    pub(super) stack_steps: u64,
    /// r10, less the host's address of the end of the frame (twice that, with gaps).
    pub(super) frame_key: u64,
    pub(super) blinding_key: u64,
    pub(super) text_vaddr: u64,
    pub(super) slots: u64,
    pub(super) entries: *const AtomicU64,
    /// Addresses of routines, for code that is far from them.
    pub(super) missing: u64,
    pub(super) leave_routine: u64,
    pub(super) syscall_routine: u64,
    pub(super) more_stack_routine: u64,
    pub(super) dirty_page_store_routine: u64,
    /// How many times that may yet be called.
    pub(super) dirty_page_stores_left: u64,
    pub(super) memory_routines: [u64; 4],
    /// The slot of the exit that ended the program, or of what is not compiled; the number of a
    /// syscall.
    pub(super) pc: u64,
    /// The stack pointer on the way in.
    pub(super) entry_stack: u64,
    /// Where to go on after `leave`; 0 to stop.
    pub(super) resume: u64,
    /// What is at hand then.
    pub(super) pointer: u64,
    pub(super) leave: unsafe extern "sysv64" fn(*mut Self, usize, *const usize),
    pub(super) syscall: unsafe extern "sysv64" fn(*mut Self, u64, u64, u64, u64, u64) -> Answer,
    /// Rust's part.
    pub(super) run: R,
}

/// What comes of a syscall, in two registers.
#[repr(C)]
pub(super) struct Answer {
    /// For r0; what that was before if the syscall failed.
    pub(super) value: u64,
    /// Whether to go on to `leave`.
    pub(super) stop: u64,
}

/// A region ([`RegionBounds`]) as machine code compares it: offsets from the start cannot wrap around to be small,
/// as addresses can.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RegionHint {
    pub(super) start: u64,
    /// How many bytes may be loaded, and stored.
    pub(super) lens: [u64; 2],
    /// From the guest's address to the host's.
    pub(super) base: u64,
}

impl RegionHint {
    pub(super) const EMPTY: Self = Self { start: 0, lens: [0; 2], base: 0 };
}

impl From<RegionBounds> for RegionHint {
    fn from(near: RegionBounds) -> Self {
        let lens = near.ends.map(|end| end.saturating_sub(near.start));
        Self { start: near.start, lens, base: near.base }
    }
}
