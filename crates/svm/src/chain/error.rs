//! Errors of syscalls, instructions and transactions, with mainnet's texts and numbers.
//!
//! All numbers of errors are in this module. The texts appear in logs, which clients parse.

use core::{fmt, mem, str::Utf8Error};

use selkie_vm::Trap;
pub use solana_instruction_error::InstructionError;
use solana_pubkey::{Pubkey, PubkeyError};
use solana_transaction_error::TransactionError;

/// The error of a syscall that ends the program (agave: `solana-syscalls`, `SyscallError`).
///
/// A syscall may also fail with an [`InstructionError`], which becomes the instruction's result,
/// or with the [`Trap`] of a memory access.
///
/// Selkie never raises the variants that say so. They exist in agave, and keep their numbers here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SyscallError {
    /// Text is not UTF-8: the error and the bytes.
    InvalidString(Utf8Error, Vec<u8>),
    /// The program called `abort`.
    Abort,
    /// The program called `sol_panic_`.
    Panic {
        /// The source file given by the program.
        file: String,
        /// The line given by the program.
        line: u64,
        /// The column given by the program.
        column: u64,
    },
    /// The invoke context is in use. Never raised.
    InvokeContextBorrowFailed,
    /// A signer seed is not UTF-8: the error and the bytes. Never raised.
    MalformedSignerSeed(Utf8Error, Vec<u8>),
    /// No program derived address results from signer seeds.
    BadSeeds(PubkeyError),
    /// A CPI to a program that programs must not invoke.
    ProgramNotSupported(Pubkey),
    /// A guest address is not aligned as the type that it points to.
    UnalignedPointer,
    /// A CPI with too many lists of signer seeds.
    TooManySigners,
    /// A CPI with too large an instruction. Never raised.
    InstructionTooLarge {
        /// Its length in bytes.
        len: usize,
        /// The maximum.
        max: usize,
    },
    /// A CPI with too many accounts. Never raised.
    TooManyAccounts,
    /// Source and destination of `sol_memcpy_`, or two results of one syscall, overlap.
    CopyOverlapping,
    /// `sol_set_return_data` with too many bytes.
    ReturnDataTooLarge {
        /// The number of bytes.
        len: u64,
        /// The maximum.
        max: u64,
    },
    /// A hash of too many slices.
    TooManySlices,
    /// A length or count is outside its range, or the bytes that it stands for exceed `i64::MAX`.
    InvalidLength,
    /// A CPI with too much instruction data.
    MaxInstructionDataLenExceeded {
        /// Its length in bytes.
        len: u64,
        /// The maximum.
        max: u64,
    },
    /// A CPI whose instruction lists too many accounts.
    MaxInstructionAccountsExceeded {
        /// The number of accounts.
        count: u64,
        /// The maximum.
        max: u64,
    },
    /// A CPI with too many `AccountInfo`s.
    MaxInstructionAccountInfosExceeded {
        /// The number of `AccountInfo`s.
        count: u64,
        /// The maximum.
        max: u64,
    },
    /// An argument has a value that the syscall does not accept, such as an unknown curve.
    InvalidAttribute,
    /// A guest address is outside the region in which the syscall accepts it.
    InvalidPointer,
    /// A sum or product overflows. Never raised.
    ArithmeticOverflow,
}

impl SyscallError {
    /// Returns the index of the variant in agave's enum.
    #[must_use]
    pub fn discriminant(&self) -> u64 {
        match self {
            Self::InvalidString(..) => 0,
            Self::Abort => 1,
            Self::Panic { .. } => 2,
            Self::InvokeContextBorrowFailed => 3,
            Self::MalformedSignerSeed(..) => 4,
            Self::BadSeeds(_) => 5,
            Self::ProgramNotSupported(_) => 6,
            Self::UnalignedPointer => 7,
            Self::TooManySigners => 8,
            Self::InstructionTooLarge { .. } => 9,
            Self::TooManyAccounts => 10,
            Self::CopyOverlapping => 11,
            Self::ReturnDataTooLarge { .. } => 12,
            Self::TooManySlices => 13,
            Self::InvalidLength => 14,
            Self::MaxInstructionDataLenExceeded { .. } => 15,
            Self::MaxInstructionAccountsExceeded { .. } => 16,
            Self::MaxInstructionAccountInfosExceeded { .. } => 17,
            Self::InvalidAttribute => 18,
            Self::InvalidPointer => 19,
            Self::ArithmeticOverflow => 20,
        }
    }
}

impl fmt::Display for SyscallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidString(error, bytes) | Self::MalformedSignerSeed(error, bytes) => {
                write!(f, "{error}: {bytes:?}")
            }
            Self::Abort => f.write_str("SBF program panicked"),
            Self::Panic { file, line, column } => {
                write!(f, "SBF program Panicked in {file} at {line}:{column}")
            }
            Self::InvokeContextBorrowFailed => f.write_str("Cannot borrow invoke context"),
            Self::BadSeeds(error) => {
                write!(f, "Could not create program address with signer seeds: {error}")
            }
            Self::ProgramNotSupported(program) => {
                write!(f, "Program {program} not supported by inner instructions")
            }
            Self::UnalignedPointer => f.write_str("Unaligned pointer"),
            Self::TooManySigners => f.write_str("Too many signers"),
            Self::InstructionTooLarge { len, max } => {
                write!(f, "Instruction passed to inner instruction is too large ({len} > {max})")
            }
            Self::TooManyAccounts => f.write_str("Too many accounts passed to inner instruction"),
            Self::CopyOverlapping => f.write_str("Overlapping copy"),
            Self::ReturnDataTooLarge { len, max } => {
                write!(f, "Return data too large ({len} > {max})")
            }
            Self::TooManySlices => f.write_str("Hashing too many sequences"),
            Self::InvalidLength => f.write_str("InvalidLength"),
            Self::MaxInstructionDataLenExceeded { len, max } => {
                write!(f, "Invoked an instruction with data that is too large ({len} > {max})")
            }
            Self::MaxInstructionAccountsExceeded { count, max } => {
                write!(f, "Invoked an instruction with too many accounts ({count} > {max})")
            }
            Self::MaxInstructionAccountInfosExceeded { count, max } => {
                write!(f, "Invoked an instruction with too many account info's ({count} > {max})")
            }
            Self::InvalidAttribute => f.write_str("InvalidAttribute"),
            Self::InvalidPointer => f.write_str("Invalid pointer"),
            Self::ArithmeticOverflow => f.write_str("Arithmetic overflow"),
        }
    }
}

impl core::error::Error for SyscallError {}

/// Every instruction error, in the order of the SDK's enum.
#[allow(deprecated, reason = "deprecated variants keep their numbers")]
const INSTRUCTION_ERRORS: &[InstructionError] = {
    use InstructionError as E;
    &[
        E::GenericError,
        E::InvalidArgument,
        E::InvalidInstructionData,
        E::InvalidAccountData,
        E::AccountDataTooSmall,
        E::InsufficientFunds,
        E::IncorrectProgramId,
        E::MissingRequiredSignature,
        E::AccountAlreadyInitialized,
        E::UninitializedAccount,
        E::UnbalancedInstruction,
        E::ModifiedProgramId,
        E::ExternalAccountLamportSpend,
        E::ExternalAccountDataModified,
        E::ReadonlyLamportChange,
        E::ReadonlyDataModified,
        E::DuplicateAccountIndex,
        E::ExecutableModified,
        E::RentEpochModified,
        E::NotEnoughAccountKeys,
        E::AccountDataSizeChanged,
        E::AccountNotExecutable,
        E::AccountBorrowFailed,
        E::AccountBorrowOutstanding,
        E::DuplicateAccountOutOfSync,
        E::Custom(0),
        E::InvalidError,
        E::ExecutableDataModified,
        E::ExecutableLamportChange,
        E::ExecutableAccountNotRentExempt,
        E::UnsupportedProgramId,
        E::CallDepth,
        E::MissingAccount,
        E::ReentrancyNotAllowed,
        E::MaxSeedLengthExceeded,
        E::InvalidSeeds,
        E::InvalidRealloc,
        E::ComputationalBudgetExceeded,
        E::PrivilegeEscalation,
        E::ProgramEnvironmentSetupFailure,
        E::ProgramFailedToComplete,
        E::ProgramFailedToCompile,
        E::Immutable,
        E::IncorrectAuthority,
        E::BorshIoError,
        E::AccountNotRentExempt,
        E::InvalidAccountOwner,
        E::ArithmeticOverflow,
        E::UnsupportedSysvar,
        E::IllegalOwner,
        E::MaxAccountsDataAllocationsExceeded,
        E::MaxAccountsExceeded,
        E::MaxInstructionTraceLengthExceeded,
        E::BuiltinProgramsMustConsumeComputeUnits,
        E::BailOut,
    ]
};

/// Returns the index of an instruction error's variant in the SDK's enum.
///
/// ```
/// use selkie_svm::{InstructionError, error::discriminant};
/// assert_eq!(discriminant(&InstructionError::Custom(7)), 25);
/// ```
#[must_use]
pub fn discriminant(error: &InstructionError) -> u64 {
    let is_it = |listed: &InstructionError| mem::discriminant(listed) == mem::discriminant(error);
    let index = INSTRUCTION_ERRORS.iter().position(is_it);
    index.expect("the list has every variant") as u64
}

/// Returns the index of a transaction error's variant in the SDK's enum: its number on the wire.
///
/// ```
/// use selkie_svm::error::transaction_discriminant;
/// use solana_transaction_error::TransactionError;
/// assert_eq!(transaction_discriminant(&TransactionError::BlockhashNotFound), Some(7));
/// ```
///
/// `None` for variants that are newer than this list.
#[must_use]
pub fn transaction_discriminant(error: &TransactionError) -> Option<u32> {
    let name = format!("{error:?}");
    let name = name.split(['(', ' ']).next().unwrap_or_default();
    let index = TRANSACTION_ERRORS.iter().position(|known| *known == name);
    index.and_then(|index| u32::try_from(index).ok())
}

/// The names of the variants of [`TransactionError`], in the SDK's order.
const TRANSACTION_ERRORS: [&str; 40] = [
    "AccountInUse",
    "AccountLoadedTwice",
    "AccountNotFound",
    "ProgramAccountNotFound",
    "InsufficientFundsForFee",
    "InvalidAccountForFee",
    "AlreadyProcessed",
    "BlockhashNotFound",
    "InstructionError",
    "CallChainTooDeep",
    "MissingSignatureForFee",
    "InvalidAccountIndex",
    "SignatureFailure",
    "InvalidProgramForExecution",
    "SanitizeFailure",
    "ClusterMaintenance",
    "AccountBorrowOutstanding",
    "WouldExceedMaxBlockCostLimit",
    "UnsupportedVersion",
    "InvalidWritableAccount",
    "WouldExceedMaxAccountCostLimit",
    "WouldExceedAccountDataBlockLimit",
    "TooManyAccountLocks",
    "AddressLookupTableNotFound",
    "InvalidAddressLookupTableOwner",
    "InvalidAddressLookupTableData",
    "InvalidAddressLookupTableIndex",
    "InvalidRentPayingAccount",
    "WouldExceedMaxVoteCostLimit",
    "WouldExceedAccountDataTotalLimit",
    "DuplicateInstruction",
    "InsufficientFundsForRent",
    "MaxLoadedAccountsDataSizeExceeded",
    "InvalidLoadedAccountsDataSizeLimit",
    "ResanitizationNeeded",
    "ProgramExecutionTemporarilyRestricted",
    "UnbalancedTransaction",
    "ProgramCacheHitMaxLimit",
    "CommitCancelled",
    "BailOut",
];

/// Returns the instruction error for the r0 of a program that exited; `None` if r0 is 0.
///
/// The lower 32 bits are the number of a custom error, the upper 32 bits that of a builtin one (SDK:
/// `solana-program-error`).
#[must_use]
#[allow(deprecated, reason = "`NotEnoughAccountKeys` is what the number means")]
pub fn from_return_value(r0: u64) -> Option<InstructionError> {
    use InstructionError as E;
    let (upper, lower) = (r0 >> 32, u32::try_from(r0 & u64::from(u32::MAX)).unwrap_or_default());
    if upper == 0 {
        return (lower != 0).then_some(E::Custom(lower));
    }
    if lower != 0 {
        return Some(E::InvalidError);
    }
    Some(match upper {
        1 => E::Custom(0),
        2 => E::InvalidArgument,
        3 => E::InvalidInstructionData,
        4 => E::InvalidAccountData,
        5 => E::AccountDataTooSmall,
        6 => E::InsufficientFunds,
        7 => E::IncorrectProgramId,
        8 => E::MissingRequiredSignature,
        9 => E::AccountAlreadyInitialized,
        10 => E::UninitializedAccount,
        11 => E::NotEnoughAccountKeys,
        12 => E::AccountBorrowFailed,
        13 => E::MaxSeedLengthExceeded,
        14 => E::InvalidSeeds,
        15 => E::BorshIoError,
        16 => E::AccountNotRentExempt,
        17 => E::UnsupportedSysvar,
        18 => E::IllegalOwner,
        19 => E::MaxAccountsDataAllocationsExceeded,
        20 => E::InvalidRealloc,
        21 => E::MaxInstructionTraceLengthExceeded,
        22 => E::BuiltinProgramsMustConsumeComputeUnits,
        23 => E::InvalidAccountOwner,
        24 => E::ArithmeticOverflow,
        25 => E::Immutable,
        26 => E::IncorrectAuthority,
        _ => E::InvalidError,
    })
}

/// Returns the instruction error of a number as [`from_return_value`], where success is impossible: 0 is
/// the custom error 0.
#[must_use]
pub fn from_number(number: u64) -> InstructionError {
    from_return_value(number).unwrap_or(InstructionError::Custom(0))
}

/// Returns the instruction error for a trap of its program.
#[must_use]
pub fn from_trap(trap: &Trap) -> InstructionError {
    match trap {
        Trap::Syscall(error) => error
            .downcast_ref::<InstructionError>()
            .cloned()
            .unwrap_or(InstructionError::ProgramFailedToComplete),
        _ => InstructionError::ProgramFailedToComplete,
    }
}

/// Returns the text of a trap in the log: that of the error itself if a syscall has failed.
#[must_use]
pub fn trap_text(trap: &Trap) -> String {
    match trap {
        Trap::Syscall(error) => error.to_string(),
        trap => trap.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(deprecated, reason = "`NotEnoughAccountKeys` is what the number means")]
    fn return_values_decode_to_custom_and_builtin_errors() {
        for (r0, expected) in [
            (0, None),
            (1, Some(InstructionError::Custom(1))),
            (0xffff_ffff, Some(InstructionError::Custom(u32::MAX))),
            (1 << 32, Some(InstructionError::Custom(0))),
            (2 << 32, Some(InstructionError::InvalidArgument)),
            (11 << 32, Some(InstructionError::NotEnoughAccountKeys)),
            (26 << 32, Some(InstructionError::IncorrectAuthority)),
            (27 << 32, Some(InstructionError::InvalidError)),
            ((2 << 32) + 1, Some(InstructionError::InvalidError)),
            (u64::MAX, Some(InstructionError::InvalidError)),
        ] {
            assert_eq!(from_return_value(r0), expected, "{r0:#x}");
        }
    }

    #[test]
    fn discriminants_are_those_of_the_sdk() {
        for (error, index) in [
            (InstructionError::GenericError, 0),
            (InstructionError::Custom(7), 25),
            (InstructionError::ComputationalBudgetExceeded, 37),
            (InstructionError::PrivilegeEscalation, 38),
            (InstructionError::UnsupportedSysvar, 48),
            (InstructionError::BuiltinProgramsMustConsumeComputeUnits, 53),
        ] {
            assert_eq!(discriminant(&error), index, "{error}");
        }
    }

    #[test]
    fn traps_fail_the_instruction_and_syscall_errors_keep_their_text() {
        let failed = InstructionError::ProgramFailedToComplete;
        assert_eq!(from_trap(&Trap::DivideByZero), failed);
        assert_eq!(from_trap(&Trap::Syscall(Box::new(SyscallError::Abort))), failed);
        let missing = || Box::new(InstructionError::MissingAccount);
        assert_eq!(from_trap(&Trap::Syscall(missing())), InstructionError::MissingAccount);
        assert_eq!(
            trap_text(&Trap::Syscall(Box::new(SyscallError::Abort))),
            "SBF program panicked"
        );
    }
}
