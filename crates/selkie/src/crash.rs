//! Crashes: whether a transaction failed since a program went wrong, rather than since it refused.
//!
//! To the runtime both are errors of an instruction. They are told apart by how the program ended:
//!
//! | how the program ended | what it is |
//! |---|---|
//! | it returned an error | no crash: the program means it |
//! | a CPI failed, so that the caller ended with the error of the callee | no crash of the caller |
//! | the runtime refused what it did to accounts, at its end or at the access | no crash: programs leave such checks to the runtime |
//! | the syscalls `abort` and `sol_panic_`, which every panic handler of Rust ends with, and those of C | [`Crash::Panic`] |
//! | the machine stopped it | the other crashes |

use core::fmt;

use selkie_svm::{error::SyscallError, stop::Trap};
use solana_instruction_error::InstructionError;

use crate::receipt::Receipt;

/// How a program crashed. The worst comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Crash {
    /// It panicked, or called `abort`.
    Panic,
    /// It accessed memory that is not there, or that it cannot write.
    AccessViolation,
    /// It divided by zero.
    DivideByZero,
    /// It divided the smallest number by -1.
    DivideOverflow,
    /// It called too many functions that had not returned.
    CallDepth,
    /// It used all compute units.
    ComputeUnits,
    /// It gave a syscall arguments that are not allowed.
    Syscall,
    /// It executed something that is no instruction, or left its code.
    Code,
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Panic => "panic",
            Self::AccessViolation => "access violation",
            Self::DivideByZero => "division by zero",
            Self::DivideOverflow => "overflow of a division",
            Self::CallDepth => "too many nested calls",
            Self::ComputeUnits => "compute units used up",
            Self::Syscall => "refused syscall",
            Self::Code => "execution of what is no code",
        })
    }
}

impl Crash {
    /// Returns which crash a trap is; `None` of a CPI that failed, whose error the callee decided on.
    #[must_use]
    pub fn of(trap: &Trap) -> Option<Self> {
        let error = match trap {
            Trap::AccessViolation { .. } | Trap::StackAccessViolation { .. } => {
                return Some(Self::AccessViolation);
            }
            Trap::DivideByZero => return Some(Self::DivideByZero),
            Trap::DivideOverflow => return Some(Self::DivideOverflow),
            Trap::CallDepthExceeded => return Some(Self::CallDepth),
            Trap::ExceededMaxInstructions => return Some(Self::ComputeUnits),
            Trap::ExecutionOverrun
            | Trap::CallOutsideTextSegment
            | Trap::InvalidMemoryRegion(_)
            | Trap::InvalidInstruction
            | Trap::UnsupportedInstruction => return Some(Self::Code),
            Trap::Syscall(error) => error,
        };
        if let Some(inner) = error.downcast_ref::<Trap>() {
            return Self::of(inner);
        }
        match (error.downcast_ref::<SyscallError>(), error.downcast_ref::<InstructionError>()) {
            (Some(SyscallError::Abort | SyscallError::Panic { .. }), _) => Some(Self::Panic),
            (_, Some(InstructionError::ComputationalBudgetExceeded)) => Some(Self::ComputeUnits),
            (_, Some(_)) => None,
            _ => Some(Self::Syscall),
        }
    }
}

impl Receipt {
    /// Returns how a program crashed; `None` if the transaction succeeded, and if it failed with an
    /// error that a program returned or that the runtime refused it with.
    ///
    /// ```
    /// use selkie::{Account, Svm, address, system};
    ///
    /// let rich = Account { lamports: 1_000_000, ..Account::default() };
    /// let instruction = system::transfer(&address("alice"), &address("bob"), 1_000_000);
    /// let accounts = [(address("alice"), rich), (address("bob"), Account::default())];
    /// let receipt = Svm::new().process_instruction(&instruction, &accounts);
    /// assert_eq!(receipt.crash(), None, "{receipt}");
    /// ```
    #[must_use]
    pub fn crash(&self) -> Option<Crash> {
        let stopped = self.stopped.as_ref()?;
        // An access that an account does not allow is a trap, but fails with another error.
        let failed = self.failed_instruction.as_ref().filter(|it| {
            it.program_id == stopped.program_id
                && !matches!(
                    it.error,
                    InstructionError::ProgramFailedToComplete
                        | InstructionError::ComputationalBudgetExceeded
                )
        });
        if failed.is_some() {
            return None;
        }
        Crash::of(stopped.stop().trap)
    }

    /// Returns what a panic of Rust has written to the log, without the log's own prefix:
    /// `panicked at src/lib.rs:7:5: …`, of all lines.
    #[must_use]
    pub fn panic_message(&self) -> Option<String> {
        let lines: Vec<&str> = self.logs.iter().map(AsRef::as_ref).collect();
        let start = lines.iter().rposition(|line| line.contains("panicked at"))?;
        let first = lines.get(start)?.trim_start_matches("Program log: ");
        // One call of `sol_log_` may have lines of its own.
        let more: Vec<&str> = first.lines().map(str::trim).collect();
        Some(more.join(" "))
    }
}
