//! A [`Mollusk`] with a store of accounts.

use std::{cell::RefCell, collections::BTreeSet, rc::Rc};

use solana_account::Account;
use solana_instruction::Instruction;
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar;

use crate::{
    Mollusk,
    account_store::AccountStore,
    result::{Check, InstructionResult, TransactionResult},
};

/// Processes instructions on the accounts of a store, which keeps what successful ones leave.
#[derive(Debug)]
pub struct MolluskContext<AS: AccountStore> {
    /// Processes the instructions.
    pub mollusk: Mollusk,
    /// The accounts.
    pub account_store: Rc<RefCell<AS>>,
    /// Whether instructions get all sysvars and programs, even those that they do not name.
    pub hydrate_store: bool,
}

impl Mollusk {
    /// Adds a store of accounts, and to it the programs that it lacks.
    #[must_use]
    pub fn with_context<AS: AccountStore>(self, mut account_store: AS) -> MolluskContext<AS> {
        for (key, account) in self.program_cache.accounts() {
            if account_store.get_account(&key).is_none() {
                account_store.store_account(key, account);
            }
        }
        let account_store = Rc::new(RefCell::new(account_store));
        MolluskContext { mollusk: self, account_store, hydrate_store: true }
    }
}

impl<AS: AccountStore> MolluskContext<AS> {
    /// Processes an instruction.
    ///
    /// # Panics
    /// As [`Mollusk::process_instruction`].
    #[track_caller]
    pub fn process_instruction(&self, instruction: &Instruction) -> InstructionResult {
        self.process_and_validate_instruction(instruction, &[])
    }

    /// Processes instructions, one after the other, until one fails.
    ///
    /// # Panics
    /// As [`Mollusk::process_instruction`].
    #[track_caller]
    pub fn process_instruction_chain(&self, instructions: &[Instruction]) -> InstructionResult {
        let unchecked: Vec<(&Instruction, &[Check<'_>])> =
            instructions.iter().map(|instruction| (instruction, &[][..])).collect();
        self.process_and_validate_instruction_chain(&unchecked)
    }

    /// Processes an instruction, and checks its result.
    ///
    /// # Panics
    /// As [`Mollusk::process_instruction`], and if a check fails.
    #[track_caller]
    pub fn process_and_validate_instruction(
        &self,
        instruction: &Instruction,
        checks: &[Check<'_>],
    ) -> InstructionResult {
        let accounts = self.load_accounts([instruction]);
        let result = self.mollusk.process_and_validate_instruction(instruction, &accounts, checks);
        self.store(result.program_result.is_ok(), &result.resulting_accounts);
        result
    }

    /// Processes instructions, one after the other, until one fails, and checks their results.
    ///
    /// # Panics
    /// As [`Mollusk::process_instruction`], and if a check fails.
    #[track_caller]
    pub fn process_and_validate_instruction_chain(
        &self,
        instructions: &[(&Instruction, &[Check<'_>])],
    ) -> InstructionResult {
        let accounts = self.load_accounts(instructions.iter().map(|(instruction, _)| *instruction));
        let result = self.mollusk.process_and_validate_instruction_chain(instructions, &accounts);
        self.store(result.program_result.is_ok(), &result.resulting_accounts);
        result
    }

    /// Processes the instructions of a transaction.
    ///
    /// # Panics
    /// As [`Mollusk::process_instruction`].
    #[track_caller]
    pub fn process_transaction_instructions(
        &self,
        instructions: &[Instruction],
        #[cfg(not(feature = "until-0-14"))] payer: Option<&Pubkey>,
    ) -> TransactionResult {
        self.process_and_validate_transaction_instructions(
            instructions,
            &[],
            #[cfg(not(feature = "until-0-14"))]
            payer,
        )
    }

    /// Processes the instructions of a transaction, and checks the result.
    ///
    /// # Panics
    /// As [`Mollusk::process_instruction`], and if a check fails.
    #[track_caller]
    pub fn process_and_validate_transaction_instructions(
        &self,
        instructions: &[Instruction],
        checks: &[Check<'_>],
        #[cfg(not(feature = "until-0-14"))] payer: Option<&Pubkey>,
    ) -> TransactionResult {
        let accounts = self.load_accounts(instructions);
        let result = self.mollusk.process_and_validate_transaction_instructions(
            instructions,
            &accounts,
            checks,
            #[cfg(not(feature = "until-0-14"))]
            payer,
        );
        self.store(result.program_result.is_ok(), &result.resulting_accounts);
        result
    }

    /// Returns the accounts that instructions name: from the store, else a sysvar, a program, or the
    /// store's default.
    fn load_accounts<'i>(
        &self,
        instructions: impl IntoIterator<Item = &'i Instruction>,
    ) -> Vec<(Pubkey, Account)> {
        let Mollusk { program_cache, sysvars, .. } = &self.mollusk;
        let mut accounts = Vec::new();
        if self.hydrate_store {
            accounts.extend(program_cache.accounts());
            accounts.extend(sysvars.get_all_keyed_sysvar_accounts());
        }
        let store = self.account_store.borrow();
        let mut seen = BTreeSet::from([sysvar::instructions::ID]);
        let metas = instructions.into_iter().flat_map(|instruction| &instruction.accounts);
        for key in metas.map(|meta| meta.pubkey).filter(|key| seen.insert(*key)) {
            let account = store
                .get_account(&key)
                .or_else(|| sysvars.maybe_create_sysvar_account(&key))
                .or_else(|| program_cache.account(&key))
                .unwrap_or_else(|| store.default_account(&key));
            accounts.push((key, account));
        }
        accounts
    }

    fn store(&self, is_ok: bool, accounts: &[(Pubkey, Account)]) {
        let mut store = self.account_store.borrow_mut();
        for (key, account) in accounts.iter().filter(|_| is_ok) {
            store.store_account(*key, account.clone());
        }
    }
}
