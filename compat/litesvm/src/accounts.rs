//! Accounts.

use selkie::{Loader, Svm, program_data_key};
use selkie_convert::{from_account, from_shared_account, to_account};
use solana_account::{Account, AccountSharedData};
use solana_address::Address;
use solana_instruction_error::InstructionError;

use crate::{
    LiteSVM,
    error::{InvalidSysvarDataError, LiteSVMError},
};

/// The state of a program account of loader v3 begins with this number.
const PROGRAM_STATE: [u8; 4] = 2_u32.to_le_bytes();
/// Where the file begins in a programdata account.
const PROGRAM_DATA_HEADER_BYTES: usize = 45;

/// The accounts of a chain.
#[derive(Clone, Debug)]
pub struct AccountsDb {
    pub(crate) svm: Svm,
}

impl AccountsDb {
    pub(crate) fn new(svm: Svm) -> Self {
        Self { svm }
    }

    /// Returns the account at `address`.
    #[must_use]
    pub fn get_account(&self, address: &Address) -> Option<AccountSharedData> {
        self.svm.shared_account(address).map(from_shared_account)
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
        self.svm().account(address).map(from_account)
    }

    /// Returns the accounts that a program owns, sorted by address.
    #[must_use]
    pub fn get_program_accounts(&self, program_id: &Address) -> Vec<(Address, Account)> {
        let accounts = self.svm().program_accounts(program_id, &[]).into_iter();
        accounts.map(|(key, account)| (key, from_account(account))).collect()
    }

    /// Returns the balance of the account at `address`, if it exists.
    #[must_use]
    pub fn get_balance(&self, address: &Address) -> Option<u64> {
        Some(self.svm().balance(address)).filter(|lamports| *lamports > 0)
    }

    /// Sets an account; one without lamports is deleted.
    ///
    /// # Errors
    /// If it is a sysvar whose data are not valid, or a program that does not load.
    pub fn set_account(&mut self, address: Address, data: Account) -> Result<(), LiteSVMError> {
        self.check_program(&address, &data)?;
        let error = InvalidSysvarDataError::of(&address);
        let set = self.svm_mut().set_account(address, to_account(data));
        set.map_err(|_| error.unwrap_or(InvalidSysvarDataError::Clock).into())
    }

    /// Checks that an executable account has a program that loads.
    fn check_program(&self, address: &Address, account: &Account) -> Result<(), InstructionError> {
        let Some(loader) = Loader::of(&account.owner).filter(|_| account.executable) else {
            return Ok(());
        };
        let programdata;
        let elf = if loader == Loader::V3 {
            if !account.data.starts_with(&PROGRAM_STATE) {
                return Err(InstructionError::InvalidAccountData);
            }
            programdata = self.svm().account(&program_data_key(address));
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
