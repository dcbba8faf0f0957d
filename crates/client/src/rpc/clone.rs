//! Copies of a cluster's accounts.

use std::collections::BTreeSet;

use selkie::{AccountSharedData, Pubkey, ReadableAccount as _};
use selkie_isa::failure::{Context as _, Result};
use selkie_layout::lookup_table;

use super::Client;

impl Client {
    /// Returns accounts, and the programdata accounts of programs among them.
    ///
    /// # Errors
    /// If the server does not answer, or an account does not exist.
    pub fn clone_accounts(&self, keys: &[Pubkey]) -> Result<Vec<(Pubkey, AccountSharedData)>> {
        let found = self.with_program_data(keys)?;
        let existing = found.into_iter().map(|(key, account)| {
            let account =
                account.with_context(|| format!("{} has no account {key}", self.url()))?;
            Ok((key, account))
        });
        existing.collect()
    }

    /// Returns those of the accounts that exist, and the programdata accounts of programs among them.
    ///
    /// # Errors
    /// If the server does not answer.
    pub fn existing_accounts(&self, keys: &[Pubkey]) -> Result<Vec<(Pubkey, AccountSharedData)>> {
        let found = self.with_program_data(keys)?.into_iter();
        Ok(found.filter_map(|(key, account)| Some((key, account?))).collect())
    }

    /// Returns lookup tables, and those of the accounts in them that exist.
    ///
    /// # Errors
    /// If the server does not answer, or a table does not exist.
    pub fn clone_lookup_tables(&self, keys: &[Pubkey]) -> Result<Vec<(Pubkey, AccountSharedData)>> {
        let mut accounts = self.clone_accounts(keys)?;
        let tables = accounts.iter().filter_map(|(_, table)| lookup_table::addresses(table.data()));
        let named: BTreeSet<Pubkey> =
            tables.flatten().map(|address| Pubkey::new_from_array(*address)).collect();
        accounts.extend(self.existing_accounts(&named.into_iter().collect::<Vec<_>>())?);
        Ok(accounts)
    }
}
