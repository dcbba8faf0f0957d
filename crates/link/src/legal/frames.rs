//! Functions that need more stack than a frame has.
//!
//! In versions whose frames follow each other without gaps, such a function gets the frames below its
//! own: it begins with calls of what follows each of them, so that no other function uses the frames in between.
//!
//! ```text
//! f:    call f.2    what follows has this frame, too
//!       exit
//! f.2:  …           the function
//! ```
//!
//! Arguments that a function passes in memory are at the bottom of its topmost frame. There, all else is
//! moved down by a frame.

use selkie_isa::{Version, layout::STACK_FRAME_BYTES};

use crate::stack::Frame;

/// The most frames of a function: 16-bit offsets reach as far.
pub(super) const FRAMES_MAX: u64 = 7;

/// The slots of a call with the exit behind it.
pub(crate) const CALL_SLOTS: u32 = 2;

/// What an expansion may need for registers that it saves.
const SAVED_BYTES: u64 = 64;

/// The frames of a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frames {
    pub(super) count: u64,
    /// By how many bytes what the function has in its frame is moved down.
    pub(super) moved: u64,
}

impl Frames {
    const ONE: Self = Self { count: 1, moved: 0 };

    /// Returns the frames for what a function uses, with `passed` bytes of arguments in memory.
    pub(super) fn of(frame: &Frame, passed: u64, version: Version) -> Self {
        if frame.bytes + passed <= STACK_FRAME_BYTES
            || version.stack_frame_gaps()
            || version.dynamic_frames()
        {
            return Self::ONE;
        }
        let moved = if passed > 0 { STACK_FRAME_BYTES } else { 0 };
        let count = (frame.bytes_max + SAVED_BYTES + moved).div_ceil(STACK_FRAME_BYTES);
        match count <= FRAMES_MAX {
            true => Self { count, moved },
            false => Self::ONE,
        }
    }
}
