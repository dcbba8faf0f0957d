//! How a program ends when it does not end well.

use core::fmt;

use selkie_isa::eval::DivisionError;

/// What an instruction or a syscall does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Read.
    Load,
    /// Write.
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

/// A syscall's own error.
pub type SyscallError = Box<dyn core::error::Error + Send + Sync>;

/// Why a program was stopped. Texts are anza sbpf's `EbpfError`'s, which programs' logs show.
#[derive(Debug)]
pub enum Trap {
    /// More nested calls than there are frames.
    CallDepthExceeded,
    /// A divisor was zero.
    DivideByZero,
    /// The smallest signed number was divided by -1 (V2).
    DivideOverflow,
    /// The last instruction was passed.
    ExecutionOverrun,
    /// `callx` of an address that is no instruction.
    CallOutsideTextSegment,
    /// The compute budget is used up.
    ExceededMaxInstructions,
    /// Two regions overlap, or share a window: this one, or this window.
    InvalidMemoryRegion(usize),
    /// An access of memory that is not there, or not for this kind of access.
    AccessViolation {
        /// What was tried.
        access: Access,
        /// The guest address.
        vaddr: u64,
        /// Bytes.
        len: u64,
        /// The name of the region that holds the address, or `unallocated`.
        region: &'static str,
    },
    /// The same, near the stack of a program with fixed frames.
    StackAccessViolation {
        /// What was tried.
        access: Access,
        /// The guest address.
        vaddr: u64,
        /// Bytes.
        len: u64,
        /// Which slot of the size of a frame the address falls into, gaps counted.
        frame: i64,
    },
    /// An operand that no verified program has.
    InvalidInstruction,
    /// An instruction that this version lacks, or a call of something unknown.
    UnsupportedInstruction,
    /// A syscall failed.
    Syscall(SyscallError),
}

impl Trap {
    /// The error's place in the validator's list, from 0 (anza sbpf: `error.rs`).
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
