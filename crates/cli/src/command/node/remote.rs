//! Accounts of another cluster, over its RPC.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use selkie::{AccountSharedData, FeatureSet, Pubkey, ReadableAccount as _};
use selkie_node::{Fetch, FetchError};

use selkie_client::Client;
use selkie_layout::lookup_table;

/// Another cluster's RPC server.
#[derive(Debug)]
pub(super) struct Remote(Client);

impl Remote {
    /// Takes a URL or the name of a cluster.
    pub(super) fn new(url: &str) -> Result<Self> {
        Ok(Self(Client::new(url)?))
    }

    /// Returns accounts that have to exist, and the programdata accounts of programs among them.
    pub(super) fn clone_accounts(
        &self,
        keys: &[Pubkey],
    ) -> Result<Vec<(Pubkey, AccountSharedData)>> {
        let found = self.0.with_program_data(keys)?;
        let existing = found.into_iter().map(|(key, account)| {
            let account =
                account.with_context(|| format!("{} has no account {key}", self.0.url()))?;
            Ok((key, account))
        });
        existing.collect()
    }

    /// Returns those of the accounts that exist, and the programdata accounts of programs among them.
    pub(super) fn existing_accounts(
        &self,
        keys: &[Pubkey],
    ) -> Result<Vec<(Pubkey, AccountSharedData)>> {
        let found = self.0.with_program_data(keys)?.into_iter();
        Ok(found.filter_map(|(key, account)| Some((key, account?))).collect())
    }

    /// Returns lookup tables, which have to exist, and those of the accounts in them that do.
    pub(super) fn clone_lookup_tables(
        &self,
        keys: &[Pubkey],
    ) -> Result<Vec<(Pubkey, AccountSharedData)>> {
        let mut accounts = self.clone_accounts(keys)?;
        let tables = accounts.iter().filter_map(|(_, table)| lookup_table::addresses(table.data()));
        let named: BTreeSet<Pubkey> =
            tables.flatten().map(|address| Pubkey::new_from_array(*address)).collect();
        accounts.extend(self.existing_accounts(&named.into_iter().collect::<Vec<_>>())?);
        Ok(accounts)
    }

    /// Returns the current slot there.
    pub(super) fn slot(&self) -> Result<u64> {
        Ok(self.0.slot()?)
    }

    /// Returns the features that are active there.
    pub(super) fn features(&self) -> Result<FeatureSet> {
        Ok(self.0.features()?)
    }
}

impl Fetch for Remote {
    fn fetch(&self, keys: &[Pubkey]) -> Result<Vec<Option<AccountSharedData>>, FetchError> {
        self.0.accounts(keys).map_err(|error| FetchError(format!("{error:#}")))
    }
}
