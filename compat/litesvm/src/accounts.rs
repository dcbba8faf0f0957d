//! Accounts.

use selkie::{
    AccountError, Loader, Svm,
    layout::loader::{PROGRAM_DATA_HEADER_BYTES, PROGRAM_STATE},
    program_data_key,
};
use selkie_convert::{
    Address, InstructionError, from_account, from_address, from_shared_account, to_account,
    to_address,
};
use solana_account::{Account, AccountSharedData};
use solana_sdk_ids::{native_loader, system_program, sysvar};

use crate::{
    LiteSVM,
    empty_accounts::EmptyAccounts,
    error::{InvalidSysvarDataError, LiteSVMError},
    sysvars::FEES_BYTES,
};

/// The accounts of a chain.
#[derive(Clone, Debug)]
pub struct AccountsDb {
    pub(crate) svm: Svm,
    pub(crate) empty: EmptyAccounts,
}

impl AccountsDb {
    pub(crate) fn new(svm: Svm) -> Self {
        Self { svm, empty: EmptyAccounts::default() }
    }

    /// Returns the account at `address`.
    #[must_use]
    pub fn get_account(&self, address: &Address) -> Option<AccountSharedData> {
        let key = to_address(address);
        self.empty.or_empty(self.svm.shared_account(&key).map(from_shared_account), &key)
    }
}

impl LiteSVM {
    /// Returns the accounts, read-only.
    #[must_use]
    pub fn accounts_db(&self) -> &AccountsDb {
        &self.accounts
    }

    /// Returns the account at `address`.
    #[must_use]
    pub fn get_account(&self, address: &Address) -> Option<Account> {
        let key = to_address(address);
        self.accounts.empty.or_empty(self.svm().account(&key).map(from_account), &key)
    }

    /// Returns the accounts that a program owns, sorted by address.
    #[must_use]
    pub fn get_program_accounts(&self, program_id: &Address) -> Vec<(Address, Account)> {
        let accounts = self.svm().program_accounts(&to_address(program_id), &[]).into_iter();
        accounts.map(|(key, account)| (from_address(&key), from_account(account))).collect()
    }

    /// Returns the balance of the account at `address`, if it exists.
    #[must_use]
    pub fn get_balance(&self, address: &Address) -> Option<u64> {
        let key = to_address(address);
        let lamports = Some(self.svm().balance(&key)).filter(|lamports| *lamports > 0);
        self.accounts.empty.or_empty(lamports, &key)
    }

    /// Sets an account; one without lamports is deleted.
    ///
    /// # Errors
    /// If it is a sysvar whose data are not valid, a program that does not load or whose owner is no
    /// loader, or longer than accounts can be.
    pub fn set_account(&mut self, address: Address, data: Account) -> Result<(), LiteSVMError> {
        self.check_program(&address, &data)?;
        let error = InvalidSysvarDataError::of(&address);
        // The runtime does not know this sysvar.
        if address == sysvar::fees::ID && data.data.len() < FEES_BYTES {
            return Err(InvalidSysvarDataError::Fees.into());
        }
        let set = self.svm_mut().set_account(to_address(&address), to_account(data));
        set.map_err(|refused| match refused {
            AccountError::TooLong { .. } => InstructionError::InvalidRealloc.into(),
            _ => error.unwrap_or(InvalidSysvarDataError::Clock).into(),
        })
    }

    /// Checks that an executable account has a program that loads.
    fn check_program(&self, address: &Address, account: &Account) -> Result<(), InstructionError> {
        let is_builtin = account.owner == native_loader::ID || *address == system_program::ID;
        if !account.executable || is_builtin {
            return Ok(());
        }
        let loader =
            Loader::of(&to_address(&account.owner)).ok_or(InstructionError::IncorrectProgramId)?;
        let programdata;
        let elf = if loader == Loader::V3 {
            if !account.data.starts_with(&PROGRAM_STATE.to_le_bytes()) {
                return Err(InstructionError::InvalidAccountData);
            }
            programdata = self.svm().account(&program_data_key(&to_address(address)));
            match &programdata {
                // A closed program.
                None => return Ok(()),
                Some(account) => account.data.get(PROGRAM_DATA_HEADER_BYTES..).unwrap_or_default(),
            }
        } else {
            &account.data
        };
        let loaded = self.svm().program_cache().try_load(elf, loader, self.svm().features());
        loaded.map(drop).map_err(|_| InstructionError::InvalidAccountData)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(address: Address, owner: Address, data: &[u8]) -> Result<(), LiteSVMError> {
        let data = data.to_vec();
        let account = Account { lamports: 1, data, owner, executable: true, rent_epoch: 0 };
        LiteSVM::new().set_account(address, account)
    }

    #[test]
    fn programs_of_unknown_loaders_are_refused() {
        let (program, owner) = (Address::new_unique(), Address::new_unique());
        let refused = set(program, owner, &[]).expect_err("no such loader");
        let error = InstructionError::IncorrectProgramId;
        assert!(matches!(refused, LiteSVMError::Instruction(it) if it == error));
        set(program, native_loader::ID, b"builtin").expect("a builtin program");
        set(system_program::ID, owner, b"system_program").expect("the system program");
    }

    #[test]
    fn data_that_are_too_long_are_refused() {
        let data = vec![0; (10 << 20) + 1];
        let account = Account { lamports: 1, data, ..Account::default() };
        let refused = LiteSVM::new().set_account(Address::new_unique(), account);
        let error = refused.expect_err("it is too long");
        assert!(matches!(error, LiteSVMError::Instruction(InstructionError::InvalidRealloc)));
    }

    #[test]
    fn fees_are_a_number() {
        let fees = LiteSVM::new().get_account(&sysvar::fees::ID).expect("the sysvar exists");
        assert_eq!((fees.owner, fees.data), (sysvar::ID, vec![0; 8]));
        let short = Account { lamports: 1, data: vec![0; 7], ..Account::default() };
        let refused = LiteSVM::new().set_account(sysvar::fees::ID, short).expect_err("too short");
        let LiteSVMError::InvalidSysvarData(error) = refused else { panic!("{refused}") };
        assert_eq!(error.to_string(), "Invalid Fees sysvar data.");
    }
}
