//! What machine code calls.

/// A context that machine code runs with.
pub(super) trait Exits {
    /// Leaves the common path. `address` is the return address of the site, `stack` the host's stack
    /// pointer there. The context then tells where to resume.
    fn leave(&mut self, address: usize, stack: *const usize);

    /// Runs the syscall whose number is in the context.
    fn syscall(&mut self, arguments: [u64; 5]) -> Answer;
}

/// The result of a syscall, in two registers.
#[repr(C)]
pub(super) struct Answer {
    /// The value for r0; its old value if the syscall failed.
    pub(super) value: u64,
    /// Whether to continue with `leave`.
    pub(super) stop: u64,
}
