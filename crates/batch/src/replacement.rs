//! Program files that replace those of items, to run the same items with another version of a program.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use selkie_svm::{Loader, Pubkey, ReadableAccount as _, program_cache::program_data_address};
use solana_account::{AccountSharedData, WritableAccount as _};

use crate::error::Malformed;

/// How many accounts of a program are kept. They differ by slot and authority of the deployment.
const KEPT_MAX: usize = 16;

/// A program and the file that replaces its own.
#[derive(Debug)]
pub(crate) struct Replacement {
    /// The program's address.
    pub(crate) program: Pubkey,
    elf: Vec<u8>,
    /// Accounts with the file, by the header before it. Those of items share their data, so the program
    /// is compiled once.
    accounts: Mutex<HashMap<Vec<u8>, AccountSharedData>>,
}

/// The account that has a program's file: its address, and the length of what precedes the file there.
pub(crate) type Holder = (Pubkey, usize);

impl Replacement {
    pub(crate) fn new(program: Pubkey, elf: Vec<u8>) -> Self {
        Self { program, elf, accounts: Mutex::default() }
    }

    /// Returns the account that has the file of this program, of any loader.
    ///
    /// # Errors
    /// If the account is not one of a deployed program.
    pub(crate) fn holder(&self, account: &AccountSharedData) -> Result<Holder, Malformed> {
        let holder = Loader::of(account.owner()).and_then(|loader| match loader {
            Loader::V1 | Loader::V2 | Loader::V4 => Some((self.program, loader.header_bytes())),
            Loader::V3 => Some((program_data_address(account.data())?, loader.header_bytes())),
        });
        let no_program = || format!("{} is to be replaced, but is no program here", self.program);
        Ok(holder.ok_or_else(no_program)?)
    }

    /// Returns an account as it is with the other file.
    ///
    /// # Errors
    /// If it is too short for a header of this length.
    pub(crate) fn replaced(
        &self,
        account: &AccountSharedData,
        header: usize,
    ) -> Result<AccountSharedData, Malformed> {
        let no_file = || format!("{} is to be replaced, but has no file here", self.program);
        let header = account.data().get(..header).ok_or_else(no_file)?;
        let mut replaced = self.account(header);
        replaced.set_lamports(account.lamports());
        replaced.set_owner(*account.owner());
        replaced.set_executable(account.executable());
        Ok(replaced)
    }

    /// Returns an account whose data are a header and the file.
    fn account(&self, header: &[u8]) -> AccountSharedData {
        let mut kept = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = kept.get(header) {
            return account.clone();
        }
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        let mut account = AccountSharedData::default();
        account.set_data_from_slice(&[header, &self.elf].concat());
        kept.insert(header.to_vec(), account.clone());
        account
    }
}
