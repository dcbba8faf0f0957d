//! A chain that a test changes from outside: accounts, sysvars, time, votes.

use std::io;

use serde::Serialize;
use solana_account::AccountSharedData;
use solana_address::Address;
use solana_hash::Hash;
use solana_keypair::Keypair;
use solana_sysvar_id::SysvarId;

use crate::{
    client::{BanksClient, ProgramTestBanksClientExt},
    error::ProgramTestError,
    genesis::GenesisConfig,
};

/// A started test: its client, its payer, and what no transaction can do.
#[derive(Debug)]
pub struct ProgramTestContext {
    /// The client.
    pub banks_client: BanksClient,
    /// The blockhash to sign transactions with.
    pub last_blockhash: Hash,
    /// A keypair whose account has a million SOL.
    pub payer: Keypair,
    genesis: GenesisConfig,
}

impl ProgramTestContext {
    pub(crate) fn new(banks_client: BanksClient, payer: Keypair, genesis: GenesisConfig) -> Self {
        let last_blockhash = banks_client.chain.lock().svm().latest_blockhash();
        Self { banks_client, last_blockhash, payer, genesis }
    }

    /// Returns the genesis.
    #[must_use]
    pub fn genesis_config(&self) -> &GenesisConfig {
        &self.genesis
    }

    /// Returns whether a feature is active.
    #[must_use]
    pub fn is_active(&self, feature: &Address) -> bool {
        let active = self.banks_client.chain.lock().svm().features();
        selkie::Feature::from_address(feature).is_some_and(|it| active.has(it))
    }

    /// Calls a function with the chain beneath, which the original does not have: snapshots, receipts,
    /// traces.
    pub fn with_svm<T>(&mut self, function: impl FnOnce(&mut selkie::Svm) -> T) -> T {
        function(self.banks_client.chain.lock().svm_mut())
    }

    /// Adds credits to a vote account in the current epoch, as its votes would: its stakes share the
    /// epoch's rewards by them.
    ///
    /// # Panics
    /// If there is no vote account at the address.
    pub fn increment_vote_account_credits(
        &mut self,
        vote_account_address: &Address,
        number_of_credits: u64,
    ) {
        let mut chain = self.banks_client.chain.lock();
        let added =
            chain.svm_mut().increment_vote_account_credits(vote_account_address, number_of_credits);
        added.unwrap_or_else(|error| panic!("{error}"));
    }

    /// Sets an account; if it is that of a sysvar, also what programs read by syscall.
    ///
    /// # Panics
    /// If it is that of a sysvar, and its data are invalid.
    pub fn set_account(&mut self, address: &Address, account: &AccountSharedData) {
        self.banks_client.chain.lock().set_account(*address, account.clone());
    }

    /// Sets a sysvar.
    ///
    /// # Panics
    /// If the sysvar cannot be encoded.
    pub fn set_sysvar<T: SysvarId + Serialize>(&self, sysvar: &T) {
        let data = bincode::serialize(sysvar).expect("sysvars are encoded without error");
        self.banks_client.chain.lock().set_sysvar(T::id(), &data);
    }

    /// Advances to a later slot. The slot before it gets a block as well, and no others: blockhashes stay
    /// recent, rewards of an epoch that began before that slot are paid, and the clock's time stays.
    ///
    /// # Errors
    /// If the slot is not later than the current one.
    pub fn warp_to_slot(&mut self, warp_slot: u64) -> Result<(), ProgramTestError> {
        let mut chain = self.banks_client.chain.lock();
        let now = chain.slot();
        if warp_slot <= now {
            return Err(ProgramTestError::InvalidWarpSlot);
        }
        if warp_slot - 1 > now {
            chain.skip_to(warp_slot - 1);
        }
        chain.skip_to(warp_slot);
        self.last_blockhash = chain.svm().latest_blockhash();
        Ok(())
    }

    /// Advances to the first slot of an epoch, in which its rewards begin to be distributed: the stake
    /// program refuses most instructions until the next slot.
    ///
    /// # Errors
    /// If that slot is not later than the current one.
    pub fn warp_to_epoch(&mut self, warp_epoch: u64) -> Result<(), ProgramTestError> {
        self.warp_to_slot(self.genesis.epoch_schedule.get_first_slot_in_epoch(warp_epoch))
    }

    /// Advances to the next slot, in which rewards are no longer distributed.
    ///
    /// # Errors
    /// Never.
    pub fn warp_forward_force_reward_interval_end(&mut self) -> Result<(), ProgramTestError> {
        let mut chain = self.banks_client.chain.lock();
        chain.end_rewards();
        self.last_blockhash = chain.svm().latest_blockhash();
        Ok(())
    }

    /// Sets [`ProgramTestContext::last_blockhash`] to another blockhash, and returns it.
    ///
    /// # Errors
    /// Never.
    pub async fn get_new_latest_blockhash(&mut self) -> io::Result<Hash> {
        let blockhash = self.banks_client.get_new_latest_blockhash(&self.last_blockhash).await?;
        self.last_blockhash = blockhash;
        Ok(blockhash)
    }

    /// Notes that the cluster was restarted in a slot, as the sysvar `LastRestartSlot` shows from the next
    /// warp on.
    pub fn register_hard_fork(&mut self, hard_fork_slot: u64) {
        self.banks_client.chain.lock().register_hard_fork(hard_fork_slot);
    }
}
