//! Keys and signatures for tests.

use std::sync::Arc;

use selkie_svm::transaction::Transaction as Sanitized;
use sha2::{Digest, Sha256};
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_message::{Message, VersionedMessage};
use solana_pubkey::Pubkey;
use solana_signer::{Signer, SignerError};
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{
    receipt::{FailedTransaction, Receipt},
    send::Malformed,
    svm::Svm,
};

/// The keypair of a name: always the same one, and no secret.
#[must_use]
pub fn keypair(name: &str) -> Keypair {
    let hasher = Sha256::new().chain_update("selkie keypair ").chain_update(name);
    Keypair::new_from_array(hasher.finalize().into())
}

/// The address of a name: always the same one. Nobody can sign for it.
#[must_use]
pub fn address(name: &str) -> Pubkey {
    let hasher = Sha256::new().chain_update("selkie address ").chain_update(name);
    Pubkey::new_from_array(hasher.finalize().into())
}

impl Svm {
    /// Makes a transaction of these instructions with the current blockhash. The first signer pays.
    ///
    /// # Errors
    /// If somebody else has to sign, too.
    pub fn sign(
        &self,
        instructions: &[Instruction],
        signers: &[&dyn Signer],
    ) -> Result<VersionedTransaction, SignerError> {
        let payer = signers.first().map(|signer| signer.pubkey());
        let blockhash = self.latest_blockhash();
        let message = Message::new_with_blockhash(instructions, payer.as_ref(), &blockhash);
        VersionedTransaction::try_new(VersionedMessage::Legacy(message), signers)
    }

    /// Sends these instructions as a transaction. The first signer pays. If just this was sent
    /// before, a new blockhash makes it another transaction.
    ///
    /// # Errors
    /// As [`Svm::send`]. If a signer is missing, or one too many, it is dropped.
    pub fn send_instructions(
        &mut self,
        instructions: &[Instruction],
        signers: &[&dyn Signer],
    ) -> Result<Arc<Receipt>, FailedTransaction> {
        let mut transaction = self.sanitized(instructions, signers)?;
        let blockhash_queue = &self.journal.state().blockhash_queue;
        if blockhash_queue.has_processed(transaction.blockhash(), transaction.message_id()) {
            self.advance_blockhash();
            transaction = self.sanitized(instructions, signers)?;
        }
        self.send(transaction)
    }

    fn sanitized(
        &self,
        instructions: &[Instruction],
        signers: &[&dyn Signer],
    ) -> Result<Sanitized, FailedTransaction> {
        let signed = self.sign(instructions, signers);
        let signed = signed.map_err(|why| self.unsigned(why.to_string()))?;
        let signature = signed.signatures.first().copied();
        Sanitized::new(signed, self.features())
            .map_err(|error| self.dropped(Malformed { signature, error }, Vec::new()))
    }

    /// What became of a transaction that could not even be signed.
    fn unsigned(&self, why: String) -> FailedTransaction {
        let error = TransactionError::SignatureFailure;
        self.dropped(Malformed { signature: None, error }, vec![why])
    }
}
