//! Errors, variant by variant.
//!
//! Selkie's versions have a variant `BailOut` that the others lack, and may get more. Leaders of
//! validators alone produce it, so no transaction that Selkie runs ends with it.

#![allow(deprecated, reason = "deprecated errors are converted, too")]

use solana_transaction_error::TransactionError;

use crate::InstructionError;

/// Matches a value of one enum, and returns the variant with the same name of another.
macro_rules! same_variant {
    ($value:expr, $from:path => $to:path, $($name:ident)*; $($more:tt)*) => {{
        use $from as From;
        use $to as To;
        match $value {
            $(From::$name => To::$name,)*
            $($more)*
        }
    }};
}

/// Invokes a macro with the names of all variants of `InstructionError` that hold nothing.
macro_rules! instruction_errors {
    ($value:expr, $from:path => $to:path; $($more:tt)*) => {
        same_variant!($value, $from => $to,
            GenericError InvalidArgument InvalidInstructionData InvalidAccountData
            AccountDataTooSmall InsufficientFunds IncorrectProgramId MissingRequiredSignature
            AccountAlreadyInitialized UninitializedAccount UnbalancedInstruction ModifiedProgramId
            ExternalAccountLamportSpend ExternalAccountDataModified ReadonlyLamportChange
            ReadonlyDataModified DuplicateAccountIndex ExecutableModified RentEpochModified
            NotEnoughAccountKeys AccountDataSizeChanged AccountNotExecutable AccountBorrowFailed
            AccountBorrowOutstanding DuplicateAccountOutOfSync InvalidError ExecutableDataModified
            ExecutableLamportChange ExecutableAccountNotRentExempt UnsupportedProgramId CallDepth
            MissingAccount ReentrancyNotAllowed MaxSeedLengthExceeded InvalidSeeds InvalidRealloc
            ComputationalBudgetExceeded PrivilegeEscalation ProgramEnvironmentSetupFailure
            ProgramFailedToComplete ProgramFailedToCompile Immutable IncorrectAuthority
            AccountNotRentExempt InvalidAccountOwner ArithmeticOverflow
            UnsupportedSysvar IllegalOwner MaxAccountsDataAllocationsExceeded MaxAccountsExceeded
            MaxInstructionTraceLengthExceeded BuiltinProgramsMustConsumeComputeUnits;
            From::Custom(code) => To::Custom(code),
            $($more)*
        )
    };
}

/// Converts an instruction error to Selkie's version.
#[must_use]
pub fn to_instruction_error(error: InstructionError) -> selkie::InstructionError {
    instruction_errors!(error, InstructionError => selkie::InstructionError;
        #[cfg(feature = "sdk-2")]
        From::BorshIoError(_) => To::BorshIoError,
        #[cfg(not(feature = "sdk-2"))]
        From::BorshIoError => To::BorshIoError,
    )
}

/// Converts an instruction error of Selkie's version.
#[must_use]
pub fn from_instruction_error(error: selkie::InstructionError) -> InstructionError {
    instruction_errors!(error, selkie::InstructionError => InstructionError;
        // With the text that agave has for an error without one.
        #[cfg(feature = "sdk-2")]
        From::BorshIoError => To::BorshIoError("Unknown".to_owned()),
        #[cfg(not(feature = "sdk-2"))]
        From::BorshIoError => To::BorshIoError,
        _ => To::GenericError,
    )
}

/// Converts a transaction error of Selkie's version.
#[must_use]
pub fn from_transaction_error(error: selkie::TransactionError) -> TransactionError {
    same_variant!(error, selkie::TransactionError => TransactionError,
        AccountInUse AccountLoadedTwice AccountNotFound ProgramAccountNotFound
        InsufficientFundsForFee InvalidAccountForFee AlreadyProcessed BlockhashNotFound
        CallChainTooDeep MissingSignatureForFee InvalidAccountIndex SignatureFailure
        InvalidProgramForExecution SanitizeFailure ClusterMaintenance AccountBorrowOutstanding
        WouldExceedMaxBlockCostLimit UnsupportedVersion InvalidWritableAccount
        WouldExceedMaxAccountCostLimit WouldExceedAccountDataBlockLimit TooManyAccountLocks
        AddressLookupTableNotFound InvalidAddressLookupTableOwner InvalidAddressLookupTableData
        InvalidAddressLookupTableIndex InvalidRentPayingAccount WouldExceedMaxVoteCostLimit
        WouldExceedAccountDataTotalLimit MaxLoadedAccountsDataSizeExceeded
        InvalidLoadedAccountsDataSizeLimit ResanitizationNeeded UnbalancedTransaction
        ProgramCacheHitMaxLimit CommitCancelled;
        From::InstructionError(index, error) => {
            To::InstructionError(index, from_instruction_error(error))
        }
        From::DuplicateInstruction(index) => To::DuplicateInstruction(index),
        From::InsufficientFundsForRent { account_index } => {
            To::InsufficientFundsForRent { account_index }
        }
        From::ProgramExecutionTemporarilyRestricted { account_index } => {
            To::ProgramExecutionTemporarilyRestricted { account_index }
        }
        _ => To::CommitCancelled,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_keep_their_texts() {
        for error in [
            selkie::InstructionError::Custom(7),
            selkie::InstructionError::PrivilegeEscalation,
            // Version 2 adds a reason.
            #[cfg(not(feature = "sdk-2"))]
            selkie::InstructionError::BorshIoError,
        ] {
            let converted = from_instruction_error(error.clone());
            assert_eq!(converted.to_string(), error.to_string());
            assert_eq!(to_instruction_error(converted), error);
        }
        let error = selkie::TransactionError::InsufficientFundsForRent { account_index: 3 };
        assert_eq!(from_transaction_error(error.clone()).to_string(), error.to_string());
    }
}
