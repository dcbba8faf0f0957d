//! The context: what machine code and Rust share during a run.

use core::{mem::MaybeUninit, sync::atomic::AtomicU64};

use crate::{
    machine::Meter,
    memory::{RegionBounds, WindowTable},
};

/// How many bits of an address, from the 32nd on, are the index of its entry in a [`WindowTable`].
pub(super) const WINDOW_BITS: u32 = 3;

/// The index of the stack's window.
pub(super) const STACK_WINDOW: usize = 2;
/// The number of frames by which the usable stack grows at a time.
pub(super) const STACK_STEP_FRAMES: i32 = 1;

/// The number of region hints.
pub(super) const REGION_HINTS: u8 = 16;

/// What machine code and Rust share during a run. The fields that machine code uses come before
/// `run`, so that their offsets do not depend on its type.
#[repr(C, align(64))]
pub(super) struct Context<R> {
    pub(super) windows: WindowTable,
    /// Spilled pointers of checks, for later accesses of the block.
    pub(super) spilled: MaybeUninit<[u64; 8]>,
    /// Regions of windows with several regions, for the checks with the same index. Not used with
    /// aligned memory.
    pub(super) hints: MaybeUninit<[RegionHint; REGION_HINTS as usize]>,
    /// r0 to r9, and the frame register: see the back end.
    pub(super) registers: [u64; 11],
    /// The compute units that are left, while Rust runs.
    pub(super) meter: Meter,
    /// The frame register must be below this at a call. With dynamic frames, the least stack
    /// pointer.
    pub(super) frame_limit: u64,
    /// How many steps `frame_limit` and the limit for stores to the stack may still be raised.
    pub(super) stack_steps: u64,
    /// r10 minus the frame register (minus twice that, with gaps).
    pub(super) frame_key: u64,
    pub(super) blinding_key: u64,
    pub(super) text_vaddr: u64,
    pub(super) slots: u64,
    pub(super) entries: *const AtomicU64,
    /// Addresses of the routines in the first unit, for other units.
    pub(super) missing: u64,
    pub(super) leave_routine: u64,
    pub(super) syscall_routine: u64,
    pub(super) more_stack_routine: u64,
    pub(super) dirty_page_store_routine: u64,
    /// How many times that routine may still be used.
    pub(super) dirty_page_stores_left: u64,
    pub(super) memory_routines: [u64; 4],
    /// The slot of the `exit` that ended the program, or of a function without machine code, or the
    /// number of a syscall.
    pub(super) pc: u64,
    /// The stack pointer at entry.
    pub(super) entry_stack: u64,
    /// Where to resume after `leave`; 0 to stop.
    pub(super) resume: u64,
    /// The pointer register then.
    pub(super) pointer: u64,
    /// The addresses of the functions of [`Exits`](super::exits::Exits).
    pub(super) leave: u64,
    pub(super) syscall: u64,
    /// The [counts](crate::BranchCounters::words) of branches; null for code that does not count.
    pub(super) counts: *const AtomicU64,
    /// The data of Rust.
    pub(super) run: R,
}

/// A [region](RegionBounds) as machine code compares it: with lengths, because offsets from the
/// start cannot wrap around, as addresses can.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RegionHint {
    pub(super) start: u64,
    /// How many bytes may be loaded, and stored to.
    pub(super) lens: [u64; 2],
    /// The difference between host address and guest address.
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
