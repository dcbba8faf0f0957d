//! What a run depends on besides the program.

use selkie_isa::layout::{CALL_DEPTH_MAX, STACK_FRAME_BYTES};

/// The virtual machine's settings. The default is mainnet's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The call depth that is refused: with 64, the entry function and 63 nested calls fit.
    pub call_depth_max: usize,
    /// Bytes of a stack frame: a power of two.
    pub stack_frame_bytes: u64,
    /// Put an unmapped gap after every stack frame of V0 programs.
    pub stack_frame_gaps: bool,
    /// Each 4 GiB window of the address space holds one region at most.
    pub aligned_memory: bool,
    /// Count instructions and stop at the budget.
    pub metered: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            call_depth_max: CALL_DEPTH_MAX,
            stack_frame_bytes: STACK_FRAME_BYTES,
            stack_frame_gaps: true,
            aligned_memory: true,
            metered: true,
        }
    }
}

impl Config {
    /// Bytes of host memory that the stack takes.
    #[must_use]
    pub fn stack_bytes(&self) -> usize {
        usize::try_from(self.stack_frame_bytes)
            .unwrap_or(usize::MAX)
            .saturating_mul(self.call_depth_max)
    }
}
