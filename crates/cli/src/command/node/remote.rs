//! Accounts of another cluster, over its RPC.

use anyhow::{Context as _, Result};
use selkie::{AccountSharedData, FeatureSet, Pubkey};
use selkie_node::Fetch;

use crate::client::Client;

/// Another cluster's RPC server.
#[derive(Debug)]
pub(super) struct Remote(Client);

impl Remote {
    /// Takes a URL or the name of a cluster.
    pub(super) fn new(url: &str) -> Result<Self> {
        Client::new(url).map(Self)
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

    /// Returns the features that are active there.
    pub(super) fn features(&self) -> Result<FeatureSet> {
        self.0.features()
    }
}

impl Fetch for Remote {
    fn fetch(&self, keys: &[Pubkey]) -> Result<Vec<Option<AccountSharedData>>, String> {
        self.0.accounts(keys).map_err(|error| format!("{error:#}"))
    }
}
