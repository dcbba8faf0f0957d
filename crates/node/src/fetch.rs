//! Accounts of another cluster, fetched when they are first needed.
//!
//! A fetched account is set as by a cheatcode, in a block. From then on it is the cluster's own: it is
//! not fetched again, even if it is deleted or the node restarts with its ledger, unless it is streamed. Slots of the other cluster that a program or lookup table
//! records become 0 if they are in the future here, since such accounts could not be used yet.

use std::collections::BTreeSet;

use selkie_programs::program_data_key;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_commitment_config::CommitmentLevel;
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{bpf_loader_upgradeable, native_loader, sysvar};

use crate::{
    error::NodeError,
    node::Node,
    producer::Producer,
    source::{Fetch, reset_future_slot},
};

/// How many accounts are fetched at once: the limit of `getMultipleAccounts`.
const KEYS_MAX: usize = 100;
/// The discriminant of loader v3's programs.
const PROGRAM: [u8; 4] = selkie_layout::loader::PROGRAM_STATE.to_le_bytes();

impl Node {
    /// Fetches those of the accounts that the cluster neither has nor has asked for before, those that are
    /// streamed, and the programdata accounts of programs. Does nothing unless [`Options::fetch`] is set.
    ///
    /// # Errors
    /// If the other cluster cannot be asked, or the node cannot make a block.
    ///
    /// [`Options::fetch`]: crate::Options::fetch
    pub fn fetch(&self, keys: &[Pubkey]) -> Result<(), NodeError> {
        let Some(source) = &self.shared().options.fetch else { return Ok(()) };
        let (mut asked, mut found) = (Vec::new(), Vec::new());
        let mut wanted = self.missing(keys);
        while !wanted.is_empty() {
            let accounts = ask(source.as_ref(), &wanted)?;
            asked.append(&mut wanted);
            wanted = self.missing(&program_data_keys(&accounts));
            wanted.retain(|key| !asked.contains(key));
            found.extend(accounts);
        }
        self.adopt(asked, found)
    }

    /// Fetches the accounts of a message, those from its lookup tables included.
    ///
    /// # Errors
    /// As [`Node::fetch`].
    pub fn fetch_for_message(&self, message: &VersionedMessage) -> Result<(), NodeError> {
        if self.shared().options.fetch.is_none() {
            return Ok(());
        }
        let lookups = message.address_table_lookups().unwrap_or_default();
        let tables = lookups.iter().map(|lookup| lookup.account_key);
        let keys: Vec<Pubkey> =
            message.static_account_keys().iter().copied().chain(tables).collect();
        self.fetch(&keys)?;
        let view = self.view(CommitmentLevel::Processed);
        // A table that cannot be read is reported when the transaction is simulated.
        let loaded = view.loaded_addresses(message).unwrap_or_default();
        self.fetch(&[loaded.writable, loaded.readonly].concat())
    }

    /// Returns the addresses that were asked for at the other cluster and exist here, sorted.
    #[must_use]
    pub fn fetched_accounts(&self) -> Vec<Pubkey> {
        let view = self.view(CommitmentLevel::Processed);
        let fetched = self.shared().fetched().keys();
        fetched.into_iter().filter(|key| view.account(key).is_some()).collect()
    }

    /// Deletes accounts, and asks the other cluster for them when they are used again. Returns the slot of
    /// the block.
    ///
    /// # Errors
    /// If the node cannot make a block.
    pub fn reset_accounts(&self, keys: Vec<Pubkey>) -> Result<u64, NodeError> {
        self.call(move |producer| {
            let deleted = keys.iter().map(|key| (*key, AccountSharedData::default())).collect();
            let slot = producer.edit_of(|_| Ok(deleted))?;
            producer.shared.fetched().forget(|key| keys.contains(key));
            Ok(slot)
        })
    }

    /// Never asks the other cluster for accounts: they are what they are here.
    pub fn keep_local(&self, keys: &[Pubkey]) {
        self.shared().fetched().add(keys);
    }

    /// Fetches an account whenever it is used, and changes it here if it is another one there; those that
    /// it owns, too, if `with_owned`.
    pub fn stream(&self, key: Pubkey, with_owned: bool) {
        self.shared().fetched().stream(key, with_owned);
    }

    /// Returns the accounts that are fetched whenever they are used, sorted, and whether those that they own
    /// are, too.
    #[must_use]
    pub fn streamed(&self) -> Vec<(Pubkey, bool)> {
        self.shared().fetched().streamed()
    }

    /// Sets those fetched accounts that the cluster still does not have, and notes which were asked
    /// for. A program and its programdata come in one block, so that no request sees one alone.
    fn adopt(
        &self,
        asked: Vec<Pubkey>,
        mut found: Vec<(Pubkey, AccountSharedData)>,
    ) -> Result<(), NodeError> {
        found.retain(|(_, account)| {
            *account.owner() != sysvar::ID && *account.owner() != native_loader::ID
        });
        if found.is_empty() {
            self.shared().fetched().add(&asked);
            return Ok(());
        }
        self.call(move |producer| producer.adopt(&asked, found))
    }

    fn missing(&self, keys: &[Pubkey]) -> Vec<Pubkey> {
        let view = self.view(CommitmentLevel::Processed);
        let fetched = self.shared().fetched();
        let is_missing = |key: &&Pubkey| {
            let account = view.account(key);
            fetched.is_streamed(key, account.as_ref().map(ReadableAccount::owner))
                || !fetched.contains(key) && account.is_none()
        };
        let missing: BTreeSet<Pubkey> = keys.iter().filter(is_missing).copied().collect();
        missing.into_iter().collect()
    }
}

impl Producer {
    /// Sets fetched accounts, except those that have come to exist, or were fetched by another request,
    /// since they were asked for, and those that are streamed and have not changed.
    fn adopt(
        &mut self,
        asked: &[Pubkey],
        mut found: Vec<(Pubkey, AccountSharedData)>,
    ) -> Result<(), NodeError> {
        // Edits come after the transactions of their block, and must not undo those that wait.
        self.block(Vec::new(), false)?;
        let slot = self.tip.slot();
        found.iter_mut().for_each(|(_, account)| reset_future_slot(account, slot));
        let mut is_new = Vec::with_capacity(found.len());
        for (key, account) in &found {
            let own = self.tip.get_account(key)?;
            let fetched = self.shared.fetched();
            is_new.push(match &own {
                None => !fetched.contains(key) || fetched.is_streamed(key, None),
                Some(own) => own != account && fetched.is_streamed(key, Some(own.owner())),
            });
        }
        let mut is_new = is_new.into_iter();
        found.retain(|_| is_new.next().unwrap_or(false));
        // The ledger gets the addresses with the block; requests see them when the accounts are there.
        self.shared.fetched().stage(asked);
        let edited = if found.is_empty() { Ok(()) } else { self.edit(found).map(|_| ()) };
        self.shared.fetched().unstage(edited.is_ok());
        edited
    }
}

/// Asks another cluster for accounts, and returns those that exist there.
fn ask(
    source: &dyn Fetch,
    wanted: &[Pubkey],
) -> Result<Vec<(Pubkey, AccountSharedData)>, NodeError> {
    let mut found = Vec::new();
    for keys in wanted.chunks(KEYS_MAX) {
        let accounts = source.fetch(keys).map_err(NodeError::Fetch)?;
        let accounts = keys.iter().copied().zip(accounts);
        found.extend(accounts.filter_map(|(key, account)| Some((key, account?))));
    }
    Ok(found)
}

/// Returns the addresses of the programdata of those accounts that are programs of loader v3.
fn program_data_keys(accounts: &[(Pubkey, AccountSharedData)]) -> Vec<Pubkey> {
    let is_program = |account: &AccountSharedData| {
        *account.owner() == bpf_loader_upgradeable::ID && account.data().starts_with(&PROGRAM)
    };
    let programs = accounts.iter().filter(|(_, account)| is_program(account));
    programs.map(|(key, _)| program_data_key(key)).collect()
}
