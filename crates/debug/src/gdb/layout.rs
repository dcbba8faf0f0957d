//! gdb's address space.
//!
//! | addresses | what is there |
//! |---|---|
//! | below 64 GiB | the memory of the program that runs, at its own addresses |
//! | from 32 GiB, within them | the window of frames, where no program has memory |
//! | from 64 GiB on, 64 GiB each | the code of the programs, which have it at the same addresses |
//! | 64 | the function `runtime`, to which programs return |

use core::ops::Range;

/// The distance between two programs' code.
const PROGRAM_BYTES: u64 = 1 << 36;

/// The address of the function `runtime`.
pub(super) const RUNTIME: u64 = 0x40;

/// The address that programs return to. gdb looks for the call before it.
pub(super) const RUNTIME_RETURN: u64 = RUNTIME + 4;

/// The size of the record of a frame.
pub(super) const RECORD_BYTES: u64 = 64;

/// The frames that have records. There are 64 calls at most.
const RECORDS_MAX: u64 = 1024;

/// The window of frames. Records go down from its end, as gdb expects of a stack.
pub(super) const FRAMES: Range<u64> = 8 << 32..(8 << 32) + RECORD_BYTES * RECORDS_MAX;

/// Returns how far the code of a program is from where its file has it.
pub(super) fn base(program: usize) -> u64 {
    (program as u64).saturating_add(1).saturating_mul(PROGRAM_BYTES)
}

/// Splits an address of code into a program and the address in its file.
pub(super) fn program_at(address: u64) -> Option<(usize, u64)> {
    let program = (address / PROGRAM_BYTES).checked_sub(1)?;
    Some((usize::try_from(program).ok()?, address % PROGRAM_BYTES))
}

/// Returns the end of the record of a frame that this many others have called.
pub(super) fn record_end(callers: usize) -> u64 {
    FRAMES.end.saturating_sub(RECORD_BYTES.saturating_mul(callers as u64)).max(FRAMES.start)
}
