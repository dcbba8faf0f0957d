//! Traps: why the machine stopped a program.

use core::fmt;

use selkie_isa::eval::DivisionError;

/// The kind of a memory access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// A read.
    Load,
    /// A write.
    Store,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Load => "reading",
            Self::Store => "writing",
        })
    }
}

/// The error of a syscall.
pub type SyscallError = Box<dyn core::error::Error + Send + Sync>;

/// Why a program was stopped. The texts are those of anza sbpf's `EbpfError`, which logs show.
#[derive(Debug)]
pub enum Trap {
    /// The maximum call depth was exceeded.
    CallDepthExceeded,
    /// A divisor was zero.
    DivideByZero,
    /// The smallest signed number was divided by -1 (V2).
    DivideOverflow,
    /// Execution ran past the last instruction.
    ExecutionOverrun,
    /// The target of a `callx` is outside of the text.
    CallOutsideTextSegment,
    /// The compute units are used up.
    ExceededMaxInstructions,
    /// Two regions overlap or share a window. Holds the index of the region or the window.
    InvalidMemoryRegion(usize),
    /// An access to unmapped memory, or a store to read-only memory.
    AccessViolation {
        /// Whether it was a load or a store.
        access: Access,
        /// Guest address of the first byte.
        vaddr: u64,
        /// Length in bytes.
        len: u64,
        /// The name of the region that contains the address, or `unallocated`.
        region: &'static str,
    },
    /// Such an access in or next to the stack of a program with fixed frames.
    StackAccessViolation {
        /// Whether it was a load or a store.
        access: Access,
        /// Guest address of the first byte.
        vaddr: u64,
        /// Length in bytes.
        len: u64,
        /// The number of the frame that the address falls into, where gaps count as frames.
        frame: i64,
    },
    /// An operand that the verifier refuses.
    InvalidInstruction,
    /// An instruction that this version does not have, or a call of an unknown function.
    UnsupportedInstruction,
    /// A syscall failed with this error.
    Syscall(SyscallError),
}

impl Trap {
    /// Returns the index of the variant in the validator's `EbpfError` (anza sbpf: `error.rs`).
    #[must_use]
    pub fn discriminant(&self) -> u64 {
        match self {
            Self::CallDepthExceeded => 2,
            Self::DivideByZero => 4,
            Self::DivideOverflow => 5,
            Self::ExecutionOverrun => 6,
            Self::CallOutsideTextSegment => 7,
            Self::ExceededMaxInstructions => 8,
            Self::InvalidMemoryRegion(_) => 10,
            Self::AccessViolation { .. } => 11,
            Self::StackAccessViolation { .. } => 12,
            Self::InvalidInstruction => 13,
            Self::UnsupportedInstruction => 14,
            Self::Syscall(_) => 18,
        }
    }
}

impl From<DivisionError> for Trap {
    fn from(error: DivisionError) -> Self {
        match error {
            DivisionError::ByZero => Self::DivideByZero,
            DivisionError::Overflow => Self::DivideOverflow,
        }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CallDepthExceeded => f.write_str("exceeded max BPF to BPF call depth"),
            Self::DivideByZero => f.write_str("divide by zero at BPF instruction"),
            Self::DivideOverflow => f.write_str("division overflow at BPF instruction"),
            Self::ExecutionOverrun => f.write_str(
                "attempted to execute past the end of the text segment at BPF instruction",
            ),
            Self::CallOutsideTextSegment => {
                f.write_str("callx attempted to call outside of the text segment")
            }
            Self::ExceededMaxInstructions => f.write_str("exceeded CUs meter at BPF instruction"),
            Self::InvalidMemoryRegion(index) => {
                write!(f, "Invalid memory region at index {index}")
            }
            Self::AccessViolation { access, vaddr, len, region } => write!(
                f,
                "Access violation {access} {len} bytes at address {vaddr:#x} (in {region} region)"
            ),
            Self::StackAccessViolation { vaddr, len, frame, .. } => write!(
                f,
                "Access violation in stack frame {frame} at address {vaddr:#x} of size {len}"
            ),
            Self::InvalidInstruction => f.write_str("invalid BPF instruction"),
            Self::UnsupportedInstruction => f.write_str("unsupported BPF instruction"),
            Self::Syscall(error) => write!(f, "Syscall error: {error}"),
        }
    }
}

impl core::error::Error for Trap {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Syscall(error) => Some(error.as_ref()),
            _ => None,
        }
    }
}
