//! The settings of the virtual machine.

use selkie_isa::layout::{CALL_DEPTH_MAX, STACK_FRAME_BYTES};

/// The settings of the virtual machine. The default is that of mainnet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The call depth that is refused: 64 allows the entry function and 63 nested calls.
    pub call_depth_max: usize,
    /// Bytes of a stack frame: a power of two.
    pub stack_frame_bytes: u64,
    /// Whether an unmapped gap follows every stack frame of V0 programs.
    pub stack_frame_gaps: bool,
    /// Whether each 4 GiB window of the address space holds at most one region.
    pub aligned_memory: bool,
    /// Whether instructions are charged and programs stop when the budget is used up.
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
    /// Returns the bytes of host memory that the stack takes.
    #[must_use]
    pub fn stack_bytes(&self) -> usize {
        usize::try_from(self.stack_frame_bytes)
            .unwrap_or(usize::MAX)
            .saturating_mul(self.call_depth_max)
    }
}
