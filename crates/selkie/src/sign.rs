//! Keypairs, addresses and signed transactions for tests.

use std::sync::Arc;

use selkie_svm::{SignedTransaction, transaction::Transaction as Sanitized};
use sha2::{Digest, Sha256};
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_message::{Message, VersionedMessage};
use solana_pubkey::Pubkey;
use solana_signer::{Signer, SignerError};
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{
    names,
    receipt::{FailedTransaction, Receipt},
    send::{IntoTransaction as _, MalformedTransaction},
    signer::{AnySigner, SignerList},
    svm::Svm,
};

/// Returns the keypair derived from a name. It is deterministic, hence not secret. Receipts show the name
/// beside the address.
#[must_use]
pub fn keypair(name: &str) -> Keypair {
    let hasher = Sha256::new().chain_update("selkie keypair ").chain_update(name);
    let keypair = Keypair::new_from_array(hasher.finalize().into());
    names::remember(keypair.pubkey(), name);
    keypair
}

/// Returns the address derived from a name. It is deterministic, and has no private key. Receipts show
/// the name beside the address.
#[must_use]
pub fn address(name: &str) -> Pubkey {
    let hasher = Sha256::new().chain_update("selkie address ").chain_update(name);
    let address = Pubkey::new_from_array(hasher.finalize().into());
    names::remember(address, name);
    address
}

impl Svm {
    /// Signs a transaction of these instructions with the latest blockhash. The first signer pays
    /// the fee.
    ///
    /// # Errors
    /// If a required signer is missing, or a signer is not required.
    pub fn sign(
        &self,
        instructions: &[Instruction],
        signers: &[&dyn Signer],
    ) -> Result<VersionedTransaction, SignerError> {
        let payer = signers.first().map(|signer| signer.pubkey());
        VersionedTransaction::try_new(self.message(instructions, payer), signers)
    }

    /// Signs and sends a transaction of these instructions. The first signer pays the fee. If the
    /// same transaction was processed before, it first advances the blockhash.
    ///
    /// If all signers are keypairs, their signatures are made when the receipt's are read: this takes a
    /// small part of the time of [`Svm::sign`] and [`Svm::send`], with the same results.
    ///
    /// # Errors
    /// As [`Svm::send`]. A transaction with a missing or superfluous signer is dropped.
    pub fn send_instructions(
        &mut self,
        instructions: &[Instruction],
        signers: &(impl SignerList + ?Sized),
    ) -> Result<Arc<Receipt>, FailedTransaction> {
        self.send_signed_by(instructions, &signers.signers())
    }

    pub(crate) fn send_signed_by(
        &mut self,
        instructions: &[Instruction],
        signers: &[AnySigner<'_>],
    ) -> Result<Arc<Receipt>, FailedTransaction> {
        let keypairs = self.keyring.keypairs(signers);
        let mut transaction = self.sanitized(instructions, signers, keypairs.as_deref())?;
        let blockhash_queue = &self.journal.state().blockhash_queue;
        if blockhash_queue.has_processed(transaction.blockhash(), transaction.message_id()) {
            self.advance_blockhash();
            transaction = self.sanitized(instructions, signers, keypairs.as_deref())?;
        }
        self.send(transaction)
    }

    fn sanitized(
        &self,
        instructions: &[Instruction],
        signers: &[AnySigner<'_>],
        keypairs: Option<&[Arc<Keypair>]>,
    ) -> Result<Sanitized, FailedTransaction> {
        let message = self.message(instructions, signers.first().map(Signer::pubkey));
        let signed = match keypairs {
            Some(keypairs) => SignedTransaction::by(message, keypairs),
            None => VersionedTransaction::try_new(message, signers).map(SignedTransaction::from),
        };
        let signed = signed.map_err(|why| {
            let mut notes = vec![why.to_string()];
            notes.extend(self.explain_signers(instructions, signers));
            self.unsigned(notes)
        })?;
        signed
            .into_transaction(self.rules())
            .map_err(|malformed| self.dropped(malformed, Vec::new()))
    }

    fn message(&self, instructions: &[Instruction], payer: Option<Pubkey>) -> VersionedMessage {
        let blockhash = self.latest_blockhash();
        let message = Message::new_with_blockhash(instructions, payer.as_ref(), &blockhash);
        VersionedMessage::Legacy(message)
    }

    /// Returns the failure of a transaction that could not be signed.
    fn unsigned(&self, notes: Vec<String>) -> FailedTransaction {
        let error = TransactionError::SignatureFailure;
        self.dropped(MalformedTransaction { signature: None, error }, notes)
    }
}
