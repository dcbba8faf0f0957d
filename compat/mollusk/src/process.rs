//! Processes instructions.

use solana_account::Account;
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;

use crate::{
    Mollusk,
    outcome::Outcome,
    rent,
    result::{Check, InstructionResult, TransactionProgramResult, TransactionResult},
};

impl Mollusk {
    /// Processes an instruction on these accounts, and returns them as it leaves them.
    ///
    /// # Panics
    /// If an account that the instruction names is not given, or its program was not added.
    pub fn process_instruction(
        &self,
        instruction: &Instruction,
        accounts: &[(Pubkey, Account)],
    ) -> InstructionResult {
        let instructions = core::slice::from_ref(instruction);
        let outcome = Outcome::new(self, instructions, accounts, None);
        let resulting_accounts = outcome.resulting_accounts(accounts);
        let raw_result = outcome.instruction_result();
        let rent = rent::check(self, accounts, &resulting_accounts, raw_result.is_ok());
        let checked = raw_result
            .clone()
            .and_then(|()| rent.map_err(|_| InstructionError::AccountNotRentExempt));
        InstructionResult {
            compute_units_consumed: outcome.compute_units(),
            execution_time: outcome.microseconds,
            program_result: checked.into(),
            raw_result,
            return_data: outcome.return_data(),
            resulting_accounts,
            #[cfg(feature = "inner-instructions")]
            inner_instructions: outcome.inner_instructions().into_iter().next().unwrap_or_default(),
            #[cfg(feature = "inner-instructions")]
            message: Some(outcome.message.clone()),
            #[cfg(feature = "cpi-compute-units")]
            cpi_compute_units: outcome.cpi_compute_units().into_iter().next().unwrap_or_default(),
        }
    }

    /// Processes instructions, one after the other, each on the accounts that the one before left,
    /// until one fails.
    ///
    /// # Panics
    /// As [`Mollusk::process_instruction`].
    pub fn process_instruction_chain(
        &self,
        instructions: &[Instruction],
        accounts: &[(Pubkey, Account)],
    ) -> InstructionResult {
        let unchecked: Vec<(&Instruction, &[Check<'_>])> =
            instructions.iter().map(|instruction| (instruction, &[][..])).collect();
        self.process_and_validate_instruction_chain(&unchecked, accounts)
    }

    /// Processes the instructions of a transaction. If one fails, no account changes.
    ///
    /// # Panics
    /// As [`Mollusk::process_instruction`].
    pub fn process_transaction_instructions(
        &self,
        instructions: &[Instruction],
        accounts: &[(Pubkey, Account)],
        payer: Option<&Pubkey>,
    ) -> TransactionResult {
        let outcome = Outcome::new(self, instructions, accounts, payer);
        let resulting_accounts = outcome.resulting_accounts(accounts);
        let raw_result = outcome.transaction_result();
        let rent = rent::check(self, accounts, &resulting_accounts, raw_result.is_ok());
        let program_result = match rent {
            Err(error) => TransactionProgramResult::TransactionError(error),
            Ok(()) => raw_result.clone().into(),
        };
        TransactionResult {
            compute_units_consumed: outcome.compute_units(),
            execution_time: outcome.microseconds,
            program_result,
            raw_result,
            return_data: outcome.return_data(),
            resulting_accounts,
            #[cfg(feature = "inner-instructions")]
            inner_instructions: outcome.inner_instructions(),
            #[cfg(feature = "inner-instructions")]
            message: Some(outcome.message.clone()),
            #[cfg(feature = "cpi-compute-units")]
            cpi_compute_units: outcome.cpi_compute_units(),
        }
    }

    /// Processes an instruction, and checks its result.
    ///
    /// # Panics
    /// As [`Mollusk::process_instruction`], and if a check fails.
    pub fn process_and_validate_instruction(
        &self,
        instruction: &Instruction,
        accounts: &[(Pubkey, Account)],
        checks: &[Check<'_>],
    ) -> InstructionResult {
        let result = self.process_instruction(instruction, accounts);
        result.run_checks(checks, &self.config);
        result
    }

    /// Processes instructions as [`Mollusk::process_instruction_chain`], and checks their results.
    ///
    /// # Panics
    /// As [`Mollusk::process_instruction`], and if a check fails.
    pub fn process_and_validate_instruction_chain(
        &self,
        instructions: &[(&Instruction, &[Check<'_>])],
        accounts: &[(Pubkey, Account)],
    ) -> InstructionResult {
        let resulting_accounts = accounts.to_vec();
        let mut all = InstructionResult { resulting_accounts, ..InstructionResult::default() };
        for (instruction, checks) in instructions {
            let result =
                self.process_and_validate_instruction(instruction, &all.resulting_accounts, checks);
            all.absorb(result);
            if all.program_result.is_err() {
                break;
            }
        }
        all
    }

    /// Processes the instructions of a transaction, and checks the result.
    ///
    /// # Panics
    /// As [`Mollusk::process_instruction`], and if a check fails.
    pub fn process_and_validate_transaction_instructions(
        &self,
        instructions: &[Instruction],
        accounts: &[(Pubkey, Account)],
        checks: &[Check<'_>],
        payer: Option<&Pubkey>,
    ) -> TransactionResult {
        let result = self.process_transaction_instructions(instructions, accounts, payer);
        result.run_checks(checks, &self.config);
        result
    }
}
