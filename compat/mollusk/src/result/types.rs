//! The results of instructions.

use solana_account::Account;
use solana_instruction_error::InstructionError;
#[cfg(feature = "inner-instructions")]
use solana_message::{SanitizedMessage, compiled_instruction::CompiledInstruction};
use solana_program_error::ProgramError;
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

/// The result of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramResult {
    /// It succeeded.
    Success,
    /// The program returned this error.
    Failure(ProgramError),
    /// It failed with an error that programs cannot return.
    UnknownError(InstructionError),
}

impl ProgramResult {
    /// Returns whether it succeeded.
    #[must_use]
    pub const fn is_ok(&self) -> bool {
        matches!(self, Self::Success)
    }

    /// Returns whether it failed.
    #[must_use]
    pub const fn is_err(&self) -> bool {
        !self.is_ok()
    }
}

impl From<Result<(), InstructionError>> for ProgramResult {
    fn from(result: Result<(), InstructionError>) -> Self {
        let Err(error) = result else { return Self::Success };
        match ProgramError::try_from(error.clone()) {
            Ok(error) => Self::Failure(error),
            Err(_) => Self::UnknownError(error),
        }
    }
}

/// The compute units of an inner instruction.
#[cfg(feature = "cpi-compute-units")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpiComputeUnits {
    /// Its stack height: 2 for one that a top-level instruction invokes.
    pub stack_height: usize,
    /// Its program.
    pub program_id: Pubkey,
    /// The compute units that it used, including those of its own inner instructions.
    pub compute_units_consumed: u64,
}

/// An inner instruction.
#[cfg(feature = "inner-instructions")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerInstruction {
    /// The instruction, with indexes of the message's accounts.
    pub instruction: CompiledInstruction,
    /// Its stack height: 2 for one that a top-level instruction invokes.
    pub stack_height: Option<u32>,
}

/// What an instruction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionResult {
    /// The compute units that it used.
    pub compute_units_consumed: u64,
    /// The time that it took, in microseconds.
    pub execution_time: u64,
    /// Its result.
    pub program_result: ProgramResult,
    /// Its result as the runtime returns it.
    pub raw_result: Result<(), InstructionError>,
    /// The data that was returned last.
    pub return_data: Vec<u8>,
    /// The given accounts as they are afterwards.
    pub resulting_accounts: Vec<(Pubkey, Account)>,
    /// The inner instructions.
    #[cfg(feature = "inner-instructions")]
    pub inner_instructions: Vec<InnerInstruction>,
    /// The message that the instruction was compiled to.
    #[cfg(feature = "inner-instructions")]
    pub message: Option<SanitizedMessage>,
    /// The compute units of the inner instructions.
    #[cfg(feature = "cpi-compute-units")]
    pub cpi_compute_units: Vec<CpiComputeUnits>,
}

impl Default for InstructionResult {
    fn default() -> Self {
        Self {
            compute_units_consumed: 0,
            execution_time: 0,
            program_result: ProgramResult::Success,
            raw_result: Ok(()),
            return_data: Vec::new(),
            resulting_accounts: Vec::new(),
            #[cfg(feature = "inner-instructions")]
            inner_instructions: Vec::new(),
            #[cfg(feature = "inner-instructions")]
            message: None,
            #[cfg(feature = "cpi-compute-units")]
            cpi_compute_units: Vec::new(),
        }
    }
}

impl InstructionResult {
    /// Returns an account as it is afterwards.
    #[must_use]
    pub fn get_account(&self, pubkey: &Pubkey) -> Option<&Account> {
        find(&self.resulting_accounts, pubkey)
    }

    /// Takes over the result of the next instruction. Compute units and time add up.
    pub fn absorb(&mut self, other: Self) {
        let compute_units_consumed = self.compute_units_consumed + other.compute_units_consumed;
        let execution_time = self.execution_time + other.execution_time;
        *self = Self { compute_units_consumed, execution_time, ..other };
    }
}

/// The result of the instructions of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionProgramResult {
    /// They succeeded.
    Success,
    /// The program of the instruction with this index returned this error.
    Failure(usize, ProgramError),
    /// The instruction with this index failed with an error that programs cannot return.
    UnknownError(usize, InstructionError),
    /// The instructions succeeded, but not the transaction. New in Mollusk 0.16.
    #[cfg(not(feature = "until-0-15"))]
    TransactionError(TransactionError),
}

impl TransactionProgramResult {
    /// Returns whether they succeeded.
    #[must_use]
    pub const fn is_ok(&self) -> bool {
        matches!(self, Self::Success)
    }

    /// Returns whether one failed.
    #[must_use]
    pub const fn is_err(&self) -> bool {
        !self.is_ok()
    }
}

impl From<Result<(), TransactionError>> for TransactionProgramResult {
    fn from(result: Result<(), TransactionError>) -> Self {
        match result {
            Ok(()) => Self::Success,
            Err(TransactionError::InstructionError(index, error)) => {
                let index = usize::from(index);
                match ProgramError::try_from(error.clone()) {
                    Ok(error) => Self::Failure(index, error),
                    Err(_) => Self::UnknownError(index, error),
                }
            }
            #[cfg(not(feature = "until-0-15"))]
            Err(error) => Self::TransactionError(error),
            // There are no others without a transaction, and up to Mollusk 0.15 no check of rent.
            #[cfg(feature = "until-0-15")]
            Err(_) => Self::UnknownError(0, InstructionError::GenericError),
        }
    }
}

/// What the instructions of a transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionResult {
    /// The compute units that they used.
    pub compute_units_consumed: u64,
    /// The time that they took, in microseconds.
    pub execution_time: u64,
    /// Their result.
    pub program_result: TransactionProgramResult,
    /// Their result as the runtime returns it.
    pub raw_result: Result<(), TransactionError>,
    /// The data that was returned last.
    pub return_data: Vec<u8>,
    /// The given accounts as they are afterwards.
    pub resulting_accounts: Vec<(Pubkey, Account)>,
    /// The inner instructions of each instruction.
    #[cfg(feature = "inner-instructions")]
    pub inner_instructions: Vec<Vec<InnerInstruction>>,
    /// The message that the instructions were compiled to.
    #[cfg(feature = "inner-instructions")]
    pub message: Option<SanitizedMessage>,
    /// The compute units of the inner instructions of each instruction.
    #[cfg(feature = "cpi-compute-units")]
    pub cpi_compute_units: Vec<Vec<CpiComputeUnits>>,
}

impl TransactionResult {
    /// Returns an account as it is afterwards.
    #[must_use]
    pub fn get_account(&self, pubkey: &Pubkey) -> Option<&Account> {
        find(&self.resulting_accounts, pubkey)
    }
}

fn find<'a>(accounts: &'a [(Pubkey, Account)], pubkey: &Pubkey) -> Option<&'a Account> {
    accounts.iter().find(|(key, _)| key == pubkey).map(|(_, account)| account)
}
