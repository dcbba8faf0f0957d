//! Airdrops: transfers from the faucet.

use std::sync::{Arc, PoisonError, atomic::Ordering};

use selkie_layout::{
    compute_budget::{self, ComputeBudgetInstruction},
    system::transfer,
};
use selkie_ledger::Landed;
use solana_commitment_config::CommitmentLevel;
use solana_hash::Hash;
use solana_instruction::Instruction;
use solana_message::{Message, VersionedMessage};
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_signer::Signer;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{error::SendError, node::Node, send::SendOptions};

/// More than the compute units of an airdrop.
const COMPUTE_UNITS: u32 = 1000;

impl Node {
    /// Transfers lamports from the faucet by a transaction, with this blockhash or the newest one.
    ///
    /// # Errors
    /// If there is no faucet, or the transaction is not accepted.
    pub fn airdrop(
        &self,
        to: &Pubkey,
        lamports: u64,
        blockhash: Option<Hash>,
    ) -> Result<Signature, SendError> {
        let transaction = self.airdrop_transaction(to, lamports, blockhash)?;
        self.send(transaction, &airdrop_options())
    }

    /// Transfers lamports from the faucet, and waits for the block.
    ///
    /// # Errors
    /// As [`Node::airdrop`], and if the transaction is dropped.
    pub fn airdrop_and_wait(&self, to: &Pubkey, lamports: u64) -> Result<Arc<Landed>, SendError> {
        let transaction = self.airdrop_transaction(to, lamports, None)?;
        self.send_and_wait(transaction, &airdrop_options())
    }

    /// Creates the transaction. Equal ones with the same blockhash would be one and the same, so all
    /// but the first set a compute unit limit, each another one.
    fn airdrop_transaction(
        &self,
        to: &Pubkey,
        lamports: u64,
        blockhash: Option<Hash>,
    ) -> Result<VersionedTransaction, SendError> {
        self.info().faucet.ok_or(SendError::NoFaucet)?;
        let faucet = &self.shared().options.faucet;
        let newest = || self.view(CommitmentLevel::Processed).blockhash();
        let blockhash = blockhash.unwrap_or_else(newest);
        let mut recent = self.inner.airdrops.lock().unwrap_or_else(PoisonError::into_inner);
        let before = recent.count(blockhash, *to, lamports);
        drop(recent);
        let mut instructions = vec![transfer(&faucet.pubkey(), to, lamports)];
        if before > 0 {
            instructions.insert(0, compute_unit_limit(COMPUTE_UNITS.saturating_add(before)));
        }
        let payer = faucet.pubkey();
        let message = Message::new_with_blockhash(&instructions, Some(&payer), &blockhash);
        self.shared().counters.airdrops.fetch_add(1, Ordering::Relaxed);
        VersionedTransaction::try_new(VersionedMessage::Legacy(message), &[faucet])
            .map_err(|_| SendError::Sanitize(TransactionError::SanitizeFailure))
    }
}

fn airdrop_options() -> SendOptions {
    SendOptions { preflight_commitment: CommitmentLevel::Processed, ..SendOptions::default() }
}

fn compute_unit_limit(units: u32) -> Instruction {
    ComputeBudgetInstruction::SetComputeUnitLimit { units }.instruction(&compute_budget::ID, &[])
}
