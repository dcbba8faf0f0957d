//! Transactions on their way into the node.

use std::sync::{Arc, PoisonError, mpsc::sync_channel};

use selkie_ledger::Landed;
use selkie_svm::Transaction;
use solana_commitment_config::CommitmentLevel;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{error::SendError, events::Event, node::Node, producer::Submission, writer::submit};

/// How often a transaction that was dropped for a reason that may pass is tried again by default.
const RETRIES_DEFAULT: u64 = 30;

/// How a transaction is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendOptions {
    /// Whether it is sent without being simulated first.
    pub skip_preflight: bool,
    /// The commitment of the state in which it is simulated.
    pub preflight_commitment: CommitmentLevel,
    /// How often it is tried again if its payer does not exist or cannot pay yet; `None` for the
    /// default.
    pub max_retries: Option<u64>,
}

impl Default for SendOptions {
    fn default() -> Self {
        Self {
            skip_preflight: false,
            preflight_commitment: CommitmentLevel::Finalized,
            max_retries: None,
        }
    }
}

impl Node {
    /// Checks and simulates a transaction, and queues it for the next block. Returns its signature
    /// at once.
    ///
    /// # Errors
    /// If the transaction is malformed, if the simulation fails, or if the node cannot take it.
    pub fn send(
        &self,
        transaction: VersionedTransaction,
        options: &SendOptions,
    ) -> Result<Signature, SendError> {
        let transaction = self.check(transaction, options)?;
        let signature = transaction.signatures().first().copied().unwrap_or_default();
        if options.skip_preflight
            && let Err(error) = self.verify(&transaction)
        {
            // As on a real cluster: the sender asked not to be told.
            self.shared().chain().send(Event::Dropped { signature, error });
            return Ok(signature);
        }
        let retries = options.max_retries.unwrap_or(RETRIES_DEFAULT);
        self.shared().chain().send(Event::Received(signature));
        submit(&self.inner.commands, Submission { transaction, reply: None, retries })?;
        Ok(signature)
    }

    /// Sends a transaction and waits for its block.
    ///
    /// # Errors
    /// As [`Node::send`], and if the transaction is dropped.
    pub fn send_and_wait(
        &self,
        transaction: VersionedTransaction,
        options: &SendOptions,
    ) -> Result<Arc<Landed>, SendError> {
        let transaction = self.check(transaction, options)?;
        if options.skip_preflight {
            self.verify(&transaction).map_err(SendError::Dropped)?;
        }
        let (reply, result) = sync_channel(1);
        let submission = Submission { transaction, reply: Some(reply), retries: 0 };
        submit(&self.inner.commands, submission)?;
        match result.recv() {
            Ok(landed) => landed.map_err(SendError::Dropped),
            Err(_) => Err(SendError::Stopped),
        }
    }

    /// Sanitizes a transaction, and simulates it unless that is to be skipped.
    fn check(
        &self,
        mut transaction: VersionedTransaction,
        options: &SendOptions,
    ) -> Result<Transaction, SendError> {
        if let Some(failure) = self.failure() {
            return Err(SendError::Ledger(failure));
        }
        self.fetch_for_message(&transaction.message)
            .map_err(|error| SendError::Fetch(error.to_string()))?;
        let view = self.view(options.preflight_commitment);
        let impersonated = self.shared().impersonated.read();
        impersonated.unwrap_or_else(PoisonError::into_inner).complete(&mut transaction);
        let transaction =
            Transaction::new(transaction, view.rules()).map_err(SendError::Sanitize)?;
        if !options.skip_preflight
            && let Some(failed) = view.preflight(&transaction)
        {
            for note in &failed.meta.notes {
                tracing::warn!(note, "a transaction was refused");
            }
            return Err(SendError::Preflight(Box::new(failed)));
        }
        Ok(transaction)
    }

    fn verify(&self, transaction: &Transaction) -> Result<(), TransactionError> {
        let impersonated = self.shared().impersonated.read();
        impersonated.unwrap_or_else(PoisonError::into_inner).verify(transaction)
    }
}
