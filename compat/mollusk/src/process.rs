//! Processes instructions.

use solana_account::Account;
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

#[cfg(not(feature = "until-0-15"))]
use crate::rent;
#[cfg(feature = "until-0-15")]
use crate::result::CheckContext;
use crate::{
    Mollusk,
    outcome::Outcome,
    result::{
        Check, InstructionResult, ProgramResult, TransactionProgramResult, TransactionResult,
    },
};

impl Mollusk {
    /// Processes an instruction on these accounts, and returns them as it leaves them.
    ///
    /// # Panics
    /// If an account that the instruction names is not given, or its program was not added.
    #[track_caller]
    pub fn process_instruction(
        &self,
        instruction: &Instruction,
        accounts: &[(Pubkey, Account)],
    ) -> InstructionResult {
        let instructions = core::slice::from_ref(instruction);
        let outcome = Outcome::new(self, instructions, accounts, None);
        let resulting_accounts = outcome.resulting_accounts(accounts);
        let raw_result = outcome.instruction_result();
        InstructionResult {
            compute_units_consumed: outcome.compute_units(),
            execution_time: outcome.microseconds,
            program_result: self.program_result(&raw_result, accounts, &resulting_accounts),
            raw_result,
            return_data: outcome.return_data(),
            resulting_accounts,
            #[cfg(feature = "inner-instructions")]
            inner_instructions: outcome.inner_instructions().into_iter().next().unwrap_or_default(),
            #[cfg(feature = "cpi-compute-units")]
            cpi_compute_units: outcome.cpi_compute_units().into_iter().next().unwrap_or_default(),
            #[cfg(feature = "inner-instructions")]
            message: Some(outcome.message),
        }
    }

    /// Processes instructions, one after the other, each on the accounts that the one before left,
    /// until one fails.
    ///
    /// # Panics
    /// As [`Mollusk::process_instruction`].
    #[track_caller]
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
    #[track_caller]
    pub fn process_transaction_instructions(
        &self,
        instructions: &[Instruction],
        accounts: &[(Pubkey, Account)],
        #[cfg(not(feature = "until-0-14"))] payer: Option<&Pubkey>,
    ) -> TransactionResult {
        #[cfg(feature = "until-0-14")]
        let payer = None;
        let outcome = Outcome::new(self, instructions, accounts, payer);
        let resulting_accounts = outcome.resulting_accounts(accounts);
        let raw_result = outcome.transaction_result();
        let program_result =
            self.transaction_program_result(&raw_result, accounts, &resulting_accounts);
        TransactionResult {
            compute_units_consumed: outcome.compute_units(),
            execution_time: outcome.microseconds,
            program_result,
            raw_result,
            return_data: outcome.return_data(),
            resulting_accounts,
            #[cfg(feature = "inner-instructions")]
            inner_instructions: outcome.inner_instructions(),
            #[cfg(feature = "cpi-compute-units")]
            cpi_compute_units: outcome.cpi_compute_units(),
            #[cfg(feature = "inner-instructions")]
            message: Some(outcome.message),
        }
    }

    /// Processes an instruction, and checks its result.
    ///
    /// # Panics
    /// As [`Mollusk::process_instruction`], and if a check fails.
    #[track_caller]
    pub fn process_and_validate_instruction(
        &self,
        instruction: &Instruction,
        accounts: &[(Pubkey, Account)],
        checks: &[Check<'_>],
    ) -> InstructionResult {
        let result = self.process_instruction(instruction, accounts);
        result.run_checks(
            checks,
            &self.config,
            #[cfg(feature = "until-0-15")]
            self,
        );
        result
    }

    /// Processes instructions as [`Mollusk::process_instruction_chain`], and checks their results.
    ///
    /// # Panics
    /// As [`Mollusk::process_instruction`], and if a check fails.
    #[track_caller]
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
    #[track_caller]
    pub fn process_and_validate_transaction_instructions(
        &self,
        instructions: &[Instruction],
        accounts: &[(Pubkey, Account)],
        checks: &[Check<'_>],
        #[cfg(not(feature = "until-0-14"))] payer: Option<&Pubkey>,
    ) -> TransactionResult {
        let result = self.process_transaction_instructions(
            instructions,
            accounts,
            #[cfg(not(feature = "until-0-14"))]
            payer,
        );
        result.run_checks(
            checks,
            &self.config,
            #[cfg(feature = "until-0-15")]
            self,
        );
        result
    }
}

/// What an account below its minimum balance makes of a result.
#[cfg(not(feature = "until-0-15"))]
impl Mollusk {
    #[track_caller]
    fn program_result(
        &self,
        result: &Result<(), InstructionError>,
        before: &[(Pubkey, Account)],
        after: &[(Pubkey, Account)],
    ) -> ProgramResult {
        let rent = rent::check(self, before, after, result.is_ok());
        let rent = rent.map_err(|_| InstructionError::AccountNotRentExempt);
        result.clone().and(rent).into()
    }

    #[track_caller]
    fn transaction_program_result(
        &self,
        result: &Result<(), TransactionError>,
        before: &[(Pubkey, Account)],
        after: &[(Pubkey, Account)],
    ) -> TransactionProgramResult {
        match rent::check(self, before, after, result.is_ok()) {
            Err(error) => TransactionProgramResult::TransactionError(error),
            Ok(()) => result.clone().into(),
        }
    }
}

/// Balances are looked at by checks alone.
#[cfg(feature = "until-0-15")]
#[allow(clippy::unused_self, reason = "the same functions as for later versions")]
impl Mollusk {
    #[track_caller]
    fn program_result(
        &self,
        result: &Result<(), InstructionError>,
        _: &[(Pubkey, Account)],
        _: &[(Pubkey, Account)],
    ) -> ProgramResult {
        result.clone().into()
    }

    #[track_caller]
    fn transaction_program_result(
        &self,
        result: &Result<(), TransactionError>,
        _: &[(Pubkey, Account)],
        _: &[(Pubkey, Account)],
    ) -> TransactionProgramResult {
        result.clone().into()
    }
}

#[cfg(feature = "until-0-15")]
impl CheckContext for Mollusk {
    fn is_rent_exempt(&self, lamports: u64, space: usize, owner: Pubkey) -> bool {
        let is_absent = lamports == 0 && owner == Pubkey::default();
        is_absent || self.sysvars.rent.is_exempt(lamports, space)
    }
}
