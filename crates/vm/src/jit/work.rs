//! What compiling has taken and made.

/// What compiling a program has taken so far. None of it depends on timing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct JitWork {
    /// Compilation units.
    pub units: usize,
    /// Slots of all units; slots that were compiled again count again.
    pub slots: u64,
    /// Slots that were scanned to find out which registers functions overwrite.
    pub scanned: u64,
    /// Bytes of machine code and its tables.
    pub bytes: usize,
}

/// A span of machine code, and the instruction that it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Offset in [`MachineCode::bytes`](super::MachineCode::bytes).
    pub start: usize,
    /// The offset after the last byte.
    pub end: usize,
    /// The slot of the instruction; `None` for the shared routines.
    pub slot: Option<usize>,
    /// Whether the span is out of the common path.
    pub cold: bool,
}
